// The domains that may fail: the hosts of an aggregate, or those with a trait such as a rack.

import { compare, type Cloud, SHARING_TRAIT } from "./cloud";
import { byNumber } from "./format";
import { prefixOf } from "./hosts";
import type { Provider, Survival } from "./documents";

export type Verdict = "fits" | "does_not_fit" | "undetermined";

export interface Domain {
  id: string;
  // What tells it from the others: the name of an aggregate, a trait without the common prefix.
  label: string;
  hosts: number;
  verdict: Verdict;
}

const FEWEST = 2;

// As the service counts them: roots with COMPUTE_NODE, or with consumers, which use something.
function hosts(cloud: Cloud): Provider[] {
  return [...cloud.roots.values()].flatMap(({ uuid, amounts }) => {
    const host = cloud.providers.get(uuid);
    const isUsed = [...amounts.values()].some(({ used }) => used > 0);
    const isHost = host?.traits.includes("COMPUTE_NODE") || isUsed;
    return host && isHost && !host.traits.includes(SHARING_TRAIT) ? [host] : [];
  });
}

// What the hosts can be grouped by: aggregates, and the prefixes that several traits of hosts
// have, such as CUSTOM_RACK_.
export function groupings(cloud: Cloud): string[] {
  const byPrefix = new Map<string, Set<string>>();
  for (const { traits } of hosts(cloud)) {
    for (const trait of traits) {
      const [, prefix] = /^(CUSTOM_(?:.*_)?)[^_]+$/.exec(trait) ?? [];
      if (prefix === undefined || prefix === "CUSTOM_") continue;
      byPrefix.set(prefix, (byPrefix.get(prefix) ?? new Set()).add(trait));
    }
  }
  const prefixes = [...byPrefix].filter(([, traits]) => traits.size >= FEWEST);
  return ["aggregate", ...prefixes.map(([prefix]) => `root_trait:${prefix}`).sort(compare)];
}

// What the hosts are most likely to fail by: racks, else aggregates; null if they have neither.
export function likeliest(cloud: Cloud): string | null {
  const [aggregate = "", prefix] = groupings(cloud);
  return prefix ?? (hosts(cloud).some(({ aggregates }) => aggregates.length > 0) ? aggregate : null);
}

// The domains of a grouping by name, with what happens to them.
export function domainsOf(
  cloud: Cloud,
  by: string,
  { not, unknown, left_out }: Survival,
  nameOf: (id: string) => string,
): Domain[] {
  const prefix = by.startsWith("root_trait:") ? prefixOf(by) : null;
  const counts = new Map<string, number>();
  for (const { traits, aggregates } of hosts(cloud)) {
    const ids = prefix === null ? aggregates : traits.filter((trait) => trait.startsWith(prefix));
    for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  const labelOf = (id: string) => (prefix === null ? nameOf(id) : id.slice(prefix.length) || id);
  const failed = new Set(not.map(({ domain }) => domain));
  const open = new Set([...unknown.map(({ domain }) => domain), ...left_out]);
  const verdictOf = (id: string): Verdict =>
    failed.has(id) ? "does_not_fit" : open.has(id) ? "undetermined" : "fits";
  return [...counts]
    .map(([id, count]) => ({ id, label: labelOf(id), hosts: count, verdict: verdictOf(id) }))
    .sort((a, b) => byNumber.compare(a.label, b.label));
}
