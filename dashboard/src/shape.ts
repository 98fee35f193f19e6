// A request for candidates as a form: groups of classes, amounts, traits and aggregates.

export interface GroupForm {
  suffix: string;
  resources: { name: string; amount: string }[];
  required: string;
  forbidden: string;
  memberOf: string;
}

export interface ShapeForm {
  groups: GroupForm[];
  isolate: boolean;
}

export function emptyGroup(suffix: string): GroupForm {
  return { suffix, resources: [{ name: "", amount: "" }], required: "", forbidden: "", memberOf: "" };
}

// The query of GET /allocation_candidates; rows without a class or an amount are left out.
export function queryOf(form: ShapeForm): string {
  const parts: string[] = [];
  const add = (name: string, value: string) => {
    if (value !== "") parts.push(`${name}=${encodeURIComponent(value).replaceAll("%2C", ",").replaceAll("%3A", ":")}`);
  };
  for (const { suffix, resources, required, forbidden, memberOf } of form.groups) {
    const given = resources.filter((row) => row.name.trim() && row.amount.trim());
    add(`resources${suffix}`, given.map((row) => `${row.name.trim()}:${row.amount.trim()}`).join(","));
    add(`required${suffix}`, [...words(required), ...words(forbidden).map((t) => `!${t}`)].join(","));
    const aggregates = words(memberOf);
    add(`member_of${suffix}`, aggregates.length > 1 ? `in:${aggregates.join(",")}` : aggregates.join(""));
  }
  if (form.groups.filter((group) => group.suffix !== "").length > 1) {
    add("group_policy", form.isolate ? "isolate" : "none");
  }
  return parts.join("&");
}

// Whether a group asks for anything.
export function isEmpty(form: ShapeForm): boolean {
  return !queryOf(form).includes("resources");
}

function words(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== "");
}

const PARAMETER = /^(resources|required|member_of)(.*)$/;

// The form of a query; null if it uses what the form has no field for.
export function formOf(query: string): ShapeForm | null {
  const groups = new Map<string, GroupForm>();
  let isolate = false;
  for (const [key, value] of new URLSearchParams(query)) {
    if (key === "group_policy") {
      isolate = value === "isolate";
      continue;
    }
    const [, parameter, suffix = ""] = PARAMETER.exec(key) ?? [];
    if (parameter === undefined) return null;
    const group = groups.get(suffix) ?? { ...emptyGroup(suffix), resources: [] };
    groups.set(suffix, group);
    if (!fill(group, parameter, value)) return null;
  }
  return groups.size > 0 ? { groups: [...groups.values()], isolate } : null;
}

function fill(group: GroupForm, parameter: string, value: string): boolean {
  if (parameter === "resources") {
    group.resources = value.split(",").map((piece) => {
      const [name = "", amount = ""] = piece.split(":");
      return { name, amount };
    });
    return true;
  }
  if (parameter === "required") {
    if (value.startsWith("in:") || group.required || group.forbidden) return false;
    const traits = value.split(",");
    group.required = traits.filter((trait) => !trait.startsWith("!")).join(" ");
    group.forbidden = traits.flatMap((t) => (t.startsWith("!") ? [t.slice(1)] : [])).join(" ");
    return true;
  }
  if (value.startsWith("!") || group.memberOf) return false;
  group.memberOf = value.replace(/^in:/, "").replaceAll(",", " ");
  return true;
}
