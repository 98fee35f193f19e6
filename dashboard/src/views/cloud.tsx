// The whole cloud: totals, a heat map of one class, the fullest roots, what was refused.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Amounts, type Cloud, compare, fullRoots, type Root, stranded } from "../cloud";
import { amount, dateTime, percent, plural, reason } from "../format";
import { cellAt, draw, type Group, type Layout, layOut, type Paint, STEP_NAMES } from "../heatmap";
import { Bar, Empty, Table, TreeLink, number } from "../parts";
import { addressOf } from "../router";
import { useLoaded, useShared, useTicks } from "../state";

const CARDS = 6;
const ROWS = 12;
const REFUSALS = 6;
const REFUSALS_INTERVAL_MS = 5_000;

type Sort = "used" | "free" | "name";

export function CloudView({ query }: { query: string }) {
  const { live, version } = useShared();
  const parameters = new URLSearchParams(query);
  const classes = useMemo(() => live.cloud.classes(), [version]);
  const name = parameters.get("class") ?? fullest(live.cloud, classes);
  const by = parameters.get("by") === "aggregate" ? "aggregate" : "none";
  const sort = (parameters.get("sort") ?? "used") as Sort;
  const text = parameters.get("find") ?? "";
  const set = (key: string, value: string) => {
    parameters.set(key, value);
    location.replace(addressOf("cloud", "", parameters.toString()));
  };
  const roots = useMemo(
    () => sorted(live.cloud, name, sort, text),
    [version, name, sort, text],
  );
  const groups = useMemo(() => grouped(roots, by), [roots, by]);
  if (live.status.at === null) return <Empty>Loading the providers …</Empty>;
  if (live.cloud.providers.size === 0) {
    return (
      <Empty>
        There are no resource providers yet. They appear here when a compute service registers its
        first host.
      </Empty>
    );
  }
  return (
    <>
      <h1 class="visually-hidden">Cloud</h1>
      <Cards cloud={live.cloud} version={version} classes={classes} chosen={name} onChoose={set} />
      <div class="columns">
        <section aria-labelledby="map-title" class="wide">
          <div class="toolbar">
            <h2 id="map-title">
              {name} on {plural(roots.length, "root")}
            </h2>
            <Select label="Class" value={name} options={classes} onChange={(v) => set("class", v)} />
            <Select
              label="Group by"
              value={by}
              options={["none", "aggregate"]}
              onChange={(v) => set("by", v)}
            />
            <Select
              label="Sort by"
              value={sort}
              options={["used", "free", "name"]}
              onChange={(v) => set("sort", v)}
            />
            <label>
              Find{" "}
              <input
                type="search"
                value={text}
                onInput={(event) => set("find", event.currentTarget.value)}
              />
            </label>
          </div>
          <Legend />
          <HeatMap groups={groups} name={name} />
          <RootTable roots={roots} name={name} />
        </section>
        <Refusals />
      </div>
    </>
  );
}

// The class that runs out first is shown first.
function fullest(cloud: Cloud, classes: string[]): string {
  const totals = cloud.totals();
  const share = (name: string) => {
    const amounts = totals.get(name);
    return amounts && amounts.capacity > 0 ? amounts.used / amounts.capacity : 0;
  };
  const first = classes[0] ?? "VCPU";
  return classes.slice(0, CARDS).reduce((a, b) => (share(b) > share(a) ? b : a), first);
}

function sorted(cloud: Cloud, name: string, sort: Sort, text: string): Root[] {
  const wanted = text.toLowerCase();
  const roots = [...cloud.roots.values()].filter(
    (root) => root.amounts.has(name) && root.name.toLowerCase().includes(wanted),
  );
  const share = ({ capacity, used }: Amounts) => (capacity > 0 ? used / capacity : 1);
  const keys = new Map(roots.map((root) => [root, root.amounts.get(name) as Amounts]));
  const of = (root: Root) => keys.get(root) as Amounts;
  if (sort === "free") return roots.sort((a, b) => of(b).free - of(a).free);
  if (sort === "name") return roots.sort((a, b) => compare(a.name, b.name));
  return roots.sort((a, b) => share(of(b)) - share(of(a)) || compare(a.name, b.name));
}

// A root is in the group of each of its aggregates.
function grouped(roots: Root[], by: "none" | "aggregate"): Group[] {
  if (by === "none") return [{ label: "", roots }];
  const groups = new Map<string, Root[]>();
  for (const root of roots) {
    for (const uuid of root.aggregates.length > 0 ? root.aggregates : [""]) {
      const members = groups.get(uuid);
      if (members === undefined) groups.set(uuid, [root]);
      else members.push(root);
    }
  }
  return [...groups.entries()]
    .sort(([a], [b]) => compare(a || "~", b || "~"))
    .map(([uuid, members]) => ({
      label: `${uuid === "" ? "no aggregate" : uuid}  ·  ${plural(members.length, "root")}`,
      roots: members,
    }));
}

function Cards(props: {
  cloud: Cloud;
  version: number;
  classes: string[];
  chosen: string;
  onChoose: (key: string, value: string) => void;
}) {
  const { cloud, version, classes } = props;
  const totals = useMemo(() => cloud.totals(), [version]);
  const main = ["VCPU", "MEMORY_MB", "DISK_GB"].filter((name) => classes.includes(name));
  const strandedOf = useMemo(
    () => new Map(classes.slice(0, CARDS).map((n) => [n, stranded(cloud.roots.values(), n, main)])),
    [version],
  );
  const fullOf = useMemo(
    () => new Map(classes.slice(0, CARDS).map((n) => [n, fullRoots(cloud.roots.values(), n)])),
    [version],
  );
  return (
    <section aria-label="Totals" class="cards">
      {classes.slice(0, CARDS).map((name) => {
        const amounts = totals.get(name) as Amounts;
        const lost = strandedOf.get(name) ?? 0;
        const full = fullOf.get(name) ?? 0;
        return (
          <button
            key={name}
            type="button"
            class="card"
            aria-pressed={name === props.chosen}
            onClick={() => props.onChoose("class", name)}
          >
            <span class="card-name">{name}</span>
            <span class="card-share">{percent(amounts.used, amounts.capacity)} used</span>
            <Bar name={name} amounts={amounts} />
            <span class="card-free">{amount(name, amounts.free)} free</span>
            {full > 0 && <span class="card-full">{plural(full, "root")} full</span>}
            {lost > 0 && <span class="card-stranded">{amount(name, lost)} stranded</span>}
          </button>
        );
      })}
    </section>
  );
}

function Select(props: {
  label: string;
  value: string;
  options: readonly string[];
  onChange: (value: string) => void;
}) {
  return (
    <label>
      {props.label}{" "}
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {props.options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  );
}

function HeatMap({ groups, name }: { groups: Group[]; name: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(canvas);
  const [focused, setFocused] = useState(-1);
  const layout = useMemo(() => layOut(groups, width), [groups, width]);
  useEffect(() => paintOn(canvas.current, layout, width, name, focused));
  useEffect(() => repaintOnSchemeChange(() => paintOn(canvas.current, layout, width, name, focused)));
  const root = layout.cells[focused]?.root;
  const open = () => root && location.assign(addressOf("tree", root.uuid));
  return (
    <div class="map">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label={`Heat map of ${name}. Arrow keys choose a root, Enter opens it.`}
        aria-describedby="map-focus"
        style={{ height: `${layout.height}px` }}
        onMouseMove={(event) => setFocused(cellAt(layout, event.offsetX, event.offsetY))}
        onMouseLeave={() => setFocused(-1)}
        onClick={open}
        onKeyDown={(event) => {
          if (event.key === "Enter") open();
          const next = moved(layout, focused, event.key);
          if (next === null) return;
          event.preventDefault();
          setFocused(next);
        }}
      />
      <p id="map-focus" class="map-focus" aria-live="polite">
        {root ? describe(root, name) : "Point at a cell, or use the arrow keys."}
      </p>
    </div>
  );
}

function moved(layout: Layout, focused: number, key: string): number | null {
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: layout.columns, ArrowUp: -layout.columns };
  const by = step[key as keyof typeof step];
  if (by === undefined || layout.cells.length === 0) return null;
  return Math.min(Math.max(focused < 0 ? 0 : focused + by, 0), layout.cells.length - 1);
}

function describe(root: Root, name: string): string {
  const amounts = root.amounts.get(name);
  if (amounts === undefined) return `${root.name}: no ${name}`;
  const state = root.disabled ? ", disabled" : "";
  const used = percent(amounts.used, amounts.capacity);
  return (
    `${root.name}: ${amount(name, amounts.used)} of ${amount(name, amounts.capacity)} ${name} ` +
    `used (${used}), ${amount(name, amounts.free)} free${state}`
  );
}

function paintOn(
  canvas: HTMLCanvasElement | null,
  layout: Layout,
  width: number,
  name: string,
  focused: number,
): void {
  const context = canvas?.getContext("2d");
  if (!canvas || !context) return;
  const scale = devicePixelRatio;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(layout.height * scale);
  context.setTransform(scale, 0, 0, scale, 0, 0);
  draw(context, layout, name, paintOf(canvas), focused);
}

function paintOf(element: Element): Paint {
  const style = getComputedStyle(element);
  const value = (property: string) => style.getPropertyValue(property).trim();
  return {
    steps: STEP_NAMES.map((_, index) => value(`--heat-${index}`)),
    outline: value("--faint"),
    text: value("--muted"),
    focus: value("--text"),
    font: `12px ${style.fontFamily}`,
  };
}

function repaintOnSchemeChange(repaint: () => void): () => void {
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", repaint);
  return () => scheme.removeEventListener("change", repaint);
}

function useWidth(element: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(800);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.floor(entry.contentRect.width));
    });
    if (element.current) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return width;
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

function RootTable({ roots, name }: { roots: Root[]; name: string }) {
  if (roots.length === 0) return <Empty>No root has {name} and matches.</Empty>;
  return (
    <>
      <Table
        label={`Roots with ${name}`}
        columns={[
          "Root",
          "Used",
          number("Share"),
          number("Used"),
          number("Capacity"),
          number("Free"),
        ]}
      >
        {roots.slice(0, ROWS).map((root) => {
          const amounts = root.amounts.get(name) as Amounts;
          return (
            <tr key={root.uuid}>
              <th scope="row">
                <TreeLink uuid={root.uuid} name={root.name} />
                {root.disabled && <span class="tag">disabled</span>}
              </th>
              <td class="bar-cell">
                <Bar name={name} amounts={amounts} />
              </td>
              <td class="number">{percent(amounts.used, amounts.capacity)}</td>
              <td class="number">{amount(name, amounts.used)}</td>
              <td class="number">{amount(name, amounts.capacity)}</td>
              <td class="number">{amount(name, amounts.free)}</td>
            </tr>
          );
        })}
      </Table>
      {roots.length > ROWS && (
        <p class="more">
          The first {ROWS} of {plural(roots.length, "root")} in this order. Use Find for others.
        </p>
      )}
    </>
  );
}

function Refusals() {
  const { api } = useShared();
  const ticks = useTicks(REFUSALS_INTERVAL_MS);
  const { value, error } = useLoaded(`refusals ${ticks}`, () =>
    api.requests({ limit: String(REFUSALS) }),
  );
  return (
    <section aria-labelledby="refusals-title" class="narrow">
      <h2 id="refusals-title">Latest refusals</h2>
      {error && <p class="failure">{error.message}</p>}
      {value?.requests.length === 0 && <Empty>Nothing was refused.</Empty>}
      <ul class="refusals">
        {value?.requests.map((request) => (
          <li key={request.request_id + request.at}>
            <a href={addressOf("requests", request.request_id)}>
              {request.kind === "no_candidates" ? "No candidates" : "Refused claim"}
            </a>
            : <strong>{reason(request.reason)}</strong>
            {request.query && <span class="query">{request.query}</span>}
            <time>{dateTime(request.at)}</time>
          </li>
        ))}
      </ul>
      <a href={addressOf("requests")}>All requests</a>
    </section>
  );
}
