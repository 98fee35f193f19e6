"""Findings about names of providers, unused names, aggregates, and consumers without a type."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from placement_insight.audit.consumers.model import UNKNOWN_TYPE
from placement_insight.audit.finding import (
    NOTICE,
    SYNC_AGGREGATES,
    WARNING,
    Commands,
    Finding,
    InPlan,
    Named,
    OfProvider,
)
from placement_insight.audit.model import AuditedProvider, AuditedState
from placement_insight.hosts import INSTANCE, MIGRATION
from placement_insight.names import short_name

# Neutron creates them at each start of an agent, also if no provider gets them.
_OF_NEUTRON = ("CUSTOM_NETWORK_TUNNEL_PROVIDER", "CUSTOM_PHYSNET_", "CUSTOM_VNIC_TYPE_")


class SimilarNames(Finding, code="similar_names", level=NOTICE):
    """Roots that may be one host."""

    repair: str = "keep one, and move the allocations of the others to it"
    providers: Sequence[Named]

    def first_command(self, commands: Commands) -> str:
        """Return the command that lists the providers that a name could mean."""
        return commands.identity_of(self.providers[0])


def similar_names(state: AuditedState) -> Iterator[SimilarNames]:
    """Yield a finding for roots whose names differ only in letter case or by a domain."""
    roots = [root for root in state.providers.values() if root.parent_id is None]
    short = {root.name.lower() for root in roots if "." not in root.name}
    groups: dict[str, list[Named]] = defaultdict(list)
    for root in sorted(roots):
        name, first = root.name.lower(), short_name(root.name)
        groups[first if first in short else name].append(root.named)
    for _, group in sorted(groups.items()):
        if len(group) > 1:
            host = min((each.name for each in group), key=len)
            yield SimilarNames(providers=group, cause=f"all may be the host {host}")


class LostParent(OfProvider, code="lost_parent", level=WARNING):
    """A root with the name of a child of ``host``, as agents of Neutron and devices have it."""

    repair: str = "restart the service that created it, which sets the parent"
    host: Named

    def first_command(self, commands: Commands) -> str:
        """Return the command that lists the providers that the name of its host could mean."""
        return commands.identity_of(self.host)


def lost_parents(state: AuditedState) -> Iterator[LostParent]:
    """Yield a finding for each root that is no host, and begins with the name of one.

    A root in an aggregate of the host may share with it, as storage does.
    """
    providers, aggregates = state.providers.values(), state.aggregates
    hosts = [each for each in providers if each.uuid in state.hosts]
    by_name = {short_name(each.name): each for each in hosts}
    by_name |= {each.name.lower(): each for each in hosts}
    for provider in providers:
        if provider.parent_id is None and provider.uuid not in state.hosts:
            host = _host_of(provider.name, by_name)
            own = set(aggregates.get(provider.uuid, ()))
            if host and own.isdisjoint(aggregates.get(host.uuid, ())):
                cause = f"no request finds it together with {host.name}: it has no parent"
                yield LostParent(provider=provider.named, host=host.named, cause=cause)


def _host_of(name: str, hosts: Mapping[str, AuditedProvider]) -> AuditedProvider | None:
    """Return the host with the longest name that the name of a child begins with."""
    for separator in reversed(list(re.finditer("[:_]", name))):
        prefix = name[: separator.start()]
        if host := hosts.get(prefix.lower()) or hosts.get(short_name(prefix)):
            return host
    return None


class HostWithoutAggregate(OfProvider, code="host_without_aggregate", level=NOTICE):
    """A host in no aggregate."""

    repair: str = "synchronize the aggregates of nova; if it is in none there, add it to one"

    def first_command(self, commands: Commands) -> str:  # noqa: ARG002 - of nova
        """Return the command that writes nova's aggregates to Placement."""
        return SYNC_AGGREGATES


def hosts_without_aggregate(state: AuditedState) -> Iterator[HostWithoutAggregate]:
    """Yield a finding for each host in no aggregate, if most hosts are in one."""
    hosts = [
        provider
        for provider in state.providers.values()
        if provider.uuid in state.hosts and provider.parent_id is None
    ]
    missing = [host for host in hosts if host.uuid not in state.aggregates]
    if 2 * len(missing) < len(hosts):
        cause = f"{len(hosts) - len(missing)} of {len(hosts)} hosts are in an aggregate"
        yield from (HostWithoutAggregate(provider=host.named, cause=cause) for host in missing)


class UnusedClass(InPlan, code="unused_class", level=NOTICE):
    """A custom resource class that nothing uses."""

    repair: str = "delete the resource class"
    resource_class: str


class UnusedTrait(InPlan, code="unused_trait", level=NOTICE):
    """A custom trait that no provider has."""

    repair: str = "delete the trait"
    trait: str


class UnusedType(InPlan, code="unused_type", level=NOTICE):
    """A consumer type that no consumer has."""

    cause: str = "no consumer has it"
    repair: str = "delete the consumer type"
    type: str


def unused_names(state: AuditedState) -> Iterator[Finding]:
    """Yield a finding for each name that nothing uses; nova will use its consumer types."""
    for name in sorted(state.unused_classes):
        if not name.startswith("CUSTOM_RESERVATION_"):  # of a lease of Blazar that starts later
            yield UnusedClass(resource_class=name)
    traits = sorted(name for name in state.unused_traits if not name.startswith(_OF_NEUTRON))
    yield from (UnusedTrait(trait=name) for name in traits)
    unused = {name for name, number in state.consumer_types.items() if name and not number}
    yield from (UnusedType(type=name) for name in sorted(unused - {INSTANCE, MIGRATION}))


class UntypedConsumers(Finding, code="untyped_consumers", level=NOTICE):
    """Consumers without a type, beside others with one."""

    cause: str = "written below microversion 1.38, while other consumers have a type"
    repair: str = "upgrade the client that writes them; its next write sets the type"
    type: str
    consumers: int

    def first_command(self, commands: Commands) -> str:
        """Return the command that lists these consumers."""
        return commands.of_openstack("resource consumer list --type", self.type)


def untyped_consumers(state: AuditedState) -> Iterator[UntypedConsumers]:
    """Yield a finding if some consumers have a type and others have none."""
    untyped = state.consumer_types.get(None, 0)
    if 0 < untyped < sum(state.consumer_types.values()):
        yield UntypedConsumers(type=UNKNOWN_TYPE, consumers=untyped)
