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
  RecordedRequest,
  RequestSummary,
  Rooms,
  Survival,
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

export class Api {
  constructor(private readonly settings: Settings) {}

  overview(): Promise<Overview> {
    return this.json("");
  }

  names(): Promise<Names> {
    return this.settings.has_names ? this.json("/names") : Promise.resolve(NO_NAMES);
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

  // Everything without a token; with one, what changed or was removed since.
  async changes(token: string | null): Promise<Changes> {
    const query = token === null ? "" : `?changed_since=${encodeURIComponent(token)}`;
    const response = await this.send(`/providers${query}`, "application/x-ndjson");
    return parseChanges(await response.text());
  }

  private async json<T>(path: string, body?: string): Promise<T> {
    return (await this.send(path, "application/json", body)).json() as Promise<T>;
  }

  private async send(path: string, accept: string, body?: string): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(`../../insight${path}`, {
        headers: { Accept: accept, ...(body && JSON_BODY), ...this.settings.headers },
        ...(body && { method: "POST", body }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
        cache: "no-store",
      });
    } catch {
      throw new RequestFailed(0, "The service does not respond.");
    }
    if (!response.ok) throw new RequestFailed(response.status, await detailOf(response));
    return response;
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

async function detailOf(response: Response): Promise<string> {
  const text = await response.text();
  try {
    return (JSON.parse(text) as ErrorDocument).errors?.[0]?.detail ?? response.statusText;
  } catch {
    return response.statusText;
  }
}
