// What the cloud view shows, as fields; the address keeps it.

import { useMemo } from "preact/hooks";
import { type HostStatus, type Selection, SORTS, type Sort, STATUSES } from "../hosts";
import { Names, Select } from "../parts";
import { useShared } from "../state";
import { groupings } from "../survival";

const NONE = "none";
const CELLS = ["equal", "capacity"] as const;

export interface CloudChoice extends Selection {
  sort: Sort;
  // "none", "aggregate", or "root_trait:" with the beginning of traits.
  by: string;
  cells: (typeof CELLS)[number];
}

export function choiceOf(parameters: URLSearchParams, firstClass: string): CloudChoice {
  const one = <T extends string>(key: string, options: readonly T[]) =>
    options.find((option) => option === parameters.get(key)) ?? (options[0] as T);
  return {
    className: parameters.get("class") ?? firstClass,
    text: parameters.get("find") ?? "",
    trait: parameters.get("trait") ?? "",
    status: one<HostStatus>("status", STATUSES),
    sort: one("sort", SORTS),
    by: parameters.get("by") ?? NONE,
    cells: one("cells", CELLS),
  };
}

export function Filters(props: {
  choice: CloudChoice;
  classes: string[];
  set: (key: string, value: string) => void;
}) {
  const { choice, classes, set } = props;
  const { cloud } = useShared().live;
  const traits = useMemo(() => cloud.traits(), [cloud.structure]);
  const groups = useMemo(() => groupings(cloud), [cloud.structure]);
  const select = (label: string, key: string, value: string, options: readonly string[]) => (
    <Select label={label} value={value} options={options} onChange={(next) => set(key, next)} />
  );
  const field = (label: string, key: string, value: string, list?: string) => (
    <label>
      {label}{" "}
      <input
        type="search"
        value={value}
        list={list}
        spellcheck={false}
        onInput={(event) => set(key, event.currentTarget.value)}
      />
    </label>
  );
  return (
    <div class="filters">
      {select("Class", "class", choice.className, classes)}
      {field("Find", "find", choice.text)}
      {field("Trait", "trait", choice.trait, "traits")}
      {select("Status", "status", choice.status, STATUSES)}
      {select("Sort by", "sort", choice.sort, SORTS)}
      {select("Group by", "by", choice.by, [NONE, ...groups])}
      {select("Cells", "cells", choice.cells, CELLS)}
      <button type="button" onClick={() => set("wallboard", "1")}>
        Wallboard
      </button>
      <Names id="traits" names={traits} />
    </div>
  );
}
