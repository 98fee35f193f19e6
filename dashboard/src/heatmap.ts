// Layout of the heat map: one cell a host, in rows; groups below each other.

import { FULL_SHARE, type Root } from "./cloud";

export interface LabeledHosts {
  label: string;
  roots: readonly Root[];
}

export interface Cell {
  root: Root;
  x: number;
  y: number;
  width: number;
}

// Some groups, on a canvas of their own: a browser copies a canvas as a whole when it changes.
export interface Band {
  y: number;
  height: number;
}

export interface Layout {
  bands: Band[];
  cells: Cell[];
  // The cells of each host: one in each of its groups.
  cellsOf: Map<string, number[]>;
  labels: { text: string; y: number }[];
  // The height of a cell.
  size: number;
  width: number;
  height: number;
}

const SMALLEST = 6;
const NARROWEST = 3;
const LABEL_HEIGHT = 22;
const GAP_BELOW_GROUP = 6;
const MINIMUM_WIDTH = 40;
const BAND_HEIGHT = 300;

export interface Box {
  width: number;
  height: number;
  // The largest size of a cell.
  largest: number;
}

// Cells are as large as fits the box; many hosts or groups make the map higher. `weight` is the
// width of a cell relative to the mean of 1.
export function layOut(
  groups: readonly LabeledHosts[],
  box: Box,
  weight: (root: Root) => number,
): Layout {
  const width = Math.max(box.width, MINIMUM_WIDTH);
  const count = groups.reduce((sum, group) => sum + group.roots.length, 0);
  const size = sizeFor(count, width, box);
  const layout: Layout = {
    bands: [],
    cells: [],
    cellsOf: new Map(),
    labels: [],
    size,
    width,
    height: 0,
  };
  let band = { y: 0, height: BAND_HEIGHT };
  for (const { label, roots } of groups) {
    if (band.height >= BAND_HEIGHT) {
      band = { y: layout.height, height: 0 };
      layout.bands.push(band);
    }
    if (label) {
      layout.labels.push({ text: label, y: layout.height });
      layout.height += LABEL_HEIGHT;
    }
    addRows(layout, roots, weight);
    if (label) layout.height += GAP_BELOW_GROUP;
    band.height = layout.height - band.y;
  }
  return layout;
}

// The largest size of which all cells of equal width fit the box.
function sizeFor(count: number, width: number, { height, largest }: Box): number {
  let size = Math.min(largest, Math.floor(Math.sqrt((width * height) / (count || 1))));
  while (size > SMALLEST && Math.ceil(count / Math.floor(width / size)) * size > height) size -= 1;
  return Math.max(SMALLEST, size);
}

function addRows(layout: Layout, roots: readonly Root[], weight: (root: Root) => number): void {
  const { size } = layout;
  let x = 0;
  for (const root of roots) {
    const width = Math.min(layout.width, Math.max(NARROWEST, Math.round(size * weight(root))));
    if (x > 0 && x + width > layout.width) {
      x = 0;
      layout.height += size;
    }
    const places = layout.cellsOf.get(root.uuid) ?? [];
    layout.cellsOf.set(root.uuid, [...places, layout.cells.length]);
    layout.cells.push({ root, x, y: layout.height, width });
    x += width;
  }
  if (roots.length > 0) layout.height += size;
}

// The weight of a host by its capacity of a class.
export function byCapacity(roots: readonly Root[], name: string): (root: Root) => number {
  const capacity = (root: Root) => root.amounts.get(name)?.capacity ?? 0;
  const mean = roots.reduce((sum, root) => sum + capacity(root), 0) / (roots.length || 1);
  return (root) => (mean > 0 ? capacity(root) / mean : 1);
}

export function cellsOf(layout: Layout, uuids: Iterable<string>): number[] {
  return [...uuids].flatMap((uuid) => layout.cellsOf.get(uuid) ?? []);
}

export function cellAt(layout: Layout, x: number, y: number): number {
  return layout.cells.findIndex(
    (cell) =>
      x >= cell.x && x < cell.x + cell.width && y >= cell.y && y < cell.y + layout.size,
  );
}

// The cell that an arrow key leads to; null for other keys.
export function neighbor(layout: Layout, index: number, key: string): number | null {
  const { cells } = layout;
  const cell = cells[index];
  if (cells.length === 0 || !/^Arrow(Right|Left|Down|Up)$/.test(key)) return null;
  if (cell === undefined) return 0;
  if (key === "ArrowRight") return Math.min(index + 1, cells.length - 1);
  if (key === "ArrowLeft") return Math.max(index - 1, 0);
  const beyond = cells.filter(({ y }) => (key === "ArrowDown" ? y > cell.y : y < cell.y));
  const row = key === "ArrowDown" ? beyond[0]?.y : beyond.at(-1)?.y;
  const middle = cell.x + cell.width / 2;
  const nearest = beyond.filter(({ y }) => y === row).sort((a, b) => off(a, middle) - off(b, middle))[0];
  return nearest ? cells.indexOf(nearest) : index;
}

function off(cell: Cell, x: number): number {
  return Math.abs(cell.x + cell.width / 2 - x);
}

// Steps of the color scale: upper bounds of the used share.
const STEPS = [0.2, 0.4, 0.6, 0.8, FULL_SHARE] as const;
export const STEP_NAMES = ["≤ 20 %", "≤ 40 %", "≤ 60 %", "≤ 80 %", "≤ 95 %", "full", "over capacity"];

// The step of a host: 0 is nearly free, 5 full, 6 over capacity; -1 without capacity.
export function stepOf(root: Root, name: string): number {
  const amounts = root.amounts.get(name);
  if (amounts === undefined) return -1;
  if (amounts.used > amounts.capacity) return STEP_NAMES.length - 1;
  if (amounts.capacity === 0) return -1;
  const step = STEPS.findIndex((bound) => amounts.used <= bound * amounts.capacity);
  return step === -1 ? STEPS.length : step;
}
