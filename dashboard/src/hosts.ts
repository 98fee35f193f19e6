// Which hosts the map and the table show, and in which order.

import { type Amounts, type Cloud, compare, isFull, type Root } from "./cloud";
import { byNumber } from "./format";

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
  if (status !== "full") return disabled === (status === "disabled");
  const ofClass = amounts.get(className);
  return ofClass !== undefined && isFull(ofClass);
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
  // The aggregate or trait; empty for the hosts without one, or if nothing is grouped.
  id: string;
  label: string;
  roots: Root[];
}

// A host is in the group of each aggregate of its root, or of each trait of its root with the prefix
// of `by`. Aggregates have the names in `names`, or the beginning of the names of their hosts; the
// groups are in the order of their labels, and the hosts without a group are last.
export function grouped(
  roots: readonly Root[],
  by: string,
  names: Readonly<Record<string, string>>,
): Group[] {
  if (by === "none") return [{ id: "", label: "", roots: [...roots] }];
  const prefix = by === "aggregate" ? null : prefixOf(by);
  const groups = new Map<string, Root[]>();
  for (const root of roots) {
    const { aggregates = [], traits = [] } = root.members.find(({ uuid }) => uuid === root.uuid) ?? {};
    const ids = prefix === null ? aggregates : traits.filter((trait) => trait.startsWith(prefix));
    for (const id of ids.length > 0 ? ids : [""]) {
      const members = groups.get(id);
      if (members === undefined) groups.set(id, [root]);
      else members.push(root);
    }
  }
  const labelOf = (id: string, members: Root[]) => {
    if (id === "") return prefix === null ? "no aggregate" : `no ${prefix}`;
    return prefix === null ? (names[id] ?? unnamed(id, members)) : id.slice(prefix.length) || id;
  };
  return [...groups]
    .map(([id, members]) => ({ id, label: labelOf(id, members), roots: members }))
    .sort(({ id: a, label: one }, { id: b, label: other }) =>
      a === "" || b === "" ? (a === "" ? 1 : 0) - (b === "" ? 1 : 0) : byNumber.compare(one, other),
    );
}

// The beginning of traits in "root_trait:CUSTOM_RACK_".
export function prefixOf(by: string): string {
  return by.slice("root_trait:".length);
}

// Nova knows the name of an aggregate: without it, its hosts say which one it is.
function unnamed(uuid: string, roots: readonly Root[]): string {
  const [first = "", ...others] = roots.map(({ name }) => name);
  let end = first.length;
  for (const name of others) while (!name.startsWith(first.slice(0, end))) end -= 1;
  return end > 0 && others.length > 0 ? `${first.slice(0, end)}*  ·  ${uuid}` : uuid;
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
  // an apostrophe keeps a spreadsheet from computing a name such as =1+1
  const quoted = (value: string | number) =>
    `"${String(value).replaceAll('"', '""').replace(/^[=+\-@\t\r]/, "'$&")}"`;
  const lines = roots.map((root) => {
    const row = record(root, className);
    return COLUMNS.map((column) => quoted(row[column])).join(",");
  });
  return [COLUMNS.join(","), ...lines, ""].join("\r\n");
}
