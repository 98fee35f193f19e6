import assert from "node:assert/strict";
import { test } from "node:test";
import { byCode, byProvider, commandsFor, inUnits } from "../src/findings";
import { isId, isUuidPrefix, markerBefore, providersMatching } from "../src/search";
import { cloudOf, host, provider } from "./clouds";

const AGGREGATE = "5a7c1f9e-25b3-4c68-9d0e-2f4b6a8c0d11";
const CLOUD = cloudOf(
  provider("1111", "2222", "2222", { name: "gpu-7" }),
  host("2222", {}, { name: "compute-71", aggregates: [AGGREGATE] }),
  host("3333", {}, { name: "compute-7" }),
);

for (const [text, expected] of [
  ["compute-7", ["compute-7", "compute-71"]],
  ["GPU", ["gpu-7"]],
  ["1111", ["gpu-7"]],
  [AGGREGATE, ["compute-71"]],
  ["-7", ["compute-71", "compute-7", "gpu-7"]],
  ["nothing", []],
] as const) {
  test(`${text} finds providers`, () => {
    assert.deepEqual(providersMatching(CLOUD, text).map(({ name }) => name), expected);
  });
}

test("an aggregate is found by its name in nova", () => {
  const found = providersMatching(CLOUD, "az1", { [AGGREGATE]: "AZ1" });
  assert.deepEqual(found.map(({ name }) => name), ["compute-71"]);
});

test("only what can be an id is looked up", () => {
  assert.deepEqual(["6f8a", AGGREGATE, "host", "6f8"].map(isUuidPrefix), [true, true, false, false]);
  assert.deepEqual(["req-1", AGGREGATE, "6f8a"].map(isId), [true, true, false]);
});

test("the marker of a prefix sorts before every UUID that has it", () => {
  assert.equal(markerBefore("6F8A"), "6f8a");
  assert.ok(markerBefore(AGGREGATE) < AGGREGATE);
});

const FINDING = { cause: "", repair: "", repair_command: "" };

test("findings are grouped by code, errors first", () => {
  const groups = byCode([
    { ...FINDING, code: "unused_trait", severity: "notice", rows: { trait: "A" } },
    { ...FINDING, code: "usage_counter", severity: "error", rows: {} },
    { ...FINDING, code: "unused_trait", severity: "notice", rows: { trait: "B" } },
  ]);
  assert.deepEqual(
    groups.map(({ code, findings }) => [code, findings.length]),
    [
      ["usage_counter", 1],
      ["unused_trait", 2],
    ],
  );
});

test("findings on the classes of a provider are one row", () => {
  const [h1, h2] = ["h1", "h2"].map((name) => ({ uuid: name, name }));
  const of = (rows: object) => ({ ...FINDING, code: "over_capacity", severity: "error" as const, rows: { ...rows } });
  const findings = [
    of({ provider: h1, resource_class: "VCPU" }),
    of({ provider: h1, resource_class: "DISK_GB" }),
    of({ provider: h2, resource_class: "VCPU" }),
    of({ resource_class: "CUSTOM_A" }),
    of({ resource_class: "CUSTOM_B" }),
  ];
  assert.deepEqual(byProvider(findings).map((row) => row.length), [2, 1, 1, 1]);
});

test("the amounts of a finding are in the unit of its class", () => {
  const rows = { resource_class: "MEMORY_MB", used: 65536, allocation_ratio: 1.5 };
  assert.deepEqual(inUnits(rows), { ...rows, used: "64 GiB" });
  assert.deepEqual(inUnits({ generation: 7 }), { generation: 7 });
});

test("commands are listed once; a plan is applied by another one", () => {
  const plan = "placement-manage audit --code unused_trait --plan repair.plan";
  const finding = { code: "unused_trait", severity: "notice" as const, rows: {} };
  const findings = [plan, plan, ""].map((text) => ({ ...FINDING, ...finding, repair_command: text }));
  assert.deepEqual(commandsFor(findings), [plan, "placement-manage audit --apply repair.plan"]);
  assert.deepEqual(commandsFor([]), []);
});
