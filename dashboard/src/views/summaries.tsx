// Refusals of a day, or since a time, by the hour: what they lacked, and who asked.

import type { ComponentChildren } from "preact";
import type { Count, RequestSummary } from "../documents";
import { dateTime, decimal, plural, reason } from "../format";
import { Breakable, Failure, Id } from "../parts";
import { useLoaded, useShared, useTicks } from "../state";
import { bar, number, Table } from "../table";

const INTERVAL_MS = 60_000;
const ROWS = 5;

export function Summaries({ since }: { since: string }) {
  const { api } = useShared();
  const ticks = useTicks(INTERVAL_MS);
  const { value, error } = useLoaded(`${since} ${ticks}`, () =>
    api.summary(since ? { since } : {}),
  );
  if (error) return <Failure error={error} what="The summary" />;
  if (value === null || value.requests === 0) return null;
  return (
    <section aria-labelledby="summary-title">
      <h2 id="summary-title">
        {plural(value.requests, "refusal")} {since ? `since ${dateTime(value.since)}` : "in 24 hours"}
      </h2>
      <div class="summaries">
        <Lists summary={value} />
      </div>
    </section>
  );
}

function Lists({ summary }: { summary: RequestSummary }) {
  const plain = (name: string) => <Breakable text={name} />;
  return (
    <>
      <List title="Reason" counts={summary.reasons} show={reason} />
      <List title="Class" counts={summary.resource_classes} show={plain} />
      <List title="Trait" counts={summary.traits} show={plain} />
      <List
        title="Aggregate"
        counts={summary.aggregates}
        show={(uuid) => <Id uuid={uuid} kind="aggregates" />}
      />
      <List
        title="Project"
        counts={summary.projects}
        show={(id) => <Id uuid={id} kind="projects" />}
      />
      <List title="Lost races, not among the refusals" counts={summary.races} show={reason} />
    </>
  );
}

function List(props: {
  title: string;
  counts: Count[];
  show: (name: string) => ComponentChildren;
}) {
  const { title, counts, show } = props;
  if (counts.length === 0) return null;
  return (
    <Table
      columns={[title, bar("Per hour"), number("Refusals")]}
      rows={counts.slice(0, ROWS).map(({ name, requests, per_hour }) => ({
        key: name,
        cells: [show(name), <Hours counts={per_hour} />, decimal(requests)],
      }))}
    />
  );
}

const HEIGHT = 10;

function Hours({ counts }: { counts: number[] }) {
  const most = Math.max(...counts, 1);
  return (
    <svg
      class="hours"
      viewBox={`0 0 ${counts.length} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${decimal(most)} in the busiest hour`}
    >
      {counts.map((count, hour) => {
        const height = (HEIGHT * count) / most;
        return <rect key={hour} x={hour + 0.1} y={HEIGHT - height} width={0.8} height={height} />;
      })}
    </svg>
  );
}
