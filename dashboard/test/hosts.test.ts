import assert from "node:assert/strict";
import { test } from "node:test";
import { DISABLED_TRAIT } from "../src/cloud";
import {
  asCsv,
  asJson,
  grouped,
  inOrder,
  isSorted,
  positionsOf,
  selected,
  sorted,
} from "../src/hosts";
import { likeliest, outcomesOf } from "../src/survival";
import { changes, cloudOf, host, inventory, provider } from "./clouds";

const ALL = { className: "VCPU", text: "", trait: "", status: "all" as const };

function cloud() {
  return cloudOf(
    host("a-host", { VCPU: [8, 8] }, { aggregates: ["x", "y"] }),
    host("b-host", { VCPU: [32, 8] }, { traits: [DISABLED_TRAIT], aggregates: ["x"] }),
    host("c-host", { VCPU: [16, 12], MEMORY_MB: [1, 0] }),
    provider("gpu", "c-host", "c-host", {
      name: "gpu_0",
      traits: ["CUSTOM_A100"],
      inventories: { PGPU: inventory(1, 0) },
    }),
  );
}

function names(roots: { name: string }[]): string {
  return roots.map(({ name }) => name[0]).join("");
}

for (const [selection, expected] of [
  [{}, "abc"],
  [{ text: "C-HO" }, "c"],
  [{ text: "gpu_0" }, "c"],
  [{ trait: "CUSTOM_A100" }, "c"],
  [{ status: "disabled" as const }, "b"],
  [{ status: "enabled" as const }, "ac"],
  [{ status: "full" as const }, "a"],
  [{ className: "PGPU" }, "c"],
] as const) {
  test(`hosts are selected by ${JSON.stringify(selection)}`, () => {
    assert.equal(names(selected(cloud(), { ...ALL, ...selection })), expected);
  });
}

for (const [sort, expected] of [
  ["used", "acb"],
  ["free", "bca"],
  ["capacity", "bca"],
  ["name", "abc"],
] as const) {
  test(`hosts are sorted by ${sort}`, () => {
    assert.equal(names(sorted(selected(cloud(), ALL), "VCPU", sort)), expected);
  });
}

test("usage without capacity comes first", () => {
  const { roots } = cloudOf(host("a", { VCPU: [8, 9] }), host("b", { VCPU: [0, 1] }));
  assert.equal(names(sorted([...roots.values()], "VCPU", "used")), "ba");
});

test("hosts keep their places when amounts change; new ones are last", () => {
  const changing = cloud();
  const positions = positionsOf(sorted(selected(changing, ALL), "VCPU", "used"));
  changing.apply(changes([host("b-host", { VCPU: [32, 32] }), host("0-new", { VCPU: [8, 8] })]));
  const ranked = sorted(selected(changing, ALL), "VCPU", "used");
  assert.equal(names(inOrder(ranked, positions)), "acb0");
});

test("a host is in the group of each of its aggregates", () => {
  const groups = grouped(selected(cloud(), ALL), "aggregate", {});
  assert.deepEqual(
    groups.map(({ label, roots }) => `${label}: ${names(roots)}`),
    ["x: ab", "y: a", "no aggregate: c"],
  );
});

test("aggregates have their names, or the beginning of the names of their hosts", () => {
  const { roots } = cloudOf(
    host("cn-r1-1", { VCPU: [1, 0] }, { aggregates: ["1", "2", "3"] }),
    host("cn-r1-2", { VCPU: [1, 0] }, { aggregates: ["1"] }),
  );
  const groups = grouped([...roots.values()], "aggregate", { "2": "az2", "3": "az1" });
  assert.deepEqual(
    groups.map(({ label }) => label),
    ["az1", "az2", "cn-r1-*  ·  1"],
  );
});

test("hosts are grouped by the traits of their roots with a prefix", () => {
  const { roots } = cloudOf(
    ...["R10", "R9"].map((rack) => host(rack, { VCPU: [1, 0] }, { traits: [`CUSTOM_RACK_${rack}`] })),
    host("none", { VCPU: [1, 0] }),
  );
  const groups = grouped([...roots.values()], "root_trait:CUSTOM_RACK_", {});
  assert.deepEqual(
    groups.map(({ label }) => label),
    ["R9", "R10", "no CUSTOM_RACK_"],
  );
});

test("files have every host that is shown, and quote names", () => {
  const roots = [...cloudOf(host('a"b', { VCPU: [8, 2] })).roots.values()];
  assert.equal(
    asCsv(roots, "VCPU"),
    'name,uuid,status,class,used,capacity,free,reserved\r\n"a""b","a""b","enabled","VCPU","2","8","6","0"\r\n',
  );
  assert.deepEqual(JSON.parse(asJson(roots, "VCPU")).map(({ free }: { free: number }) => free), [6]);
});

test("no name is a formula in a CSV file", () => {
  const roots = selected(cloudOf(...["=1+1", "+1", "-1", "@A1", "a=1"].map((name) => host(name, { VCPU: [8, 2] }))), ALL);
  const names = asCsv(roots, "VCPU").split("\r\n").slice(1, -1).map((line) => line.split(",")[0]);
  assert.deepEqual(names, [`"'=1+1"`, `"'+1"`, `"'-1"`, `"'@A1"`, '"a=1"']);
});

test("a change of usage can leave the order behind", () => {
  const changing = cloud();
  const roots = sorted(selected(changing, ALL), "VCPU", "used");
  assert.equal(isSorted(roots, "VCPU", "used"), true);
  changing.apply(changes([host("b-host", { VCPU: [32, 32] }, { traits: [DISABLED_TRAIT], aggregates: ["x"] })]));
  assert.equal(isSorted(roots, "VCPU", "used"), false);
});

test("domains that the time limit left out are not determined; R9 is before R10", () => {
  const racks = ["R10", "R9", "R8"];
  const cloud = cloudOf(
    ...racks.map((rack) => host(rack, {}, { traits: ["COMPUTE_NODE", `CUSTOM_RACK_${rack}`] })),
    host("segment", { IPV4_ADDRESS: [254, 0] }, { traits: ["CUSTOM_RACK_R9"] }),
    host("R9b", { VCPU: [8, 1] }, { traits: ["CUSTOM_RACK_R9"] }),
  );
  assert.equal(likeliest(cloud), "root_trait:CUSTOM_RACK_");
  assert.equal(likeliest(cloudOf(host("h", { VCPU: [8, 1] }, { aggregates: ["a"] }))), "aggregate");
  assert.equal(likeliest(cloudOf(host("h", { VCPU: [8, 1] }))), null);
  const survival = { text: "", domains: 3, survive: 2, undetermined: 1, not: [], unknown: [], left_out: ["CUSTOM_RACK_R10"] };
  const domains = outcomesOf(cloud, "root_trait:CUSTOM_RACK_", survival, {});
  assert.deepEqual(
    domains.map(({ label, hosts, verdict }) => [label, hosts, verdict]),
    [["R8", 1, "fits"], ["R9", 2, "fits"], ["R10", 1, "undetermined"]],
  );
});
