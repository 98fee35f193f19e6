"""Findings about hosts: their place in trees, their inventories, aggregates and hypervisors.

A host is a provider with the trait COMPUTE_NODE, which nova-compute sets.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

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
            rows = {
                **rows_of(provider),
                "host": {"uuid": host.uuid, "name": host.name},
                "parent": _uuid(provider.parent_id, state),
                "root": _uuid(provider.root_id, state),
            }
            cause = f"it is below {host.name}: candidates and claims combine both hosts"
            repair = "make it the root of its own tree, with the providers below it"
            yield Finding("nested_compute_node", rows, cause, repair)


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
            yield Finding("provider_without_inventory", rows_of(provider), cause, repair)


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
        yield Finding("host_without_aggregate", rows_of(host), cause, repair)


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
            rows: dict[str, object] = {"hypervisor": {"uuid": uuid, "name": name}}
            cause = "nova-compute did not create it, or it was deleted"
            if name in uuids:
                rows["provider"] = {"uuid": uuids[name], "name": name}
                cause = "a provider with another UUID has the name"
            repair = "see the log of nova-compute on the host; adopt or rename the other provider"
            yield Finding("hypervisor_without_provider", rows, cause, repair)
    for uuid in sorted(set(providers.hosts) - hypervisors.keys()):
        rows = {"provider": {"uuid": uuid, "name": names[uuid]}}
        cause = "the host was removed, or belongs to another region"
        repair = "move its consumers away, and retire it"
        yield Finding("provider_without_hypervisor", rows, cause, repair)


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
            name = providers.names[uuid]
            listed = {
                kind: [{"uuid": key, "name": aggregates[key].name} for key in sorted(keys)]
                for kind, keys in (("missing", missing), ("extra", extra))
            }
            rows = {
                "provider": {"uuid": uuid, "name": name},
                **listed,
                "aggregates": sorted(stored - extra),
            }
            yield Finding(
                "aggregates_of_nova",
                rows,
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


def rows_of(provider: AuditedProvider) -> dict[str, object]:
    """Return UUID and name of a provider."""
    return {"provider": {"uuid": provider.uuid, "name": provider.name}}
