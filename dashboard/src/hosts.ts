// Which hosts the map and the table show, and in which order.

import { type Amounts, type Cloud, compare, isFull, type Root } from "./cloud";

export const SORTS = ["used", "free", "capacity", "name"] as const;
export type Sort = (typeof SORTS)[number];

export const STATUSES = ["all", "enabled", "disabled", "full"] as const;
export type HostStatus = (typeof STATUSES)[number];

export interface Selection {
  className: string;
  // A part of the name or UUID of the host, or of a provider in its tree.
  text: string;
  // A trait that a provider of the tree has; empty: any.
  trait: string;
  status: HostStatus;
}

// The hosts of the selection that have its class.
export function selected(cloud: Cloud, selection: Selection): Root[] {
  return matching(cloud, selection).filter(({ amounts }) => amounts.has(selection.className));
}

export function isEverything({ text, trait, status }: Selection): boolean {
  return text === "" && trait === "" && status === "all";
}

// The hosts of the selection with any class.
export function matching(cloud: Cloud, { className, trait, status, ...rest }: Selection): Root[] {
  const text = rest.text.toLowerCase();
  return [...cloud.roots.values()].filter(
    (root) =>
      hasStatus(root, status, className) &&
      (text === "" || root.members.some(({ name, uuid }) => contains(name, uuid, text))) &&
      (trait === "" || root.members.some(({ traits }) => traits.includes(trait))),
  );
}

function hasStatus({ amounts, disabled }: Root, status: HostStatus, className: string): boolean {
  if (status === "all") return true;
  if (status === "disabled") return disabled;
  const ofClass = amounts.get(className);
  return !disabled && (status === "enabled" || (ofClass !== undefined && isFull(ofClass)));
}

function contains(name: string, uuid: string, text: string): boolean {
  return name.toLowerCase().includes(text) || uuid.includes(text);
}

export function sorted(roots: readonly Root[], className: string, sort: Sort): Root[] {
  return [...roots].sort(ordering(className, sort));
}

export function isSorted(roots: readonly Root[], className: string, sort: Sort): boolean {
  const order = ordering(className, sort);
  return roots.every((root, index) => index === 0 || order(roots[index - 1] as Root, root) <= 0);
}

function ordering(className: string, sort: Sort): (a: Root, b: Root) => number {
  const of = (root: Root) => root.amounts.get(className) as Amounts;
  const difference = {
    used: (a: Root, b: Root) => usedShare(of(b)) - usedShare(of(a)),
    free: (a: Root, b: Root) => of(b).free - of(a).free,
    capacity: (a: Root, b: Root) => of(b).capacity - of(a).capacity,
    name: () => 0,
  }[sort];
  return (a, b) => difference(a, b) || compare(a.name, b.name);
}

// Usage without capacity is above everything else.
function usedShare({ capacity, used }: Amounts): number {
  if (capacity > 0) return used / capacity;
  return used > 0 ? Number.MAX_VALUE : 0;
}

// The hosts in the order of `positions`; hosts without a position are last, in their own order.
export function inOrder(roots: readonly Root[], positions: ReadonlyMap<string, number>): Root[] {
  const position = (root: Root) => positions.get(root.uuid) ?? positions.size;
  return [...roots].sort((a, b) => position(a) - position(b));
}

export function positionsOf(roots: readonly Root[]): Map<string, number> {
  return new Map(roots.map((root, index) => [root.uuid, index]));
}

export interface Group {
  // The UUID of the aggregate; empty for the hosts without one, or if nothing is grouped.
  aggregate: string;
  roots: Root[];
}

// A host is in the group of each of its aggregates. Aggregates with names are first, in the order
// of `names`; the hosts without an aggregate are last.
export function byAggregate(
  roots: readonly Root[],
  names: Readonly<Record<string, string>>,
): Group[] {
  const groups = new Map<string, Root[]>();
  for (const root of roots) {
    for (const uuid of root.aggregates.length > 0 ? root.aggregates : [""]) {
      const members = groups.get(uuid);
      if (members === undefined) groups.set(uuid, [root]);
      else members.push(root);
    }
  }
  const rank = (uuid: string) => (uuid === "" ? 2 : uuid in names ? 0 : 1);
  return [...groups]
    .map(([aggregate, members]) => ({ aggregate, roots: members }))
    .sort(
      ({ aggregate: a }, { aggregate: b }) =>
        rank(a) - rank(b) || compare(names[a] ?? "", names[b] ?? "") || compare(a, b),
    );
}

const COLUMNS = ["name", "uuid", "status", "class", "used", "capacity", "free", "reserved"] as const;

function record(root: Root, className: string) {
  const { used, capacity, free, reserved } = root.amounts.get(className) as Amounts;
  const status = root.disabled ? "disabled" : "enabled";
  const { name, uuid } = root;
  return { name, uuid, status, class: className, used, capacity, free, reserved };
}

export function asJson(roots: readonly Root[], className: string): string {
  return JSON.stringify(roots.map((root) => record(root, className)), null, 1);
}

export function asCsv(roots: readonly Root[], className: string): string {
  const quoted = (value: string | number) => `"${String(value).replaceAll('"', '""')}"`;
  const lines = roots.map((root) => {
    const row = record(root, className);
    return COLUMNS.map((column) => quoted(row[column])).join(",");
  });
  return [COLUMNS.join(","), ...lines, ""].join("\r\n");
}
