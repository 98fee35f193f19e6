// The consumers with allocations in a tree, or the sums of their projects: those with the most of a class first.

import { useState } from "preact/hooks";
import type { Root } from "../cloud";
import { classesOf, mostFirst, type Project, projectsOf, sumsOf } from "../consumers";
import type { Consumer } from "../documents";
import { amounts, plural } from "../format";
import { Ago, Empty, Failure, Id, Select } from "../parts";
import { addressOf } from "../router";
import { useLoaded, useShared } from "../state";
import { number, Table } from "../table";

const MOST = 1000;
const SHOWN = 50;

export function Consumers({ root }: { root: Root }) {
  const { api } = useShared();
  const { value, error } = useLoaded(stateOf(root), () =>
    api.consumers({ in_tree: root.uuid, limit: String(MOST) }),
  );
  return (
    <section aria-labelledby="consumers-title">
      <h2 id="consumers-title">Consumers</h2>
      {error && <Failure error={error} what="The list of consumers" />}
      {value?.consumers.length === 0 && <Empty>No consumer has allocations here.</Empty>}
      {value && value.consumers.length > 0 && <Sorted consumers={value.consumers} />}
      {value?.next && <p class="note">Only the first {MOST} consumers of the tree are read.</p>}
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
  return (
    <Table
      label={plural(consumers.length, "consumer")}
      columns={["Consumer", "Type", "Project", "Since", "Allocations"]}
      rows={consumers.map((consumer) => ({
        key: consumer.uuid,
        cells: [
          <a href={addressOf("search", consumer.uuid)}>
            <Id uuid={consumer.uuid} kind="servers" />
          </a>,
          consumer.type ?? "unknown",
          <Id uuid={consumer.project_id} kind="projects" />,
          consumer.created_at ? <Ago at={consumer.created_at} /> : "–",
          amounts(sumsOf([consumer])),
        ],
      }))}
    />
  );
}
