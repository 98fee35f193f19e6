// The consumers with allocations in a tree, or the sums of their projects: those with the most of a class first.

import { useState } from "preact/hooks";
import type { Root } from "../cloud";
import { classesOf, devicesOf, mostFirst, type Project, projectsOf, sumsOf } from "../consumers";
import type { Consumer } from "../documents";
import { amounts, ownName, plural } from "../format";
import { Ago, Empty, Failure, Id, Select, TreeLink } from "../parts";
import { addressOf } from "../router";
import { useLoaded, useShared } from "../state";
import { number, Table } from "../table";

const MOST = 1000;
const SHOWN = 50;

// `of` is a parameter of the route: `in_tree` for a host, `provider` for a device.
export function Consumers({ root, of }: { root: Root; of: Record<string, string> }) {
  const { api } = useShared();
  const { value, error } = useLoaded(stateOf(root), () =>
    api.consumers({ ...of, limit: String(MOST) }),
  );
  return (
    <section aria-labelledby="consumers-title">
      <h2 id="consumers-title">Consumers</h2>
      {error && <Failure error={error} what="The list of consumers" />}
      {value?.consumers.length === 0 && <Empty>No consumer has allocations here.</Empty>}
      {value && value.consumers.length > 0 && <Sorted consumers={value.consumers} />}
      {value?.next && <p class="note">Only the first {MOST} consumers are read.</p>}
    </section>
  );
}

// Each claim increases the generation of its providers.
export function stateOf(root: Root): string {
  return root.members.map(({ uuid, generation }) => `${uuid} ${generation}`).join();
}

function Sorted({ consumers }: { consumers: Consumer[] }) {
  const classes = classesOf(consumers);
  const [chosen, setChosen] = useState("");
  const [rows, setRows] = useState("consumers");
  const [count, setCount] = useState(SHOWN);
  const name = classes.includes(chosen) ? chosen : (classes[0] as string);
  const sorted = mostFirst(consumers, name, (consumer) => sumsOf([consumer]));
  return (
    <>
      <div class="filters">
        <Select label="Most" value={name} options={classes} onChange={setChosen} />
        <Select label="Rows" value={rows} options={["consumers", "projects"]} onChange={setRows} />
      </div>
      {rows === "projects" ? (
        <ProjectTable projects={projectsOf(consumers)} name={name} />
      ) : (
        <ConsumerTable consumers={sorted.slice(0, count)} />
      )}
      {rows === "consumers" && sorted.length > count && (
        <p class="pages">
          <button type="button" onClick={() => setCount(sorted.length)}>
            Show all {sorted.length}
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
      columns={["Project", number("Consumers"), "Allocations"]}
      rows={sorted.map(({ id, consumers, sums }) => ({
        key: id,
        cells: [<Id uuid={id} kind="projects" />, consumers, amounts(sums)],
      }))}
    />
  );
}

function ConsumerTable({ consumers }: { consumers: Consumer[] }) {
  const { cloud } = useShared().live;
  const hasDevices = consumers.some((consumer) => devicesOf(consumer, cloud).length > 0);
  return (
    <Table
      label={plural(consumers.length, "consumer")}
      columns={[
        "Consumer",
        ...(hasDevices ? ["Devices"] : []),
        ...["Type", "Project", "Since", "Allocations"],
      ]}
      rows={consumers.map((consumer) => ({
        key: consumer.uuid,
        cells: [
          <a href={addressOf("search", consumer.uuid)}>
            <Id uuid={consumer.uuid} kind="servers" />
          </a>,
          ...(hasDevices ? [<Devices consumer={consumer} />] : []),
          consumer.type ?? "unknown",
          <Id uuid={consumer.project_id} kind="projects" />,
          consumer.created_at ? <Ago at={consumer.created_at} /> : "–",
          amounts(sumsOf([consumer])),
        ],
      }))}
    />
  );
}

// Each device links to its page; names are without the name of the host.
function Devices({ consumer }: { consumer: Consumer }) {
  const { cloud } = useShared().live;
  const rootOf = (uuid: string) => cloud.nameOf(cloud.providers.get(uuid)?.root_provider_uuid ?? "");
  return (
    <span>
      {devicesOf(consumer, cloud).map(([uuid, name], index) => (
        <span key={uuid}>
          {index > 0 && ", "}
          <TreeLink uuid={uuid} name={ownName(name, [rootOf(uuid)])} />
        </span>
      ))}
    </span>
  );
}
