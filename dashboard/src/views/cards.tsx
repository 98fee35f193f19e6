// A card for each class: used, free, full hosts, unusable capacity, trend since the page opened.

import { useMemo } from "preact/hooks";
import { NO_TOTALS, type Root, type Totals, totalsOf } from "../cloud";
import { mostFrequentQuery } from "../consumers";
import type { Capacity } from "../documents";
import { amount, clock, decimal, percent, plural } from "../format";
import { polyline, untilNow } from "../history";
import { Bar, Breakable } from "../parts";
import { addressOf } from "../router";
import { FIRST_QUERY } from "../shape";
import { useLoaded, useNow, useShared, useTicks } from "../state";

const CARDS = 6;
const UNUSABLE_INTERVAL_MS = 30_000;
// UUIDs are random: the first consumers are a sample of all.
const SAMPLE = "200";

export function Cards(props: {
  classes: string[];
  // The hosts that the filter leaves; null if there is no filter.
  matches: Root[] | null;
  // The shape of "unusable"; null for the one that most consumers have.
  shape: string | null;
  chosen: string;
  onChoose: (name: string) => void;
}) {
  const { live } = useShared();
  const { version } = useNow();
  const { matches } = props;
  const frequent = useMostFrequent();
  const shape = props.shape ?? frequent;
  const totals = useMemo(
    () => (matches === null ? live.cloud.totals() : totalsOf(matches)),
    [matches, version],
  );
  const ofCloud = useCapacity(shape);
  const capacity = matches === null ? ofCloud : null;
  const inUse = props.classes.filter((name) => live.cloud.totals().get(name)?.used);
  const shown = (inUse.length > 0 ? inUse : props.classes).slice(0, CARDS);
  return (
    <section aria-label="Totals">
      <div class="cards">
        {shown.map((name) => (
          <Card
            key={name}
            name={name}
            totals={totals.get(name) ?? NO_TOTALS}
            hasTrend={matches === null}
            unusable={unusable(totals.get(name) ?? NO_TOTALS, capacity?.stranded[name])}
            isChosen={name === props.chosen}
            onChoose={() => props.onChoose(name)}
          />
        ))}
      </div>
      <Others classes={props.classes.slice(shown.length)} totals={totals} onChoose={props.onChoose} />
      {capacity && (
        <UnusableNote
          shape={capacity.query}
          isFrequent={props.shape === null && frequent !== FIRST_QUERY}
        />
      )}
      {matches && <p class="note">Sums of {plural(matches.length, "host")} that the filter shows.</p>}
    </section>
  );
}

// The classes without a card, in one line: those of which nothing is in use, or the rarest.
function Others(props: {
  classes: string[];
  totals: ReadonlyMap<string, Totals>;
  onChoose: (name: string) => void;
}) {
  const { classes, totals, onChoose } = props;
  if (classes.length === 0) return null;
  return (
    <p class="note others">
      {decimal(classes.length)} more:{" "}
      {classes.map((name) => (
        <button key={name} type="button" onClick={() => onChoose(name)}>
          <Breakable text={name} /> {share(name, totals.get(name) ?? NO_TOTALS)}
        </button>
      ))}
    </p>
  );
}

// A part of what is free: the free amounts of disabled hosts are shown by themselves.
export function unusable({ free, disabled }: Totals, stranded = 0): number {
  return Math.min(Math.max(stranded - disabled, 0), free);
}

// The shape of most consumers; a usual one if there are none, or if they cannot be read.
function useMostFrequent(): string | null {
  const { api } = useShared();
  const { value, error } = useLoaded("consumers", async () => {
    const { consumers } = await api.consumers({ limit: SAMPLE });
    return mostFrequentQuery(consumers) ?? FIRST_QUERY;
  });
  return error === null ? value : FIRST_QUERY;
}

function useCapacity(shape: string | null): Capacity | null {
  const { api } = useShared();
  const ticks = useTicks(UNUSABLE_INTERVAL_MS);
  return useLoaded(`${shape} ${ticks}`, async () => shape && (await api.capacity(shape))).value || null;
}

function Card(props: {
  name: string;
  totals: Totals;
  hasTrend: boolean;
  unusable: number;
  isChosen: boolean;
  onChoose: () => void;
}) {
  const { name, totals } = props;
  return (
    <div class={`card${props.isChosen ? " chosen" : ""}`}>
      <button type="button" class="card-name" aria-pressed={props.isChosen} onClick={props.onChoose}>
        <Breakable text={name} />
      </button>
      <span class="card-share">{share(name, totals)}</span>
      {totals.roots > 0 && <Bar name={name} amounts={totals} />}
      {props.hasTrend && <Trend name={name} />}
      {totals.roots > 0 && <span class="card-free">{amount(name, totals.free)} free</span>}
      {totals.full > 0 && <span class="card-full">{plural(totals.full, "host")} full</span>}
      {props.unusable > 0 && (
        <span class="card-unusable">{amount(name, props.unusable)} unusable</span>
      )}
      {totals.disabled > 0 && (
        <span class="card-disabled">{amount(name, totals.disabled)} on disabled hosts</span>
      )}
      {totals.used > 0 && (
        <a href={addressOf("consumers", "", `class=${name}`)}>
          Consumers<span class="visually-hidden"> of {name}</span>
        </a>
      )}
    </div>
  );
}

// "37 % used", or "none" if none of the hosts have the class.
export function share(name: string, { capacity, used, roots }: Totals): string {
  if (capacity > 0) return `${percent(used, capacity)} used`;
  if (used > 0) return `${amount(name, used)} used`;
  return roots > 0 ? "reserved" : "none";
}

const [WIDTH, HEIGHT] = [100, 16];

function Trend({ name }: { name: string }) {
  const points = untilNow(useShared().live.history.of(name), useNow().time);
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return null;
  const [from, to] = [first, last].map(({ share }) => percent(share, 1));
  return (
    <svg
      class="trend"
      viewBox={`0 -1 ${WIDTH} ${HEIGHT + 2}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${from} used at ${clock(new Date(first.at))}, ${to} now`}
    >
      <polygon points={`${polyline(points, WIDTH, HEIGHT)} ${WIDTH},${HEIGHT} 0,${HEIGHT}`} />
      <polyline points={polyline(points, WIDTH, HEIGHT)} />
    </svg>
  );
}

// The one meaning of "unusable", on this page and in `openstack resource capacity show`.
function UnusableNote({ shape, isFrequent }: { shape: string; isFrequent: boolean }) {
  return (
    <p class="note shape-note">
      Unusable: left over when{" "}
      <a class="query" href={addressOf("shape", "", shape)}>
        <Breakable text={shape} />
      </a>
      {isFrequent && ", the most frequent shape of consumers,"} is claimed as often as it fits.
    </p>
  );
}
