// Numbers, times and reason codes as people read them.

const UNITS: Record<string, [number, string][]> = {
  MEMORY_MB: [
    [1024 ** 3, "PiB"],
    [1024 * 1024, "TiB"],
    [1024, "GiB"],
    [1, "MiB"],
  ],
  DISK_GB: [
    [1024 * 1024, "PiB"],
    [1024, "TiB"],
    [1, "GiB"],
  ],
};

// An amount in the unit of its class: 4 for VCPU, "4 GiB" for MEMORY_MB.
export function amount(name: string, value: number): string {
  const [size, unit] = unitOf(name, value);
  return `${decimal(value / size)}${unit && value !== 0 ? ` ${unit}` : ""}`;
}

// Amounts of several classes: "VCPU 4, MEMORY_MB 8 GiB".
export function amounts(resources: Record<string, number>): string {
  return Object.entries(resources)
    .map(([name, value]) => `${name} ${amount(name, value)}`)
    .join(", ");
}

// Two amounts in the unit of the second one: "28 / 128", "26.3 / 35.1 TiB"; a part that would be 0 has its own: "24 GiB / 1.5 TiB".
export function amountOf(name: string, part: number, whole: number): string {
  const [size, unit] = unitOf(name, whole);
  if (part > 0 && part / size < 0.05) return `${amount(name, part)} / ${amount(name, whole)}`;
  return `${decimal(part / size)} / ${decimal(whole / size)}${unit && ` ${unit}`}`;
}

function unitOf(name: string, value: number): [number, string] {
  const units = UNITS[name] ?? [];
  return units.find(([size]) => Math.abs(value) >= size) ?? units.at(-1) ?? [1, ""];
}

// toLocaleString makes a new format for each number, which takes longer than all else here.
const [WHOLE, TENTHS] = [0, 1].map(
  (maximumFractionDigits) => new Intl.NumberFormat("en", { maximumFractionDigits }),
) as [Intl.NumberFormat, Intl.NumberFormat];

export function decimal(value: number): string {
  return (Math.abs(value) < 100 ? TENTHS : WHOLE).format(value);
}

// R9 is before R10.
export const byNumber = new Intl.Collator("en", { numeric: true });

export function percent(part: number, whole: number): string {
  return whole > 0 ? `${Math.round((100 * part) / whole)} %` : "–";
}

export function clock(time: Date): string {
  return time.toLocaleTimeString("en-GB");
}

export function dateTime(text: string): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return text;
  return `${time.toLocaleDateString("sv")} ${clock(time)}`;
}

const SPANS: [number, string][] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
];

// How long ago a time is: "just now", "12 min ago", "3 d ago".
export function ago(text: string, now: number): string {
  const seconds = (now - new Date(text).getTime()) / 1000;
  if (Number.isNaN(seconds)) return text;
  for (const [span, unit] of SPANS) {
    if (seconds >= span) return `${Math.floor(seconds / span)} ${unit} ago`;
  }
  return "just now";
}

const REASONS: Record<string, string> = {
  root_trait: "trait of the root",
  forbidden_aggregate: "forbidden aggregate",
  aggregate: "aggregate",
  in_tree: "tree",
  trait: "required trait",
  forbidden_trait: "forbidden trait",
  no_inventory: "no inventory",
  unit: "unit limits",
  capacity: "not enough free",
  one_provider: "no single provider",
  combined: "groups together",
  isolate: "isolation",
  same_subtree: "same subtree",
  one_provider_per_tree: "one provider per tree",
};

export function reason(code: string): string {
  return REASONS[code] ?? code.replaceAll("_", " ");
}

// How often something happened: "200 times".
export function times(count: number): string {
  return count === 1 ? "once" : `${decimal(count)} times`;
}

export function plural(count: number, noun: string): string {
  return `${decimal(count)} ${noun}${count === 1 ? "" : "s"}`;
}

// The name without the name of a parent before it: what tells devices of a host apart.
export function ownName(name: string, parents: readonly string[]): string {
  const parent = parents.find((each) => each !== "" && name.startsWith(each));
  const rest = parent === undefined ? "" : name.slice(parent.length).replace(/^[-_.:/ ]+/, "");
  return rest === "" ? name : rest;
}
