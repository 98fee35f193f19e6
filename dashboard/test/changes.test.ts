import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOfAll, addressOfSubject, completeness, parametersOf, requestOf } from "../src/changes";
import type { RecordedChange } from "../src/documents";
import { subjectOf } from "../src/search";
import { cloudOf, host } from "./clouds";

const CHANGE: RecordedChange = {
  at: "2026-11-21T02:14:07Z",
  request_id: "req-local",
  global_request_id: "req-global",
  user_id: "nova",
  kind: "inventory",
  provider: { uuid: "u1", name: "cn1" },
  consumer: null,
  text: "cn1: VCPU total 40 -> 32",
};

for (const [address, expected] of [
  ["", { since: "24h" }],
  ["since=1h&kind=traits&marker=7", { since: "1h", kind: "traits", marker: "7" }],
  ["since=all&kind=all&in_tree=u1", { in_tree: "u1" }],
] as const) {
  test(`the address ?${address} lists ${JSON.stringify(expected)}`, () => {
    assert.deepEqual(parametersOf(new URLSearchParams(address)), expected);
  });
}

test("all changes of a host are not those of a day", () => {
  const address = addressOfAll({ in_tree: "u1" });
  assert.equal(address, "#/changes?in_tree=u1&since=all");
  assert.deepEqual(parametersOf(new URLSearchParams(address.split("?")[1])), { in_tree: "u1" });
});

test("records that are off are not complete since a time", () => {
  assert.match(completeness(null), /^Changes are not recorded: \[insight\]history_rows is 0\.$/);
  assert.match(completeness("2026-11-21T02:14:07Z"), /^All changes since 2026-11-2\d .* recorded\.$/);
});

test("a change leads to its host or consumer, and to the request that nova knows", () => {
  const released = { ...CHANGE, provider: null, consumer: { uuid: "c1", type: null } };
  const ofClass = { ...CHANGE, provider: null };
  const addresses = [CHANGE, released, ofClass].map(addressOfSubject);
  assert.deepEqual(addresses, ["#/tree/u1", "#/search/c1", null]);
  assert.equal(requestOf(CHANGE), "req-global");
  assert.equal(requestOf({ ...CHANGE, global_request_id: null }), "req-local");
  assert.equal(requestOf({ ...CHANGE, global_request_id: null, request_id: null }), null);
});

test("the changes of a whole id are those of what has it", () => {
  const [known, other] = ["1", "2"].map((digit) => `${digit}f8a2c14-3d0b-4b5e-9a57-1c2f8e7d9b0a`);
  const project = "0123456789abcdef0123456789abcdef";
  const cloud = cloudOf(host(known as string, { VCPU: [1, 0] }));
  const subject = (text = "") => subjectOf(cloud, text);
  assert.deepEqual(subject(known?.toUpperCase()), { provider: known });
  assert.deepEqual(subject(other), { consumer: other });
  assert.deepEqual(subject(project), { project_id: project });
  assert.deepEqual(subject("req-1"), { request_id: "req-1" });
  assert.equal(subject("cn1"), null);
  assert.equal(subject(other?.slice(0, 35)), null);
});
