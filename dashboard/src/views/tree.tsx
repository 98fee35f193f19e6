// One tree of providers: inventories as bars, traits, aggregates, sharing providers, consumers.

import { addressOfAll, requestOf } from "../changes";
import { compare, DISABLED_TRAIT, reservedState, type Root, usable } from "../cloud";
import type { Inventory, Provider } from "../documents";
import { amount, amountOf, decimal, ownName } from "../format";
import { Ago, Bar, Breakable, Chips, Empty, Id, Loading, Name, TreeLink } from "../parts";
import { addressOf } from "../router";
import { useLoaded, useNow, useShared } from "../state";
import { bar, number, Table } from "../table";
import { LastChanges, RequestLink } from "./changes";
import { Consumers, stateOf } from "./consumers";
import { WhatIf } from "./whatif";

export function TreeView({ uuid }: { uuid: string }) {
  const { live } = useShared();
  useNow(); // usage changes without the structure of the cloud
  const provider = live.cloud.providers.get(uuid);
  const root = live.cloud.roots.get(provider?.root_provider_uuid ?? uuid);
  if (live.status.at === null) return <Loading />;
  if (root === undefined) {
    return (
      <>
        <h1>No provider</h1>
        <Empty>
          There is no provider {uuid}. It may have been removed: see{" "}
          <a href={addressOfAll({ provider: uuid })}>its changes</a>.
        </Empty>
      </>
    );
  }
  const top = live.cloud.providers.get(root.uuid) as Provider;
  const isDevice = provider !== undefined && provider !== top;
  const of: Record<string, string> = isDevice ? { provider: uuid } : { in_tree: root.uuid };
  const sharing = isDevice ? [] : live.cloud.sharedWith(root);
  return (
    <>
      <p class="crumbs">
        <a href={addressOf("cloud")}>Cloud</a> /{" "}
        {isDevice && (
          <>
            <TreeLink uuid={root.uuid} name={root.name} /> /
          </>
        )}
      </p>
      <h1>
        <Name text={isDevice ? ownName(provider.name, [root.name]) : root.name} whole={provider?.name} />{" "}
        {root.disabled && <span class="tag">disabled</span>}
      </h1>
      {root.disabled && <DisabledSince root={root} key={`disabled ${root.uuid}`} />}
      <ul class="tree" aria-label="Providers of the tree">
        <ProviderNode provider={isDevice ? provider : top} root={root} chosen={uuid} />
      </ul>
      {sharing.length > 0 && (
        <section>
          <h2>Shared with this tree</h2>
          <ul class="tree" aria-label="Sharing providers">
            {sharing.map((provider) => (
              <li key={provider.uuid}>
                <ProviderPanel provider={provider} chosen={false} link />
              </li>
            ))}
          </ul>
        </section>
      )}
      <LastChanges of={of} version={stateOf(root)} />
      {!isDevice && <WhatIf root={root} key={`what if ${root.uuid}`} />}
      <Consumers of={of} version={stateOf(root)} key={uuid} />
    </>
  );
}

// The recorded change that disabled a host; nothing if it is older than the records.
function DisabledSince({ root }: { root: Root }) {
  const { api } = useShared();
  const { value } = useLoaded("disabled", () =>
    api.recordedChanges({ provider: root.uuid, kind: "traits" }),
  );
  const change = value?.changes.find(
    ({ after }) => Array.isArray(after) && after.includes(DISABLED_TRAIT),
  );
  if (change === undefined) return null;
  return (
    <p class="note">
      Disabled <Ago at={change.at} /> by user {change.user_id ?? "–"}, request{" "}
      <RequestLink id={requestOf(change)} />
    </p>
  );
}

function ProviderNode(props: { provider: Provider; root: Root; chosen: string }) {
  const { provider, root, chosen } = props;
  const parent = root.members.find(({ uuid }) => uuid === provider.parent_provider_uuid);
  const children = root.members
    .filter((member) => member.parent_provider_uuid === provider.uuid)
    .sort((a, b) => compare(a.name, b.name));
  return (
    <li>
      <ProviderPanel
        provider={provider}
        parents={[parent?.name ?? "", root.name]}
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
  parents?: string[];
  chosen: boolean;
  link?: boolean;
  leaf?: boolean;
}) {
  const { provider, chosen, link, leaf } = props;
  const name = ownName(provider.name, props.parents ?? []);
  const classes = Object.entries(provider.inventories).sort(([a], [b]) => compare(a, b));
  const [first] = classes;
  if (leaf && first && classes.length === 1) {
    const [className, inventory] = first;
    return <DevicePanel {...{ provider, name, className, inventory, chosen }} />;
  }
  return (
    <article class={`panel${chosen ? " chosen" : ""}`} aria-current={chosen ? "true" : undefined}>
      <h2>
        {link ? (
          <TreeLink uuid={provider.uuid} name={provider.name} />
        ) : (
          <Name text={name} whole={provider.name} />
        )}
      </h2>
      <p>
        <span class="uuid">{provider.uuid}</span>{" "}
        <span class="aside">generation {provider.generation}</span>
      </p>
      {classes.length > 0 && (
        <Table
          columns={[
            "Class",
            bar("Used share"),
            number("Used / capacity"),
            number("Free"),
            number("Reserved"),
            number("Ratio"),
            "Units",
          ]}
          rows={classes.map(([name, inventory]) => ({ key: name, cells: cellsOf(name, inventory) }))}
        />
      )}
      <Chips names={provider.traits} title="Traits" />
      {provider.aggregates.length > 0 && (
        <p class="aggregates">
          Aggregates:{" "}
          {provider.aggregates.map((uuid) => (
            <Id key={uuid} uuid={uuid} kind="aggregates" />
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
  className: string;
  inventory: Inventory;
  chosen: boolean;
}) {
  const { provider, name, className, inventory, chosen } = props;
  const { used, reserved } = inventory;
  const capacity = usable(inventory);
  const free = Math.max(0, capacity - used);
  return (
    <article
      class={`panel compact${chosen ? " chosen" : ""}`}
      aria-current={chosen ? "true" : undefined}
      title={`${provider.uuid}, generation ${provider.generation}`}
    >
      <h2>
        {chosen ? (
          <Name text={name} whole={provider.name} />
        ) : (
          <Name text={name} whole={provider.name} href={addressOf("tree", provider.uuid)} />
        )}
      </h2>
      <Name text={className} />
      <Bar name={className} amounts={{ capacity, used, reserved, free }} />
      <span class="number">{amountOf(className, used, capacity)}</span>
      <Chips names={provider.traits} title="Traits" />
    </article>
  );
}

function cellsOf(name: string, inventory: Inventory) {
  const { used, reserved } = inventory;
  const capacity = usable(inventory);
  const free = Math.max(0, capacity - used);
  return [
    <Breakable text={name} />,
    <Bar name={name} amounts={{ capacity, used, reserved, free }} />,
    amountOf(name, used, capacity),
    reservedState(inventory) || amount(name, free),
    amount(name, reserved),
    inventory.allocation_ratio,
    units(inventory),
  ];
}

const UNLIMITED = 2_147_483_647;

function units({ min_unit, max_unit, step_size }: Inventory): string {
  const most = max_unit < UNLIMITED ? ` to ${decimal(max_unit)}` : " or more";
  return `${decimal(min_unit)}${most}${step_size > 1 ? `, step ${decimal(step_size)}` : ""}`;
}
