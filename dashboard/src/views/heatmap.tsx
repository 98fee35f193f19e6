// The heat map: cells that the mouse and the keyboard can explore, and its legend.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { reservedState, type Root } from "../cloud";
import { amount, percent, plural } from "../format";
import { type Box, byCapacity, cellAt, cellsOf, layOut, neighbor, STEP_NAMES } from "../heatmap";
import type { Group } from "../hosts";
import { draw } from "../painting";
import { addressOf } from "../router";
import { useNow, useShared } from "../state";

const LARGEST = 28;
const HEIGHT = 380;

const BELOW = 100;

// The space for the map: on a wallboard, the rest of the screen.
function useBox(map: { current: HTMLElement | null }, isWall: boolean): Box {
  const { width, top } = usePlace(map);
  if (!isWall) return { width, height: HEIGHT, largest: LARGEST };
  return { width, height: Math.max(HEIGHT / 2, innerHeight - top - BELOW), largest: 3 * LARGEST };
}

export function HeatMap(props: {
  groups: Group[];
  name: string;
  isSized: boolean;
  isWall: boolean;
}) {
  const { groups, name, isSized, isWall } = props;
  const { live } = useShared();
  const { version } = useNow();
  const map = useRef<HTMLDivElement>(null);
  const box = useBox(map, isWall);
  const [focused, setFocused] = useState(-1);
  const layout = useMemo(() => {
    const labeled = groups.map((group) => ({ ...group, label: labelOf(group) }));
    const weight = isSized ? byCapacity(groups.flatMap(({ roots }) => roots), name) : () => 1;
    return layOut(labeled, box, weight);
  }, [groups, box.width, box.height, isSized]);
  const paint = (changed?: number[]) =>
    map.current && draw(map.current, layout, name, focused, changed);
  const painted = useRef({ layout, name: "", version, focused });
  // before the frame of the amounts, which then is the only one
  useLayoutEffect(() => {
    const last = painted.current;
    painted.current = { layout, name, version, focused };
    const isKnown = version <= last.version + 1;
    if (last.layout === layout && last.name === name && isKnown) {
      const cells = version === last.version ? [] : cellsOf(layout, live.cloud.changed);
      paint([...cells, last.focused]);
    } else {
      paint();
    }
  }, [layout, name, version, focused]);
  useEffect(() => onSchemeChange(() => paint()), [layout, name, focused]);
  const root = layout.cells[focused]?.root;
  const open = () => root && location.assign(addressOf("tree", root.uuid));
  return (
    <div class="map">
      <Legend />
      <div
        ref={map}
        class="cells"
        tabIndex={0}
        role="application"
        aria-label={`Heat map of ${name}. Arrow keys choose a host, Enter opens it.`}
        aria-describedby="map-focus"
        onMouseMove={(event) => setFocused(cellAt(layout, event.offsetX, event.offsetY))}
        onMouseLeave={() => setFocused(-1)}
        onClick={open}
        onKeyDown={(event) => {
          if (event.key === "Enter") open();
          const next = neighbor(layout, focused, event.key);
          if (next === null) return;
          event.preventDefault();
          setFocused(next);
        }}
      >
        {layout.bands.map(({ y, height }) => (
          <canvas key={y} style={{ height: `${height}px` }} />
        ))}
      </div>
      <p id="map-focus" class="map-focus" aria-live="polite">
        {root ? describe(root, name) : "Point at a cell, or use the arrow keys."}
      </p>
    </div>
  );
}

function labelOf({ label, roots }: Group): string {
  return label && `${plural(roots.length, "host")}  ·  ${label}`;
}

function describe(root: Root, name: string): string {
  const amounts = root.amounts.get(name);
  if (amounts === undefined) return `${root.name}: no ${name}`;
  const inventories = root.members.flatMap(({ inventories }) => inventories[name] ?? []);
  const states = new Set(inventories.map(reservedState));
  if (root.disabled) states.add("disabled");
  const state = [...states].filter(Boolean).map((text) => `, ${text}`).join("");
  const share = amounts.capacity > 0 ? ` (${percent(amounts.used, amounts.capacity)})` : "";
  return (
    `${root.name}: ${amount(name, amounts.used)} of ${amount(name, amounts.capacity)} ${name} ` +
    `used${share}, ${amount(name, amounts.free)} free${state}`
  );
}

function onSchemeChange(repaint: () => void): () => void {
  const schemes = ["(prefers-color-scheme: dark)", "(forced-colors: active)"].map(matchMedia, window);
  for (const scheme of schemes) scheme.addEventListener("change", repaint);
  return () => schemes.forEach((scheme) => scheme.removeEventListener("change", repaint));
}

// The width of an element, and where it begins in the page: what is loaded above moves it.
function usePlace(element: { current: HTMLElement | null }): { width: number; top: number } {
  const [width, setWidth] = useState(800);
  const [top, setTop] = useState(HEIGHT);
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      const box = element.current?.getBoundingClientRect();
      setWidth((last) => Math.floor(box?.width ?? last));
      setTop((last) => Math.ceil(box ? box.top + scrollY : last));
    });
    if (element.current) observer.observe(element.current);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, []);
  return { width, top };
}

function Legend() {
  return (
    <ul class="legend" aria-label="Used share of the capacity">
      {STEP_NAMES.map((text, index) => (
        <li key={text}>
          <span class={`swatch heat-${index}`} aria-hidden="true" />
          {text}
        </li>
      ))}
      <li>
        <span class="swatch disabled" aria-hidden="true" />
        disabled
      </li>
    </ul>
  );
}
