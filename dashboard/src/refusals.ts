// The latest refusals, and how many of them came after the operator last looked at the list.

import type { Api } from "./api";
import type { RecordedRequest } from "./documents";

// At most so many are kept, and counted.
export const MOST_REFUSALS = 20;

export class Refusals {
  latest: readonly RecordedRequest[] = [];
  error: unknown = null;
  private seen: ReadonlySet<string> | null = null;

  constructor(private readonly api: Api) {}

  // How many of the latest ones are new; those from before the page was opened are not.
  get unseen(): number {
    const { seen } = this;
    return seen === null ? 0 : this.latest.filter((request) => !seen.has(keyOf(request))).length;
  }

  async refresh(): Promise<void> {
    try {
      this.latest = merged(this.latest, (await this.api.requests(this.query())).requests);
      this.error = null;
      if (this.seen === null) this.markSeen();
    } catch (error) {
      this.error = error;
    }
  }

  markSeen(): void {
    this.seen = new Set(this.latest.map(keyOf));
  }

  // Explanations are large: only what is not known yet is read.
  private query(): Record<string, string> {
    const newest = this.latest[0]?.at;
    return { limit: String(MOST_REFUSALS), ...(newest ? { since: newest } : {}) };
  }
}

export function keyOf(request: RecordedRequest): string {
  return `${request.request_id} ${request.at} ${request.query ?? ""}`;
}

// `newer` may have requests of the last second of `known` again.
export function merged(
  known: readonly RecordedRequest[],
  newer: readonly RecordedRequest[],
): RecordedRequest[] {
  const keys = new Set(newer.map(keyOf));
  return [...newer, ...known.filter((each) => !keys.has(keyOf(each)))].slice(0, MOST_REFUSALS);
}
