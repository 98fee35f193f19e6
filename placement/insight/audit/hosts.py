"""Findings about hosts: their place in trees, their inventories, aggregates and hypervisors.

A host is a provider with the trait COMPUTE_NODE, which nova-compute sets.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

from placement.insight.audit.kinds import (
    AggregatesOfNova,
    EditedProvider,
    HostWithoutAggregate,
    HypervisorWithoutProvider,
    Named,
    NestedComputeNode,
    ProviderWithoutHypervisor,
    ProviderWithoutInventory,
)
from placement.insight.audit.model import (
    AuditedProvider,
    AuditedProviders,
    AuditedState,
    Finding,
    NovaAggregate,
)
from placement.insight.names import short_name


def ancestors(
    provider: AuditedProvider, providers: Mapping[int, AuditedProvider]
) -> Iterator[AuditedProvider]:
    """Yield the provider, its parent and so on; in a loop of parents, each provider once."""
    visited = set()
    current: AuditedProvider | None = provider
    while current is not None and current.id not in visited:
        visited.add(current.id)
        yield current
        current = providers.get(current.parent_id or 0)


def nested_compute_nodes(state: AuditedState) -> Iterator[Finding]:
    """Yield a finding for each host that is in the tree of another host, the nearest one."""
    for provider in state.providers.values():
        chain = ancestors(provider, state.providers)
        hosts = [ancestor for ancestor in chain if ancestor.id in state.compute_nodes]
        if len(hosts) > 1 and hosts[0] is provider:
            host = hosts[1]
            parent, root = (_uuid(id_, state) for id_ in (provider.parent_id, provider.root_id))
            kind = NestedComputeNode(named(provider), named(host), parent, root)
            cause = f"it is below {host.name}: candidates and claims combine both hosts"
            repair = "make it the root of its own tree, with the providers below it"
            yield Finding(kind, cause, repair)


def _uuid(id_: int | None, state: AuditedState) -> str | None:
    provider = state.providers.get(id_ or 0)
    return provider.uuid if provider else None


def providers_without_inventory(state: AuditedState) -> Iterator[Finding]:
    """Yield a finding for each provider that has no inventory, no usage and no children."""
    used = {inventory.provider_id for inventory in state.inventories}
    used |= {provider_id for provider_id, _ in state.usage}
    used |= {provider.parent_id or 0 for provider in state.providers.values()}
    for provider in state.providers.values():
        if provider.id not in used:
            cause = "nothing has reported it, or it is left over"
            repair = "check that the service that created it runs; otherwise delete the provider"
            yield Finding(ProviderWithoutInventory(named(provider)), cause, repair)


def hosts_without_aggregate(state: AuditedState) -> Iterator[Finding]:
    """Yield a finding for each host in no aggregate, if most hosts are in one."""
    hosts = [
        provider
        for provider in state.providers.values()
        if provider.id in state.compute_nodes and provider.parent_id is None
    ]
    missing = [host for host in hosts if host.id not in state.aggregated]
    if 2 * len(missing) >= len(hosts):
        return
    for host in missing:
        cause = f"{len(hosts) - len(missing)} of {len(hosts)} hosts are in an aggregate"
        repair = "add it to its host aggregates in nova, which synchronizes them"
        yield Finding(HostWithoutAggregate(named(host)), cause, repair)


def edited_providers(state: AuditedState, served: Mapping[int, str]) -> Iterator[Finding]:
    """Yield the providers whose ids have other UUIDs in the snapshot at the same clocks.

    ``served`` has the UUIDs in the snapshot by id. Every write of the service advances the clocks,
    so these rows were changed by SQL. Providers with an inconsistent tree are not in the snapshot,
    and have another finding.
    """
    stored = {
        id_: provider
        for id_, provider in state.providers.items()
        if id_ in served or not _is_inconsistent(provider, state)
    }
    for id_ in sorted(stored.keys() | served.keys()):
        provider, uuid = stored.get(id_), served.get(id_)
        if provider is None or provider.uuid != uuid:
            name = named(provider) if provider else Named(uuid, str(uuid))
            kind = EditedProvider(name, id_, provider and provider.uuid, uuid)
            cause = "the row was changed by SQL: requests by UUID and by name disagree"
            repair = "run db sync, so that each process loads the data again"
            yield Finding(kind, cause, repair)


def _is_inconsistent(provider: AuditedProvider, state: AuditedState) -> bool:
    *_, last = ancestors(provider, state.providers)
    return provider.root_id != last.id or last.parent_id is not None


def hypervisor_findings(
    hypervisors: Mapping[str, str], providers: AuditedProviders
) -> Iterator[Finding]:
    """Yield the hypervisors of nova without a provider, then the hosts without a hypervisor.

    ``hypervisors`` are names by UUID.
    """
    names = providers.names
    uuids = {name: uuid for uuid, name in names.items()}
    for uuid, name in sorted(hypervisors.items()):
        if uuid not in names:
            other = None
            cause = "nova-compute did not create it, or it was deleted"
            if name in uuids:
                other = Named(uuids[name], name)
                cause = "a provider with another UUID has the name"
            repair = "see the log of nova-compute on the host; adopt or rename the other provider"
            kind = HypervisorWithoutProvider(Named(uuid, name), other)
            yield Finding(kind, cause, repair)
    for uuid in sorted(set(providers.hosts) - hypervisors.keys()):
        cause = "the host was removed, or belongs to another region"
        repair = "move its consumers away, and retire it"
        yield Finding(ProviderWithoutHypervisor(Named(uuid, names[uuid])), cause, repair)


def aggregate_findings(
    aggregates: Mapping[str, NovaAggregate],
    hypervisors: Mapping[str, str],
    providers: AuditedProviders,
) -> Iterator[Finding]:
    """Yield the hosts whose aggregates of nova are not those in Placement.

    The hosts of an aggregate are compute services: one that is no hypervisor, such as the service
    of bare metal nodes, is not compared. Other aggregates of a provider are not of nova.
    """
    services = {name for aggregate in aggregates.values() for name in aggregate.hosts}
    by_service = _by_service(services, hypervisors)
    for uuid in sorted(hypervisors.keys() & providers.names.keys()):
        service = by_service.get(uuid)
        of_nova = {key for key, aggregate in aggregates.items() if service in aggregate.hosts}
        stored = set(providers.aggregates.get(uuid, ()))
        missing, extra = of_nova - stored, (stored & aggregates.keys()) - of_nova
        if missing or extra:
            kind = AggregatesOfNova(
                Named(uuid, providers.names[uuid]),
                missing=[Named(key, aggregates[key].name) for key in sorted(missing)],
                extra=[Named(key, aggregates[key].name) for key in sorted(extra)],
                aggregates=sorted(stored - extra),
            )
            yield Finding(
                kind,
                "the host is in other aggregates in nova than in Placement",
                "add it to the missing aggregates" if missing else "remove it from the extra ones",
            )


def _by_service(services: Collection[str], hypervisors: Mapping[str, str]) -> Mapping[str, str]:
    """Return the compute services by the UUIDs of their hypervisors.

    They have the same name, or one of them has a domain; ambiguous names are left out.
    """
    short: dict[str, list[str]] = defaultdict(list)
    for uuid, name in hypervisors.items():
        short[short_name(name)].append(uuid)
    by_name = {name: uuid for uuid, name in hypervisors.items()}
    found = {}
    for service in services:
        similar = short[short_name(service)]
        if service in by_name:
            found[by_name[service]] = service
        elif len(similar) == 1:
            found[similar[0]] = service
    return found


def named(provider: AuditedProvider) -> Named:
    """Return UUID and name of a provider."""
    return Named(provider.uuid, provider.name)
