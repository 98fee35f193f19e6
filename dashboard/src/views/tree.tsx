// One tree of providers: inventories as bars, traits, aggregates, sharing providers, consumers.

import { useState } from "preact/hooks";
import type { Consumer, Inventory, Provider } from "../api";
import { compare, type Root } from "../cloud";
import { amount, dateTime, decimal, plural } from "../format";
import { Bar, Chips, Empty, Failure, Table, TreeLink, number } from "../parts";
import { addressOf } from "../router";
import { useLoaded, useShared } from "../state";

const CONSUMERS = "50";

export function TreeView({ uuid }: { uuid: string }) {
  const { live } = useShared();
  const provider = live.cloud.providers.get(uuid);
  const root = live.cloud.roots.get(provider?.root_provider_uuid ?? uuid);
  if (live.status.at === null) return <Empty>Loading the providers …</Empty>;
  if (root === undefined) {
    return <Empty>There is no provider {uuid}. It may have been removed.</Empty>;
  }
  const own = live.cloud.providers.get(root.uuid) as Provider;
  const sharing = live.cloud.sharedWith(root);
  return (
    <>
      <p class="crumbs">
        <a href={addressOf("cloud")}>Cloud</a> / {root.name}
      </p>
      <h1>
        {root.name} {root.disabled && <span class="tag">disabled</span>}
      </h1>
      <ul class="tree" aria-label="Providers of the tree">
        <ProviderNode provider={own} root={root} chosen={uuid} />
      </ul>
      {sharing.length > 0 && (
        <section>
          <h2>Shared with this tree</h2>
          <ul class="tree" aria-label="Sharing providers">
            {sharing.map((each) => (
              <li key={each.uuid}>
                <ProviderPanel provider={each} chosen={false} link />
              </li>
            ))}
          </ul>
        </section>
      )}
      <Consumers root={root} key={root.uuid} />
    </>
  );
}

function ProviderNode(props: { provider: Provider; root: Root; chosen: string }) {
  const { provider, root, chosen } = props;
  const children = root.members
    .filter((member) => member.parent_provider_uuid === provider.uuid)
    .sort((a, b) => compare(a.name, b.name));
  return (
    <li>
      <ProviderPanel
        provider={provider}
        chosen={provider.uuid === chosen}
        leaf={children.length === 0}
      />
      {children.length > 0 && (
        <ul>
          {children.map((child) => (
            <ProviderNode key={child.uuid} provider={child} root={root} chosen={chosen} />
          ))}
        </ul>
      )}
    </li>
  );
}

function ProviderPanel(props: {
  provider: Provider;
  chosen: boolean;
  link?: boolean;
  leaf?: boolean;
}) {
  const { provider, chosen, link, leaf } = props;
  const classes = Object.entries(provider.inventories).sort(([a], [b]) => compare(a, b));
  const [first] = classes;
  if (leaf && first && classes.length === 1) {
    return <DevicePanel provider={provider} name={first[0]} inventory={first[1]} chosen={chosen} />;
  }
  return (
    <article class={`panel${chosen ? " chosen" : ""}`} aria-current={chosen ? "true" : undefined}>
      <h2>{link ? <TreeLink uuid={provider.uuid} name={provider.name} /> : provider.name}</h2>
      <p class="uuid">
        {provider.uuid} · generation {provider.generation}
      </p>
      {classes.length > 0 && (
        <Table
          columns={[
            "Class",
            "Used",
            number("Used / capacity"),
            number("Free"),
            number("Reserved"),
            number("Ratio"),
            "Units",
          ]}
        >
          {classes.map(([name, inventory]) => (
            <InventoryRow key={name} name={name} inventory={inventory} />
          ))}
        </Table>
      )}
      <Chips names={provider.traits} title="Traits" />
      {provider.aggregates.length > 0 && (
        <p class="aggregates">
          Aggregates:{" "}
          {provider.aggregates.map((uuid) => (
            <code key={uuid}>{uuid}</code>
          ))}
        </p>
      )}
    </article>
  );
}

// A provider with one class and no children, as devices are, on one line.
function DevicePanel(props: {
  provider: Provider;
  name: string;
  inventory: Inventory;
  chosen: boolean;
}) {
  const { provider, name, inventory, chosen } = props;
  const { capacity, used, reserved } = inventory;
  const free = Math.max(0, capacity - used);
  return (
    <article
      class={`panel compact${chosen ? " chosen" : ""}`}
      aria-current={chosen ? "true" : undefined}
      title={`${provider.uuid}, generation ${provider.generation}`}
    >
      <h2>{provider.name}</h2>
      <span>{name}</span>
      <Bar name={name} amounts={{ capacity, used, reserved, free }} />
      <span class="number">
        {amount(name, used)} / {amount(name, capacity)}
      </span>
      <Chips names={provider.traits} title="Traits" />
    </article>
  );
}

function InventoryRow({ name, inventory }: { name: string; inventory: Inventory }) {
  const { capacity, used, reserved } = inventory;
  const free = Math.max(0, capacity - used);
  return (
    <tr>
      <th scope="row" class="name-cell">
        {name}
      </th>
      <td class="bar-cell">
        <Bar name={name} amounts={{ capacity, used, reserved, free }} />
      </td>
      <td class="number">
        {amount(name, used)} / {amount(name, capacity)}
      </td>
      <td class="number">{amount(name, free)}</td>
      <td class="number">{amount(name, reserved)}</td>
      <td class="number">{inventory.allocation_ratio}</td>
      <td>
        {units(inventory)}
      </td>
    </tr>
  );
}

const UNLIMITED = 2_147_483_647;

function units({ min_unit, max_unit, step_size }: Inventory): string {
  const most = max_unit < UNLIMITED ? ` to ${decimal(max_unit)}` : " or more";
  return `${decimal(min_unit)}${most}${step_size > 1 ? `, step ${decimal(step_size)}` : ""}`;
}

function Consumers({ root }: { root: Root }) {
  const { api, version } = useShared();
  const [markers, setMarkers] = useState<string[]>([]);
  const marker = markers.at(-1);
  const { value, error } = useLoaded(`${root.uuid} ${marker} ${version}`, () =>
    api.consumers({ in_tree: root.uuid, limit: CONSUMERS, ...(marker ? { marker } : {}) }),
  );
  return (
    <section aria-labelledby="consumers-title">
      <h2 id="consumers-title">Consumers</h2>
      {error && <Failure error={error} what="The list of consumers" />}
      {value?.consumers.length === 0 && <Empty>No consumer has allocations here.</Empty>}
      {value && value.consumers.length > 0 && <ConsumerTable consumers={value.consumers} />}
      <p class="pages">
        {markers.length > 0 && (
          <button type="button" onClick={() => setMarkers(markers.slice(0, -1))}>
            Back
          </button>
        )}
        {value?.next && (
          <button type="button" onClick={() => setMarkers([...markers, value.next as string])}>
            Next
          </button>
        )}
      </p>
    </section>
  );
}

function ConsumerTable({ consumers }: { consumers: Consumer[] }) {
  return (
    <Table
      label={plural(consumers.length, "consumer")}
      columns={["Consumer", "Type", "Project", "Since", "Allocations"]}
    >
      {consumers.map((consumer) => (
        <tr key={consumer.uuid}>
          <th scope="row" class="uuid">
            {consumer.uuid}
          </th>
          <td>{consumer.type ?? "unknown"}</td>
          <td class="uuid">{consumer.project_id}</td>
          <td>{consumer.created_at ? dateTime(consumer.created_at) : "–"}</td>
          <td>{describe(consumer)}</td>
        </tr>
      ))}
    </Table>
  );
}

function describe(consumer: Consumer): string {
  return Object.values(consumer.allocations)
    .flatMap((resources) => Object.entries(resources))
    .map(([name, value]) => `${name} ${amount(name, value)}`)
    .join(", ");
}
