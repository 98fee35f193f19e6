// Small pieces that several views use.

import type { ComponentChildren } from "preact";
import type { RequestFailed } from "./api";
import type { Amounts } from "./cloud";
import { amount, percent } from "./format";
import { addressOf } from "./router";

export function Bar({ name, amounts }: { name: string; amounts: Amounts }) {
  const whole = Math.max(amounts.capacity, amounts.used, 1);
  const share = (100 * amounts.used) / whole;
  const over = amounts.used > amounts.capacity;
  const label = `${name}: ${amount(name, amounts.used)} of ${amount(name, amounts.capacity)} used`;
  return (
    <div class={`bar${over ? " over" : ""}${share > 95 ? " full" : ""}`} role="img" aria-label={label}>
      <div class="bar-used" style={{ width: `${share}%` }} />
    </div>
  );
}

export function Share({ amounts }: { amounts: Amounts }) {
  return <>{percent(amounts.used, amounts.capacity)}</>;
}

export function TreeLink({ uuid, name }: { uuid: string; name: string }) {
  return <a href={addressOf("tree", uuid)}>{name}</a>;
}

export function Failure({ error, what }: { error: RequestFailed; what: string }) {
  return (
    <p class="failure" role="alert">
      {what} cannot be shown. {error.message}
    </p>
  );
}

type Column = string | { number: string };

// Return the column of a table in which numbers are aligned.
export function number(name: string): Column {
  return { number: name };
}

// A table with a header row; the children are its other rows.
export function Table(props: {
  columns: readonly Column[];
  caption?: string;
  label?: string;
  class?: string;
  children: ComponentChildren;
}) {
  return (
    <table class={props.class} aria-label={props.label}>
      {props.caption && <caption>{props.caption}</caption>}
      <thead>
        <tr>
          {props.columns.map((column) =>
            typeof column === "string" ? (
              <th scope="col">{column}</th>
            ) : (
              <th scope="col" class="number">
                {column.number}
              </th>
            ),
          )}
        </tr>
      </thead>
      <tbody>{props.children}</tbody>
    </table>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

export function Chips({ names, title }: { names: readonly string[]; title: string }) {
  if (names.length === 0) return null;
  return (
    <ul class="chips" aria-label={title}>
      {names.map((name) => (
        <li key={name}>{name}</li>
      ))}
    </ul>
  );
}
