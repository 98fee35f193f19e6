// Small pieces that several views use.

import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import type { RequestFailed } from "./api";
import type { Amounts } from "./cloud";
import { FULL_SHARE } from "./cloud";
import type { Names as NamesByKind } from "./documents";
import { ago, amount, dateTime, decimal } from "./format";
import { addressOf, addressWith } from "./router";
import { useLoaded, useNow, useShared } from "./state";

export function Bar({ name, amounts }: { name: string; amounts: Amounts }) {
  const whole = Math.max(amounts.capacity, amounts.used, 1);
  const share = amounts.used / whole;
  const state = amounts.used > amounts.capacity ? " over" : share > FULL_SHARE ? " full" : "";
  const label = `${name}: ${amount(name, amounts.used)} of ${amount(name, amounts.capacity)} used`;
  return (
    <div class={`bar${state}`} role="img" aria-label={label}>
      <div class="bar-used" style={{ width: `${100 * share}%` }} />
    </div>
  );
}

// A name in one line; what does not fit ends with an ellipsis, and the title has all of it.
export function Name({ text, href, whole }: { text: string; href?: string; whole?: string }) {
  return href === undefined ? (
    <span class="name" title={whole ?? text}>
      {text}
    </span>
  ) : (
    <a class="name" title={whole ?? text} href={href}>
      {text}
    </a>
  );
}

export function TreeLink({ uuid, name }: { uuid: string; name: string }) {
  return <Name text={name} href={addressOf("tree", uuid)} />;
}

// A UUID after the name that nova or keystone has for it.
export function Id({ uuid, kind }: { uuid: string; kind: keyof NamesByKind }) {
  const name = useShared().names[kind][uuid];
  return (
    <span class="id">
      {name !== undefined && <Name text={name} />} <span class="uuid">{uuid}</span>
    </span>
  );
}

const AFTER_SEPARATOR = /(?<=[&,;_\s])|(?<==)(?=[0-9a-f]{8}-)/;
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
// Longer pieces may not fit a narrow screen: they end with an ellipsis.
const LONGEST_PIECE = 40;

type NameOf = (uuid: string) => string | undefined;

// A text with queries, traits or names: lines end after separators only, not inside a name. UUIDs
// with names are shown as their names if `nameOf` is given.
export function Breakable({ text, nameOf }: { text: string; nameOf?: NameOf }) {
  return (
    <span>
      {text.split(AFTER_SEPARATOR).flatMap((piece) => [
        <Piece text={piece} nameOf={nameOf} />,
        <wbr />,
      ])}
    </span>
  );
}

// The sentences of a plan: the result, what belongs to it, then why, and what to do next.
export function Sentences(props: { text: string; nameOf?: NameOf; children?: ComponentChildren }) {
  const { text, nameOf, children } = props;
  const [result = "", ...others] = text.split("\n");
  return (
    <>
      <p role="status">
        <Breakable text={result} nameOf={nameOf} />
      </p>
      {children}
      <ul>
        {others.map((line) => (
          <li key={line}>
            <Breakable text={line.trim()} nameOf={nameOf} />
          </li>
        ))}
      </ul>
    </>
  );
}

function Piece({ text, nameOf }: { text: string; nameOf: NameOf | undefined }) {
  const word = text.trimEnd();
  const space = text.slice(word.length);
  const [uuid = ""] = UUID.exec(word) ?? [];
  const name = nameOf?.(uuid);
  if (name !== undefined) {
    return [
      <span class="name" title={uuid}>
        {word.replace(uuid, () => name)}
      </span>,
      space,
    ];
  }
  if (word.length > LONGEST_PIECE) return [<Name text={word} />, space];
  return [<span class={uuid ? "uuid" : "piece"}>{word}</span>, space];
}

export function Ago({ at }: { at: string }) {
  return (
    <time dateTime={at} title={dateTime(at)}>
      {ago(at, useNow().time)}
    </time>
  );
}

export function Failure({ error, what }: { error: RequestFailed; what: string }) {
  return (
    <p class="failure" role="alert">
      {what} cannot be shown. {error.message}
    </p>
  );
}

// Instead of a view without providers: they are read, or why they cannot be read.
export function Loading() {
  const { api, live } = useShared();
  useNow(); // more providers arrive
  const { value } = useLoaded("overview", () => api.overview());
  const { state, detail } = live.status;
  if (state === "loading") {
    const number = decimal(live.received);
    const total = value?.snapshot ? ` of ${decimal(value.snapshot.providers)}` : "";
    return <Empty>Loading the providers: {number}{total} …</Empty>;
  }
  return (
    <p class="failure" role="alert">
      The providers cannot be shown. {detail}
    </p>
  );
}

// A section whose content is computed when a person asks for it.
export function Asked(props: { title: string; button: string; children: ComponentChildren }) {
  const [asked, setAsked] = useState(false);
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{props.title}</h2>
      {asked ? (
        props.children
      ) : (
        <p>
          <button type="button" onClick={() => setAsked(true)}>
            {props.button}
          </button>
        </p>
      )}
    </section>
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
        <li key={name}>
          <Breakable text={name} />
        </li>
      ))}
    </ul>
  );
}

// Links to a view with one value of a parameter, with the count of each value, and to all of them.
export function Choices(props: {
  view: string;
  parameters: URLSearchParams;
  parameter: string;
  all: string;
  counts: readonly (readonly [string, number])[];
  chosen: string;
  show: (value: string) => string;
}) {
  const { view, parameters, parameter, all, counts, chosen, show } = props;
  const link = (value: string) => addressWith(view, parameters, parameter, value);
  return (
    <ul class="choices" aria-label={all}>
      {chosen !== "" && (
        <li>
          <a href={link("")}>{all}</a>
        </li>
      )}
      {counts.map(([value, count]) => (
        <li key={value}>
          <a
            href={link(value)}
            aria-current={value === chosen ? "true" : undefined}
          >
            {show(value)} <span class="count">{decimal(count)}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

export function Select(props: {
  label: string;
  value: string;
  options: readonly string[];
  onChange: (value: string) => void;
}) {
  return (
    <label>
      {props.label}{" "}
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {props.options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  );
}

// The suggestions of fields with `list={id}`.
export function Names({ id, names }: { id: string; names: readonly string[] }) {
  return (
    <datalist id={id}>
      {names.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}
