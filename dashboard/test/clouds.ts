// Clouds of a few providers.

import { Cloud } from "../src/cloud";
import type { Inventory, Provider } from "../src/documents";

export function inventory(capacity: number, used: number): Inventory {
  return {
    total: capacity,
    reserved: 0,
    min_unit: 1,
    max_unit: capacity,
    step_size: 1,
    allocation_ratio: 1,
    capacity,
    used,
  };
}

export function provider(
  uuid: string,
  parent: string | null,
  root: string,
  more: Partial<Provider> = {},
): Provider {
  return {
    uuid,
    name: uuid,
    generation: 0,
    parent_provider_uuid: parent,
    root_provider_uuid: root,
    inventories: {},
    traits: [],
    aggregates: [],
    ...more,
  };
}

// A host without children, with [capacity, used] of each class.
export function host(
  uuid: string,
  amounts: Record<string, [number, number]>,
  more: Partial<Provider> = {},
): Provider {
  const entries = Object.entries(amounts).map(
    ([name, [capacity, used]]) => [name, inventory(capacity, used)] as const,
  );
  return provider(uuid, null, uuid, { inventories: Object.fromEntries(entries), ...more });
}

export function changes(providers: Provider[], removed: string[] = [], complete = false) {
  return { token: "t", complete, providers, removed };
}

export function cloudOf(...providers: Provider[]): Cloud {
  const cloud = new Cloud();
  cloud.apply(changes(providers, [], true));
  return cloud;
}
