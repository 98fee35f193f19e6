// What is wrong, and what happens, now: errors, refusals, the fullest classes, survival, changes.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { fullest } from "../cloud";
import type { Count, Finding } from "../documents";
import { errorsOf } from "../findings";
import { clock, decimal, percent, plural } from "../format";
import { prefixOf } from "../hosts";
import { addressOf } from "../router";
import { useLoaded, useNow, useShared, useTicks } from "../state";
import { likeliest } from "../survival";

const INTERVAL_MS = 60_000;
const MOST_NAMED = 3;
const MOST_CHANGES = 100;
const SURVIVAL_INTERVAL_MS = 600_000;
// Of more hosts, it takes seconds of a processor: it is computed when a person opens the view.
const MOST_DETERMINED = 1_000;
const HOUR = { since: "1h" };

export function Now() {
  const { findings } = useShared();
  return (
    <ul class="now" aria-label="Now">
      <Errors errors={findings && errorsOf(findings)} />
      <Refused />
      <Fullest />
      <Survives />
      <Changed />
    </ul>
  );
}

function Item(props: { href: string; class?: string; children: ComponentChildren }) {
  return (
    <li class={props.class}>
      <a href={props.href}>{props.children}</a>
    </li>
  );
}

function Errors({ errors }: { errors: readonly Finding[] | null }) {
  if (errors === null) return <Item href={addressOf("findings")}>Errors not determined</Item>;
  if (errors.length === 0) return <Item href={addressOf("findings")}>No errors</Item>;
  const codes = [...new Set(errors.map(({ code }) => code.replaceAll("_", " ")))];
  return (
    <Item href={addressOf("findings")} class="error">
      {plural(errors.length, "error")}: {some(codes)}
    </Item>
  );
}

// Loaded again with each refusal that the page knows.
function Refused() {
  const { api, refusals } = useShared();
  useNow(); // refusals change without it as well
  const newest = refusals.latest.map(({ last_at, count }) => `${last_at} ${count}`)[0];
  const ticks = useTicks(INTERVAL_MS);
  const { value } = useLoaded(`refused ${newest} ${ticks}`, () => api.summary(HOUR));
  if (value === null) return null;
  const since = clock(new Date(value.since)).slice(0, 5);
  const number = value.requests === 0 ? "Nothing" : decimal(value.requests);
  const classes = value.resource_classes.map(({ name, requests }: Count) => `${name} ${requests}`);
  return (
    <Item href={addressOf("requests", "", "since=1h")} class={value.requests > 0 ? "warning" : ""}>
      {number} refused since {since}
      {classes.length > 0 && `: ${some(classes)}`}
    </Item>
  );
}

function Fullest() {
  const { api, live } = useShared();
  useNow(); // usage changes without the structure of the cloud
  const ticks = useTicks(INTERVAL_MS);
  const { value } = useLoaded(`full ${ticks}`, () => api.top({ limit: "1" }));
  const [name] = fullest(live.cloud, live.cloud.classes());
  const totals = name !== undefined && live.cloud.totals().get(name);
  return (
    <>
      {totals && (
        <Item href={addressOf("cloud", "", `class=${name}`)}>
          Fullest: {name} {percent(totals.used, totals.capacity)}
        </Item>
      )}
      {value && (
        <Item href={addressOf("hosts", "", "state=full")}>
          {decimal(value.counts.full)} of {plural(value.counts.hosts, "host")} full
        </Item>
      )}
    </>
  );
}

function Changed() {
  const { api } = useShared();
  const ticks = useTicks(INTERVAL_MS);
  const { value } = useLoaded(`changed ${ticks}`, () =>
    api.recordedChanges({ ...HOUR, limit: String(MOST_CHANGES) }),
  );
  if (value === null || value.complete_since === null) return null;
  const number = value.next === null ? decimal(value.changes.length) : `${MOST_CHANGES} or more`;
  return (
    <Item href={addressOf("changes", "", "since=1h")}>
      {value.changes.length === 0 ? "No" : number} changes in the last hour
    </Item>
  );
}

function Survives() {
  const { api, live } = useShared();
  const by = useMemo(() => likeliest(live.cloud), [live.cloud.structure]);
  const ticks = useTicks(SURVIVAL_INTERVAL_MS);
  const isFast = by !== null && live.cloud.roots.size <= MOST_DETERMINED;
  const { value, loading } = useLoaded(`${by} ${isFast} ${ticks}`, async () =>
    isFast ? await api.survival(by) : null,
  );
  if (by === null || (value === null && loading)) return null;
  const what = by === "aggregate" ? "aggregates" : `${prefixOf(by)}*`;
  return (
    <Item href={addressOf("survival", "", `by=${by}`)}>
      {value === null && "Survival not determined"}
      {value && `${value.survive} of ${value.domains} ${what} survive a failure`}
      {value && value.undetermined > 0 && `, ${value.undetermined} not determined`}
    </Item>
  );
}

function some(texts: readonly string[]): string {
  const rest = texts.length > MOST_NAMED ? ", …" : "";
  return `${texts.slice(0, MOST_NAMED).join(", ")}${rest}`;
}
