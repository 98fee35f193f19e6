// What an audit of the database finds, with its cause and its repair.

import type { Finding } from "../api";
import { Empty, Failure } from "../parts";
import { useLoaded, useShared } from "../state";

export function FindingsView() {
  const { api } = useShared();
  const { value, error, loading } = useLoaded("findings", () => api.findings());
  if (error?.status === 404) {
    return (
      <>
        <h1>Findings</h1>
        <Empty>This service has no audit. Use a newer release.</Empty>
      </>
    );
  }
  return (
    <>
      <h1>Findings</h1>
      {error && <Failure error={error} what="The audit" />}
      {loading && value === null && <Empty>The audit is running …</Empty>}
      {value?.findings.length === 0 && <Empty>The audit finds nothing to repair.</Empty>}
      {value?.findings.map((finding, index) => (
        <FindingPanel key={index} finding={finding} />
      ))}
    </>
  );
}

function FindingPanel({ finding }: { finding: Finding }) {
  return (
    <section class="panel">
      <h2>{finding.code.replaceAll("_", " ")}</h2>
      <dl>
        {Object.entries(finding.rows).flatMap(([name, value]) => [
          <dt key={`${name} name`}>{name.replaceAll("_", " ")}</dt>,
          <dd key={`${name} value`}>{typeof value === "string" ? value : JSON.stringify(value)}</dd>,
        ])}
      </dl>
      {finding.cause && <p>Cause: {finding.cause}</p>}
      {finding.repair && <p>Repair: {finding.repair}</p>}
    </section>
  );
}
