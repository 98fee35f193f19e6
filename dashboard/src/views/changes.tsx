// What changed, who changed it, and by which request: of the cloud, a host, a consumer, a request.

import {
  addressOfAll,
  addressOfSubject,
  completeness,
  KINDS,
  parametersOf,
  requestOf,
  SPANS,
} from "../changes";
import type { RecordedChange, RecordedChanges } from "../documents";
import { ago, dateTime } from "../format";
import { Breakable, Empty, Failure, Name, Select } from "../parts";
import { addressOf, addressWith, changed } from "../router";
import { useLoaded, useNameOf, useNow, useShared, useTicks } from "../state";
import { Table } from "../table";

const INTERVAL_MS = 5_000;
const LAST = "5";
const SUBJECTS = ["in_tree", "provider", "consumer", "request_id", "project_id"];

export function ChangesView({ query }: { query: string }) {
  const { api } = useShared();
  const nameOf = useNameOf();
  const ticks = useTicks(INTERVAL_MS);
  const address = new URLSearchParams(query);
  const { value, error } = useLoaded(`${query} ${ticks}`, () =>
    api.recordedChanges(parametersOf(address)),
  );
  const subject = SUBJECTS.find((key) => address.has(key));
  const id = address.get(subject ?? "") ?? "";
  const name = nameOf(id);
  return (
    <>
      {subject && (
        <p class="crumbs">
          <a href={addressOf("changes")}>Changes</a> /
        </p>
      )}
      <h1>
        {!subject && "Changes"}
        {subject && (name ? <Name text={name} whole={id} /> : <span class="uuid">{id}</span>)}
      </h1>
      <Filters address={address} />
      {error && <Failure error={error} what="The list of changes" />}
      {value && <Records recorded={value} />}
      {value?.next && (
        <p class="more">
          <a href={addressWith("changes", address, "marker", value.next)}>Next page</a>
        </p>
      )}
    </>
  );
}

// Another selection begins with its first page.
function Filters({ address }: { address: URLSearchParams }) {
  const first = new URLSearchParams(changed(address, "marker", ""));
  const select = (label: string, key: string, options: readonly string[]) => (
    <Select
      label={label}
      value={address.get(key) ?? options[0] ?? ""}
      options={options}
      onChange={(value) => location.assign(addressWith("changes", first, key, value))}
    />
  );
  return (
    <div class="filters">
      {select("Since", "since", SPANS)}
      {select("Kind", "kind", KINDS)}
    </div>
  );
}

// The last changes of a provider, a consumer or a request; loaded again when `version` changes.
export function LastChanges(props: { of: Record<string, string>; version?: string }) {
  const { of, version } = props;
  const { api } = useShared();
  const { value, error } = useLoaded(`${new URLSearchParams(of)} ${version}`, () =>
    api.recordedChanges({ ...of, limit: LAST }),
  );
  return (
    <section aria-labelledby="changes-title">
      <h2 id="changes-title">Last changes</h2>
      {error && <Failure error={error} what="The list of changes" />}
      {value && <Records recorded={value} />}
      {value?.next && (
        <p class="more">
          <a href={addressOfAll(of)}>All changes</a>
        </p>
      )}
    </section>
  );
}

function Records({ recorded: { changes, complete_since } }: { recorded: RecordedChanges }) {
  const note = <Breakable text={completeness(complete_since)} />;
  if (changes.length === 0) return <Empty>No change is recorded. {note}</Empty>;
  return (
    <>
      <ChangeTable changes={changes} />
      <p class="note">{note}</p>
    </>
  );
}

function ChangeTable({ changes }: { changes: RecordedChange[] }) {
  return (
    <Table
      class="changes"
      label="Changes"
      columns={["Change", "Time", "User", "Request"]}
      rows={changes.map((change, index) => ({
        key: `${change.at} ${change.request_id} ${index}`,
        cells: [
          <Sentence change={change} />,
          <Time at={change.at} />,
          <span class="uuid">{change.user_id ?? "–"}</span>,
          <RequestLink id={requestOf(change)} />,
        ],
      }))}
    />
  );
}

function Sentence({ change }: { change: RecordedChange }) {
  const text = <Breakable text={change.text} nameOf={useNameOf()} />;
  const address = addressOfSubject(change);
  return address ? <a href={address}>{text}</a> : text;
}

// The time of the day is what logs are searched for.
function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={ago(at, useNow().time)}>
      {dateTime(at)}
    </time>
  );
}

export function RequestLink({ id }: { id: string | null }) {
  return id === null ? <>–</> : <Name text={id} href={addressOf("requests", id)} />;
}
