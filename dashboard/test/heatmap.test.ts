import assert from "node:assert/strict";
import { test } from "node:test";
import type { Root } from "../src/cloud";
import { byCapacity, cellAt, layOut, neighbor, stepOf } from "../src/heatmap";
import { cloudOf, host } from "./clouds";

const [ROOT] = [...cloudOf(host("h", { VCPU: [8, 0] })).roots.values()] as [Root];
const BOX = { width: 200, height: 380, largest: 28 };
const equal = () => 1;

test("every cell is found where it is drawn", () => {
  const groups = [
    { label: "a", roots: Array<Root>(30).fill(ROOT) },
    { label: "", roots: [ROOT] },
  ];
  const layout = layOut(groups, BOX, equal);
  layout.cells.forEach((cell, index) => {
    assert.equal(cellAt(layout, cell.x + 1, cell.y + 1), index);
  });
  assert.equal(cellAt(layout, -1, -1), -1);
});

test("500 groups are on canvases of about 300 pixels that cut no group", () => {
  const groups = Array.from({ length: 500 }, () => ({ label: "a", roots: [ROOT, ROOT] }));
  const { bands, labels, height } = layOut(groups, BOX, equal);
  assert.ok(bands.length > 1 && bands.every((band) => band.height < 400));
  bands.forEach((band, index) => {
    assert.equal(band.y + band.height, bands[index + 1]?.y ?? height);
    assert.ok(labels.some(({ y }) => y === band.y));
  });
});

test("10,000 cells of 6 pixels fit no box and make the map higher", () => {
  const layout = layOut([{ label: "", roots: Array<Root>(10_000).fill(ROOT) }], BOX, equal);
  assert.equal(layout.size, 6);
  assert.equal(layout.height, Math.ceil(10_000 / Math.floor(200 / 6)) * 6);
});

test("cells by capacity are wider for more of it, and stay inside", () => {
  const cloud = cloudOf(
    host("a", { VCPU: [10, 0] }),
    host("b", { VCPU: [30, 0] }),
    host("c", { VCPU: [2000, 0] }),
  );
  const roots = [...cloud.roots.values()];
  const layout = layOut([{ label: "", roots }], BOX, byCapacity(roots, "VCPU"));
  const [a, b, c] = layout.cells.map(({ width }) => width) as [number, number, number];
  assert.ok(a <= b && b < c);
  for (const { x, width } of layout.cells) assert.ok(x + width <= BOX.width);
});

test("steps end with full and over capacity; a host without capacity has none", () => {
  const amounts: [number, number][] = [[100, 0], [100, 95], [100, 96], [100, 101], [0, 1], [0, 0]];
  const steps = amounts.map((pair) => {
    const [root] = [...cloudOf(host("h", { VCPU: pair })).roots.values()];
    return root && stepOf(root, "VCPU");
  });
  assert.deepEqual(steps, [0, 4, 5, 6, 6, -1]);
});

test("arrow keys lead to the neighbors, and stop at the edges", () => {
  const box = { width: 40, height: 30, largest: 10 };
  const layout = layOut([{ label: "", roots: Array<Root>(12).fill(ROOT) }], box, equal);
  const keys = ["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"];
  assert.deepEqual(keys.map((key) => neighbor(layout, 5, key)), [6, 9, 4, 1]);
  assert.deepEqual(keys.map((key) => neighbor(layout, 0, key)), [1, 4, 0, 0]);
  assert.equal(neighbor(layout, 11, "ArrowDown"), 11);
  assert.equal(neighbor(layout, -1, "ArrowDown"), 0);
  assert.equal(neighbor(layout, 4, "Tab"), null);
});
