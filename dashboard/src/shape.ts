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
  // Whether hosts that are disabled in nova are left out, as nova does.
  enabledOnly: boolean;
  policy: "" | "isolate" | "none";
  // Parameters that the form has no field for, as they are in the query.
  others: string[];
}

export const ENABLED_ONLY = ["root_required", "!COMPUTE_STATUS_DISABLED"] as const;

// Shown first: one server of a usual size, on a host that nova may use.
export const FIRST_QUERY = `resources=VCPU:4,MEMORY_MB:8192&${ENABLED_ONLY.join("=")}`;

export function emptyGroup(suffix: string): GroupForm {
  return { suffix, resources: [{ name: "", amount: "" }], required: "", forbidden: "", memberOf: "" };
}

// The query of GET /allocation_candidates; rows without a class or an amount are left out.
export function queryOf(form: ShapeForm): string {
  const parts = form.groups.flatMap(parametersOf);
  if (form.enabledOnly) parts.push(ENABLED_ONLY.join("="));
  const policy = hasSeveralGroups(form) ? form.policy || "isolate" : form.policy;
  if (policy !== "") parts.push(`group_policy=${policy}`);
  return [...parts, ...form.others].join("&");
}

// The query of a pasted line such as "GET http://host/allocation_candidates?resources=VCPU:1".
export function withoutUrl(text: string): string {
  const [, query] = /^[\s"']*(?:GET\s+["']?)?(?:(?:https?:\/)?\/[^\s?]*)?\?([^\s"']*)/i.exec(text) ?? [];
  return query ?? text;
}

function parametersOf({ suffix, resources, required, forbidden, memberOf }: GroupForm): string[] {
  const rows = resources
    .map((row) => ({ name: row.name.trim(), amount: row.amount.trim() }))
    .filter((row) => row.name && row.amount);
  const aggregates = words(memberOf);
  const parameters = {
    resources: rows.map((row) => `${row.name}:${row.amount}`).join(","),
    required: [...words(required), ...words(forbidden).map((trait) => `!${trait}`)].join(","),
    member_of: aggregates.length > 1 ? `in:${aggregates.join(",")}` : aggregates.join(""),
  };
  return Object.entries(parameters)
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}${suffix}=${encoded(value)}`);
}

function encoded(value: string): string {
  return encodeURIComponent(value).replaceAll("%2C", ",").replaceAll("%3A", ":");
}

export function hasSeveralGroups(form: ShapeForm): boolean {
  return form.groups.filter((group) => group.suffix !== "").length > 1;
}

function words(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== "");
}

const PARAMETER = /^(resources|required|member_of)(_.+|\d+|)$/;

// The form of a query. What the form has no field for is in `others`.
export function formOf(query: string): ShapeForm {
  const groups = new Map<string, GroupForm>();
  const form: ShapeForm = { groups: [], enabledOnly: false, policy: "", others: [] };
  for (const text of query.split("&").filter((part) => part !== "")) {
    if (!fillIn(form, groups, text)) form.others.push(text);
  }
  form.groups = groups.size > 0 ? [...groups.values()] : [emptyGroup("")];
  return form;
}

// Return whether the form has a field for this parameter that is not used yet.
function fillIn(form: ShapeForm, groups: Map<string, GroupForm>, text: string): boolean {
  const [[key, value] = ["", ""]] = new URLSearchParams(text);
  if (key === ENABLED_ONLY[0] && value === ENABLED_ONLY[1]) {
    form.enabledOnly = true;
    return true;
  }
  if (key === "group_policy" && (value === "isolate" || value === "none")) {
    form.policy = value;
    return true;
  }
  const [, parameter, suffix = ""] = PARAMETER.exec(key) ?? [];
  if (parameter === undefined || value === "") return false;
  const group = groups.get(suffix) ?? { ...emptyGroup(suffix), resources: [] };
  const isFilled = fill(group, parameter, value);
  if (isFilled) groups.set(suffix, group);
  return isFilled;
}

function fill(group: GroupForm, parameter: string, value: string): boolean {
  if (parameter === "resources") {
    if (group.resources.length > 0) return false;
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
