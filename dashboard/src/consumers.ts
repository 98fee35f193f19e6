// The sums of consumers, their order, and the shape that most of them have.

import { type Cloud, compare } from "./cloud";
import type { Consumer } from "./documents";
import { ENABLED_ONLY } from "./shape";

export interface Project {
  id: string;
  consumers: number;
  sums: Record<string, number>;
}

// The sums of the amounts of the consumers of each project.
export function projectsOf(consumers: readonly Consumer[]): Project[] {
  const byProject = new Map<string, Consumer[]>();
  for (const consumer of consumers) {
    const of = byProject.get(consumer.project_id) ?? [];
    byProject.set(consumer.project_id, [...of, consumer]);
  }
  return [...byProject].map(([id, of]) => ({ id, consumers: of.length, sums: sumsOf(of) }));
}

export function sumsOf(consumers: readonly Consumer[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { allocations } of consumers) {
    for (const [name, amount] of Object.values(allocations).flatMap(Object.entries<number>)) {
      sums[name] = (sums[name] ?? 0) + amount;
    }
  }
  return sums;
}

// The devices of a consumer: the providers of its allocations below the roots, with their names.
export function devicesOf({ providers }: Consumer, cloud: Cloud): [string, string][] {
  return Object.entries(providers).filter(([uuid]) => cloud.providers.get(uuid)?.parent_provider_uuid);
}

// The roots of the providers from which a consumer has a class, with their names.
export function hostsOf({ allocations }: Consumer, cloud: Cloud, name: string): [string, string][] {
  const providers = Object.keys(allocations).filter((uuid) => allocations[uuid]?.[name]);
  const roots = providers.map((uuid) => cloud.providers.get(uuid)?.root_provider_uuid ?? uuid);
  return [...new Set(roots)].map((uuid) => [uuid, cloud.nameOf(uuid)]);
}

// The classes of the consumers; memory and VCPU, which fill most hosts, are first.
export function classesOf(consumers: readonly Consumer[]): string[] {
  const rank = (name: string) => (name === "MEMORY_MB" ? 0 : name === "VCPU" ? 1 : 2);
  return Object.keys(sumsOf(consumers)).sort((a, b) => rank(a) - rank(b) || compare(a, b));
}

export function mostFirst<T>(
  rows: readonly T[],
  name: string,
  sums: (row: T) => Record<string, number>,
): T[] {
  return [...rows].sort((a, b) => (sums(b)[name] ?? 0) - (sums(a)[name] ?? 0));
}

// The query of the amounts that the largest number of consumers have, on hosts that nova may use.
export function mostFrequentQuery(consumers: readonly Consumer[]): string | null {
  const numbers = new Map<string, number>();
  for (const consumer of consumers) {
    const amounts = Object.entries(sumsOf([consumer])).sort(([a], [b]) => compare(b, a));
    const text = amounts.map((each) => each.join(":")).join(",");
    if (text !== "") numbers.set(text, (numbers.get(text) ?? 0) + 1);
  }
  const [first] = [...numbers].sort(([a, one], [b, other]) => other - one || compare(a, b));
  return first === undefined ? null : `resources=${first[0]}&${ENABLED_ONLY.join("=")}`;
}
