// The consumers with allocations in a tree, page by page.

import { useState } from "preact/hooks";
import type { Root } from "../cloud";
import type { Consumer } from "../documents";
import { amounts, plural } from "../format";
import { Ago, Empty, Failure, Id } from "../parts";
import { useLoaded, useShared } from "../state";
import { Table } from "../table";

const PAGE = "50";

export function Consumers({ root }: { root: Root }) {
  const { api } = useShared();
  const [markers, setMarkers] = useState<string[]>([]);
  const marker = markers.at(-1);
  const { value, error } = useLoaded(`${stateOf(root)} ${marker}`, () =>
    api.consumers({ in_tree: root.uuid, limit: PAGE, ...(marker ? { marker } : {}) }),
  );
  return (
    <section aria-labelledby="consumers-title">
      <h2 id="consumers-title">Consumers</h2>
      {error && <Failure error={error} what="The list of consumers" />}
      {value?.consumers.length === 0 && <Empty>No consumer has allocations here.</Empty>}
      {value && value.consumers.length > 0 && <ConsumerTable consumers={value.consumers} />}
      <p class="pages">
        {markers.length > 0 && (
          <button type="button" onClick={() => setMarkers(markers.slice(0, -1))}>
            Back
          </button>
        )}
        {value?.next && (
          <button type="button" onClick={() => setMarkers([...markers, value.next as string])}>
            Next
          </button>
        )}
      </p>
    </section>
  );
}

// Each claim increases the generation of its providers.
function stateOf(root: Root): string {
  return root.members.map(({ uuid, generation }) => `${uuid} ${generation}`).join();
}

function ConsumerTable({ consumers }: { consumers: Consumer[] }) {
  return (
    <Table
      label={plural(consumers.length, "consumer")}
      columns={["Consumer", "Type", "Project", "Since", "Allocations"]}
      rows={consumers.map((consumer) => ({
        key: consumer.uuid,
        cells: [
          <Id uuid={consumer.uuid} kind="servers" />,
          consumer.type ?? "unknown",
          <Id uuid={consumer.project_id} kind="projects" />,
          consumer.created_at ? <Ago at={consumer.created_at} /> : "–",
          Object.values(consumer.allocations).map(amounts).join(", "),
        ],
      }))}
    />
  );
}
