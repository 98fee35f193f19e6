// The providers of the cloud, kept current by applying changes, and sums over its trees.

import type { Changes, Provider } from "./api";

export const SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE";
export const DISABLED_TRAIT = "COMPUTE_STATUS_DISABLED";

export interface Amounts {
  capacity: number;
  used: number;
  free: number;
  reserved: number;
}

// One tree of providers: a host, usually.
export interface Root {
  uuid: string;
  name: string;
  members: Provider[];
  amounts: Map<string, Amounts>;
  aggregates: string[];
  disabled: boolean;
}

export class Cloud {
  readonly providers = new Map<string, Provider>();
  readonly roots = new Map<string, Root>();
  private readonly membersOf = new Map<string, Set<string>>();

  apply(changes: Changes): void {
    if (changes.complete) this.clear();
    const touched = new Set<string>();
    for (const uuid of changes.removed) this.remove(uuid, touched);
    for (const provider of changes.providers) this.set(provider, touched);
    for (const root of touched) this.summarize(root);
  }

  // The class names in use: the usual ones, then the ones on most roots.
  classes(): string[] {
    const counts = new Map<string, number>();
    for (const root of this.roots.values()) {
      for (const name of root.amounts.keys()) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const names = [...counts.keys()];
    return names.sort(
      (a, b) =>
        rank(a) - rank(b) || (counts.get(b) ?? 0) - (counts.get(a) ?? 0) || compare(a, b),
    );
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

  totals(): Map<string, Amounts> {
    const totals = new Map<string, Amounts>();
    for (const root of this.roots.values()) {
      for (const [name, amounts] of root.amounts) addAmounts(totals, name, amounts);
    }
    return totals;
  }

  private clear(): void {
    this.providers.clear();
    this.roots.clear();
    this.membersOf.clear();
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
    const own = this.providers.get(uuid);
    const uuids = this.membersOf.get(uuid);
    if (own === undefined || uuids === undefined || uuids.size === 0) {
      this.roots.delete(uuid);
      return;
    }
    const members = [...uuids].map((member) => this.providers.get(member) as Provider);
    const amounts = new Map<string, Amounts>();
    const aggregates = new Set<string>();
    for (const member of members) {
      for (const [name, inventory] of Object.entries(member.inventories)) {
        const { capacity, used, reserved } = inventory;
        addAmounts(amounts, name, { capacity, used, reserved, free: Math.max(0, capacity - used) });
      }
      for (const aggregate of member.aggregates) aggregates.add(aggregate);
    }
    this.roots.set(uuid, {
      uuid,
      name: own.name,
      members,
      amounts,
      aggregates: [...aggregates].sort(compare),
      disabled: own.traits.includes(DISABLED_TRAIT),
    });
  }
}

const USUAL = ["VCPU", "PCPU", "MEMORY_MB", "DISK_GB"];

function rank(name: string): number {
  const index = USUAL.indexOf(name);
  return index === -1 ? USUAL.length : index;
}

// How many roots have no free capacity of a class.
export function fullRoots(roots: Iterable<Root>, name: string): number {
  let count = 0;
  for (const root of roots) if (root.amounts.get(name)?.free === 0) count += 1;
  return count;
}

// Free capacity of a class on roots where another class is exhausted: it cannot be claimed
// together with that one. The share of capacity that such roots hold is what operators look for.
export function stranded(roots: Iterable<Root>, name: string, others: readonly string[]): number {
  let sum = 0;
  for (const root of roots) {
    const own = root.amounts.get(name);
    if (own === undefined || own.free === 0) continue;
    const exhausted = others.some((other) => other !== name && root.amounts.get(other)?.free === 0);
    if (exhausted) sum += own.free;
  }
  return sum;
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function addAmounts(sums: Map<string, Amounts>, name: string, more: Amounts): void {
  const sum = sums.get(name);
  if (sum === undefined) {
    sums.set(name, { ...more });
    return;
  }
  sum.capacity += more.capacity;
  sum.used += more.used;
  sum.free += more.free;
  sum.reserved += more.reserved;
}
