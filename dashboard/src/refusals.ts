// The latest refusals, and how many of them came after the operator last looked at the list.

import type { Api } from "./api";
import type { RecordedRequest } from "./documents";

// At most so many records are kept, and counted.
export const MOST_REFUSALS = 20;

export class Refusals {
  error: unknown = null;
  private records: readonly RecordedRequest[] = [];
  private seen: ReadonlyMap<string, number> | null = null;

  constructor(private readonly api: Api) {}

  // Superseded requests and lost races are no refusals.
  get latest(): readonly RecordedRequest[] {
    return this.records.filter((request) => refused(request) > 0);
  }

  // How many refusals are new, empty if none is; those from before the page was opened are not.
  get unseen(): string {
    const { seen } = this;
    if (seen === null) return "";
    const numbers = this.records.map((each) => refused(each) - (seen.get(keyOf(each)) ?? 0));
    const total = numbers.reduce((sum, number) => sum + Math.max(number, 0), 0);
    const isAll = numbers.length === MOST_REFUSALS && numbers.every((number) => number > 0);
    return total === 0 ? "" : `${total}${isAll ? "+" : ""}`;
  }

  async refresh(): Promise<void> {
    try {
      this.records = merged(this.records, (await this.api.requests(this.query())).requests);
      this.error = null;
      if (this.seen === null) this.markSeen();
    } catch (error) {
      this.error = error;
    }
  }

  markSeen(): void {
    this.seen = new Map(this.records.map((request) => [keyOf(request), refused(request)]));
  }

  // Explanations are large: only what is not known yet is read.
  private query(): Record<string, string> {
    const newest = this.records.map((request) => request.last_at).sort().at(-1);
    return { limit: String(MOST_REFUSALS), ...(newest ? { since: newest } : {}) };
  }
}

export function refused(request: RecordedRequest): number {
  return request.kind === "lost_race" ? 0 : request.count - request.superseded;
}

export function keyOf(request: RecordedRequest): string {
  return `${request.request_id} ${request.first_at} ${request.query ?? ""}`;
}

// `newer` has requests of `known` again whose number has grown.
export function merged(
  known: readonly RecordedRequest[],
  newer: readonly RecordedRequest[],
): RecordedRequest[] {
  const keys = new Set(newer.map(keyOf));
  return [...newer, ...known.filter((each) => !keys.has(keyOf(each)))]
    .sort((one, other) => other.last_at.localeCompare(one.last_at))
    .slice(0, MOST_REFUSALS);
}
