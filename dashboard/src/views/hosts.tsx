// The hosts of the map, in its order, page by page, with amounts; and as files.

import { useState } from "preact/hooks";
import type { Amounts, Root } from "../cloud";
import { amount, decimal, percent } from "../format";
import { asCsv, asJson } from "../hosts";
import { Bar, Empty, TreeLink } from "../parts";
import { bar, number, Table } from "../table";

const ROWS = 15;

export function HostTable({ roots, name }: { roots: Root[]; name: string }) {
  const [wanted, setPage] = useState(0);
  const pages = Math.ceil(roots.length / ROWS);
  const page = Math.min(wanted, pages - 1);
  if (roots.length === 0) return <Empty>No host has {name} and matches.</Empty>;
  const first = page * ROWS;
  const shown = roots.slice(first, first + ROWS);
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
        rows={shown.map((root) => ({ key: root.uuid, cells: cellsOf(root, name) }))}
      />
      <p class="more">
        {decimal(first + 1)}–{decimal(first + shown.length)} of {decimal(roots.length)}{" "}
        <button type="button" disabled={page === 0} onClick={() => setPage(page - 1)}>
          Previous
        </button>{" "}
        <button type="button" disabled={page === pages - 1} onClick={() => setPage(page + 1)}>
          Next
        </button>{" "}
        <button type="button" onClick={() => save(`${name}.csv`, "text/csv", asCsv(roots, name))}>
          CSV
        </button>{" "}
        <button
          type="button"
          onClick={() => save(`${name}.json`, "application/json", asJson(roots, name))}
        >
          JSON
        </button>
      </p>
    </div>
  );
}

// The browser stores the text as a file.
function save(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
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
