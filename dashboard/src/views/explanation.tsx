// An explanation as a person reads it: the funnel, the closest hosts, what would fit.

import type { Explanation, FunnelRow, NearMiss, Remedy } from "../documents";
import { decimal, percent, plural } from "../format";
import { Breakable, TreeLink } from "../parts";
import { addressOf } from "../router";
import { bar, number, Table } from "../table";

export function ExplanationPanel({ explanation }: { explanation: Partial<Explanation> }) {
  const { roots = 0, fits = 0, funnel = [], near_misses = [], remedies = [] } = explanation;
  const { undetermined = [], groups = [] } = explanation;
  return (
    <div class="explanation">
      <p class="verdict">
        {fits ? decimal(fits) : "None"} of {plural(roots, "host")} can serve the request.
      </p>
      {funnel.length > 0 && <Funnel rows={funnel} roots={roots} />}
      {near_misses.length > 0 && <NearMisses misses={near_misses} />}
      {remedies.length > 0 && <Remedies remedies={remedies} />}
      {groups.map(({ text }) => (
        <p class="note" key={text}>
          <Breakable text={text} />
        </p>
      ))}
      {undetermined.length > 0 && (
        <p class="note">Not determined within the time limit: {undetermined.join(", ")}.</p>
      )}
    </div>
  );
}

function Funnel({ rows, roots }: { rows: FunnelRow[]; roots: number }) {
  return (
    <Table
      class="funnel"
      caption="Where the hosts are lost"
      columns={["Requirement", "Reason", number("Lost"), number("Left"), bar("Left of all")]}
      rows={rows.map((row, index) => ({
        key: String(index),
        class: row.left === 0 && row.lost > 0 ? "decisive" : undefined,
        cells: [
          <code>
            <Breakable text={row.requirement} />
          </code>,
          <Reason row={row} />,
          decimal(row.lost),
          decimal(row.left),
          <Left share={roots ? row.left / roots : 0} />,
        ],
      }))}
    />
  );
}

function Reason({ row }: { row: FunnelRow }) {
  return (
    <>
      <Breakable text={row.text} />
      {[row.note, row.change].map((text) => text && <Aside key={text} text={text} />)}
    </>
  );
}

function Aside({ text }: { text: string }) {
  return (
    <span class="aside">
      <Breakable text={text} />
    </span>
  );
}

function Left({ share }: { share: number }) {
  return (
    <div class="bar" role="img" aria-label={`${percent(share, 1)} left`}>
      <div class="bar-left" style={{ width: `${100 * share}%` }} />
    </div>
  );
}

function NearMisses({ misses }: { misses: NearMiss[] }) {
  return (
    <section>
      <h3>Closest</h3>
      <ul class="lines">
        {misses.map((miss) => (
          <li key={miss.uuid}>
            <TreeLink uuid={miss.uuid} name={miss.name} />
            <span>
              <Breakable text={miss.text ?? miss.unmet.map(({ text }) => text).join(", ")} />
              {[...new Set(miss.unmet.map(({ change }) => change))].map(
                (text) => text && <Aside key={text} text={text} />,
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Remedies({ remedies }: { remedies: Remedy[] }) {
  return (
    <section>
      <h3>What would fit</h3>
      <ul class="lines">
        {remedies.map((remedy, index) => (
          <li key={index}>
            <a href={addressOf("shape", "", remedy.query)}>
              <Breakable text={`${plural(remedy.roots, "host")} ${remedy.text}`} />
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
