// The title and the icon of the browser tab: what an operator sees of a page in the background.

import type { Status } from "./live";
import { MOST_REFUSALS } from "./refusals";

export interface TabState {
  title: string;
  icon: "icon.svg" | "icon-refusals.svg" | "icon-lost.svg";
}

export function tabOf(state: Status["state"], refusals: number): TabState {
  if (state === "unavailable" || state === "unauthorized") {
    return { title: "Not connected - Placement", icon: "icon-lost.svg" };
  }
  if (refusals === 0) return { title: "Placement", icon: "icon.svg" };
  return { title: `(${atMost(refusals)}) refused - Placement`, icon: "icon-refusals.svg" };
}

// Return a count of refusals; beyond the kept ones it is not known.
export function atMost(refusals: number): string {
  return refusals < MOST_REFUSALS ? String(refusals) : `${MOST_REFUSALS}+`;
}

export function showInTab({ title, icon }: TabState): void {
  document.title = title;
  document.querySelector("link[rel=icon]")?.setAttribute("href", icon);
}
