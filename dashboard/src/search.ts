// What a text in the search field finds among the providers, and which lookups it allows.

import type { Cloud } from "./cloud";
import type { Provider } from "./documents";

export const MOST_PROVIDERS = 50;

// Providers by name, UUID or aggregate: exact names and hosts first. One more than the limit is
// enough to know that there are more. `aggregateNames` are by UUID.
export function providersMatching(
  cloud: Cloud,
  text: string,
  aggregateNames: Record<string, string> = {},
): Provider[] {
  const wanted = text.toLowerCase();
  const aggregates = new Set([wanted, ...idsNamed(aggregateNames, text)]);
  const matches: Provider[] = [];
  for (const provider of cloud.providers.values()) {
    if (isMatch(provider, wanted, aggregates)) matches.push(provider);
  }
  const rank = (provider: Provider) =>
    (provider.name.toLowerCase() === wanted ? 0 : 2) +
    (provider.parent_provider_uuid === null ? 0 : 1);
  return matches.sort((a, b) => rank(a) - rank(b)).slice(0, MOST_PROVIDERS + 1);
}

function isMatch(provider: Provider, text: string, aggregates: ReadonlySet<string>): boolean {
  const { name, uuid } = provider;
  return (
    name.toLowerCase().includes(text) ||
    uuid.includes(text) ||
    provider.aggregates.some((aggregate) => aggregates.has(aggregate))
  );
}

const MOST_NAMED = 5;

// The first UUIDs of which the name contains the text.
export function idsNamed(names: Record<string, string>, text: string): string[] {
  const wanted = text.toLowerCase();
  return Object.entries(names)
    .filter(([, name]) => name.toLowerCase().includes(wanted))
    .slice(0, MOST_NAMED)
    .map(([uuid]) => uuid);
}

// Whether the text can be the beginning of a UUID: consumers are listed in this order.
export function isUuidPrefix(text: string): boolean {
  return /^[0-9a-f]{4}[0-9a-f-]{0,32}$/i.test(text);
}

// Whether the text can be a whole id of a request, a project or a user.
export function isId(text: string): boolean {
  return text.startsWith("req-") || /^[0-9a-f-]{32,36}$/i.test(text);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

// The parameter that lists the changes of what has the text as its whole id; null for other texts.
export function subjectOf(cloud: Cloud, text: string): Record<string, string> | null {
  const id = text.toLowerCase();
  if (text.startsWith("req-")) return { request_id: text };
  if (UUID.test(id)) return cloud.providers.has(id) ? { provider: id } : { consumer: id };
  return /^[0-9a-f]{32}$/.test(id) ? { project_id: id } : null;
}

const UUID_LENGTH = 36;

// The marker of the page that begins with the consumers of this prefix: it sorts before them.
export function markerBefore(prefix: string): string {
  return prefix.toLowerCase().slice(0, UUID_LENGTH - 1);
}
