// The first hosts of the map, in its order, with amounts.

import type { Amounts, Root } from "../cloud";
import { amount, percent, plural } from "../format";
import { Bar, Empty, TreeLink } from "../parts";
import { bar, number, Table } from "../table";

const ROWS = 12;

export function HostTable({ roots, name }: { roots: Root[]; name: string }) {
  if (roots.length === 0) return <Empty>No host has {name} and matches.</Empty>;
  return (
    <div class="hosts">
      <Table
        label={`Hosts with ${name}`}
        columns={[
          "Host",
          bar("Used share"),
          number("Share"),
          number("Used"),
          number("Capacity"),
          number("Free"),
        ]}
        rows={roots.slice(0, ROWS).map((root) => ({ key: root.uuid, cells: cellsOf(root, name) }))}
      />
      {roots.length > ROWS && (
        <p class="more">
          The first {ROWS} of {plural(roots.length, "host")} in this order. Use Find for others.
        </p>
      )}
    </div>
  );
}

function cellsOf(root: Root, name: string) {
  const amounts = root.amounts.get(name) as Amounts;
  return [
    <>
      <TreeLink uuid={root.uuid} name={root.name} />
      {root.disabled && <span class="tag">disabled</span>}
    </>,
    <Bar name={name} amounts={amounts} />,
    percent(amounts.used, amounts.capacity),
    amount(name, amounts.used),
    amount(name, amounts.capacity),
    root.disabled ? "disabled" : amount(name, amounts.free),
  ];
}
