// What a text finds: providers by name, UUID or aggregate; consumers; recorded requests; changes.

import { type Api, NO_NAMES } from "../api";
import { addressOfAll } from "../changes";
import type { Consumer, Names, Provider, RecordedRequest } from "../documents";
import { amounts, plural, reason } from "../format";
import { Ago, Empty, Id, TreeLink } from "../parts";
import { addressOf } from "../router";
import {
  idsNamed,
  isId,
  isUuidPrefix,
  markerBefore,
  MOST_PROVIDERS,
  providersMatching,
  subjectOf,
} from "../search";
import { useLoaded, useSettled, useShared } from "../state";
import { LastChanges } from "./changes";

const MOST_CONSUMERS = 20;

export function SearchView({ text }: { text: string }) {
  const { live, names } = useShared();
  const wanted = text.trim();
  const settled = useSettled(wanted);
  if (wanted === "") {
    return <Empty>Search names, UUIDs, aggregates, consumers, projects and request ids.</Empty>;
  }
  const providers = providersMatching(live.cloud, wanted, names.aggregates);
  const subject = subjectOf(live.cloud, settled);
  return (
    <div class="results">
      <h1>
        Results for <span class="uuid">{wanted}</span>
      </h1>
      <Providers providers={providers} />
      <Recorded text={settled} isAlone={providers.length === 0} />
      {subject && <LastChanges of={subject} />}
    </div>
  );
}

function Providers({ providers }: { providers: Provider[] }) {
  const { live } = useShared();
  if (providers.length === 0) return null;
  const rootOf = (provider: Provider) => live.cloud.roots.get(provider.root_provider_uuid);
  return (
    <section>
      <h2>Providers</h2>
      <ul class="lines">
        {providers.slice(0, MOST_PROVIDERS).map((provider) => (
          <li key={provider.uuid}>
            <TreeLink uuid={provider.uuid} name={provider.name} />
            {rootOf(provider)?.disabled && <span class="tag">disabled</span>}
            {provider.parent_provider_uuid !== null && (
              <span class="aside">on {rootOf(provider)?.name}</span>
            )}
            <span class="uuid">{provider.uuid}</span>
          </li>
        ))}
      </ul>
      {providers.length > MOST_PROVIDERS && (
        <p class="more">The first {MOST_PROVIDERS}. Type more of the name to see others.</p>
      )}
    </section>
  );
}

interface Found {
  consumers: Consumer[];
  requests: RecordedRequest[];
}

function Recorded({ text, isAlone }: { text: string; isAlone: boolean }) {
  const { api, names } = useShared();
  const { value, loading } = useLoaded(`${text} ${names !== NO_NAMES}`, () =>
    lookUp(api, names, text),
  );
  const isEmpty = value !== null && value.consumers.length + value.requests.length === 0;
  if (loading && value === null) return <Empty>Searching consumers and requests …</Empty>;
  if (isEmpty && isAlone && !loading) {
    return <Empty>No provider, consumer, project or recorded request matches.</Empty>;
  }
  return (
    <>
      <Consumers consumers={value?.consumers ?? []} />
      <Requests requests={value?.requests ?? []} />
    </>
  );
}

async function lookUp(api: Api, names: Names, text: string): Promise<Found> {
  const servers = [...(isUuidPrefix(text) ? [text] : []), ...idsNamed(names.servers, text)];
  const projects = [...(isId(text) ? [text] : []), ...idsNamed(names.projects, text)];
  const [consumers, requests] = await Promise.all([
    Promise.all([
      ...servers.map((uuid) => consumersWithPrefix(api, uuid)),
      ...projects.map((id) => consumersOf(api, id)),
    ]),
    isId(text) ? requestsWith(api, text) : [],
  ]);
  return { consumers: consumers.flat(), requests };
}

async function consumersWithPrefix(api: Api, prefix: string): Promise<Consumer[]> {
  const marker = markerBefore(prefix);
  const { consumers } = await api.consumers({ marker, limit: String(MOST_CONSUMERS) });
  return consumers.filter(({ uuid }) => uuid.startsWith(prefix.toLowerCase()));
}

async function consumersOf(api: Api, project: string): Promise<Consumer[]> {
  return (await api.consumers({ project_id: project, limit: String(MOST_CONSUMERS) })).consumers;
}

// A request that is not recorded is no error here.
async function requestsWith(api: Api, id: string): Promise<RecordedRequest[]> {
  return api.request(id).then(
    ({ requests }) => requests,
    () => [],
  );
}

function Consumers({ consumers }: { consumers: Consumer[] }) {
  if (consumers.length === 0) return null;
  return (
    <section>
      <h2>Consumers</h2>
      <ul class="lines">
        {consumers.map((consumer) => (
          <li key={consumer.uuid}>
            <Id uuid={consumer.uuid} kind="servers" />
            <span class="aside">
              {consumer.type ?? "unknown type"}
              {consumer.created_at && <>, <Ago at={consumer.created_at} /></>}
            </span>
            <span>
              project <Id uuid={consumer.project_id} kind="projects" />
            </span>
            <Hosts consumer={consumer} />
            <a href={addressOfAll({ consumer: consumer.uuid })}>Changes</a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Hosts({ consumer }: { consumer: Consumer }) {
  return (
    <>
      {Object.entries(consumer.providers).map(([uuid, name]) => (
        <span key={uuid}>
          <TreeLink uuid={uuid} name={name} /> {amounts(consumer.allocations[uuid] ?? {})}
        </span>
      ))}
    </>
  );
}

function Requests({ requests }: { requests: RecordedRequest[] }) {
  if (requests.length === 0) return null;
  const [first] = requests;
  return (
    <section>
      <h2>Refusals</h2>
      <ul class="lines">
        <li>
          <a href={addressOf("requests", first?.request_id)}>
            {plural(requests.length, "refusal")}: {reason(first?.reason ?? "")}
          </a>
          <Ago at={first?.at ?? ""} />
        </li>
      </ul>
    </section>
  );
}
