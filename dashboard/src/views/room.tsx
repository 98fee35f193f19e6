// Where a shape fits after the fewest consumers moved: computed when a person asks.

import { amounts } from "../format";
import { Asked, Empty, Failure, Id, Sentences, TreeLink } from "../parts";
import { useLoaded, useNameOf, useShared } from "../state";
import { Table } from "../table";

export function Room({ query }: { query: string }) {
  return (
    <Asked title="Would it fit if consumers moved?" button="Find the fewest moves">
      <Found query={query} />
    </Asked>
  );
}

function Found({ query }: { query: string }) {
  const { api } = useShared();
  const nameOf = useNameOf();
  const { value, error } = useLoaded(query, () => api.room(query));
  if (error) return <Failure error={error} what="The moves" />;
  if (value === null) return <Empty>Looking for moves …</Empty>;
  return (
    <>
      <Sentences text={value.text} nameOf={nameOf} />
      {value.rooms.length > 0 && (
        <Table
          columns={["Host", "Consumers that move, and where to", "What they free"]}
          rows={value.rooms.map((room) => ({
            key: room.root.uuid,
            cells: [
              <TreeLink uuid={room.root.uuid} name={room.root.name} />,
              <ul class="moves">
                {room.consumers.map(({ uuid, to }) => (
                  <li key={uuid}>
                    <Id uuid={uuid} kind="servers" />
                    {to && <> → <TreeLink uuid={to.uuid} name={to.name} /></>}
                  </li>
                ))}
              </ul>,
              amounts(room.amount),
            ],
          }))}
        />
      )}
    </>
  );
}
