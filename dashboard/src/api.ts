// The routes below /insight.

import type {
  Capacity,
  Changes,
  Clients,
  Consumer,
  Drain,
  Explanation,
  Finding,
  Names,
  Overview,
  Provider,
  RecordedChanges,
  RecordedRequest,
  RequestSummary,
  Rooms,
  Survival,
  Top,
} from "./documents";

// A response that is not 2xx; `status` 0 means that no response arrived.
export class RequestFailed extends Error {
  constructor(
    readonly status: number,
    detail: string,
  ) {
    super(detail);
  }
}

// Of this installation; served beside the page.
export interface Settings {
  headers: Record<string, string>;
  region: string;
  // Whether the names of aggregates, projects and servers can be read beside the routes.
  has_names: boolean;
}

export const NO_NAMES: Names = { aggregates: {}, projects: {}, servers: {} };
const JSON_BODY = { "Content-Type": "application/json" };
const TIMEOUT_MS = 30_000;
// These are computed until the time limit of the service, which is one of the processor: on a busy
// machine, 5 seconds of it take 25.
const COMPUTED = /^\/(explanation|capacity|drain|survival|room)\b/;
const COMPUTED_TIMEOUT_MS = 120_000;
// The service has few threads for these routes, and refuses requests beyond with Retry-After.
const MOST_AT_ONCE = 3;
const MOST_ATTEMPTS = 4;
const LONGEST_RETRY_SECONDS = 10;

type Fetched = Pick<Response, "ok" | "status" | "statusText" | "headers"> & { text: string };

export class Api {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  // `second` is the length of a second in milliseconds.
  constructor(
    private readonly settings: Settings,
    private readonly second = 1000,
  ) {}

  overview(): Promise<Overview> {
    return this.json("");
  }

  names(): Promise<Names> {
    return this.settings.has_names ? this.json("/names") : Promise.resolve(NO_NAMES);
  }

  top(parameters: Record<string, string>): Promise<Top> {
    return this.json(`/top?${new URLSearchParams(parameters)}`);
  }

  explanation(query: string): Promise<Explanation> {
    return this.json(`/explanation?${withParameter(query, "remedies", "true")}`);
  }

  capacity(query: string, by: "none" | "aggregate" = "none"): Promise<Capacity> {
    return this.json(`/capacity?${withParameter(query, "by", by)}`);
  }

  requests(parameters: Record<string, string>): Promise<{
    requests: RecordedRequest[];
    next: string | null;
  }> {
    return this.json(`/requests?${new URLSearchParams(parameters)}`);
  }

  summary(parameters: Record<string, string>): Promise<RequestSummary> {
    return this.json(`/requests/summary?${new URLSearchParams(parameters)}`);
  }

  clients(): Promise<Clients> {
    return this.json("/clients");
  }

  request(id: string): Promise<{ requests: RecordedRequest[] }> {
    return this.json(`/requests/${encodeURIComponent(id)}`);
  }

  recordedChanges(parameters: Record<string, string>): Promise<RecordedChanges> {
    return this.json(`/changes?${new URLSearchParams(parameters)}`);
  }

  consumers(parameters: Record<string, string>): Promise<{
    consumers: Consumer[];
    next: string | null;
  }> {
    return this.json(`/consumers?${new URLSearchParams(parameters)}`);
  }

  drain(root: string, limit: number): Promise<Drain> {
    return this.json("/drain", JSON.stringify({ in_tree: [root], limit_moves: limit }));
  }

  // The domains that do not survive a failure.
  survival(by: string): Promise<Survival> {
    return this.json(`/survival?${new URLSearchParams({ by })}`);
  }

  room(query: string): Promise<Rooms> {
    return this.json("/room", JSON.stringify({ query }));
  }

  findings(): Promise<{ at: string; findings: Finding[] }> {
    return this.json("/findings");
  }

  // Everything without a token; with one, what changed or was removed since. `onLines` is called
  // with the number of lines that have arrived.
  async changes(token: string | null, onLines: (count: number) => void): Promise<Changes> {
    const query = token === null ? "" : `?changed_since=${encodeURIComponent(token)}`;
    const path = `/providers${query}`;
    return parseChanges(await this.send(path, "application/x-ndjson", undefined, onLines));
  }

  private async json<T>(path: string, body?: string): Promise<T> {
    return JSON.parse(await this.send(path, "application/json", body)) as T;
  }

  private async send(
    path: string,
    accept: string,
    body?: string,
    onLines?: (count: number) => void,
  ): Promise<string> {
    for (let attempt = 1; ; attempt++) {
      const response = await this.inTurn(() => this.fetched(path, accept, body, onLines));
      if (response.ok) return response.text;
      const seconds = Number(response.headers.get("Retry-After"));
      const isBusy = response.status === 503 && seconds > 0 && seconds <= LONGEST_RETRY_SECONDS;
      if (!isBusy || attempt === MOST_ATTEMPTS) {
        throw new RequestFailed(response.status, detailOf(response));
      }
      // Pages that were refused together do not come back together.
      const pause = 3 ** (attempt - 1) * seconds * (0.5 + Math.random());
      await new Promise((resolve) => setTimeout(resolve, pause * this.second));
    }
  }

  private async inTurn<T>(run: () => Promise<T>): Promise<T> {
    if (this.running < MOST_AT_ONCE) this.running++;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await run();
    } finally {
      const next = this.waiting.shift(); // takes the place
      if (next) next();
      else this.running--;
    }
  }

  private async fetched(
    path: string,
    accept: string,
    body?: string,
    onLines?: (count: number) => void,
  ): Promise<Fetched> {
    const milliseconds = COMPUTED.test(path) ? COMPUTED_TIMEOUT_MS : TIMEOUT_MS;
    const timeout = new Timeout(milliseconds);
    try {
      const response = await fetch(`../../insight${path}`, {
        headers: { Accept: accept, ...(body && JSON_BODY), ...this.settings.headers },
        ...(body && { method: "POST", body }),
        signal: timeout.signal,
        cache: "no-store",
      });
      const { ok, status, statusText, headers } = response;
      const text = onLines ? textOf(response, timeout, onLines) : response.text();
      return { ok, status, statusText, headers, text: await text };
    } catch {
      const late = `The service has sent nothing for ${milliseconds / 1000} seconds.`;
      throw new RequestFailed(0, timeout.signal.aborted ? late : "The service does not respond.");
    } finally {
      timeout.end();
    }
  }
}

// Aborts a request of which nothing arrives for some time.
class Timeout {
  private readonly controller = new AbortController();
  readonly signal = this.controller.signal;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly milliseconds: number) {
    this.restart();
  }

  restart(): void {
    this.end();
    this.timer = setTimeout(() => this.controller.abort(), this.milliseconds);
  }

  end(): void {
    clearTimeout(this.timer);
  }
}

// A large response on a slow network takes minutes: each part of it is progress.
async function textOf(
  response: Response,
  timeout: Timeout,
  onLines: (count: number) => void,
): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let [text, lines] = ["", 0];
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) return text + decoder.decode();
    timeout.restart();
    const part = decoder.decode(value, { stream: true });
    text += part;
    lines += part.split("\n").length - 1;
    onLines(lines);
  }
}

export async function loadSettings(): Promise<Settings> {
  const response = await fetch("settings.json", { cache: "no-store" });
  if (!response.ok) throw new RequestFailed(response.status, response.statusText);
  return (await response.json()) as Settings;
}

// First line: token and completeness; then one provider a line; last line: removed UUIDs.
export function parseChanges(text: string): Changes {
  const lines = text.split("\n").filter((line) => line !== "");
  const head = JSON.parse(lines[0] ?? "{}") as { token: string; complete: boolean };
  const tail = JSON.parse(lines.at(-1) ?? "{}") as { removed?: string[] };
  if (lines.length < 2 || tail.removed === undefined) {
    throw new RequestFailed(0, "The response ended early.");
  }
  const providers = lines.slice(1, -1).map((line) => JSON.parse(line) as Provider);
  return { token: head.token, complete: head.complete, providers, removed: tail.removed };
}

function withParameter(query: string, name: string, value: string): string {
  return query === "" ? `${name}=${value}` : `${query}&${name}=${value}`;
}

interface ErrorDocument {
  errors?: { detail?: string }[];
}

function detailOf(response: Fetched): string {
  try {
    const document = JSON.parse(response.text) as ErrorDocument;
    return document.errors?.[0]?.detail ?? response.statusText;
  } catch {
    return response.statusText;
  }
}
