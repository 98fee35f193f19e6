// How often a shape can still be claimed and where; if it cannot, why.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Capacity, Explanation } from "../api";
import { amount, decimal, plural } from "../format";
import { Empty, Failure, Table, number } from "../parts";
import { addressOf } from "../router";
import { emptyGroup, formOf, type GroupForm, isEmpty, queryOf, type ShapeForm } from "../shape";
import { useLoaded, useShared } from "../state";
import { ExplanationPanel } from "./explanation";

const FIRST: ShapeForm = {
  groups: [
    {
      ...emptyGroup(""),
      resources: [
        { name: "VCPU", amount: "4" },
        { name: "MEMORY_MB", amount: "8192" },
      ],
    },
  ],
  isolate: true,
};

export function ShapeView({ query }: { query: string }) {
  return (
    <>
      <h1>How often does a shape still fit?</h1>
      <div class="shape-layout">
        <Form key={query} query={query} />
        {query === "" ? (
          <Empty>Describe one future claim, then check where it fits.</Empty>
        ) : (
          <Result query={query} />
        )}
      </div>
    </>
  );
}

function Form({ query }: { query: string }) {
  const { live, version } = useShared();
  const parsed = query === "" ? FIRST : formOf(query);
  const [form, setForm] = useState(parsed ?? FIRST);
  const [text, setText] = useState(query === "" ? queryOf(FIRST) : query);
  const classes = useMemo(() => live.cloud.classes(), [version]);
  const traits = useMemo(() => live.cloud.traits(), [version]);
  useEffect(() => setText(query === "" ? queryOf(FIRST) : query), [query]);
  const change = (next: ShapeForm) => {
    setForm(next);
    setText(queryOf(next));
  };
  const setGroup = (index: number, group: GroupForm) =>
    change({ ...form, groups: form.groups.map((old, at) => (at === index ? group : old)) });
  return (
    <form
      class="shape"
      onSubmit={(event) => {
        event.preventDefault();
        location.assign(addressOf("shape", "", text));
      }}
    >
      {parsed !== null &&
        form.groups.map((group, index) => (
          <GroupFields
            key={index}
            group={group}
            onChange={(next) => setGroup(index, next)}
            onRemove={
              form.groups.length > 1
                ? () => change({ ...form, groups: form.groups.filter((_, at) => at !== index) })
                : null
            }
          />
        ))}
      <Names id="classes" names={classes} />
      <Names id="traits" names={traits} />
      <div class="toolbar">
        <button
          type="button"
          onClick={() => change({ ...form, groups: [...form.groups, emptyGroup(nextSuffix(form))] })}
        >
          Add group
        </button>
        {form.groups.filter((group) => group.suffix !== "").length > 1 && (
          <label>
            <input
              type="checkbox"
              checked={form.isolate}
              onChange={(event) => change({ ...form, isolate: event.currentTarget.checked })}
            />{" "}
            each group on a provider of its own
          </label>
        )}
      </div>
      <label class="query-field">
        Query
        <input
          type="text"
          value={text}
          spellcheck={false}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary" disabled={text === "" || (text === queryOf(form) && isEmpty(form))}>
        Check
      </button>
    </form>
  );
}

function nextSuffix(form: ShapeForm): string {
  const taken = new Set(form.groups.map((group) => group.suffix));
  for (let number = 1; ; number += 1) {
    if (!taken.has(String(number))) return String(number);
  }
}

function Names({ id, names }: { id: string; names: string[] }) {
  return (
    <datalist id={id}>
      {names.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}

function GroupFields(props: {
  group: GroupForm;
  onChange: (group: GroupForm) => void;
  onRemove: (() => void) | null;
}) {
  const { group, onChange, onRemove } = props;
  const setRow = (index: number, key: "name" | "amount", value: string) =>
    onChange({
      ...group,
      resources: group.resources.map((row, at) => (at === index ? { ...row, [key]: value } : row)),
    });
  const field = (label: string, key: "required" | "forbidden" | "memberOf", list?: string) => (
    <label>
      {label}
      <input
        value={group[key]}
        list={list}
        spellcheck={false}
        onInput={(event) => onChange({ ...group, [key]: event.currentTarget.value })}
      />
    </label>
  );
  return (
    <fieldset>
      <legend>{group.suffix === "" ? "Resources" : `Group ${group.suffix}`}</legend>
      {group.resources.map((row, index) => (
        <div class="row" key={index}>
          <label>
            Class
            <input
              value={row.name}
              list="classes"
              spellcheck={false}
              onInput={(event) => setRow(index, "name", event.currentTarget.value)}
            />
          </label>
          <label>
            Amount
            <input
              value={row.amount}
              type="number"
              min="1"
              onInput={(event) => setRow(index, "amount", event.currentTarget.value)}
            />
          </label>
        </div>
      ))}
      <button
        type="button"
        onClick={() =>
          onChange({ ...group, resources: [...group.resources, { name: "", amount: "" }] })
        }
      >
        Add class
      </button>
      <div class="row">
        {field("Required traits", "required", "traits")}
        {field("Forbidden traits", "forbidden", "traits")}
        {field("Aggregates", "memberOf")}
      </div>
      {onRemove && (
        <button type="button" onClick={onRemove}>
          Remove group {group.suffix}
        </button>
      )}
    </fieldset>
  );
}

interface Checked {
  capacity: Capacity;
  explanation: Explanation | null;
}

function Result({ query }: { query: string }) {
  const { api, version } = useShared();
  const { value, error, loading } = useLoaded(`${query} ${version}`, async (): Promise<Checked> => {
    const capacity = await api.capacity(query);
    return { capacity, explanation: capacity.claims === 0 ? await api.explanation(query) : null };
  });
  if (error) return <Failure error={error} what="The capacity" />;
  if (value === null) return loading ? <Empty>Counting …</Empty> : null;
  const { capacity, explanation } = value;
  return (
    <section aria-labelledby="result-title" aria-busy={loading}>
      <h2 id="result-title" class="count-title">
        {capacity.claims > 0
          ? `${capacity.exact ? "" : "About "}${plural(capacity.claims, "more claim")} on ${plural(capacity.roots, "root")}`
          : "It does not fit"}
      </h2>
      {capacity.claims > 0 && <Numbers capacity={capacity} />}
      {explanation && <ExplanationPanel explanation={explanation} />}
    </section>
  );
}

function Numbers({ capacity }: { capacity: Capacity }) {
  const names = Object.keys(capacity.largest);
  return (
    <>
      {!capacity.exact && (
        <p class="note">Counted by simulated claims, one after another, within a time limit.</p>
      )}
      <Table
        columns={[
          "Class",
          number("Largest single claim"),
          number("Free"),
          number("Stranded"),
          number("Roots that it limits"),
        ]}
      >
        {names.map((name) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td class="number">{amount(name, capacity.largest[name] ?? 0)}</td>
            <td class="number">{amount(name, capacity.free[name] ?? 0)}</td>
            <td class="number">{amount(name, capacity.stranded[name] ?? 0)}</td>
            <td class="number">{decimal(capacity.limited_by[name] ?? 0)}</td>
          </tr>
        ))}
      </Table>
      {capacity.by.length > 0 && (
        <Table columns={["Aggregate", number("Claims"), number("Roots")]}>
          {capacity.by.map((row, index) => (
            <tr key={index}>
              <th scope="row" class="uuid">
                {String(row["aggregate"] ?? "no aggregate")}
              </th>
              <td class="number">{decimal(row.claims)}</td>
              <td class="number">{decimal(row.roots)}</td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}
