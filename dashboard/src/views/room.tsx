// Where a shape fits after the fewest consumers moved: computed when a person asks.

import type { Rooms } from "../documents";
import { amount, plural } from "../format";
import { Asked, Empty, Failure, Id, TreeLink } from "../parts";
import { useLoaded, useShared } from "../state";
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
  const { value, error } = useLoaded(query, () => api.room(query));
  if (error) return <Failure error={error} what="The moves" />;
  if (value === null) return <Empty>Looking for moves …</Empty>;
  return (
    <>
      <p role="status">{headline(value)}</p>
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
                {!room.minimal && <li class="aside">Perhaps fewer are enough.</li>}
              </ul>,
              Object.entries(room.amount)
                .map(([name, freed]) => `${name} ${amount(name, freed)}`)
                .join(", "),
            ],
          }))}
        />
      )}
      <p class="aside">{value.assumes[0]}</p>
    </>
  );
}

const REASONS: Record<NonNullable<Rooms["reason"]>, string> = {
  nothing_evictable: "No. No consumers may leave.",
  nowhere_to_move: "No. On no host can enough consumers move elsewhere.",
  too_large_for_any_host: "No. It does not fit on an empty host either.",
};

function headline({ fits_now, rooms, reason, undetermined }: Rooms): string {
  if (reason !== null) return REASONS[reason];
  if (fits_now > 0) return "It fits now.";
  const rest = undetermined > 0 ? `; ${plural(undetermined, "more host")} not determined` : "";
  const [first] = rooms;
  if (first === undefined) return `Not found within the time limit${rest}.`;
  const count = first.consumers.length;
  return `Yes, after ${plural(count, "consumer")} ${count === 1 ? "moves" : "move"}${rest}.`;
}
