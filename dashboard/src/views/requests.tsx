// Requests that found no candidates, and refused writes: newest first, each with its explanation.

import type { Claim, RecordedRequest } from "../documents";
import { inUnits } from "../findings";
import { amount, amountOf, amounts, dateTime, decimal, percent, plural, reason, times } from "../format";
import { Ago, Breakable, Choices, Empty, Failure, Id, TreeLink } from "../parts";
import { keyOf, refused } from "../refusals";
import { addressOf, addressWith } from "../router";
import { useLoaded, useNameOf, useSettled, useShared, useTicks } from "../state";
import { number, Table } from "../table";
import { LastChanges } from "./changes";
import { ExplanationPanel } from "./explanation";
import { Summaries } from "./summaries";
import { Facts } from "./value";

const LIMIT = "100";
const INTERVAL_MS = 5_000;
const LIMITED_INTERVAL_MS = 60_000;
const NONE_LIMITED = { responses: 0, limited: 0, roots_left_out: 0 };

export function RequestsView({ id, query }: { id: string; query: string }) {
  return id === "" ? <RequestList query={query} /> : <OneRequest id={id} />;
}

function RequestList({ query }: { query: string }) {
  const { api } = useShared();
  const ticks = useTicks(INTERVAL_MS);
  const parameters = new URLSearchParams(query);
  const chosen = parameters.get("reason") ?? "";
  const since = useSettled(parameters.get("since") ?? "");
  const filter = { ...(chosen ? { reason: chosen } : {}), ...(since ? { since } : {}) };
  const { value, error } = useLoaded(`${chosen} ${since} ${ticks}`, () =>
    api.requests({ limit: LIMIT, ...filter }),
  );
  const requests = value?.requests ?? [];
  return (
    <>
      <h1>Requests without a result</h1>
      <Since parameters={parameters} />
      {error && <Failure error={error} what="The list of requests" />}
      {chosen === "" && !error && <Summaries since={since} />}
      <Reasons requests={requests} chosen={chosen} parameters={parameters} />
      {value && requests.length === 0 && (
        <Empty>
          No refusal is recorded{since && ` since ${since}`}{chosen && " with this reason"}. Recorded
          are requests without candidates and refused writes, unless [insight]record is off.
        </Empty>
      )}
      {requests.length > 0 && <RequestTable requests={requests} />}
      <LimitedNote />
    </>
  );
}

function LimitedNote() {
  const { api } = useShared();
  const ticks = useTicks(LIMITED_INTERVAL_MS);
  const { value } = useLoaded(`${ticks}`, () => api.clients());
  const { responses, limited, roots_left_out } = value?.candidates ?? NONE_LIMITED;
  if (limited === 0) return null;
  return (
    <p class="note">
      {percent(limited, responses)} of {plural(responses, "response")} with candidates left out hosts
      because of a limit, {decimal(Math.round(roots_left_out / limited))} on average. Each host gets
      its turn, unless [placement]rotate_limited_candidates is false. The limit of nova-scheduler is
      [scheduler]max_placement_results.
    </p>
  );
}

function Since({ parameters }: { parameters: URLSearchParams }) {
  return (
    <div class="filters">
      <label>
        Since{" "}
        <input
          type="search"
          value={parameters.get("since") ?? ""}
          placeholder="1h, yesterday"
          spellcheck={false}
          onInput={(event) =>
            location.replace(
              addressWith("requests", parameters, "since", event.currentTarget.value),
            )
          }
        />
      </label>
    </div>
  );
}

function Reasons(props: {
  requests: RecordedRequest[];
  chosen: string;
  parameters: URLSearchParams;
}) {
  const { requests, chosen, parameters } = props;
  const counts = new Map<string, number>();
  for (const request of requests) {
    const total = (counts.get(request.reason) ?? 0) + refused(request);
    if (total > 0) counts.set(request.reason, total);
  }
  return (
    <Choices
      view="requests"
      parameters={parameters}
      parameter="reason"
      all="All reasons"
      counts={[...counts]}
      chosen={chosen}
      show={reason}
    />
  );
}

function RequestTable({ requests }: { requests: RecordedRequest[] }) {
  return (
    <Table
      class="requests"
      columns={["Result", "Last", number("Number"), "Reason", "Request", "Project"]}
      rows={requests.map((request) => ({
        key: keyOf(request),
        cells: [
          <a href={addressOf("requests", request.request_id)}>{kind(request)}</a>,
          <Ago at={request.last_at} />,
          decimal(request.count),
          request.is_superseded ? SUPERSEDED : reason(request.reason),
          <Summary request={request} />,
          <Id uuid={request.project_id ?? "–"} kind="projects" />,
        ],
      }))}
    />
  );
}

function OneRequest({ id }: { id: string }) {
  const { api } = useShared();
  const { value, error, loading } = useLoaded(id, () => api.request(id));
  return (
    <>
      <p class="crumbs">
        <a href={addressOf("requests")}>Requests</a> /
      </p>
      <h1>
        <span class="uuid">{id}</span>
      </h1>
      {error?.status === 404 && <Empty>{error.message}</Empty>}
      {error && error.status !== 404 && <Failure error={error} what="The request" />}
      {loading && value === null && <Empty>Loading …</Empty>}
      {value?.requests.map((request) => (
        <RequestPanel key={keyOf(request)} request={request} />
      ))}
      <LastChanges of={{ request_id: id }} />
    </>
  );
}

function RequestPanel({ request }: { request: RecordedRequest }) {
  const subject = request.query ?? described(request.claim ?? {});
  const ids = {
    "Request id": request.request_id,
    "Global request id": request.global_request_id ?? "–",
    User: request.user_id ?? "–",
  };
  return (
    <section class="panel">
      <h2>
        {kind(request)}: {reason(request.reason)}
      </h2>
      {request.is_superseded && <p class="verdict">{SUPERSEDED}.</p>}
      <dl>
        <dt>Time</dt>
        <dd>
          {dateTime(request.at)}, <Ago at={request.at} />
        </dd>
        {request.count > 1 && (
          <>
            <dt>Equal requests</dt>
            <dd>
              {times(request.count)} from {dateTime(request.first_at)} to{" "}
              {dateTime(request.last_at)}, explained at{" "}
              {dateTime(request.explanation?.at ?? request.first_at)}
              {request.superseded > 0 && `, ${decimal(request.superseded)} of them superseded`}
            </dd>
          </>
        )}
        {Object.entries(ids).map(([name, id]) => (
          <>
            <dt>{name}</dt>
            <dd class="uuid">{id}</dd>
          </>
        ))}
        <dt>Project</dt>
        <dd>
          <Id uuid={request.project_id ?? "–"} kind="projects" />
        </dd>
        {subject !== "" && (
          <>
            <dt>{request.query ? "Query" : "Claim"}</dt>
            <dd class="query">
              <Breakable text={subject} />
            </dd>
          </>
        )}
      </dl>
      {request.query && (
        <p>
          <a href={addressOf("shape", "", request.query)}>Try this request now</a>
        </p>
      )}
      {request.claim && <Holders claim={request.claim} />}
      {request.explanation && <Details request={request} />}
    </section>
  );
}

// Who has what the claim did not get: the trees of its providers, with their consumers.
function Holders({ claim: { allocations = {}, providers = {} } }: { claim: Claim }) {
  const uuids = Object.keys(allocations);
  if (uuids.length === 0) return null;
  return (
    <p>
      Consumers of{" "}
      {uuids.map((uuid, index) => (
        <span key={uuid}>
          {index > 0 && ", "}
          <TreeLink uuid={uuid} name={providers[uuid] ?? uuid} />
        </span>
      ))}
    </p>
  );
}

function Details({ request }: { request: RecordedRequest }) {
  const { version: _, sentence, ...explanation } = request.explanation ?? {};
  if (explanation.funnel !== undefined) return <ExplanationPanel explanation={explanation} />;
  return (
    <>
      {sentence && (
        <p class="verdict">
          <Breakable text={sentence} />
        </p>
      )}
      <Facts rows={inUnits(explanation)} />
    </>
  );
}

const SUPERSEDED = "A later request found candidates or was accepted";

const KINDS: Record<string, string> = {
  no_candidates: "No candidates",
  refused_claim: "Refused claim",
  refused_write: "Refused write",
  lost_race: "Lost race",
  invalid_request: "Invalid request",
};

export function kind(request: RecordedRequest): string {
  return KINDS[request.kind] ?? request.kind;
}

// The query, with names in place of UUIDs; for a claim, the sentence that says why it was refused, or what it asked of whom.
export function Summary({ request }: { request: RecordedRequest }) {
  const { query, explanation, claim } = request;
  const text = query ?? shortageOf(explanation) ?? explanation?.sentence ?? described(claim ?? {});
  return (
    <span class="query">
      <Breakable text={text} nameOf={useNameOf()} />
    </span>
  );
}

// The amounts of a refusal in the units of the cards, for a list; the sentence has them exactly.
function shortageOf(facts: RecordedRequest["explanation"]): string | null {
  const { provider, resource_class: name, needed, used, capacity } = (facts ?? {}) as Shortage;
  if (!provider || !name || needed === undefined || capacity === undefined) return null;
  const free = amountOf(name, Math.max(0, capacity - (used ?? 0)), capacity);
  return `${name} ${amount(name, needed)} on ${provider.name}: free ${free}`;
}

interface Shortage {
  provider?: { name: string };
  resource_class?: string;
  needed?: number;
  used?: number;
  capacity?: number;
}

function described({ allocations = {}, providers = {} }: Claim): string {
  return Object.entries(allocations)
    .map(([uuid, { resources }]) => `${amounts(resources)} on ${providers[uuid] ?? uuid}`)
    .join("; ");
}
