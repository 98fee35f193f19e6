import assert from "node:assert/strict";
import { test } from "node:test";
import { decimal, ownName } from "../src/format";

for (const [name, parents, expected] of [
  ["cn1_0000:3b:00.0", ["cn1"], "0000:3b:00.0"],
  ["cn1_NUMA0_gpu", ["cn1_NUMA0", "cn1"], "gpu"],
  ["cn1_gpu", ["cn1_NUMA0", "cn1"], "gpu"],
  ["cn1", ["cn1"], "cn1"],
  ["gpu", ["", "cn1"], "gpu"],
] as const) {
  test(`${name} below ${parents} is ${expected}`, () => {
    assert.equal(ownName(name, parents), expected);
  });
}

test("numbers have thousands, and a digit after the point if they are small", () => {
  assert.deepEqual([1234567, 99.94, 100.5, -3.25, 0].map(decimal), ["1,234,567", "99.9", "101", "-3.3", "0"]);
});
