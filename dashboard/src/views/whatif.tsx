// Where the consumers of a tree would fit if it was gone: computed when a person asks.

import type { Root } from "../cloud";
import { Asked, Breakable, Empty, Failure, Id, Sentences, TreeLink } from "../parts";
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
      <Sentences text={value.text} nameOf={nameOf} />
      {value.stuck.length > 0 && (
        <Table
          caption="Without another host"
          columns={["Consumer", "What is missing"]}
          rows={value.stuck.slice(0, MOST).map((stuck) => ({
            key: stuck.consumer,
            cells: [<Id uuid={stuck.consumer} kind="servers" />, <Breakable text={stuck.text} nameOf={nameOf} />],
          }))}
        />
      )}
      {value.moves.length > 0 && (
        <Table
          caption={value.moves.length < value.placed ? `The first ${MOST} moves` : "Moves"}
          columns={["Consumer", "To", number("Place in the order"), "Command"]}
          rows={value.moves.map((move, index) => ({
            key: move.consumer,
            cells: [
              <Id uuid={move.consumer} kind="servers" />,
              move.to.flatMap(({ uuid, name }, at) => [
                at > 0 && ", ",
                <TreeLink key={uuid} uuid={uuid} name={name} />,
              ]),
              index + 1,
              <Breakable text={move.text} />,
            ],
          }))}
        />
      )}
    </>
  );
}
