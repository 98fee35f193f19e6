// What may fail at once: the hosts of an aggregate, or those with a trait such as a rack.

import { compare, type Cloud, type Root } from "./cloud";
import { grouped } from "./hosts";
import type { Survival } from "./documents";

export type Verdict = "fits" | "does_not_fit" | "undetermined";

const FEWEST = 2;

// As the service counts them: roots with COMPUTE_NODE, or with consumers, which use something.
function hosts(cloud: Cloud): Root[] {
  return [...cloud.roots.values()].filter(({ uuid, amounts, isPool }) => {
    const isUsed = [...amounts.values()].some(({ used }) => used > 0);
    return !isPool && (isUsed || cloud.providers.get(uuid)?.traits.includes("COMPUTE_NODE"));
  });
}

// What the hosts can be grouped by: aggregates, and the prefixes that several traits of hosts
// have, such as CUSTOM_RACK_.
export function groupings(cloud: Cloud): string[] {
  const byPrefix = new Map<string, Set<string>>();
  for (const { uuid } of hosts(cloud)) {
    for (const trait of cloud.providers.get(uuid)?.traits ?? []) {
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

// The groups of hosts that may fail, with their labels and what happens to them.
export function outcomesOf(
  cloud: Cloud,
  by: string,
  { not, unknown, left_out }: Survival,
  names: Readonly<Record<string, string>>,
) {
  const failed = new Set(not.map(({ domain }) => domain));
  const open = new Set([...unknown.map(({ domain }) => domain), ...left_out]);
  const verdictOf = (id: string): Verdict =>
    failed.has(id) ? "does_not_fit" : open.has(id) ? "undetermined" : "fits";
  return grouped(hosts(cloud), by, names)
    .filter(({ id }) => id !== "")
    .map(({ id, label, roots }) => ({ id, label, hosts: roots.length, verdict: verdictOf(id) }));
}
