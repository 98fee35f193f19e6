// Start: settings, then the live cloud, then the view that the address names.

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Api, loadSettings } from "./api";
import { clock } from "./format";
import { Live, type Status } from "./live";
import { type Address, addressOf, parseAddress } from "./router";
import { Provide } from "./state";
import { CloudView } from "./views/cloud";
import { FindingsView } from "./views/findings";
import { RequestsView } from "./views/requests";
import { ShapeView } from "./views/shape";
import { TreeView } from "./views/tree";

const TABS = [
  ["cloud", "Cloud"],
  ["shape", "Shape"],
  ["requests", "Requests"],
  ["findings", "Findings"],
] as const;

function App({ api }: { api: Api }) {
  const [version, setVersion] = useState(0);
  const [status, setStatus] = useState<Status>({ state: "loading", at: null, detail: "" });
  const [live] = useState(
    () =>
      new Live(api, (changed) => {
        setStatus(live.status);
        if (changed) setVersion((last) => last + 1);
      }),
  );
  const address = useAddress();
  useEffect(() => void live.run(), []);
  return (
    <Provide value={{ api, live, version }}>
      <a class="skip" href="#main" onClick={focusMain}>
        Skip to content
      </a>
      <header>
        <span class="brand">Placement</span>
        <nav aria-label="Views">
          {TABS.map(([view, title]) => (
            <a key={view} href={addressOf(view)} aria-current={isCurrent(address, view)}>
              {title}
            </a>
          ))}
        </nav>
        <StatusLine status={status} />
      </header>
      <main id="main" tabIndex={-1}>
        <View address={address} />
      </main>
    </Provide>
  );
}

function focusMain(event: MouseEvent): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function isCurrent(address: Address, view: string): "page" | undefined {
  const shown = address.view === "tree" ? "cloud" : address.view;
  return shown === view ? "page" : undefined;
}

function View({ address }: { address: Address }) {
  switch (address.view) {
    case "tree":
      return <TreeView uuid={address.id} />;
    case "shape":
      return <ShapeView query={address.query} />;
    case "requests":
      return <RequestsView id={address.id} query={address.query} />;
    case "findings":
      return <FindingsView />;
    default:
      return <CloudView query={address.query} />;
  }
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
        </span>
      )}
    </div>
  );
}

function useAddress(): Address {
  const [address, setAddress] = useState(() => parseAddress(location.hash));
  useEffect(() => {
    const follow = () => setAddress(parseAddress(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return address;
}

const container = document.getElementById("app") as HTMLElement;
loadSettings().then(
  (settings) => render(<App api={new Api(settings)} />, container),
  (error: unknown) => {
    container.textContent = `The dashboard cannot start: settings.json: ${String(error)}`;
  },
);
