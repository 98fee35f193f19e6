// Hosts by their fullest class, as `openstack placement top` lists them: selected by the service.

import type { TopHost } from "../documents";
import { amountOf, amounts, decimal, plural } from "../format";
import { Bar, Breakable, Empty, Failure, Loading, Select, TreeLink } from "../parts";
import { addressWith } from "../router";
import { useLoaded, useSettled, useShared, useTicks } from "../state";
import { bar, Table } from "../table";

const INTERVAL_MS = 30_000;
const ANY = "any";
const FULLEST = "the fullest";
const STATES = ["full", "empty", "fragmented", "disabled", "reserved", "over_capacity"];
const LIMIT = "50";

export function HostsView({ query }: { query: string }) {
  const { live } = useShared();
  const parameters = new URLSearchParams(query);
  const set = (key: string, value: string) =>
    location.replace(addressWith("hosts", parameters, key, value));
  const select = (label: string, key: string, none: string, options: readonly string[]) => (
    <Select
      label={label}
      value={parameters.get(key) ?? none}
      options={[none, ...options]}
      onChange={(value) => set(key, value === none ? "" : value)}
    />
  );
  if (live.status.at === null) return <Loading />;
  return (
    <>
      <h1>Hosts</h1>
      <div class="filters">
        {select("Class", "class", FULLEST, live.cloud.classes())}
        {select("State", "state", ANY, STATES)}
        <label>
          Trait begins with{" "}
          <input
            type="search"
            value={parameters.get("rack") ?? ""}
            spellcheck={false}
            onInput={(event) => set("rack", event.currentTarget.value)}
          />
        </label>
      </div>
      <Listed query={query} set={set} />
    </>
  );
}

function Listed({ query, set }: { query: string; set: (key: string, value: string) => void }) {
  const { api } = useShared();
  const ticks = useTicks(INTERVAL_MS);
  const settled = useSettled(query);
  const { state, ...others } = Object.fromEntries(new URLSearchParams(settled));
  const { value, error } = useLoaded(`${settled} ${ticks}`, () =>
    api.top({ limit: LIMIT, ...others, ...(state && { [state]: "true" }) }),
  );
  if (error) return <Failure error={error} what="The list of hosts" />;
  if (value === null) return <Empty>Reading the hosts …</Empty>;
  return (
    <>
      <div role="status">
        {value.text.split("\n").map((line) => (
          <p key={line}>{line}</p>
        ))}
      </div>
      {value.hosts.length === 0 && <Empty>No host is selected.</Empty>}
      {value.hosts.length > 0 && (
        <Table
          label={plural(value.selected, "host")}
          columns={["Host", bar("Used share"), "Used", "Free", "State"]}
          rows={value.hosts.map((host) => ({ key: host.uuid, cells: cellsOf(host) }))}
        />
      )}
      {value.hosts.length < value.selected && (
        <p class="more">
          The first {value.hosts.length} of {decimal(value.selected)}{" "}
          <button type="button" onClick={() => set("limit", "0")}>
            Show all
          </button>
        </p>
      )}
    </>
  );
}

function cellsOf(host: TopHost) {
  const { resource_class: name, used, usable, reserved, free } = host;
  const left = Object.fromEntries(Object.entries(free).filter(([, value]) => value > 0));
  return [
    <TreeLink uuid={host.uuid} name={host.name} />,
    <Bar name={name} amounts={{ used, capacity: usable, reserved, free: free[name] ?? 0 }} />,
    <>
      <Breakable text={name} /> <span class="piece">{amountOf(name, used, usable)}</span>
    </>,
    <Breakable text={amounts(left) || "nothing"} />,
    <>
      {host.states.map((state) => (
        <span class="tag">{state.replaceAll("_", " ")}</span>
      ))}
      {host.note && (
        <span class="aside">
          <Breakable text={host.note} />
        </span>
      )}
    </>,
  ];
}
