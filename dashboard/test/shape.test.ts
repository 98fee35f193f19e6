import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyGroup, formOf, queryOf } from "../src/shape";
import { addressOf, parseAddress } from "../src/router";
import { layOut, cellAt } from "../src/heatmap";

test("a form becomes the query of its groups", () => {
  const form = {
    groups: [
      { ...emptyGroup(""), resources: [{ name: "VCPU", amount: "4" }], required: "A B", forbidden: "C" },
      { ...emptyGroup("1"), resources: [{ name: "CUSTOM_GPU", amount: "1" }], memberOf: "x y" },
      { ...emptyGroup("2"), resources: [{ name: "CUSTOM_GPU", amount: "1" }] },
    ],
    isolate: true,
  };
  assert.equal(
    queryOf(form),
    "resources=VCPU:4&required=A,B,!C&resources1=CUSTOM_GPU:1&member_of1=in:x,y" +
      "&resources2=CUSTOM_GPU:1&group_policy=isolate",
  );
});

for (const query of [
  "resources=VCPU:4,MEMORY_MB:1024",
  "resources=VCPU:4&required=A,!C",
  "resources1=G:1&resources2=G:1&member_of2=in:x,y&group_policy=none",
]) {
  test(`the form of ${query} has the same query`, () => {
    const form = formOf(query);
    assert.equal(form && decodeURIComponent(queryOf(form)), query);
  });
}

for (const query of [
  "resources=VCPU:1&in_tree=x",
  "resources=VCPU:1&member_of=!x",
  "resources=V:1&required=in:A,B",
]) {
  test(`${query} is shown as text, not as a form`, () => assert.equal(formOf(query), null));
}

test("addresses keep ids and queries as they are", () => {
  const address = addressOf("requests", "req-a/b?c", "x=1&y=%2C");
  assert.deepEqual(parseAddress(address), { view: "requests", id: "req-a/b?c", query: "x=1&y=%2C" });
});

test("every cell of the map is found where it is drawn", () => {
  const root = { uuid: "", name: "", members: [], amounts: new Map(), aggregates: [], disabled: false };
  const layout = layOut([{ label: "a", roots: Array(30).fill(root) }, { label: "", roots: [root] }], 200);
  layout.cells.forEach((cell, index) => {
    assert.equal(cellAt(layout, cell.x + 1, cell.y + 1), index);
  });
  assert.deepEqual(cellAt(layout, -1, -1), -1);
});
