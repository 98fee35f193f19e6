// The whole cloud: totals, a heat map of one class, its hosts, the recent refusals.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Cloud, type Root, scarcest } from "../cloud";
import { plural } from "../format";
import { grouped, inOrder, isEverything, isSorted, matching, positionsOf, sorted } from "../hosts";
import { Empty, Loading } from "../parts";
import { type Address, addressWith } from "../router";
import { useNow, useShared } from "../state";
import { Cards } from "./cards";
import { type CloudChoice, choiceOf, Filters } from "./filters";
import { HeatMap } from "./heatmap";
import { HostTable } from "./hosts";
import { Now } from "./now";
import { RecentRefusals } from "./refusals";

// For a screen on a wall: no controls, everything larger.
export function isWallboard({ view, query }: Address): boolean {
  return view === "cloud" && new URLSearchParams(query).has("wallboard");
}

export function CloudView({ query }: { query: string }) {
  const { live } = useShared();
  const { version } = useNow();
  const { structure } = live.cloud;
  const classes = useMemo(() => live.cloud.classes(), [structure]);
  const first = useFirstClass(live.cloud, classes);
  const parameters = new URLSearchParams(query);
  const choice = choiceOf(parameters, first);
  const set = (key: string, value: string) =>
    location.replace(addressWith("cloud", parameters, key, value));
  const isWall = parameters.has("wallboard");
  // usage decides which hosts are full
  const changes = choice.status === "full" ? version : structure;
  const matches = useMemo(() => matching(live.cloud, choice), [changes, keyOf(choice)]);
  useEscape(isWall, () => set("wallboard", ""));
  if (live.status.at === null) {
    // most of the first line does not need the providers
    return (
      <>
        <Now />
        <Loading />
      </>
    );
  }
  if (live.cloud.providers.size === 0) {
    return (
      <Empty>
        There are no resource providers yet. They appear here when a compute service registers its
        first host.
      </Empty>
    );
  }
  return (
    <>
      <h1 class="visually-hidden">Cloud</h1>
      <Now />
      <Cards
        classes={classes}
        matches={isEverything(choice) ? null : matches}
        shape={parameters.get("shape")}
        chosen={choice.className}
        onChoose={(name) => set("class", name)}
      />
      <div class="columns">
        <Hosts choice={choice} matches={matches} classes={classes} set={set} isWall={isWall} />
        <RecentRefusals />
      </div>
      {isWall && (
        <button type="button" onClick={() => set("wallboard", "")}>
          Leave the wallboard (Esc)
        </button>
      )}
    </>
  );
}

// The scarcest class when the page was opened: the view does not change while one looks.
function useFirstClass(cloud: Cloud, classes: string[]): string {
  const first = useRef<string | null>(null);
  if (first.current === null && classes.length > 0) first.current = scarcest(cloud, classes);
  return first.current ?? "VCPU";
}

function Hosts(props: {
  choice: CloudChoice;
  matches: Root[];
  classes: string[];
  set: (key: string, value: string) => void;
  isWall: boolean;
}) {
  const { choice, matches, classes, set, isWall } = props;
  const { names } = useShared();
  const { className } = choice;
  const hosts = useMemo(
    () => matches.filter(({ amounts }) => amounts.has(className)),
    [matches, className],
  );
  const { roots, isStale, sortAgain } = useStableOrder(hosts, choice);
  const pools = roots.filter(({ isPool }) => isPool).length;
  const groups = useMemo(
    () => grouped(roots, choice.by, names.aggregates),
    [roots, choice.by, names],
  );
  return (
    <section aria-labelledby="map-title" class="wide">
      <div class="toolbar">
        <h2 id="map-title">
          {className} on {plural(roots.length - pools, "host")}
          {pools > 0 && ` and ${plural(pools, "shared pool")}`}
        </h2>
        {isStale && (
          <button type="button" onClick={sortAgain}>
            Sort again
          </button>
        )}
        <Filters choice={choice} classes={classes} set={set} />
      </div>
      <HeatMap
        groups={groups}
        name={className}
        isSized={choice.cells === "capacity"}
        isWall={isWall}
      />
      <HostTable key={keyOf(choice)} roots={roots} name={className} />
    </section>
  );
}

function keyOf({ className, text, trait, status, sort }: CloudChoice): string {
  return [className, text, trait, status, sort].join("\n");
}

// Hosts stay where they are while their amounts change, until the operator sorts again.
function useStableOrder(
  hosts: Root[],
  choice: CloudChoice,
): { roots: Root[]; isStale: boolean; sortAgain: () => void } {
  const { version } = useNow();
  const { className, sort } = choice;
  const [sorts, setSorts] = useState(0);
  const kept = useRef({ key: "", positions: new Map<string, number>() });
  const key = `${keyOf(choice)}\n${sorts}`;
  const roots = useMemo(() => {
    const ranked = sorted(hosts, className, sort);
    if (kept.current.key !== key || kept.current.positions.size === 0) {
      kept.current = { key, positions: positionsOf(ranked) };
    }
    return inOrder(ranked, kept.current.positions);
  }, [hosts, key]);
  const isStale = useMemo(() => !isSorted(roots, className, sort), [roots, version]);
  return { roots, isStale, sortAgain: () => setSorts((last) => last + 1) };
}

function useEscape(isActive: boolean, leave: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isActive && event.key === "Escape") leave();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [isActive]);
}
