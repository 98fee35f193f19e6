// The form of a shape. The query field and the form are two views of one request.

import { useMemo, useState } from "preact/hooks";
import { Breakable, Names } from "../parts";
import { addressOf } from "../router";
import {
  emptyGroup,
  formOf,
  type GroupForm,
  hasSeveralGroups,
  queryOf,
  type ShapeForm,
  withoutUrl,
} from "../shape";
import { useShared } from "../state";

export function ShapeFields({ query }: { query: string }) {
  const [form, setForm] = useState(() => formOf(query));
  const [text, setText] = useState(query);
  const change = (next: ShapeForm) => {
    setForm(next);
    setText(queryOf(next));
  };
  const edit = (typed: string) => {
    const next = withoutUrl(typed);
    setForm(formOf(next));
    setText(next);
  };
  return (
    <form
      class="shape"
      onSubmit={(event) => {
        event.preventDefault();
        location.assign(addressOf("shape", "", text));
      }}
    >
      <Groups form={form} onChange={change} />
      <Options form={form} onChange={change} />
      <QueryField text={text} others={form.others} onEdit={edit} />
      <button type="submit" class="primary" disabled={!text.includes("resources")}>
        Check
      </button>
    </form>
  );
}

interface FormProps {
  form: ShapeForm;
  onChange: (form: ShapeForm) => void;
}

function Groups({ form, onChange }: FormProps) {
  const { cloud } = useShared().live;
  const classes = useMemo(() => cloud.classes(), [cloud.structure]);
  const traits = useMemo(() => cloud.traits(), [cloud.structure]);
  const replace = (index: number, ...groups: GroupForm[]) =>
    onChange({ ...form, groups: form.groups.toSpliced(index, 1, ...groups) });
  return (
    <>
      {form.groups.map((group, index) => (
        <GroupFields
          key={group.suffix}
          group={group}
          onChange={(next) => replace(index, next)}
          onRemove={form.groups.length > 1 ? () => replace(index) : null}
        />
      ))}
      <Names id="classes" names={classes} />
      <Names id="traits" names={traits} />
    </>
  );
}

function Options({ form, onChange }: FormProps) {
  const option = (label: string, checked: boolean, change: (checked: boolean) => ShapeForm) => (
    <label>
      <input
        type="checkbox"
        checked={checked}
        onChange={(event) => onChange(change(event.currentTarget.checked))}
      />{" "}
      {label}
    </label>
  );
  return (
    <div class="toolbar">
      <button
        type="button"
        onClick={() => onChange({ ...form, groups: [...form.groups, emptyGroup(nextSuffix(form))] })}
      >
        Add group
      </button>
      {option("only enabled hosts", form.enabledOnly, (enabledOnly) => ({ ...form, enabledOnly }))}
      {hasSeveralGroups(form) &&
        option("each group on a provider of its own", form.policy !== "none", (isolate) => ({
          ...form,
          policy: isolate ? "isolate" : "none",
        }))}
    </div>
  );
}

function nextSuffix(form: ShapeForm): string {
  const taken = new Set(form.groups.map((group) => group.suffix));
  for (let number = 1; ; number += 1) {
    if (!taken.has(String(number))) return String(number);
  }
}

function QueryField(props: { text: string; others: string[]; onEdit: (text: string) => void }) {
  const { text, others, onEdit } = props;
  return (
    <label class="query-field">
      Query
      <textarea
        value={text}
        rows={3}
        spellcheck={false}
        onInput={(event) => onEdit(event.currentTarget.value.replaceAll("\n", ""))}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          event.currentTarget.form?.requestSubmit();
        }}
      />
      {others.length > 0 && (
        <span class="note">
          Edited here, without fields above: <Breakable text={others.join(", ")} />
        </span>
      )}
    </label>
  );
}

function GroupFields(props: {
  group: GroupForm;
  onChange: (group: GroupForm) => void;
  onRemove: (() => void) | null;
}) {
  const { group, onChange, onRemove } = props;
  const title = group.suffix === "" ? "resources" : `group ${group.suffix}`;
  const setRow = (index: number, key: "name" | "amount", value: string) =>
    onChange({
      ...group,
      resources: group.resources.map((row, at) => (at === index ? { ...row, [key]: value } : row)),
    });
  const addRow = () =>
    onChange({ ...group, resources: [...group.resources, { name: "", amount: "" }] });
  const field = (label: string, key: "required" | "forbidden" | "memberOf", list?: string) => (
    <Field
      label={label}
      value={group[key]}
      list={list}
      onEdit={(value) => onChange({ ...group, [key]: value })}
    />
  );
  return (
    <fieldset>
      <legend>{title}</legend>
      {group.resources.map((row, index) => (
        <div class="row" key={index}>
          <Field
            label="Class"
            value={row.name}
            list="classes"
            onEdit={(value) => setRow(index, "name", value)}
          />
          <Field
            label="Amount"
            value={row.amount}
            isNumber
            onEdit={(value) => setRow(index, "amount", value)}
          />
        </div>
      ))}
      <button type="button" onClick={addRow}>
        Add class
      </button>
      <div class="row">
        {field("Required traits", "required", "traits")}
        {field("Forbidden traits", "forbidden", "traits")}
        {field("Aggregates", "memberOf")}
      </div>
      {onRemove && (
        <button type="button" onClick={onRemove}>
          Remove {title}
        </button>
      )}
    </fieldset>
  );
}

function Field(props: {
  label: string;
  value: string;
  list?: string | undefined;
  isNumber?: boolean;
  onEdit: (value: string) => void;
}) {
  return (
    <label>
      {props.label}
      <input
        value={props.value}
        list={props.list}
        inputMode={props.isNumber ? "numeric" : undefined}
        spellcheck={false}
        onInput={(event) => props.onEdit(event.currentTarget.value)}
      />
    </label>
  );
}
