// Whether everything in an aggregate or a rack fits elsewhere if it fails, as a map.

import { useMemo } from "preact/hooks";
import type { Outcome } from "../documents";
import { decimal, plural } from "../format";
import { Breakable, Empty, Failure, Loading, Name, Select, Sentences } from "../parts";
import { addressOf, addressWith } from "../router";
import { useLoaded, useShared } from "../state";
import { groupings, outcomesOf, type Verdict } from "../survival";
import { number, Table } from "../table";

const SIGNS: Record<Verdict, string> = { fits: "✓", does_not_fit: "✕", undetermined: "?" };
const WORDS: Record<Verdict, string> = {
  fits: "survives",
  does_not_fit: "does not survive",
  undetermined: "not determined",
};

export function SurvivalView({ query }: { query: string }) {
  const { live } = useShared();
  const options = useMemo(() => groupings(live.cloud), [live.cloud.structure]);
  const parameters = new URLSearchParams(query);
  const by = parameters.get("by") ?? options[0] ?? "aggregate";
  if (live.status.at === null) return <Loading />;
  return (
    <>
      <h1>What survives a failure?</h1>
      <p class="note">
        What fails at once are the hosts of an aggregate, or with a trait such as their rack. They survive
        if everything on them fits on other hosts.
      </p>
      <div class="filters">
        <Select
          label="Fails at once"
          value={by}
          options={options.includes(by) ? options : [by, ...options]}
          onChange={(next) => location.replace(addressWith("survival", parameters, "by", next))}
        />
      </div>
      <Outcomes by={by} key={by} />
    </>
  );
}

function Outcomes({ by }: { by: string }) {
  const { api, live, names } = useShared();
  const { value, error } = useLoaded(by, () => api.survival(by));
  if (error) return <Failure error={error} what="Survival" />;
  if (value === null) return <Empty>Looking for other hosts …</Empty>;
  const outcomes = outcomesOf(live.cloud, by, value, names.aggregates);
  const labels = new Map(outcomes.map(({ id, label }) => [id, label]));
  const nameOf = (id: string) => (by === "aggregate" ? labels.get(id) : undefined) ?? id;
  return (
    <>
      <Sentences text={value.text} nameOf={nameOf}>
        <ul class={`domains ${by}`} aria-label="Outcomes">
          {outcomes.map(({ id, label, hosts, verdict }) => (
            <li key={id} class={verdict}>
              <span aria-hidden="true">{SIGNS[verdict]}</span>
              <span class="visually-hidden">{WORDS[verdict]}: </span>
              <Name text={label} whole={id} href={linkOf(by, id)} />
              <span class="aside">{plural(hosts, "host")}</span>
            </li>
          ))}
        </ul>
      </Sentences>
      <Failures outcomes={[...value.not, ...value.unknown]} nameOf={nameOf} />
    </>
  );
}

function linkOf(by: string, id: string): string {
  if (by === "aggregate") return addressOf("search", id);
  return addressWith("cloud", new URLSearchParams(), "trait", id);
}

function Failures(props: { outcomes: Outcome[]; nameOf: (id: string) => string }) {
  if (props.outcomes.length === 0) return null;
  return (
    <Table
      caption="Consumers without another host"
      columns={["Fails at once", number("Hosts"), number("Consumers"), number("Without a host"), "Reason"]}
      rows={props.outcomes.map(({ domain, hosts, consumers, stuck, reason }) => ({
        key: domain,
        cells: [
          <Name text={props.nameOf(domain)} whole={domain} />,
          decimal(hosts),
          decimal(consumers),
          decimal(stuck),
          <Breakable text={reason} nameOf={props.nameOf} />,
        ],
      }))}
    />
  );
}
