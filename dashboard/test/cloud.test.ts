import assert from "node:assert/strict";
import { test } from "node:test";
import { parseChanges } from "../src/api";
import { Cloud, DISABLED_TRAIT, reservedState, scarcest, totalsOf, usable } from "../src/cloud";
import { changes, cloudOf, host, inventory, provider } from "./clouds";

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

test("the free capacity of disabled hosts is not free", () => {
  const cloud = cloudOf(
    host("a", { VCPU: [8, 2] }),
    host("b", { VCPU: [8, 5] }, { traits: [DISABLED_TRAIT] }),
  );
  assert.deepEqual(cloud.totals().get("VCPU"), {
    capacity: 16,
    used: 7,
    free: 6,
    reserved: 0,
    disabled: 3,
    full: 0,
    roots: 2,
  });
});

const NODE = { ...inventory(1, 0), total: 1, reserved: 1, capacity: 0 };

test("what is reserved while it is in use is usable: 100 %, not over capacity", () => {
  assert.equal(usable({ ...NODE, used: 1 }), 1);
  assert.equal(usable(NODE), 0);
  assert.equal(usable({ ...inventory(1, 2), reserved: 1, capacity: 0 }), 1);
  assert.equal(usable({ ...inventory(8, 3), allocation_ratio: 2, reserved: 2, capacity: 12 }), 12);
});

test("in use and reserved, reserved only, and free are three states", () => {
  assert.equal(reservedState({ ...NODE, used: 1 }), "in use, reserved");
  assert.equal(reservedState(NODE), "reserved");
  assert.equal(reservedState(inventory(8, 3)), "");
  assert.equal(reservedState({ ...NODE, used: 2 }), "");
});

test("a host is full above 95 % of its capacity, disabled or not; a shared pool is no host", () => {
  const cloud = cloudOf(
    host("a", { VCPU: [100, 96] }),
    host("b", { VCPU: [100, 95] }),
    host("c", { VCPU: [100, 120] }),
    host("d", { VCPU: [100, 100] }, { traits: [DISABLED_TRAIT] }),
    host("e", { MEMORY_MB: [100, 100] }),
    host("s", { VCPU: [100, 100] }, { traits: ["MISC_SHARES_VIA_AGGREGATE"] }),
  );
  assert.equal(cloud.totals().get("VCPU")?.full, 3);
});

test("the scarcest class is full on most hosts, not the most used one", () => {
  const cloud = cloudOf(
    host("a", { VCPU: [8, 0], MEMORY_MB: [10, 10], DISK_GB: [100, 90] }),
    host("b", { VCPU: [8, 0], MEMORY_MB: [90, 0], DISK_GB: [100, 90] }),
  );
  assert.equal(scarcest(cloud, cloud.classes()), "MEMORY_MB");
});

test("without full hosts, the scarcest class is the most used one", () => {
  const cloud = cloudOf(host("a", { VCPU: [8, 1], MEMORY_MB: [10, 5] }));
  assert.equal(scarcest(cloud, cloud.classes()), "MEMORY_MB");
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

test("a root stays the same object while only its usage changes", () => {
  const cloud = cloudOf(host("a", { VCPU: [8, 1] }));
  const [root, { structure }] = [cloud.roots.get("a"), cloud];
  cloud.apply(changes([host("a", { VCPU: [8, 7] })]));
  assert.equal(cloud.roots.get("a"), root);
  assert.equal(root?.amounts.get("VCPU")?.used, 7);
  assert.deepEqual([cloud.structure, [...cloud.changed]], [structure, ["a"]]);
  for (const other of [
    host("a", { VCPU: [9, 7] }),
    host("a", { VCPU: [9, 7] }, { traits: ["CUSTOM_A"] }),
    host("a", { VCPU: [9, 7] }, { aggregates: ["x"] }),
    host("a", { VCPU: [9, 7] }, { name: "b" }),
    host("b", { VCPU: [9, 7] }),
  ]) {
    const before = cloud.structure;
    cloud.apply(changes([other]));
    assert.ok(cloud.structure > before);
  }
});

test("usage of one provider of a tree leaves the structure as it is", () => {
  const part = (uuid: string, name: string, used: number) =>
    provider(uuid, "a", "a", { inventories: { [name]: inventory(8, used) } });
  const cloud = cloudOf(host("a", {}), part("n0", "VCPU", 0), part("n1", "PCPU", 0));
  const { structure } = cloud;
  cloud.apply(changes([part("n0", "VCPU", 1)]));
  assert.equal(cloud.structure, structure);
});

test("sums that follow each change are the sums of all trees", () => {
  const cloud = cloudOf();
  for (let step = 0; step < 200; step += 1) {
    const uuid = `h${(step * 7) % 13}`;
    const traits = step % 3 === 0 ? [DISABLED_TRAIT] : [];
    const classes = step % 5 === 0 ? { GPU: [2, step % 3] } : { VCPU: [8, step % 11] };
    cloud.apply(changes(step % 9 === 0 ? [] : [host(uuid, classes as never, { traits })], step % 9 === 0 ? [uuid] : []));
    assert.deepEqual(new Map(cloud.totals()), totalsOf(cloud.roots.values()));
  }
});
