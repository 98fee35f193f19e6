// Start: settings, then the live cloud, then the view that the address names.

import { render } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Api, loadSettings, NO_NAMES, type Settings } from "./api";
import type { Finding, Names } from "./documents";
import { errorsOf } from "./findings";
import { Live } from "./live";
import { Refusals } from "./refusals";
import { plural } from "./format";
import { Empty } from "./parts";
import { type Address, addressOf, parseAddress } from "./router";
import { Provide, ProvideNow, type Shared, useLoaded, useTicks } from "./state";
import { showInTab, tabOf } from "./tab";
import { ChangesView } from "./views/changes";
import { CloudView, isWallboard } from "./views/cloud";
import { ConsumersView } from "./views/consumers";
import { FindingsView } from "./views/findings";
import { Header } from "./views/header";
import { RequestsView } from "./views/requests";
import { SearchView } from "./views/search";
import { ShapeView } from "./views/shape";
import { SurvivalView } from "./views/survival";
import { HostsView } from "./views/top";
import { TreeView } from "./views/tree";

const REFUSALS_INTERVAL_MS = 5_000;
const NAMES_INTERVAL_MS = 60_000;
const NOW_INTERVAL_MS = 10_000;

function App({ api, region }: { api: Api; region: string }) {
  const { live, version } = useLive(api);
  const address = useAddress();
  const refusals = useRefusals(api, address.view === "requests");
  const names = useNames(api);
  const findings = useFindings(api);
  const title = titleOf(address, live, findings);
  const { unseen } = refusals;
  const { state, detail } = live.status;
  useEffect(
    () => showInTab(tabOf(state, unseen, title, region || "Placement")),
    [state, unseen, title, region],
  );
  const shared = useMemo(
    () => ({ api, live, refusals, findings, names }),
    [live.cloud.structure, state, detail, findings, names],
  );
  const view = useMemo(() => <View address={address} />, [address]);
  // without changes, only the time of the state is rendered again with each response
  const times = Math.floor(Date.now() / NOW_INTERVAL_MS);
  const now = useMemo(() => ({ time: Date.now(), version }), [version, unseen, times]);
  return (
    <Provide value={shared}>
      <ProvideNow value={now}>
        <a class="skip" href="#main" onClick={focusMain}>
          Skip to content
        </a>
        <div class={isWallboard(address) ? "wallboard" : undefined}>
          <Header address={address} region={region} />
          <main id="main" tabIndex={-1}>
            {view}
          </main>
        </div>
      </ProvideNow>
    </Provide>
  );
}

function focusMain(event: MouseEvent): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function View({ address }: { address: Address }) {
  switch (address.view) {
    case "tree":
      return <TreeView uuid={address.id} />;
    case "hosts":
      return <HostsView query={address.query} />;
    case "shape":
      return <ShapeView query={address.query} />;
    case "requests":
      return <RequestsView id={address.id} query={address.query} />;
    case "consumers":
      return <ConsumersView query={address.query} />;
    case "changes":
      return <ChangesView query={address.query} />;
    case "findings":
      return <FindingsView query={address.query} />;
    case "survival":
      return <SurvivalView query={address.query} />;
    case "search":
      return <SearchView text={address.id} />;
    case "cloud":
      return <CloudView query={address.query} />;
    default:
      return (
        <Empty>
          There is no view {address.view}. <a href={addressOf("cloud")}>Show the cloud</a>
        </Empty>
      );
  }
}

// What the view shows, for the title of the tab.
function titleOf({ view, id }: Address, { cloud }: Live, findings: Shared["findings"]): string {
  if (view === "tree") return cloud.nameOf(id);
  if (view === "findings" && findings !== null) return plural(errorsOf(findings).length, "error");
  return `${view.charAt(0).toUpperCase()}${view.slice(1)}`;
}

const FINDINGS_INTERVAL_MS = 300_000;

// Null if they are unknown; an audit reads whole tables, so it is rare.
function useFindings(api: Api): readonly Finding[] | null {
  const ticks = useTicks(FINDINGS_INTERVAL_MS);
  const { value } = useLoaded(`findings ${ticks}`, () => api.findings());
  return value?.findings ?? null;
}

function useLive(api: Api): { live: Live; version: number } {
  const [version, setVersion] = useState(0);
  const [, setStatus] = useState<Live["status"] | null>(null);
  const [live] = useState(
    () =>
      new Live(api, (changed) => {
        setStatus(live.status);
        if (changed) setVersion((last) => last + 1);
      }),
  );
  useEffect(() => void live.run(), []);
  return { live, version };
}

// Those that the operator sees in the list of requests are no longer new.
function useRefusals(api: Api, areShown: boolean): Refusals {
  const refusals = useMemo(() => new Refusals(api), [api]);
  const [, setReads] = useState(0);
  const ticks = useTicks(REFUSALS_INTERVAL_MS, { hidden: true });
  useEffect(() => {
    void refusals.refresh().then(() => {
      if (areShown && !document.hidden) refusals.markSeen();
      setReads((last) => last + 1);
    });
  }, [ticks, areShown]);
  return refusals;
}

function useNames(api: Api): Names {
  const ticks = useTicks(NAMES_INTERVAL_MS);
  return useLoaded(`names ${ticks}`, () => api.names()).value ?? NO_NAMES;
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
  (settings: Settings) =>
    render(<App api={new Api(settings)} region={settings.region} />, container),
  (error: unknown) => {
    container.textContent = `The dashboard cannot start: settings.json: ${String(error)}`;
  },
);
