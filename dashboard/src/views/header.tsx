// The top of the page: views with their counts, search, state of the connection, installation.

import { useEffect, useRef, useState } from "preact/hooks";
import { errorsOf } from "../findings";
import { ago, clock } from "../format";
import type { Status } from "../live";
import { type Address, addressOf } from "../router";
import { useLoaded, useShared } from "../state";

export function Header({ address, region }: { address: Address; region: string }) {
  const { live } = useShared();
  return (
    <header>
      <span class="brand">Placement</span>
      <Installation region={region} />
      <Views address={address} />
      <SearchField address={address} />
      <StatusLine status={live.status} />
    </header>
  );
}

function Views({ address }: { address: Address }) {
  const { refusals, findings } = useShared();
  const current = ["tree", "hosts"].includes(address.view) ? "cloud" : address.view;
  const errors = errorsOf(findings ?? []).length;
  const tab = (view: string, title: string, count = "", of = "") => (
    <a href={addressOf(view)} aria-current={current === view ? "page" : undefined}>
      {title}{" "}
      {count && (
        <span class={`badge ${of}`} title={of}>
          {count}
          <span class="visually-hidden"> {of}</span>
        </span>
      )}
    </a>
  );
  return (
    <nav aria-label="Views">
      {tab("cloud", "Cloud")}
      {tab("shape", "Shape")}
      {tab("survival", "Survival")}
      {tab("requests", "Requests", refusals.unseen, "new refusals")}
      {tab("changes", "Changes")}
      {tab("findings", "Findings", errors > 0 ? String(errors) : "", "errors")}
    </nav>
  );
}

function SearchField({ address }: { address: Address }) {
  const field = useRef<HTMLInputElement>(null);
  const isSearch = address.view === "search";
  const text = isSearch ? address.id : "";
  const [typed, setTyped] = useState(text);
  // the address follows what is typed later: it must not take letters back
  useEffect(() => {
    if (!isSearch || document.activeElement !== field.current) setTyped(text);
  }, [isSearch, text]);
  useSlashKey(() => field.current?.focus());
  const search = (wanted: string) => {
    setTyped(wanted);
    const target = addressOf("search", wanted);
    if (isSearch) location.replace(target);
    else location.assign(target);
  };
  return (
    <form role="search" onSubmit={openFirstResult}>
      <input
        ref={field}
        type="search"
        value={typed}
        aria-label="Search"
        aria-keyshortcuts="/"
        placeholder="Search  /"
        title="Names, UUIDs, consumers, projects, request ids. Key: /"
        spellcheck={false}
        onInput={(event) => search(event.currentTarget.value)}
      />
    </form>
  );
}

function openFirstResult(event: SubmitEvent): void {
  event.preventDefault();
  document.querySelector<HTMLAnchorElement>(".results a")?.click();
}

function useSlashKey(act: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || isField(event.target)) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, select, textarea");
}

const STATES = {
  loading: "Loading",
  live: "Live",
  unauthorized: "Not authorized",
  unavailable: "Not connected",
} as const;

function StatusLine({ status }: { status: Status }) {
  return (
    <div class={`status ${status.state}`}>
      <span class="dot" aria-hidden="true" />
      <span role="status">
        {STATES[status.state]}
        {status.detail && `: ${status.detail}`}
      </span>
      {status.at && (
        <span class="at">
          State of <time>{clock(status.at)}</time>
          {isOld(status.at) && `, ${ago(status.at.toISOString(), Date.now())}`}
        </span>
      )}
    </div>
  );
}

// More than a minute: of a hidden tab, or of a service that does not respond.
function isOld(at: Date): boolean {
  return Date.now() - at.getTime() > 60_000;
}

function Installation({ region }: { region: string }) {
  const { api } = useShared();
  const { value } = useLoaded("overview", () => api.overview());
  const texts = [region, value?.release ?? ""].filter((text) => text !== "");
  if (texts.length === 0) return null;
  return <span class="installation">{texts.join(" · ")}</span>;
}
