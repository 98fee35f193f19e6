import assert from "node:assert/strict";
import { test } from "node:test";
import { Api, RequestFailed } from "../src/api";

const SETTINGS = { headers: {}, region: "", has_names: false };
const REFUSED = { status: 503, headers: { "Retry-After": "1" } };

// Respond to requests by these responses, one after another; return the most requests at once.
function respond(...responses: ResponseInit[]): { most: number; count: number } {
  const requests = { most: 0, count: 0 };
  let running = 0;
  globalThis.fetch = (async () => {
    requests.count++;
    requests.most = Math.max(requests.most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 5));
    const response = new Response('{"errors": [{"detail": "why"}]}', responses.shift());
    const text = response.text.bind(response);
    response.text = () => text().finally(() => running--);
    return response;
  }) as typeof fetch;
  return requests;
}

function isFailure(status: number): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof RequestFailed);
    assert.deepEqual([error.status, error.message], [status, "why"]);
    return true;
  };
}

test("at most three requests run at once, until their responses are read", async () => {
  const requests = respond({}, { status: 400 });
  const api = new Api(SETTINGS);
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => api.overview()));
  assert.equal(results.filter((result) => result.status === "fulfilled").length, 19);
  assert.deepEqual(requests, { most: 3, count: 20 });
});

test("a refused request is sent again, three times, after Retry-After", async () => {
  const api = new Api(SETTINGS, 20);
  const requests = respond(REFUSED, REFUSED, REFUSED);
  const began = performance.now();
  await api.overview();
  assert.ok(performance.now() - began > 110);
  assert.equal(requests.count, 4);
  respond(REFUSED, REFUSED, REFUSED, REFUSED);
  await assert.rejects(api.overview(), isFailure(503));
});

test("other errors, and 503 without a Retry-After of some seconds, are final", async () => {
  const api = new Api(SETTINGS, 1);
  const maintenance = { status: 503, headers: { "Retry-After": "3600" } };
  for (const response of [{ status: 400 }, { status: 500 }, { status: 503 }, maintenance]) {
    const requests = respond(response);
    await assert.rejects(api.overview(), isFailure(response.status));
    assert.equal(requests.count, 1);
  }
});

test("a request that does not respond fails", async () => {
  globalThis.fetch = () => Promise.reject(new TypeError());
  await assert.rejects(new Api(SETTINGS).overview(), { status: 0, message: "The service does not respond." });
});

test("a response that is late is not said to be a service that does not respond", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  globalThis.fetch = (_, options) =>
    new Promise((_, reject) => options?.signal?.addEventListener("abort", () => reject(new TypeError())));
  const response = new Api(SETTINGS).overview();
  await Promise.resolve(); // the request begins when its turn comes
  context.mock.timers.tick(30_000);
  await assert.rejects(response, { status: 0, message: "The service has sent nothing for 30 seconds." });
  const plan = new Api(SETTINGS).survival("aggregate");
  await Promise.resolve();
  context.mock.timers.tick(119_999);
  assert.equal(await Promise.race([plan, Promise.resolve("waits")]), "waits");
  context.mock.timers.tick(1);
  await assert.rejects(plan, { status: 0, message: "The service has sent nothing for 120 seconds." });
});

test("the parts of a large response are progress, and no timeout", async () => {
  const lines = ['{"token": "t", "complete": true}', '{"uuid": "ä"}', '{"removed": []}', ""].join("\n");
  const bytes = new TextEncoder().encode(lines);
  globalThis.fetch = () => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    return Promise.resolve(new Response(body));
  };
  const counts = new Set<number>();
  const changes = await new Api(SETTINGS).changes(null, (count) => counts.add(count));
  assert.deepEqual(changes.providers, [{ uuid: "ä" }]);
  assert.deepEqual([...counts], [0, 1, 2, 3]);
});
