// A table; on a narrow screen each row becomes an entry of a list, with the names of its columns.
// The roles are given because a table that is displayed as blocks loses its own.

import type { ComponentChildren } from "preact";

interface ColumnOf {
  name: string;
  // numbers are aligned; a bar needs no name in a list
  kind: "number" | "bar";
}

type Column = string | ColumnOf;

export function number(name: string): Column {
  return { name, kind: "number" };
}

export function bar(name: string): Column {
  return { name, kind: "bar" };
}

export interface Row {
  key: string;
  class?: string | undefined;
  // The first one is the header of the row.
  cells: readonly ComponentChildren[];
}

export function Table(props: {
  columns: readonly Column[];
  rows: readonly Row[];
  caption?: string;
  label?: string;
  class?: string;
}) {
  // a screen reader lists tables by their names: else, what the rows are
  const name = props.label ?? props.caption ?? nameOf(props.columns[0] ?? "");
  return (
    <table role="table" class={props.class} aria-label={name}>
      {props.caption && <caption>{props.caption}</caption>}
      <thead role="rowgroup">
        <tr role="row">
          {props.columns.map((column) => (
            <th key={nameOf(column)} role="columnheader" scope="col" class={classOf(column)}>
              {nameOf(column)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {props.rows.map((row) => (
          <tr key={row.key} role="row" class={row.class}>
            {row.cells.map((cell, index) => (
              <Cell key={index} column={props.columns[index] ?? ""} isHeader={index === 0}>
                {cell}
              </Cell>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Cell(props: { column: Column; isHeader: boolean; children: ComponentChildren }) {
  const { column, isHeader, children } = props;
  if (isHeader) {
    return (
      <th role="rowheader" scope="row">
        {children}
      </th>
    );
  }
  return (
    <td role="cell" class={classOf(column)} data-label={nameOf(column)}>
      {children}
    </td>
  );
}

function nameOf(column: Column): string {
  return typeof column === "string" ? column : column.name;
}

function classOf(column: Column): string | undefined {
  return typeof column === "string" ? undefined : column.kind;
}
