// The title and the icon of the browser tab: what an operator sees of a page in the background.

import type { Status } from "./live";

export interface TabState {
  title: string;
  icon: "icon.svg" | "icon-refusals.svg" | "icon-lost.svg";
}

export function tabOf(state: Status["state"], refusals: string): TabState {
  if (state === "unavailable" || state === "unauthorized") {
    return { title: "Not connected - Placement", icon: "icon-lost.svg" };
  }
  if (refusals === "") return { title: "Placement", icon: "icon.svg" };
  return { title: `(${refusals}) refused - Placement`, icon: "icon-refusals.svg" };
}

export function showInTab({ title, icon }: TabState): void {
  document.title = title;
  document.querySelector("link[rel=icon]")?.setAttribute("href", icon);
}
