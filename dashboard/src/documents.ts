// The JSON documents of the routes below /insight, as described in the API reference.

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

// `text` says the same in words.
export interface FunnelRow {
  code: string;
  requirement: string;
  lost: number;
  left: number;
  text: string;
  // Facts about the providers.
  note: string;
  change?: string;
}

export interface Unmet {
  code: string;
  requirement: string;
  text: string;
  // The recorded change since which the requirement is not met.
  change?: string;
}

export interface NearMiss {
  uuid: string;
  name: string;
  unmet: Unmet[];
  // Missing in older records.
  text?: string;
}

export interface Remedy {
  query: string;
  roots: number;
  text: string;
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
  // The groups that the sentences call by a number.
  groups?: { text: string }[];
}

export interface Claim {
  consumer_uuid?: string;
  allocations?: Record<string, { resources: Record<string, number> }>;
  providers?: Record<string, string>;
}

export interface Occurrence {
  at: string;
  request_id: string | null;
  global_request_id: string | null;
  is_superseded: boolean;
}

export interface RecordedRequest {
  request_id: string;
  global_request_id: string | null;
  at: string;
  kind: string;
  project_id: string | null;
  user_id: string | null;
  microversion: string;
  query?: string | null;
  claim?: Claim | null;
  reason: string;
  // The number of equal requests of the hour; the ids and the time are those of the first one, or of the one that was looked up.
  count: number;
  first_at: string;
  last_at: string;
  latest: Occurrence[];
  // How many of them later requests superseded, which found candidates or were accepted.
  superseded: number;
  is_superseded: boolean;
  // A refused claim has the facts of its refusal instead, and a sentence of them.
  explanation?: (Partial<Explanation> & { sentence?: string; [fact: string]: unknown }) | null;
}

// A change that an accepted write made; the ids are null for commands on the database.
export interface RecordedChange {
  at: string;
  request_id: string | null;
  global_request_id: string | null;
  user_id: string | null;
  kind: string;
  after: unknown;
  provider: { uuid: string; name: string } | null;
  consumer: { uuid: string; type: string | null } | null;
  text: string;
}

export interface RecordedChanges {
  // Null if changes are not recorded.
  complete_since: string | null;
  changes: RecordedChange[];
  next: string | null;
}

export interface Count {
  name: string;
  requests: number;
  per_hour: number[];
}

// Recorded requests by the hour, the current one last.
export interface RequestSummary {
  since: string;
  requests: number;
  per_hour: number[];
  reasons: Count[];
  resource_classes: Count[];
  traits: Count[];
  aggregates: Count[];
  projects: Count[];
  // Not among the others: writes that the client repeats.
  races: Count[];
}

// A host with the sums over its tree of one class, and what is free of all classes.
export interface TopHost {
  uuid: string;
  name: string;
  resource_class: string;
  used: number;
  usable: number;
  reserved: number;
  free: Record<string, number>;
  states: string[];
  // Since when a disabled host is so, and by whom; empty if this is not recorded.
  note: string;
}

export interface Top {
  text: string;
  counts: { hosts: number; full: number };
  selected: number;
  hosts: TopHost[];
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

// Of one API host, since it started; zeros without metrics.
export interface Clients {
  candidates: { responses: number; limited: number; roots_left_out: number };
}

export interface Consumer {
  uuid: string;
  project_id: string;
  user_id: string;
  type: string | null;
  generation: number;
  created_at: string | null;
  allocations: Record<string, Record<string, number>>;
  // The names of the providers of the allocations.
  providers: Record<string, string>;
}

// A plan: where the consumers of a tree would fit.
export interface Drain {
  text: string;
  placed: number;
  moves: { consumer: string; to: { uuid: string; name: string }[]; text: string }[];
  stuck: { consumer: string; text: string }[];
}

export interface Rooms {
  text: string;
  rooms: {
    root: { uuid: string; name: string };
    consumers: { uuid: string; to: { uuid: string; name: string } | null }[];
    amount: Record<string, number>;
  }[];
}

// What happens if a host, the hosts of an aggregate, or those with a trait fail.
export interface Outcome {
  domain: string;
  name: string;
  hosts: number;
  consumers: number;
  stuck: number;
  reason: string;
}

export interface Survival {
  text: string;
  domains: number;
  survive: number;
  undetermined: number;
  not: Outcome[];
  unknown: Outcome[];
  // The domains that the time limit left out.
  left_out: string[];
}

export interface Finding {
  code: string;
  severity: "error" | "warning" | "notice";
  rows: Record<string, unknown>;
  cause: string;
  repair: string;
  // The command with which the repair begins; empty if there is none.
  repair_command: string;
}

export interface Changes {
  token: string;
  complete: boolean;
  providers: Provider[];
  removed: string[];
}

export interface Overview {
  release?: string;
  snapshot?: { providers: number };
}

// Names by UUID, as far as nova and keystone list them.
export interface Names {
  aggregates: Record<string, string>;
  projects: Record<string, string>;
  servers: Record<string, string>;
}
