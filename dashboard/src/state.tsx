// What every view can reach: the routes, the live cloud and the address.

import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { type Api, RequestFailed } from "./api";
import type { Live } from "./live";

export interface Shared {
  api: Api;
  live: Live;
  // Increases with each change of the cloud.
  version: number;
}

const SharedContext = createContext<Shared | null>(null);
export const Provide = SharedContext.Provider;

export function useShared(): Shared {
  const shared = useContext(SharedContext);
  if (shared === null) throw new Error("used outside of the application");
  return shared;
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

function failure(error: unknown): RequestFailed {
  return error instanceof RequestFailed ? error : new RequestFailed(0, String(error));
}

// Increases every `milliseconds`, to load again; stands still while the page is hidden.
export function useTicks(milliseconds: number): number {
  const [ticks, setTicks] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setTicks((last) => last + 1);
    }, milliseconds);
    return () => clearInterval(timer);
  }, [milliseconds]);
  return ticks;
}
