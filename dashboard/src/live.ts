// Keeps a Cloud and its history current: reads everything once, then asks for changes every two seconds.

import { type Api, RequestFailed } from "./api";
import { Cloud } from "./cloud";
import { History } from "./history";

export interface Status {
  state: "loading" | "live" | "unauthorized" | "unavailable";
  // When the last complete state was received; null before the first.
  at: Date | null;
  detail: string;
}

const INTERVAL_MS = 2_000;
const HIDDEN_INTERVAL_MS = 10_000;
const LONGEST_WAIT_MS = 8_000;

export class Live {
  readonly cloud = new Cloud();
  readonly history = new History();
  status: Status = { state: "loading", at: null, detail: "" };
  // How many providers of the first state have arrived.
  received = 0;
  private token: string | null = null;
  private failures = 0;

  constructor(
    private readonly api: Api,
    private readonly notify: (cloudChanged: boolean) => void,
  ) {}

  async run(): Promise<never> {
    for (;;) {
      await this.refresh();
      await sleep(this.wait());
    }
  }

  private async refresh(): Promise<void> {
    try {
      const changes = await this.api.changes(this.token, (lines) => this.receive(lines));
      this.cloud.apply(changes);
      this.token = changes.token;
      this.failures = 0;
      this.status = { state: "live", at: new Date(), detail: "" };
      const hasChanged = changes.complete || changes.providers.length + changes.removed.length > 0;
      if (hasChanged) this.history.add(this.cloud.totals(), Date.now());
      this.notify(hasChanged);
    } catch (error) {
      this.failures += 1;
      this.status = { ...statusOf(error), at: this.status.at };
      this.notify(false);
    }
  }

  private receive(lines: number): void {
    if (this.status.at !== null) return;
    this.received = Math.max(0, lines - 1);
    this.notify(true);
  }

  private wait(): number {
    if (this.failures > 0) return Math.min(INTERVAL_MS * 2 ** (this.failures - 1), LONGEST_WAIT_MS);
    return document.hidden ? HIDDEN_INTERVAL_MS : INTERVAL_MS;
  }
}

export function statusOf(error: unknown): Omit<Status, "at"> {
  if (!(error instanceof RequestFailed)) return { state: "unavailable", detail: String(error) };
  if (error.status === 401) {
    return {
      state: "unauthorized",
      detail: "The token is missing or expired. Run: openstack placement dashboard",
    };
  }
  if (error.status === 403) return { state: "unauthorized", detail: error.message };
  if (error.status === 0) return { state: "unavailable", detail: error.message };
  return { state: "unavailable", detail: error.message };
}

// Ends early when the page becomes visible again.
function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
      resolve();
    };
    const onVisible = () => {
      if (!document.hidden) wake();
    };
    const timer = setTimeout(wake, milliseconds);
    document.addEventListener("visibilitychange", onVisible);
  });
}
