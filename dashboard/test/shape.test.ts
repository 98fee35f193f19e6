import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyGroup, FIRST_QUERY, formOf, queryOf, withoutUrl } from "../src/shape";
import { addressOf, parseAddress } from "../src/router";

test("a form becomes the query of its groups", () => {
  const form = {
    groups: [
      { ...emptyGroup(""), resources: [{ name: "VCPU", amount: "4" }], required: "A B", forbidden: "C" },
      { ...emptyGroup("1"), resources: [{ name: "CUSTOM_GPU", amount: "1" }], memberOf: "x y" },
      { ...emptyGroup("2"), resources: [{ name: "CUSTOM_GPU", amount: "1" }] },
    ],
    enabledOnly: true,
    policy: "" as const,
    others: ["limit=5"],
  };
  assert.equal(
    decodeURIComponent(queryOf(form)),
    "resources=VCPU:4&required=A,B,!C&resources1=CUSTOM_GPU:1&member_of1=in:x,y" +
      "&resources2=CUSTOM_GPU:1&root_required=!COMPUTE_STATUS_DISABLED&group_policy=isolate&limit=5",
  );
});

for (const query of [
  FIRST_QUERY,
  "resources=VCPU:4,MEMORY_MB:1024",
  "resources=VCPU:4&required=A,!C",
  "resources1=G:1&resources2=G:1&member_of2=in:x,y&group_policy=none",
  "resources_GPU=G:1&group_policy=isolate",
]) {
  test(`the form of ${query} has the same query`, () => {
    assert.equal(decodeURIComponent(queryOf(formOf(query))), query);
    assert.deepEqual(formOf(query).others, []);
  });
}

for (const [query, others] of [
  ["resources=VCPU:1&in_tree=x", ["in_tree=x"]],
  ["resources=VCPU:1&member_of=!x", ["member_of=!x"]],
  ["resources=VCPU:1&member_of=x&member_of=y", ["member_of=y"]],
  ["resources=V:1&required=in:A,B", ["required=in:A,B"]],
  ["resources=V:1&root_required=A&same_subtree=_a,_b", ["root_required=A", "same_subtree=_a,_b"]],
] as const) {
  test(`what the form has no field for stays in ${query}`, () => {
    const form = formOf(query);
    assert.deepEqual(form.others, others);
    assert.deepEqual(queryOf(form), query);
    const grown = queryOf({ ...form, groups: [...form.groups, emptyGroup("1")] });
    assert.equal(grown, query);
  });
}

test("addresses keep ids and queries as they are", () => {
  const address = addressOf("requests", "req-a/b?c", "x=1&y=%2C");
  assert.deepEqual(parseAddress(address), { view: "requests", id: "req-a/b?c", query: "x=1&y=%2C" });
});

for (const text of [
  "resources=VCPU:1&required=A",
  "GET /allocation_candidates?resources=VCPU:1&required=A",
  'curl "http://cloud:8778/placement/allocation_candidates?resources=VCPU:1&required=A"'.slice(5),
  "https://cloud/allocation_candidates?resources=VCPU:1&required=A HTTP/1.1",
  "?resources=VCPU:1&required=A",
]) {
  test(`the query of ${text}`, () => {
    assert.equal(withoutUrl(text), "resources=VCPU:1&required=A");
  });
}

test("an invalid escape in an address is kept", () => {
  assert.deepEqual(parseAddress("#/tree/%zz"), { view: "tree", id: "%zz", query: "" });
});
