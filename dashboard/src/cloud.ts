// The providers of the cloud, kept current by applying changes, and sums over its trees.

import type { Changes, Inventory, Provider } from "./documents";

export const SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE";
export const DISABLED_TRAIT = "COMPUTE_STATUS_DISABLED";

export interface Amounts {
  capacity: number;
  used: number;
  free: number;
  reserved: number;
}

// Sums over trees: `free` is on enabled hosts, `disabled` is free on the others; of the `roots`,
// `full` are hosts and full.
export interface Totals extends Amounts {
  disabled: number;
  full: number;
  roots: number;
}

// One tree of providers: a host, usually. It stays the same object while only usage changes.
export interface Root {
  uuid: string;
  name: string;
  members: Provider[];
  amounts: Map<string, Amounts>;
  aggregates: string[];
  disabled: boolean;
  // A sharing provider without children is no host.
  isPool: boolean;
}

export class Cloud {
  readonly providers = new Map<string, Provider>();
  readonly roots = new Map<string, Root>();
  // Increases with each change of something other than usage.
  structure = 0;
  // The roots of the last change.
  changed: ReadonlySet<string> = new Set();
  private readonly membersOf = new Map<string, Set<string>>();
  private readonly sums = new Map<string, Totals>();

  apply(changes: Changes): void {
    if (changes.complete) this.clear();
    const touched = new Set<string>();
    for (const uuid of changes.removed) this.remove(uuid, touched);
    for (const provider of changes.providers) this.set(provider, touched);
    for (const root of touched) this.summarize(root);
    this.changed = touched;
  }

  // The class names: those in use first, then the usual ones, then those on most roots.
  classes(): string[] {
    const roots = (name: string) => this.sums.get(name)?.roots ?? 0;
    const unused = (name: string) => (this.sums.get(name)?.used ? 0 : 1);
    return [...this.sums.keys()].sort(
      (a, b) =>
        unused(a) - unused(b) || rank(a) - rank(b) || roots(b) - roots(a) || compare(a, b),
    );
  }

  // The name of a provider; its UUID if the cloud does not have it.
  nameOf(uuid: string): string {
    return this.providers.get(uuid)?.name ?? uuid;
  }

  traits(): string[] {
    const names = new Set<string>();
    for (const provider of this.providers.values()) {
      for (const trait of provider.traits) names.add(trait);
    }
    return [...names].sort(compare);
  }

  // Providers of other trees that share through an aggregate of this one.
  sharedWith(root: Root): Provider[] {
    const aggregates = new Set(root.aggregates);
    return [...this.providers.values()].filter(
      (provider) =>
        provider.root_provider_uuid !== root.uuid &&
        provider.traits.includes(SHARING_TRAIT) &&
        provider.aggregates.some((uuid) => aggregates.has(uuid)),
    );
  }

  totals(): ReadonlyMap<string, Totals> {
    return this.sums;
  }

  private clear(): void {
    this.providers.clear();
    this.roots.clear();
    this.membersOf.clear();
    this.sums.clear();
    this.structure += 1;
  }

  private remove(uuid: string, touched: Set<string>): void {
    const provider = this.providers.get(uuid);
    if (provider === undefined) return;
    this.providers.delete(uuid);
    this.membersOf.get(provider.root_provider_uuid)?.delete(uuid);
    touched.add(provider.root_provider_uuid);
  }

  private set(provider: Provider, touched: Set<string>): void {
    this.remove(provider.uuid, touched);
    this.providers.set(provider.uuid, provider);
    const root = provider.root_provider_uuid;
    const members = this.membersOf.get(root) ?? new Set<string>();
    this.membersOf.set(root, members.add(provider.uuid));
    touched.add(root);
  }

  private summarize(uuid: string): void {
    const old = this.roots.get(uuid);
    const top = this.providers.get(uuid);
    const uuids = this.membersOf.get(uuid);
    if (old !== undefined) count(this.sums, old, -1);
    if (top === undefined || uuids === undefined || uuids.size === 0) {
      this.roots.delete(uuid);
      this.structure += 1;
      return;
    }
    const root = rootOf(top, [...uuids].map((member) => this.providers.get(member) as Provider));
    count(this.sums, root, 1);
    if (old !== undefined && traitsAndCapacity(old) === traitsAndCapacity(root)) {
      Object.assign(old, root);
    } else {
      this.roots.set(uuid, root);
      this.structure += 1;
    }
  }
}

function rootOf(top: Provider, members: Provider[]): Root {
  const amounts = new Map<string, Amounts>();
  const aggregates = new Set<string>();
  for (const member of members) {
    for (const [name, inventory] of Object.entries(member.inventories)) {
      const { used, reserved } = inventory;
      const capacity = usable(inventory);
      const sum = amounts.get(name) ?? { ...NOTHING };
      add(sum, { capacity, used, reserved, free: Math.max(0, capacity - used) });
      amounts.set(name, sum);
    }
    for (const aggregate of member.aggregates) aggregates.add(aggregate);
  }
  return {
    uuid: top.uuid,
    name: top.name,
    members,
    amounts,
    aggregates: [...aggregates].sort(compare),
    disabled: top.traits.includes(DISABLED_TRAIT),
    isPool: members.length === 1 && top.traits.includes(SHARING_TRAIT),
  };
}

// Everything of a tree except its usage, as a text to compare.
function traitsAndCapacity({ members, amounts }: Root): string {
  const providers = members.map(({ uuid, name, parent_provider_uuid, traits, aggregates }) => [
    uuid,
    name,
    parent_provider_uuid,
    traits,
    aggregates,
  ]);
  return JSON.stringify([
    providers.sort(([a], [b]) => compare(String(a), String(b))),
    [...amounts].map(([name, { capacity }]) => `${name} ${capacity}`).sort(),
  ]);
}

// Sums over some trees.
export function totalsOf(roots: Iterable<Root>): Map<string, Totals> {
  const sums = new Map<string, Totals>();
  for (const root of roots) count(sums, root, 1);
  return sums;
}

// Add a tree to sums (1), or remove it (-1).
function count(sums: Map<string, Totals>, { amounts, disabled, isPool }: Root, sign: 1 | -1): void {
  for (const [name, each] of amounts) {
    const sum = sums.get(name) ?? { ...NO_TOTALS };
    add(sum, { ...each, free: disabled ? 0 : each.free }, sign);
    sum.disabled += disabled ? sign * each.free : 0;
    sum.full += !isPool && isFull(each) ? sign : 0;
    sum.roots += sign;
    if (sum.roots > 0) sums.set(name, sum);
    else sums.delete(name);
  }
}

// The amount that usage is a share of: what is not reserved, or in use. Nova reserves a bare metal
// node or a one-time-use device when a server uses it.
export function usable({ capacity, used, total, allocation_ratio }: Inventory): number {
  return Math.max(capacity, Math.min(used, Math.trunc(total * allocation_ratio)));
}

// What reserved means for an inventory: "in use, reserved" above the capacity that it leaves,
// "reserved" if it leaves none.
export function reservedState(inventory: Inventory): string {
  const { capacity, used, reserved } = inventory;
  if (reserved === 0 || used > usable(inventory)) return "";
  if (used > capacity) return "in use, reserved";
  return capacity <= 0 && used === 0 ? "reserved" : "";
}

const USUAL = ["VCPU", "PCPU", "MEMORY_MB", "DISK_GB"];

function rank(name: string): number {
  const index = USUAL.indexOf(name);
  return index === -1 ? USUAL.length : index;
}

// As the service counts full hosts: the last step of the heat map begins here.
export const FULL_SHARE = 0.95;

export function isFull({ capacity, used }: Amounts): boolean {
  return used > FULL_SHARE * capacity;
}

// The class of which most hosts are full; of several, the one with the largest used share.
export function scarcest(cloud: Cloud, classes: readonly string[]): string {
  const fullOf = (name: string) => cloud.totals().get(name)?.full ?? 0;
  return fullest(cloud, classes).sort((a, b) => fullOf(b) - fullOf(a))[0] ?? "VCPU";
}

// The classes by their used share, the largest first.
export function fullest(cloud: Cloud, classes: readonly string[]): string[] {
  const share = (name: string) => {
    const { capacity, used } = cloud.totals().get(name) ?? NO_TOTALS;
    return capacity > 0 ? used / capacity : 0;
  };
  return [...classes].sort((a, b) => share(b) - share(a));
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const NOTHING: Amounts = { capacity: 0, used: 0, free: 0, reserved: 0 };

export const NO_TOTALS: Totals = { ...NOTHING, disabled: 0, full: 0, roots: 0 };

function add(sum: Amounts, more: Amounts, sign = 1): void {
  sum.capacity += sign * more.capacity;
  sum.used += sign * more.used;
  sum.free += sign * more.free;
  sum.reserved += sign * more.reserved;
}
