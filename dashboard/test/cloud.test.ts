import assert from "node:assert/strict";
import { test } from "node:test";
import type { Inventory, Provider } from "../src/api";
import { parseChanges } from "../src/api";
import { Cloud, fullRoots, stranded } from "../src/cloud";

function inventory(capacity: number, used: number): Inventory {
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

function provider(uuid: string, parent: string | null, root: string, more: Partial<Provider> = {}): Provider {
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

function changes(providers: Provider[], removed: string[] = [], complete = false) {
  return { token: "t", complete, providers, removed };
}

const HOST = provider("h", null, "h", { inventories: { VCPU: inventory(8, 6) }, aggregates: ["a"] });
const NUMA = provider("n", "h", "h", { inventories: { VCPU: inventory(4, 4) } });

test("the amounts of a tree are those of its members", () => {
  const cloud = new Cloud();
  cloud.apply(changes([HOST, NUMA], [], true));
  assert.deepEqual(cloud.roots.get("h")?.amounts.get("VCPU"), {
    capacity: 12,
    used: 10,
    free: 2,
    reserved: 0,
  });
});

test("an over-committed member does not lessen what others have free", () => {
  const cloud = new Cloud();
  const over = provider("n", "h", "h", { inventories: { VCPU: inventory(4, 9) } });
  cloud.apply(changes([HOST, over], [], true));
  assert.deepEqual(cloud.roots.get("h")?.amounts.get("VCPU")?.free, 2);
});

test("a removed child leaves its tree", () => {
  const cloud = new Cloud();
  cloud.apply(changes([HOST, NUMA], [], true));
  cloud.apply(changes([], ["n"]));
  assert.deepEqual(cloud.roots.get("h")?.members.map((member) => member.uuid), ["h"]);
});

test("a removed root is gone with its tree", () => {
  const cloud = new Cloud();
  cloud.apply(changes([HOST, NUMA], [], true));
  cloud.apply(changes([], ["n", "h"]));
  assert.deepEqual([cloud.roots.size, cloud.providers.size], [0, 0]);
});

test("a provider that moves is in its new tree only", () => {
  const cloud = new Cloud();
  cloud.apply(changes([HOST, NUMA, provider("g", null, "g")], [], true));
  cloud.apply(changes([provider("n", "g", "g")]));
  assert.deepEqual(cloud.roots.get("h")?.members.length, 1);
  assert.deepEqual(cloud.roots.get("g")?.members.length, 2);
});

test("a complete response replaces everything", () => {
  const cloud = new Cloud();
  cloud.apply(changes([HOST, NUMA], [], true));
  cloud.apply(changes([provider("g", null, "g")], [], true));
  assert.deepEqual([...cloud.roots.keys()], ["g"]);
});

test("free capacity is stranded where another class is exhausted", () => {
  const cloud = new Cloud();
  const full = { VCPU: inventory(8, 2), MEMORY_MB: inventory(10, 10) };
  const half = { VCPU: inventory(8, 4), MEMORY_MB: inventory(10, 5) };
  cloud.apply(
    changes([
      provider("f", null, "f", { inventories: full }),
      provider("e", null, "e", { inventories: half }),
    ]),
  );
  assert.deepEqual(stranded(cloud.roots.values(), "VCPU", ["VCPU", "MEMORY_MB"]), 6);
  assert.deepEqual(fullRoots(cloud.roots.values(), "MEMORY_MB"), 1);
});

test("sharing providers are found through the aggregates of the tree", () => {
  const cloud = new Cloud();
  const traits = ["MISC_SHARES_VIA_AGGREGATE"];
  const near = provider("s", null, "s", { aggregates: ["a"], traits });
  const far = provider("x", null, "x", { aggregates: ["b"], traits });
  cloud.apply(changes([HOST, near, far]));
  const root = cloud.roots.get("h");
  assert.deepEqual(root && cloud.sharedWith(root).map((each) => each.uuid), ["s"]);
});

test("a response that ends early is refused", () => {
  const head = JSON.stringify({ version: 1, token: "t", complete: true });
  const line = JSON.stringify(HOST);
  assert.throws(() => parseChanges(`${head}\n${line}\n`), /ended early/);
  assert.deepEqual(parseChanges(`${head}\n${line}\n{"removed": []}\n`).providers, [HOST]);
});
