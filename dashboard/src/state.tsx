// What every view can reach: the routes, the live cloud, the refusals and the time.

import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { type Api, RequestFailed } from "./api";
import type { Finding, Names } from "./documents";
import type { Live } from "./live";
import type { Refusals } from "./refusals";

export interface Shared {
  api: Api;
  live: Live;
  refusals: Refusals;
  names: Names;
  // Of the audit; null if they are unknown.
  findings: readonly Finding[] | null;
}

const SharedContext = createContext<Shared | null>(null);
export const Provide = SharedContext.Provider;

export function useShared(): Shared {
  const shared = useContext(SharedContext);
  if (shared === null) throw new Error("used outside of the application");
  return shared;
}

// Finds the name of a provider, an aggregate or a server.
export function useNameOf(): (uuid: string) => string | undefined {
  const { live, names } = useShared();
  return (uuid) =>
    live.cloud.providers.get(uuid)?.name ?? names.aggregates[uuid] ?? names.servers[uuid];
}

interface Now {
  // In milliseconds.
  time: number;
  // Increases with each change of the cloud.
  version: number;
}

const NowContext = createContext<Now>({ time: Date.now(), version: 0 });
export const ProvideNow = NowContext.Provider;

// Changes with usage and refusals, and every ten seconds for relative times. Everything else is
// rendered again only if the structure of the cloud changes.
export function useNow(): Now {
  return useContext(NowContext);
}

export interface Loaded<T> {
  value: T | null;
  error: RequestFailed | null;
  loading: boolean;
}

// Loads when `key` changes; keeps the last value while the next one is loading.
export function useLoaded<T>(key: string, load: () => Promise<T>): Loaded<T> {
  const [state, setState] = useState<Loaded<T>>({ value: null, error: null, loading: true });
  useEffect(() => {
    let current = true;
    setState((last) => ({ ...last, loading: true }));
    load().then(
      (value) => current && setState({ value, error: null, loading: false }),
      (error: unknown) => current && setState({ value: null, error: failure(error), loading: false }),
    );
    return () => {
      current = false;
    };
  }, [key]);
  return state;
}

export function failure(error: unknown): RequestFailed {
  return error instanceof RequestFailed ? error : new RequestFailed(0, String(error));
}

// Increases every `milliseconds`, to load again; stands still while the page is hidden, unless
// the tab shows what is loaded. What is old when the page becomes visible is loaded at once.
export function useTicks(milliseconds: number, { hidden = false } = {}): number {
  const [ticks, setTicks] = useState(0);
  useEffect(() => {
    let at = Date.now();
    const tick = () => {
      if ((document.hidden && !hidden) || Date.now() - at < milliseconds / 2) return;
      at = Date.now();
      setTicks((last) => last + 1);
    };
    const timer = setInterval(tick, milliseconds);
    document.addEventListener("visibilitychange", tick);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", tick);
    };
  }, [milliseconds]);
  return ticks;
}

// The value once it has not changed for a moment: what a person types is not looked up by letter.
export function useSettled<T>(value: T, milliseconds = 300): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
