// An explanation as a person reads it: the funnel, the nearest roots, what would fit.

import type { Explanation, FunnelRow, NearMiss, Remedy, Unmet } from "../api";
import { amount, decimal, percent, plural, reason } from "../format";
import { Table, TreeLink, number } from "../parts";

export function ExplanationPanel({ explanation }: { explanation: Partial<Explanation> }) {
  const { roots = 0, fits = 0, funnel = [], near_misses = [], remedies = [] } = explanation;
  const undetermined = explanation.undetermined ?? [];
  return (
    <div class="explanation">
      <p class="verdict">
        {fits > 0 ? decimal(fits) : "None"} of {plural(roots, "root")} can serve the request.
      </p>
      {funnel.length > 0 && <Funnel rows={funnel} roots={roots} />}
      {near_misses.length > 0 && <NearMisses misses={near_misses} />}
      {remedies.length > 0 && <Remedies remedies={remedies} />}
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
      caption="Where the roots are lost"
      columns={["Requirement", "Reason", number("Lost"), number("Left"), "Left of all"]}
    >
      {rows.map((row, index) => (
        <tr key={index} class={row.left === 0 && row.lost > 0 ? "decisive" : ""}>
          <th scope="row">
            <code>{row.requirement}</code>
          </th>
          <td>{reason(row.code)}</td>
          <td class="number">{decimal(row.lost)}</td>
          <td class="number">{decimal(row.left)}</td>
          <td class="bar-cell">
            <div class="bar" role="img" aria-label={`${percent(row.left, roots)} left`}>
              <div class="bar-left" style={{ width: `${roots ? (100 * row.left) / roots : 0}%` }} />
            </div>
          </td>
        </tr>
      ))}
    </Table>
  );
}

function NearMisses({ misses }: { misses: NearMiss[] }) {
  return (
    <section>
      <h3>Closest</h3>
      <ul class="near-misses">
        {misses.map((miss) => (
          <li key={miss.uuid}>
            <TreeLink uuid={miss.uuid} name={miss.name} />:{" "}
            {miss.unmet.map(describeUnmet).join("; ")}
          </li>
        ))}
      </ul>
    </section>
  );
}

export function describeUnmet(unmet: Unmet): string {
  if (unmet.resource_class === undefined || unmet.needed === undefined) {
    return `${reason(unmet.code)} (${unmet.requirement})`;
  }
  const name = unmet.resource_class;
  const where = unmet.provider ? ` on ${unmet.provider.name}` : "";
  const limit = unmet.max_unit !== undefined && unmet.code === "unit";
  const detail = limit
    ? `at most ${amount(name, unmet.max_unit as number)} each`
    : `${amount(name, unmet.free ?? 0)} free of ${amount(name, unmet.capacity ?? 0)}`;
  return `needs ${amount(name, unmet.needed)} ${name}, ${detail}${where}`;
}

function Remedies({ remedies }: { remedies: Remedy[] }) {
  return (
    <section>
      <h3>What would fit</h3>
      <ul class="remedies">
        {remedies.map((remedy, index) => (
          <li key={index}>
            <strong>{plural(remedy.roots, "root")}</strong> {describeRemedy(remedy)}
          </li>
        ))}
      </ul>
    </section>
  );
}

export function describeRemedy(remedy: Remedy): string {
  if (remedy.change === "amount" && remedy.resource_class !== undefined) {
    const name = remedy.resource_class;
    const group = remedy.group ? ` in group ${remedy.group}` : "";
    return `with ${name} at most ${amount(name, remedy.to ?? 0)}${group}`;
  }
  if (remedy.instead !== undefined) {
    return `with ${remedy.instead} instead of ${remedy.requirement}`;
  }
  return `without ${remedy.requirement ?? remedy.change}`;
}
