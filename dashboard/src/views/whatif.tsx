// Where the consumers of a tree would fit if it was gone: computed when a person asks.

import type { Root } from "../cloud";
import type { Drain } from "../documents";
import { plural } from "../format";
import { Asked, Breakable, Empty, Failure, Id, TreeLink } from "../parts";
import { useLoaded, useNameOf, useShared } from "../state";
import { number, Table } from "../table";

const MOST = 100;

export function WhatIf({ root }: { root: Root }) {
  return (
    <Asked title="What if this host is gone?" button="Find other hosts for its consumers">
      <Plan root={root} />
    </Asked>
  );
}

function Plan({ root }: { root: Root }) {
  const { api } = useShared();
  const nameOf = useNameOf();
  const { value, error } = useLoaded(root.uuid, () => api.drain(root.uuid, MOST));
  if (error) return <Failure error={error} what="The plan" />;
  if (value === null) return <Empty>Looking for other hosts …</Empty>;
  return (
    <>
      <p role="status">{headline(value)}</p>
      <ul>
        {value.reasons.map((reason) => (
          <li key={reason}>
            <Breakable text={reason} nameOf={nameOf} />
          </li>
        ))}
      </ul>
      {value.stuck.length > 0 && (
        <Table
          caption="Without another host"
          columns={["Consumer", "What is missing"]}
          rows={value.stuck.slice(0, MOST).map((stuck) => ({
            key: stuck.consumer,
            cells: [<Id uuid={stuck.consumer} kind="servers" />, stuck.text],
          }))}
        />
      )}
      {value.moves.length > 0 && (
        <Table
          caption={value.moves.length < value.placed ? `The first ${MOST} moves` : "Moves"}
          columns={["Consumer", "To", number("Place in the order")]}
          rows={value.moves.map((move, index) => ({
            key: move.consumer,
            cells: [
              <Id uuid={move.consumer} kind="servers" />,
              move.to.flatMap(({ uuid, name }, at) => [
                at > 0 && ", ",
                <TreeLink key={uuid} uuid={uuid} name={name} />,
              ]),
              index + 1,
            ],
          }))}
        />
      )}
      <p class="aside">{value.assumes[0]}</p>
    </>
  );
}

const VERDICTS: Record<Drain["verdict"], string> = {
  fits: "",
  does_not_fit: "not all can fit",
  undetermined: "whether all can fit is not determined",
};

export function headline(plan: Drain): string {
  const { consumers, placed, hosts_used, skipped } = plan;
  if (consumers === 0) return "No consumer has to move.";
  const fit = consumers === 1 ? "fits" : "fit";
  const result = `${placed} of ${plural(consumers, "consumer")} ${fit} elsewhere, on ${plural(hosts_used, "host")}`;
  const verdict = VERDICTS[plan.verdict];
  const notPlanned = skipped.length > 0 ? `; ${skipped.length} not planned` : "";
  return `${result}${verdict && `; ${verdict}`}${notPlanned}.`;
}
