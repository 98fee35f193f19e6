// The findings of the audit by code, with the commands that repair them.

import type { Finding } from "./documents";
import { amount } from "./format";

export interface FindingsOfCode {
  code: string;
  severity: Finding["severity"];
  findings: Finding[];
}

// Errors must be repaired; notices are so on purpose.
export function errorsOf(findings: readonly Finding[]): Finding[] {
  return findings.filter(({ severity }) => severity === "error");
}

const RANKS = { error: 0, warning: 1, notice: 2 };

// Codes in the order of the audit, errors first.
export function byCode(findings: readonly Finding[]): FindingsOfCode[] {
  const groups = new Map<string, FindingsOfCode>();
  for (const finding of findings) {
    const { code, severity } = finding;
    const group = groups.get(code) ?? { code, severity, findings: [] };
    group.findings.push(finding);
    groups.set(code, group);
  }
  return [...groups.values()].sort((a, b) => RANKS[a.severity] - RANKS[b.severity]);
}

// Findings on the classes of one provider are one row.
export function byProvider(findings: readonly Finding[]): Finding[][] {
  const rows = new Map<string, Finding[]>();
  findings.forEach((finding, index) => {
    const { provider, resource_class: name } = finding.rows;
    const key = provider && name ? JSON.stringify(provider) : String(index);
    rows.set(key, [...(rows.get(key) ?? []), finding]);
  });
  return [...rows.values()];
}

// The commands with which the repairs of these findings begin, and the one that applies a plan.
export function commandsFor(findings: readonly Finding[]): string[] {
  const commands = new Set(findings.map(({ repair_command }) => repair_command));
  commands.delete("");
  const hasPlan = [...commands].some((command) => command.includes("--plan repair.plan"));
  return [...commands, ...(hasPlan ? ["placement-manage audit --apply repair.plan"] : [])];
}

const NOT_AMOUNTS = new Set(["allocation_ratio", "generation"]);

// The rows of a finding; amounts of a class are in its unit.
export function inUnits(rows: Finding["rows"]): Finding["rows"] {
  const { resource_class: name } = rows;
  if (typeof name !== "string") return rows;
  const text = (key: string, value: unknown) =>
    typeof value === "number" && !NOT_AMOUNTS.has(key) ? amount(name, value) : value;
  return Object.fromEntries(Object.entries(rows).map(([key, value]) => [key, text(key, value)]));
}

// The UUID of a value that is one, or a document with one; null for other values.
export function uuidOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  const { uuid } = (value ?? {}) as { uuid?: unknown };
  return typeof uuid === "string" ? uuid : null;
}
