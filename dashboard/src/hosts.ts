// Which hosts the map and the table show, and in which order.

import { type Amounts, type Cloud, compare, type Root } from "./cloud";

export const SORTS = ["used", "free", "capacity", "name"] as const;
export type Sort = (typeof SORTS)[number];

export const STATUSES = ["all", "enabled", "disabled"] as const;
export type HostStatus = (typeof STATUSES)[number];

export interface Selection {
  className: string;
  // A part of the name or UUID of the host, or of a provider in its tree.
  text: string;
  // A trait that a provider of the tree has; empty: any.
  trait: string;
  status: HostStatus;
}

export function selected(cloud: Cloud, selection: Selection): Root[] {
  const { className, trait, status } = selection;
  const text = selection.text.toLowerCase();
  return [...cloud.roots.values()].filter(
    (root) =>
      root.amounts.has(className) &&
      (status === "all" || root.disabled === (status === "disabled")) &&
      (text === "" || root.members.some(({ name, uuid }) => contains(name, uuid, text))) &&
      (trait === "" || root.members.some(({ traits }) => traits.includes(trait))),
  );
}

function contains(name: string, uuid: string, text: string): boolean {
  return name.toLowerCase().includes(text) || uuid.includes(text);
}

export function sorted(roots: readonly Root[], className: string, sort: Sort): Root[] {
  const of = (root: Root) => root.amounts.get(className) as Amounts;
  const difference = {
    used: (a: Root, b: Root) => usedShare(of(b)) - usedShare(of(a)),
    free: (a: Root, b: Root) => of(b).free - of(a).free,
    capacity: (a: Root, b: Root) => of(b).capacity - of(a).capacity,
    name: () => 0,
  }[sort];
  return [...roots].sort((a, b) => difference(a, b) || compare(a.name, b.name));
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
