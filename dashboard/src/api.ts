// The routes below /insight, as described in the API reference.

export interface Inventory {
  total: number;
  reserved: number;
  min_unit: number;
  max_unit: number;
  step_size: number;
  allocation_ratio: number;
  capacity: number;
  used: number;
}

export interface Provider {
  uuid: string;
  name: string;
  generation: number;
  parent_provider_uuid: string | null;
  root_provider_uuid: string;
  inventories: Record<string, Inventory>;
  traits: string[];
  aggregates: string[];
}

export interface FunnelRow {
  code: string;
  group: string;
  requirement: string;
  lost: number;
  left: number;
  detail?: Record<string, unknown>;
}

export interface Unmet {
  code: string;
  group: string;
  requirement: string;
  resource_class?: string;
  needed?: number;
  free?: number;
  capacity?: number;
  used?: number;
  reserved?: number;
  max_unit?: number;
  provider?: { uuid: string; name: string };
}

export interface NearMiss {
  uuid: string;
  name: string;
  unmet: Unmet[];
}

export interface Remedy {
  change: string;
  query: string;
  requirement?: string;
  instead?: string;
  group?: string;
  resource_class?: string;
  to?: number;
  roots: number;
}

export interface Explanation {
  query: string;
  microversion: string;
  at: string;
  roots: number;
  fits: number;
  funnel: FunnelRow[];
  near_misses: NearMiss[];
  remedies: Remedy[];
  undetermined: string[];
}

export interface RecordedRequest {
  request_id: string;
  global_request_id: string | null;
  at: string;
  kind: "no_candidates" | "refused_claim";
  project_id: string | null;
  user_id: string | null;
  microversion: string;
  query?: string | null;
  claim?: unknown;
  reason: string;
  explanation?: Partial<Explanation> | null;
}

export interface Capacity {
  query: string;
  claims: number;
  roots: number;
  exact: boolean;
  largest: Record<string, number>;
  free: Record<string, number>;
  stranded: Record<string, number>;
  limited_by: Record<string, number>;
  by: ({ claims: number; roots: number } & Record<string, unknown>)[];
}

export interface Consumer {
  uuid: string;
  project_id: string;
  user_id: string;
  type: string | null;
  generation: number;
  created_at: string | null;
  allocations: Record<string, Record<string, number>>;
}

export interface Finding {
  code: string;
  rows: Record<string, unknown>;
  cause: string | null;
  repair: string | null;
}

export interface Changes {
  token: string;
  complete: boolean;
  providers: Provider[];
  removed: string[];
}

// A response that is not 2xx; `status` 0 means that no response arrived.
export class RequestFailed extends Error {
  constructor(
    readonly status: number,
    detail: string,
  ) {
    super(detail);
  }
}

export interface Settings {
  headers: Record<string, string>;
}

const TIMEOUT_MS = 30_000;

export class Api {
  constructor(private readonly settings: Settings) {}

  explanation(query: string): Promise<Explanation> {
    return this.json(`explanation?${withParameter(query, "remedies", "true")}`);
  }

  capacity(query: string): Promise<Capacity> {
    return this.json(`capacity?${withParameter(query, "by", "aggregate")}`);
  }

  requests(parameters: Record<string, string>): Promise<{
    requests: RecordedRequest[];
    next: string | null;
  }> {
    return this.json(`requests?${new URLSearchParams(parameters)}`);
  }

  request(id: string): Promise<{ requests: RecordedRequest[] }> {
    return this.json(`requests/${encodeURIComponent(id)}`);
  }

  consumers(parameters: Record<string, string>): Promise<{
    consumers: Consumer[];
    next: string | null;
  }> {
    return this.json(`consumers?${new URLSearchParams(parameters)}`);
  }

  findings(): Promise<{ findings: Finding[] }> {
    return this.json("findings");
  }

  // Everything without a token; with one, what changed or was removed since.
  async changes(token: string | null): Promise<Changes> {
    const query = token === null ? "" : `?changed_since=${encodeURIComponent(token)}`;
    const response = await this.send(`providers${query}`, "application/x-ndjson");
    return parseChanges(await response.text());
  }

  private async json<T>(path: string): Promise<T> {
    return (await this.send(path, "application/json")).json() as Promise<T>;
  }

  private async send(path: string, accept: string): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(`../${path}`, {
        headers: { Accept: accept, ...this.settings.headers },
        signal: AbortSignal.timeout(TIMEOUT_MS),
        cache: "no-store",
      });
    } catch (error) {
      throw new RequestFailed(0, error instanceof Error ? error.message : String(error));
    }
    if (!response.ok) throw new RequestFailed(response.status, await detailOf(response));
    return response;
  }
}

// The settings of this installation, served beside the page.
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
