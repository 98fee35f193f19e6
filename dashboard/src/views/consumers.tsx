// The consumers of a tree, or of a resource class on all hosts, or the sums of their projects: those
// with the most of a class first.

import { useState } from "preact/hooks";
import type { Root } from "../cloud";
import { classesOf, devicesOf, hostsOf, mostFirst, type Project, projectsOf, sumsOf } from "../consumers";
import type { Consumer } from "../documents";
import { amount, amounts, decimal, ownName, plural } from "../format";
import { Ago, Empty, Failure, Id, Loading, Select, TreeLink } from "../parts";
import { addressOf, addressWith } from "../router";
import { useLoaded, useShared, useTicks } from "../state";
import { number, Table } from "../table";

const FIRST = 1000;
// The service returns no more in one response.
const MOST = 10_000;
const SHOWN = 50;
const INTERVAL_MS = 60_000;

// Who uses a resource class, on all hosts.
export function ConsumersView({ query }: { query: string }) {
  const { live } = useShared();
  const parameters = new URLSearchParams(query);
  const classes = live.cloud.classes();
  const name = parameters.get("class") ?? classes[0] ?? "VCPU";
  const ticks = useTicks(INTERVAL_MS);
  if (live.status.at === null) return <Loading />;
  return (
    <>
      <h1>Who uses {name}?</h1>
      <div class="filters">
        <Select
          label="Class"
          value={name}
          options={classes.includes(name) ? classes : [name, ...classes]}
          onChange={(next) => location.replace(addressWith("consumers", parameters, "class", next))}
        />
      </div>
      <Consumers of={{ resource_class: name }} name={name} version={`${ticks}`} key={name} />
    </>
  );
}

// `of` is a parameter of the route: `in_tree` for a host, `provider` for a device, `resource_class`
// for all hosts, then with the name of the class. The list is loaded again with each `version`.
export function Consumers(props: { of: Record<string, string>; version: string; name?: string }) {
  const { of, version, name } = props;
  const { api } = useShared();
  const [limit, setLimit] = useState(FIRST);
  const { value, error } = useLoaded(`${version} ${limit}`, () =>
    api.consumers({ ...of, limit: String(limit) }),
  );
  return (
    <section aria-labelledby="consumers-title">
      <h2 id="consumers-title">Consumers</h2>
      {error && <Failure error={error} what="The list of consumers" />}
      {value === null && !error && <Empty>Reading the consumers …</Empty>}
      {value?.consumers.length === 0 && <Empty>No consumer has allocations here.</Empty>}
      {value && value.consumers.length > 0 && <Sorted consumers={value.consumers} of={name} />}
      {value?.next && (
        <p class="note">
          <First consumers={value.consumers} of={name} />{" "}
          {limit < MOST && (
            <button type="button" onClick={() => setLimit(MOST)}>
              Read {decimal(MOST)}
            </button>
          )}
        </p>
      )}
    </section>
  );
}

// Which part of the consumers is read, and of the class if the list is of one.
function First({ consumers, of }: { consumers: Consumer[]; of: string | undefined }) {
  const { cloud } = useShared().live;
  const part = `Only the first ${decimal(consumers.length)} consumers by UUID are read`;
  const total = of && cloud.totals().get(of);
  if (!total) return `${part}.`;
  const sum = sumsOf(consumers)[of] ?? 0;
  return `${part}: they use ${amount(of, sum)} of the ${amount(of, total.used)} ${of} in use.`;
}

// Each claim increases the generation of its providers.
export function stateOf(root: Root): string {
  return root.members.map(({ uuid, generation }) => `${uuid} ${generation}`).join();
}

function Sorted({ consumers, of }: { consumers: Consumer[]; of: string | undefined }) {
  const classes = classesOf(consumers);
  const [chosen, setChosen] = useState("");
  const [rows, setRows] = useState("consumers");
  const [count, setCount] = useState(SHOWN);
  const name = of ?? (classes.includes(chosen) ? chosen : (classes[0] as string));
  const sorted = mostFirst(consumers, name, (consumer) => sumsOf([consumer]));
  return (
    <>
      <div class="filters">
        {!of && <Select label="Most" value={name} options={classes} onChange={setChosen} />}
        <Select label="Rows" value={rows} options={["consumers", "projects"]} onChange={setRows} />
      </div>
      {rows === "projects" ? (
        <ProjectTable projects={projectsOf(consumers)} name={name} />
      ) : (
        <ConsumerTable consumers={sorted.slice(0, count)} name={name} hasHosts={of !== undefined} />
      )}
      {rows === "consumers" && sorted.length > count && (
        <p class="pages">
          <button type="button" onClick={() => setCount(sorted.length)}>
            Show all {decimal(sorted.length)}
          </button>
        </p>
      )}
    </>
  );
}

function ProjectTable({ projects, name }: { projects: Project[]; name: string }) {
  const sorted = mostFirst(projects, name, ({ sums }) => sums);
  return (
    <Table
      label={plural(projects.length, "project")}
      columns={["Project", number("Consumers"), number(name), "Allocations"]}
      rows={sorted.map(({ id, consumers, sums }) => ({
        key: id,
        cells: [
          <Id uuid={id} kind="projects" />,
          decimal(consumers),
          amount(name, sums[name] ?? 0),
          amounts(sums),
        ],
      }))}
    />
  );
}

function ConsumerTable(props: { consumers: Consumer[]; name: string; hasHosts: boolean }) {
  const { consumers, name, hasHosts } = props;
  const { cloud } = useShared().live;
  const hasDevices = consumers.some((consumer) => devicesOf(consumer, cloud).length > 0);
  return (
    <Table
      label={plural(consumers.length, "consumer")}
      columns={[
        ...["Consumer", name],
        ...(hasHosts ? ["Host"] : []),
        ...(hasDevices ? ["Devices"] : []),
        ...["Type", "Project", "Since", "Allocations"],
      ]}
      rows={consumers.map((consumer) => ({
        key: consumer.uuid,
        cells: [
          <a href={addressOf("search", consumer.uuid)}>
            <Id uuid={consumer.uuid} kind="servers" />
          </a>,
          amount(name, sumsOf([consumer])[name] ?? 0),
          ...(hasHosts ? [<Links providers={hostsOf(consumer, cloud, name)} />] : []),
          ...(hasDevices ? [<Links providers={devicesOf(consumer, cloud)} />] : []),
          consumer.type ?? "unknown",
          <Id uuid={consumer.project_id} kind="projects" />,
          consumer.created_at ? <Ago at={consumer.created_at} /> : "–",
          amounts(sumsOf([consumer])),
        ],
      }))}
    />
  );
}

// Each provider links to its page; the name of a device is without the name of the host.
function Links({ providers }: { providers: [string, string][] }) {
  const { cloud } = useShared().live;
  const rootOf = (uuid: string) => cloud.nameOf(cloud.providers.get(uuid)?.root_provider_uuid ?? "");
  return (
    <span>
      {providers.map(([uuid, name], index) => (
        <span key={uuid}>
          {index > 0 && ", "}
          <TreeLink uuid={uuid} name={ownName(name, [rootOf(uuid)])} />
        </span>
      ))}
    </span>
  );
}
