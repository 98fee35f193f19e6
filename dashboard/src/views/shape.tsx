// How often a shape can still be claimed and where; if it cannot, why.

import type { Capacity, Explanation } from "../documents";
import { amount, decimal, plural } from "../format";
import { Breakable, Empty, Failure, Id } from "../parts";
import { addressOf } from "../router";
import { FIRST_QUERY } from "../shape";
import { useLoaded, useShared, useTicks } from "../state";
import { number, Table } from "../table";
import { ExplanationPanel } from "./explanation";
import { Room } from "./room";
import { ShapeFields } from "./shape_form";

const INTERVAL_MS = 5_000;

export function ShapeView({ query }: { query: string }) {
  return (
    <>
      <h1>How often does a shape still fit?</h1>
      <p class="note">
        A shape is the request of one more server. Unusable is what is left free when it no longer fits anywhere.
      </p>
      <div class="shape-layout">
        <ShapeFields key={query} query={query || FIRST_QUERY} />
        {query === "" ? (
          <Empty>Describe one future claim, then check where it fits.</Empty>
        ) : (
          <Result query={query} />
        )}
      </div>
    </>
  );
}

interface Checked {
  capacity: Capacity;
  explanation: Explanation | null;
}

function Result({ query }: { query: string }) {
  const { api } = useShared();
  const ticks = useTicks(INTERVAL_MS);
  const { value, error, loading } = useLoaded(`${query} ${ticks}`, async (): Promise<Checked> => {
    const capacity = await api.capacity(query, "aggregate");
    return { capacity, explanation: capacity.claims === 0 ? await api.explanation(query) : null };
  });
  if (error) return <Failure error={error} what="The capacity" />;
  if (value === null) return loading ? <Empty>Counting …</Empty> : null;
  const { capacity, explanation } = value;
  return (
    <section aria-labelledby="result-title" aria-busy={loading}>
      <h2 id="result-title" class="count-title">
        {capacity.claims > 0
          ? `${capacity.exact ? "" : "About "}${plural(capacity.claims, "more claim")} on ${plural(capacity.roots, "host")}`
          : "It does not fit"}
      </h2>
      {capacity.claims > 0 && <Numbers capacity={capacity} />}
      {explanation && <ExplanationPanel explanation={explanation} />}
      {capacity.claims > 0 && (
        <a href={addressOf("cloud", "", `${new URLSearchParams({ shape: query })}`)}>
          Use this shape for “unusable”
        </a>
      )}
      {explanation && <Room query={query} key={query} />}
    </section>
  );
}

function Numbers({ capacity }: { capacity: Capacity }) {
  const names = Object.keys(capacity.largest);
  return (
    <>
      {!capacity.exact && (
        <p class="note">Counted by simulated claims, one after another, within a time limit.</p>
      )}
      <Table
        columns={[
          "Class",
          number("Largest single claim"),
          number("Free"),
          number("Unusable"),
          number("Hosts that it limits"),
        ]}
        rows={names.map((name) => ({
          key: name,
          cells: [
            <Breakable text={name} />,
            amount(name, capacity.largest[name] ?? 0),
            amount(name, capacity.free[name] ?? 0),
            amount(name, capacity.stranded[name] ?? 0),
            decimal(capacity.limited_by[name] ?? 0),
          ],
        }))}
      />
      {capacity.by.length > 0 && <ByAggregate capacity={capacity} />}
    </>
  );
}

function ByAggregate({ capacity }: { capacity: Capacity }) {
  return (
    <Table
      caption="By aggregate: a host in several aggregates is counted in each"
      columns={["Aggregate", number("Claims"), number("Hosts")]}
      rows={capacity.by.toSorted((a, b) => b.claims - a.claims).map((row) => {
        const aggregate = String(row["aggregate"] ?? "");
        return {
          key: aggregate,
          cells: [<Id uuid={aggregate} kind="aggregates" />, decimal(row.claims), decimal(row.roots)],
        };
      })}
    />
  );
}
