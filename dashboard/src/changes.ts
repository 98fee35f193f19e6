// Recorded changes: what the view lists, and from when on the records are complete.

import type { RecordedChange } from "./documents";
import { dateTime } from "./format";
import { addressOf } from "./router";

const ALL = "all";
export const SPANS = ["24h", "1h", ALL] as const;
export const KINDS = [
  ALL,
  "provider",
  "inventory",
  "traits",
  "aggregates",
  "allocations",
  "class",
  "trait",
  "repair",
] as const;

// The parameters of the route for those of an address; without a time, of the last day.
export function parametersOf(address: URLSearchParams): Record<string, string> {
  const parameters: Record<string, string> = { since: SPANS[0], ...Object.fromEntries(address) };
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== ALL));
}

// The address of all changes of a provider, a consumer or a request.
export function addressOfAll(of: Record<string, string>): string {
  return addressOf("changes", "", new URLSearchParams({ ...of, since: ALL }).toString());
}

export function completeness(since: string | null): string {
  return since === null
    ? "Changes are not recorded: [insight]history_rows is 0."
    : `All changes since ${dateTime(since)} are recorded.`;
}

// The view of what changed: the tree of a provider, or a consumer; null for others.
export function addressOfSubject({ provider, consumer }: RecordedChange): string | null {
  if (provider) return addressOf("tree", provider.uuid);
  return consumer && addressOf("search", consumer.uuid);
}

// The id with which nova and others find the request.
export function requestOf(change: RecordedChange): string | null {
  return change.global_request_id ?? change.request_id;
}
