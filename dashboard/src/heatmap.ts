// Layout and drawing of the heat map: one cell a root, groups below each other.

import type { Root } from "./cloud";

export interface Group {
  label: string;
  roots: Root[];
}

export interface Cell {
  root: Root;
  x: number;
  y: number;
}

export interface Layout {
  cells: Cell[];
  labels: { text: string; y: number }[];
  size: number;
  columns: number;
  height: number;
}

const TARGET_HEIGHT = 380;
const SMALLEST = 6;
const LARGEST = 28;
const LABEL_HEIGHT = 22;
const MINIMUM_WIDTH = 40;

// Cells are as large as fits the target height; many groups or roots make the map higher.
export function layOut(groups: readonly Group[], width: number): Layout {
  const count = groups.reduce((sum, group) => sum + group.roots.length, 0);
  const room = Math.max(width, MINIMUM_WIDTH) * TARGET_HEIGHT;
  const size = Math.max(SMALLEST, Math.min(LARGEST, Math.floor(Math.sqrt(room / (count || 1)))));
  const columns = Math.max(1, Math.floor(width / size));
  const layout: Layout = { cells: [], labels: [], size, columns, height: 0 };
  for (const group of groups) {
    if (group.label) {
      layout.labels.push({ text: group.label, y: layout.height });
      layout.height += LABEL_HEIGHT;
    }
    group.roots.forEach((root, index) => {
      const x = (index % columns) * size;
      const y = layout.height + Math.floor(index / columns) * size;
      layout.cells.push({ root, x, y });
    });
    layout.height += Math.ceil(group.roots.length / columns) * size + (group.label ? 6 : 0);
  }
  return layout;
}

export function cellAt(layout: Layout, x: number, y: number): number {
  return layout.cells.findIndex(
    (cell) =>
      x >= cell.x && x < cell.x + layout.size && y >= cell.y && y < cell.y + layout.size,
  );
}

// Steps of the color scale: upper bounds of the used share, in percent.
export const STEPS = [20, 40, 60, 80, 95] as const;
export const STEP_NAMES = ["≤ 20 %", "≤ 40 %", "≤ 60 %", "≤ 80 %", "≤ 95 %", "> 95 %", "over capacity"];

// The step of a root: 0 is nearly free, 5 full, 6 over capacity; -1 without the class.
export function stepOf(root: Root, name: string): number {
  const amounts = root.amounts.get(name);
  if (amounts === undefined) return -1;
  if (amounts.used > amounts.capacity) return STEP_NAMES.length - 1;
  if (amounts.capacity === 0) return STEPS.length;
  const share = (100 * amounts.used) / amounts.capacity;
  const step = STEPS.findIndex((bound) => share <= bound);
  return step === -1 ? STEPS.length : step;
}

export interface Paint {
  steps: string[];
  outline: string;
  text: string;
  font: string;
  focus: string;
}

export function draw(
  context: CanvasRenderingContext2D,
  layout: Layout,
  name: string,
  paint: Paint,
  focused: number,
): void {
  const inner = layout.size - (layout.size > 10 ? 2 : 1);
  context.font = paint.font;
  context.fillStyle = paint.text;
  for (const label of layout.labels) context.fillText(label.text, 0, label.y + 15);
  context.strokeStyle = paint.outline;
  for (const cell of layout.cells) drawCell(context, cell, stepOf(cell.root, name), inner, paint);
  const cell = layout.cells[focused];
  if (cell !== undefined) {
    context.strokeStyle = paint.focus;
    context.lineWidth = 2;
    context.strokeRect(cell.x, cell.y, inner, inner);
    context.lineWidth = 1;
  }
}

function drawCell(
  context: CanvasRenderingContext2D,
  { root, x, y }: Cell,
  step: number,
  inner: number,
  paint: Paint,
): void {
  if (step === -1) {
    context.strokeRect(x + 0.5, y + 0.5, inner - 1, inner - 1);
    return;
  }
  context.fillStyle = paint.steps[step] ?? paint.outline;
  context.fillRect(x, y, inner, inner);
  if (root.disabled) {
    context.beginPath();
    context.moveTo(x, y + inner);
    context.lineTo(x + inner, y);
    context.stroke();
  }
}
