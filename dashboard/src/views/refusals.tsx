// The recent refusals, beside the map.

import { reason, times } from "../format";
import { Ago, Empty, Failure } from "../parts";
import { keyOf, refused } from "../refusals";
import { addressOf } from "../router";
import { failure, useNow, useShared } from "../state";
import { kind, Summary } from "./requests";

const SHOWN = 6;

export function RecentRefusals() {
  const { refusals } = useShared();
  useNow(); // refusals change without the structure of the cloud
  return (
    <section aria-labelledby="refusals-title" class="narrow">
      <h2 id="refusals-title">Recent refusals</h2>
      {refusals.error !== null && (
        <Failure error={failure(refusals.error)} what="The latest refusals" />
      )}
      {refusals.latest.length === 0 && <Empty>Nothing was refused.</Empty>}
      <ul class="refusals">
        {refusals.latest.slice(0, SHOWN).map((request) => (
          <li key={keyOf(request)}>
            <a href={addressOf("requests", request.request_id)}>{kind(request)}</a>:{" "}
            <strong>{reason(request.reason)}</strong>
            {refused(request) > 1 && ` ${times(refused(request))}`}
            <Summary request={request} />
            <Ago at={request.last_at} />
          </li>
        ))}
      </ul>
      <a href={addressOf("requests")}>All requests</a>
    </section>
  );
}
