// Drawing of the heat map on its canvases.

import { type Band, type Cell, type Layout, STEP_NAMES, stepOf } from "./heatmap";

interface Paint {
  steps: string[];
  background: string;
  outline: string;
  text: string;
  focus: string;
  font: string;
}

const LARGE = 10;

// The colors and the font of the style sheet, as they are now.
function paintOf(element: Element): Paint {
  const style = getComputedStyle(element);
  const value = (property: string) => style.getPropertyValue(property).trim();
  return {
    steps: STEP_NAMES.map((_, index) => value(`--heat-${index}`)),
    background: value("--background"),
    outline: value("--faint"),
    text: value("--muted"),
    focus: value("--text"),
    font: `12px ${style.fontFamily}`,
  };
}

// Draws the cells `changed`, or everything, and the frame of the focused cell. A canvas without
// such cells is left alone.
export function draw(
  map: Element,
  layout: Layout,
  name: string,
  focused: number,
  changed?: readonly number[],
): void {
  const paint = paintOf(map);
  const canvases = map.querySelectorAll("canvas");
  const indices = changed ? [...changed, focused] : [...layout.cells.keys()];
  layout.bands.forEach((band, place) => {
    const context = canvases[place]?.getContext("2d");
    const inside = indices.filter((index) => isIn(band, layout.cells[index]));
    if (!context || inside.length === 0) return;
    if (!changed) clear(context, layout, band, paint);
    drawCells(context, layout, name, paint, inside);
    if (inside.includes(focused)) drawFocus(context, layout, paint, focused);
  });
}

function isIn(band: Band, place: { y: number } | undefined): boolean {
  return place !== undefined && place.y >= band.y && place.y < band.y + band.height;
}

// An empty canvas of the size of the band, with its labels.
function clear(context: CanvasRenderingContext2D, layout: Layout, band: Band, paint: Paint): void {
  const scale = devicePixelRatio;
  context.canvas.width = Math.round(layout.width * scale);
  context.canvas.height = Math.round(band.height * scale);
  context.setTransform(scale, 0, 0, scale, 0, -band.y * scale);
  context.font = paint.font;
  context.fillStyle = paint.text;
  for (const label of layout.labels.filter((label) => isIn(band, label))) {
    context.fillText(fitted(context, label.text, layout.width), 0, label.y + 15);
  }
}

function drawCells(
  context: CanvasRenderingContext2D,
  layout: Layout,
  name: string,
  paint: Paint,
  indices: readonly number[],
): void {
  const gap = gapOf(layout);
  for (const index of indices) {
    const cell = layout.cells[index];
    if (cell === undefined) continue;
    context.clearRect(cell.x, cell.y, cell.width, layout.size);
    drawCell(context, cell, cell.width - gap, layout.size - gap, stepOf(cell.root, name), paint);
  }
}

function drawFocus(
  context: CanvasRenderingContext2D,
  layout: Layout,
  paint: Paint,
  focused: number,
): void {
  const cell = layout.cells[focused];
  const gap = gapOf(layout);
  if (cell !== undefined) frame(context, cell, cell.width - gap, layout.size - gap, paint.focus, 2);
}

function gapOf({ size }: Layout): number {
  return size > LARGE ? 2 : 1;
}

function drawCell(
  context: CanvasRenderingContext2D,
  cell: Cell,
  width: number,
  height: number,
  step: number,
  paint: Paint,
): void {
  const { root, x, y } = cell;
  const color = paint.steps[step];
  if (color === undefined) {
    frame(context, cell, width, height, paint.outline, 1);
    return;
  }
  context.fillStyle = color;
  context.fillRect(x, y, width, height);
  if (root.disabled) hollow(context, cell, width, height, paint);
}

// A disabled host is a frame in its color with a stroke across it: seen on every color.
function hollow(
  context: CanvasRenderingContext2D,
  { x, y }: Cell,
  width: number,
  height: number,
  paint: Paint,
): void {
  const border = Math.max(1, Math.round(height / 9));
  context.fillStyle = paint.background;
  context.fillRect(x + border, y + border, width - 2 * border, height - 2 * border);
  context.strokeStyle = paint.focus;
  context.lineWidth = Math.max(1, height / 18);
  context.beginPath();
  context.moveTo(x, y + height);
  context.lineTo(x + width, y);
  context.stroke();
}

function frame(
  context: CanvasRenderingContext2D,
  { x, y }: Cell,
  width: number,
  height: number,
  color: string,
  lineWidth: number,
): void {
  context.strokeStyle = color;
  context.lineWidth = lineWidth;
  const inset = lineWidth / 2;
  context.strokeRect(x + inset, y + inset, width - lineWidth, height - lineWidth);
}

function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let end = text.length - 1;
  while (end > 0 && context.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return `${text.slice(0, end)}…`;
}
