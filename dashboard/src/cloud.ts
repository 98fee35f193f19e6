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

// Sums over all trees: `free` is on enabled hosts, `disabled` is free on the others.
export interface Totals extends Amounts {
  disabled: number;
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

  totals(): Map<string, Totals> {
    const totals = new Map<string, Totals>();
    for (const { amounts, disabled } of this.roots.values()) {
      for (const [name, { free, ...others }] of amounts) {
        const sum = totals.get(name) ?? { ...NOTHING, disabled: 0 };
        add(sum, { ...others, free: disabled ? 0 : free });
        if (disabled) sum.disabled += free;
        totals.set(name, sum);
      }
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
    const top = this.providers.get(uuid);
    const uuids = this.membersOf.get(uuid);
    if (top === undefined || uuids === undefined || uuids.size === 0) {
      this.roots.delete(uuid);
      return;
    }
    const members = [...uuids].map((member) => this.providers.get(member) as Provider);
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
    this.roots.set(uuid, {
      uuid,
      name: top.name,
      members,
      amounts,
      aggregates: [...aggregates].sort(compare),
      disabled: top.traits.includes(DISABLED_TRAIT),
    });
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

// A host without room for much more: the last step of the heat map begins here.
export const FULL_SHARE = 0.95;

export function isFull({ capacity, used }: Amounts): boolean {
  return used > FULL_SHARE * capacity;
}

// How many enabled hosts are full of a class.
export function fullHosts(roots: Iterable<Root>, name: string): number {
  let count = 0;
  for (const { amounts, disabled } of roots) {
    const amountsOfClass = amounts.get(name);
    if (!disabled && amountsOfClass && isFull(amountsOfClass)) count += 1;
  }
  return count;
}

// The class of which most hosts are full; of several, the one with the largest used share.
export function scarcest(cloud: Cloud, classes: readonly string[]): string {
  const totals = cloud.totals();
  const roots = [...cloud.roots.values()];
  const ranked = classes.map((name) => {
    const { capacity, used } = totals.get(name) ?? NOTHING;
    return { name, full: fullHosts(roots, name), share: capacity > 0 ? used / capacity : 0 };
  });
  ranked.sort((a, b) => b.full - a.full || b.share - a.share);
  return ranked[0]?.name ?? "VCPU";
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const NOTHING: Amounts = { capacity: 0, used: 0, free: 0, reserved: 0 };

function add(sum: Amounts, more: Amounts): void {
  sum.capacity += more.capacity;
  sum.used += more.used;
  sum.free += more.free;
  sum.reserved += more.reserved;
}
