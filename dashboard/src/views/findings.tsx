// What an audit of the database finds: by code, with cause, rows and the commands that repair it.

import type { Finding } from "../documents";
import { byCode, byProvider, commandsFor, type FindingsOfCode, inUnits } from "../findings";
import { clock, decimal, plural } from "../format";
import { Breakable, Choices, Empty, Failure } from "../parts";
import { useLoaded, useShared } from "../state";
import { number, Table } from "../table";
import { Value } from "./value";

const SHOWN = 50;

export function FindingsView({ query }: { query: string }) {
  const { api } = useShared();
  const parameters = new URLSearchParams(query);
  const chosen = parameters.get("code") ?? "";
  const { value, error, loading } = useLoaded("findings", () => api.findings());
  const groups = byCode(value?.findings ?? []);
  const ofCode = groups.filter(({ code }) => code === chosen);
  return (
    <>
      <h1>Findings</h1>
      {error && <Failure error={error} what="The audit" />}
      {loading && value === null && <Empty>The audit is running …</Empty>}
      {value && <p class="note">As of {clock(new Date(value.at))}.</p>}
      {value?.findings.length === 0 && <Empty>The audit finds nothing to repair.</Empty>}
      {groups.length > 1 && (
        <Choices
          view="findings"
          parameters={parameters}
          parameter="code"
          all="All findings"
          counts={groups.map(({ code, findings }) => [code, findings.length])}
          chosen={chosen}
          show={titleOf}
        />
      )}
      {(ofCode.length > 0 ? ofCode : groups).map((group) => (
        <CodePanel key={group.code} group={group} />
      ))}
    </>
  );
}

function titleOf(name: string): string {
  return name.replaceAll("_", " ");
}

function CodePanel({ group }: { group: FindingsOfCode }) {
  const { code, severity, findings } = group;
  const rows = byProvider(findings);
  const repairs = [...new Set(findings.map(({ repair }) => repair))];
  const commands = commandsFor(findings);
  const isSame = new Set(findings.map(({ repair_command }) => repair_command)).size === 1;
  return (
    <section class="panel">
      <h2>
        {titleOf(code)} <span class={`tag ${severity}`}>{severity}</span>{" "}
        <span class="count">
          {decimal(findings.length)}
          {rows.length < findings.length && ` on ${plural(rows.length, "provider")}`}
        </span>
      </h2>
      <p>Repair: {repairs.join("; ")}.</p>
      {isSame && (
        <ul class="commands" aria-label="Commands">
          {commands.map((command) => (
            <li key={command}>
              <Command text={command} />
            </li>
          ))}
        </ul>
      )}
      <FindingTable rows={rows.slice(0, SHOWN)} hasCommands={!isSame} />
      {rows.length > SHOWN && (
        <p class="more">
          The first {SHOWN} of {decimal(rows.length)}. All:{" "}
          <Command text={`openstack placement audit --code ${code}`} />
        </p>
      )}
    </section>
  );
}

function Command({ text }: { text: string }) {
  return (
    <code>
      <Breakable text={text} />
    </code>
  );
}

function FindingTable(props: { rows: Finding[][]; hasCommands: boolean }) {
  const findings = props.rows.flat();
  const names = [...new Set(findings.flatMap(({ rows }) => Object.keys(rows)))];
  const isNumber = (name: string) => findings.every(({ rows }) => typeof rows[name] === "number");
  return (
    <Table
      columns={[
        ...names.map((name) => (isNumber(name) ? number(titleOf(name)) : titleOf(name))),
        "cause",
      ]}
      rows={props.rows.map((row, index) => {
        const values = row.map(({ rows }) => inUnits(rows));
        const cells = names.map((name) => (
          <Lines values={values.slice(0, name === "provider" ? 1 : undefined).map((of) => of[name])} />
        ));
        return { key: String(index), cells: [...cells, causeOf(row, props.hasCommands)] };
      })}
    />
  );
}

function Lines({ values }: { values: unknown[] }) {
  if (values.length === 1) return <Value value={values[0]} />;
  return (
    <span class="stacked">
      {values.map((value, index) => (
        <span key={index}>
          <Value value={value} />
        </span>
      ))}
    </span>
  );
}

function causeOf(findings: Finding[], hasCommand: boolean) {
  const causes = new Set(findings.map(({ cause }) => cause));
  const repair_command = findings[0]?.repair_command;
  return (
    <>
      <Breakable text={[...causes].join("; ")} />
      {hasCommand && repair_command && (
        <span class="aside">
          <Command text={repair_command} />
        </span>
      )}
    </>
  );
}
