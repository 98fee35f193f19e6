// The title and the icon of the browser tab: what an operator sees of a page in the background.

import type { Status } from "./live";

export interface TabState {
  title: string;
  icon: "icon.svg" | "icon-refusals.svg" | "icon-lost.svg";
}

// `view` says what the page shows, `cloud` is the region or the name of the program.
export function tabOf(
  state: Status["state"],
  refusals: string,
  view: string,
  cloud: string,
): TabState {
  if (state === "unavailable" || state === "unauthorized") {
    return { title: `Not connected · ${cloud}`, icon: "icon-lost.svg" };
  }
  if (refusals === "") return { title: `${view} · ${cloud}`, icon: "icon.svg" };
  return { title: `(${refusals}) refused · ${cloud}`, icon: "icon-refusals.svg" };
}

export function showInTab({ title, icon }: TabState): void {
  document.title = title;
  document.querySelector("link[rel=icon]")?.setAttribute("href", icon);
}
