// Requests that found no candidates, and refused claims: newest first, each with its explanation.

import type { RecordedRequest } from "../api";
import { dateTime, reason } from "../format";
import { Empty, Failure, Table } from "../parts";
import { addressOf } from "../router";
import { useLoaded, useShared, useTicks } from "../state";
import { ExplanationPanel } from "./explanation";

const LIMIT = "100";
const INTERVAL_MS = 5_000;

export function RequestsView({ id, query }: { id: string; query: string }) {
  return id === "" ? <RequestList query={query} /> : <OneRequest id={id} />;
}

function RequestList({ query }: { query: string }) {
  const { api } = useShared();
  const ticks = useTicks(INTERVAL_MS);
  const chosen = new URLSearchParams(query).get("reason") ?? "";
  const { value, error } = useLoaded(`${chosen} ${ticks}`, () =>
    api.requests({ limit: LIMIT, ...(chosen ? { reason: chosen } : {}) }),
  );
  const counts = new Map<string, number>();
  for (const request of value?.requests ?? []) {
    counts.set(request.reason, (counts.get(request.reason) ?? 0) + 1);
  }
  return (
    <>
      <h1>Requests without a result</h1>
      {error && <Failure error={error} what="The list of requests" />}
      <ul class="filters" aria-label="Reasons">
        {chosen !== "" && (
          <li>
            <a href={addressOf("requests")}>All reasons</a>
          </li>
        )}
        {[...counts].map(([code, count]) => (
          <li key={code}>
            <a
              href={addressOf("requests", "", `reason=${encodeURIComponent(code)}`)}
              aria-current={code === chosen ? "true" : undefined}
            >
              {reason(code)} <span class="count">{count}</span>
            </a>
          </li>
        ))}
      </ul>
      {value?.requests.length === 0 && (
        <Empty>Every recorded request found candidates, and no claim was refused.</Empty>
      )}
      {value && value.requests.length > 0 && <RequestTable requests={value.requests} />}
    </>
  );
}

function RequestTable({ requests }: { requests: RecordedRequest[] }) {
  return (
    <Table columns={["Time", "Result", "Reason", "Request", "Project"]}>
      {requests.map((request) => (
        <tr key={request.request_id + request.at}>
          <td>
            <time>{dateTime(request.at)}</time>
          </td>
          <th scope="row">
            <a href={addressOf("requests", request.request_id)}>{kind(request)}</a>
          </th>
          <td>{reason(request.reason)}</td>
          <td class="query">{summary(request)}</td>
          <td class="uuid">{request.project_id ?? "–"}</td>
        </tr>
      ))}
    </Table>
  );
}

function OneRequest({ id }: { id: string }) {
  const { api } = useShared();
  const { value, error, loading } = useLoaded(id, () => api.request(id));
  return (
    <>
      <p class="crumbs">
        <a href={addressOf("requests")}>Requests</a> / {id}
      </p>
      <h1>{id}</h1>
      {error && <Failure error={error} what="The request" />}
      {loading && value === null && <Empty>Loading …</Empty>}
      {value?.requests.length === 0 && (
        <Empty>
          Nothing is recorded with this id. Requests that found candidates are not recorded, and old
          records are removed.
        </Empty>
      )}
      {value?.requests.map((request) => (
        <section key={request.request_id + request.at} class="panel">
          <h2>
            {kind(request)}: {reason(request.reason)}
          </h2>
          <dl>
            <dt>Time</dt>
            <dd>{dateTime(request.at)}</dd>
            <dt>Request id</dt>
            <dd>{request.request_id}</dd>
            <dt>Global request id</dt>
            <dd>{request.global_request_id ?? "–"}</dd>
            <dt>Project</dt>
            <dd>{request.project_id ?? "–"}</dd>
            <dt>User</dt>
            <dd>{request.user_id ?? "–"}</dd>
            <dt>{request.query ? "Query" : "Claim"}</dt>
            <dd>
              <code>{summary(request)}</code>
            </dd>
          </dl>
          {request.query && (
            <p>
              <a href={addressOf("shape", "", request.query)}>Try this request now</a>
            </p>
          )}
          {request.explanation && <Details request={request} />}
        </section>
      ))}
    </>
  );
}

function Details({ request }: { request: RecordedRequest }) {
  const explanation = request.explanation ?? {};
  if (explanation.funnel !== undefined) return <ExplanationPanel explanation={explanation} />;
  return <pre>{JSON.stringify(explanation, null, 2)}</pre>;
}

function kind(request: RecordedRequest): string {
  return request.kind === "no_candidates" ? "No candidates" : "Refused claim";
}

function summary(request: RecordedRequest): string {
  return request.query ?? JSON.stringify(request.claim ?? {});
}
