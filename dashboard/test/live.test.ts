import assert from "node:assert/strict";
import { test } from "node:test";
import type { Api } from "../src/api";
import type { RecordedRequest } from "../src/documents";
import { ago, amount, amountOf } from "../src/format";
import { History, polyline, untilNow } from "../src/history";
import { MOST_REFUSALS, Refusals } from "../src/refusals";
import { tabOf } from "../src/tab";
import { NO_TOTALS } from "../src/cloud";
import { share, unusable } from "../src/views/cards";

function refusal(id: string, at = "2026-11-21T02:14:07Z", count = 1): RecordedRequest {
  return {
    request_id: id,
    global_request_id: null,
    at,
    kind: "no_candidates",
    project_id: null,
    user_id: null,
    microversion: "1.39",
    query: "resources=VCPU:1",
    reason: "capacity",
    count,
    first_at: at,
    last_at: at,
    latest: [],
    superseded: 0,
    is_superseded: false,
  };
}

// The routes, with these pages of requests one after another.
function apiWith(...pages: RecordedRequest[][]): { api: Api; queries: Record<string, string>[] } {
  const queries: Record<string, string>[] = [];
  const requests = (query: Record<string, string>) => {
    queries.push(query);
    return Promise.resolve({ requests: pages.shift() ?? [], next: null });
  };
  return { api: { requests } as unknown as Api, queries };
}

test("refusals from before the page was opened are not new, later ones are until seen", async () => {
  const { api, queries } = apiWith([refusal("a")], [refusal("b"), refusal("a")], []);
  const refusals = new Refusals(api);
  await refusals.refresh();
  assert.equal(refusals.unseen, "");
  await refusals.refresh();
  assert.equal(refusals.unseen, "1");
  assert.deepEqual(refusals.latest.map((request) => request.request_id), ["b", "a"]);
  assert.equal(queries[1]?.["since"], "2026-11-21T02:14:07Z");
  refusals.markSeen();
  assert.equal(refusals.unseen, "");
});

test("equal refusals are counted, and superseded ones are none", async () => {
  const superseded = { ...refusal("c"), superseded: 1, is_superseded: true };
  const { api, queries } = apiWith(
    [refusal("a", undefined, 3)],
    [superseded, { ...refusal("a", undefined, 200), last_at: "2026-11-21T02:15:07Z" }],
    [],
  );
  const refusals = new Refusals(api);
  await refusals.refresh();
  await refusals.refresh();
  assert.equal(refusals.unseen, "197");
  assert.deepEqual(refusals.latest.map(({ count }) => count), [200]);
  await refusals.refresh();
  assert.equal(queries[2]?.["since"], "2026-11-21T02:15:07Z");
});

test("more refusals than are kept may be new", async () => {
  const many = Array.from({ length: MOST_REFUSALS }, (_, number) => refusal(String(number)));
  const { api } = apiWith([], many);
  const refusals = new Refusals(api);
  await refusals.refresh();
  await refusals.refresh();
  assert.equal(refusals.unseen, `${MOST_REFUSALS}+`);
});

test("a failure keeps the refusals that are known", async () => {
  const { api } = apiWith([refusal("a")]);
  const refusals = new Refusals(api);
  await refusals.refresh();
  api.requests = () => Promise.reject(new Error("lost"));
  await refusals.refresh();
  assert.equal(refusals.latest.length, 1);
  assert.notEqual(refusals.error, null);
});

test("the tab says what is wrong: the connection first, then new refusals", () => {
  assert.deepEqual(tabOf("live", "", "3 findings", "RegionOne"), { title: "3 findings · RegionOne", icon: "icon.svg" });
  assert.equal(tabOf("live", "3", "Cloud", "RegionOne").title, "(3) refused · RegionOne");
  assert.deepEqual(tabOf("unavailable", "3", "Cloud", "RegionOne"), {
    title: "Not connected · RegionOne",
    icon: "icon-lost.svg",
  });
});

test("the history of a class is thinned, and keeps its first and last point", () => {
  const history = new History();
  const totals = (used: number) =>
    new Map([["VCPU", { capacity: 1000, used, free: 0, reserved: 0, disabled: 0, full: 0, roots: 1 }]]);
  for (let time = 0; time < 1000; time += 1) history.add(totals(time), time);
  const points = history.of("VCPU");
  assert.ok(points.length <= 240);
  assert.deepEqual([points[0]?.at, points.at(-1)?.at], [0, 999]);
});

test("a trend reaches until now, and a small change is a small step", () => {
  const points = untilNow([{ at: 0, share: 0.5 }, { at: 50, share: 0.501 }], 100);
  assert.equal(polyline(points, 100, 10), "0.0,5.5 50.0,4.5 100.0,4.5");
});

test("relative times have one unit", () => {
  const now = Date.parse("2026-11-21T02:14:07Z");
  const texts = ["2026-11-21T02:14:00Z", "2026-11-21T02:00:00Z", "2026-11-20T02:14:07Z", "none"];
  assert.deepEqual(texts.map((text) => ago(text, now)), ["just now", "14 min ago", "1 d ago", "none"]);
});

test("amounts have the unit of their class", () => {
  assert.equal(amount("MEMORY_MB", 0), "0");
  assert.equal(amount("MEMORY_MB", 512), "512 MiB");
  assert.equal(amountOf("DISK_GB", 280, 2048), "0.3 / 2 TiB");
  assert.equal(amountOf("MEMORY_MB", 24 * 1024, 1.5 * 1024 ** 2), "24 GiB / 1.5 TiB");
  assert.equal(amountOf("VCPU", 28, 128), "28 / 128");
});

test("the share of a class that no shown host has is no number", () => {
  const of = (capacity: number, used: number, roots = 1) =>
    share("VCPU", { ...NO_TOTALS, capacity, used, roots });
  assert.equal(of(8, 2), "25 % used");
  assert.equal(of(0, 2), "2 used");
  assert.equal(of(0, 0), "reserved");
  assert.equal(of(0, 0, 0), "none");
});

test("unusable capacity is a part of the free capacity of enabled hosts", () => {
  const totals = { ...NO_TOTALS, free: 10, disabled: 6 };
  assert.equal(unusable(totals, 9), 3);
  assert.equal(unusable(totals, 6), 0);
  assert.equal(unusable(totals, 30), 10);
  assert.equal(unusable(totals), 0);
});
