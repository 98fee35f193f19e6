import assert from "node:assert/strict";
import { test } from "node:test";
import { classesOf, mostFirst, mostFrequentQuery, projectsOf, sumsOf } from "../src/consumers";
import type { Consumer } from "../src/documents";

function consumer(uuid: string, project_id: string, ...amounts: Record<string, number>[]): Consumer {
  const allocations = Object.fromEntries(amounts.map((each, index) => [`provider${index}`, each]));
  const unused = { user_id: "me", type: null, generation: 1, created_at: null, providers: {} };
  return { ...unused, uuid, project_id, allocations };
}

const CONSUMERS = [
  consumer("a", "shop", { VCPU: 2, MEMORY_MB: 512 }),
  consumer("b", "web", { VCPU: 8, MEMORY_MB: 256 }, { CUSTOM_GPU: 1 }),
  consumer("c", "shop", { VCPU: 1 }, { VCPU: 3 }),
];

test("amounts of several providers are added", () => {
  assert.deepEqual(sumsOf(CONSUMERS), { VCPU: 14, MEMORY_MB: 768, CUSTOM_GPU: 1 });
});

test("memory and VCPU are the first classes", () => {
  assert.deepEqual(classesOf(CONSUMERS), ["MEMORY_MB", "VCPU", "CUSTOM_GPU"]);
});

test("who has the most of a class is first, who has none is last", () => {
  const order = (name: string) =>
    mostFirst(CONSUMERS, name, (each) => sumsOf([each])).map(({ uuid }) => uuid);
  assert.deepEqual(order("VCPU"), ["b", "c", "a"]);
  assert.deepEqual(order("CUSTOM_GPU"), ["b", "a", "c"]);
});

test("consumers are summed by project", () => {
  assert.deepEqual(projectsOf(CONSUMERS), [
    { id: "shop", consumers: 2, sums: { VCPU: 6, MEMORY_MB: 512 } },
    { id: "web", consumers: 1, sums: { VCPU: 8, MEMORY_MB: 256, CUSTOM_GPU: 1 } },
  ]);
});

test("the most frequent shape is the sum of each consumer, on enabled hosts", () => {
  const ceph = consumer("d", "web", { MEMORY_MB: 512 }, { VCPU: 2 });
  assert.equal(
    mostFrequentQuery([...CONSUMERS, ceph]),
    "resources=VCPU:2,MEMORY_MB:512&root_required=!COMPUTE_STATUS_DISABLED",
  );
  assert.equal(mostFrequentQuery([]), null);
  assert.equal(mostFrequentQuery([consumer("e", "web")]), null);
});
