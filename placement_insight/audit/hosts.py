"""Findings about the hypervisors and the aggregates of nova."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from placement.core.text import canonical_uuid
from placement_insight.audit.finding import (
    NOTICE,
    SYNC_AGGREGATES,
    WARNING,
    Commands,
    Finding,
    Named,
    OfProvider,
)
from placement_insight.audit.model import (
    AuditedProviders,
    Hypervisor,
    NovaAggregate,
    ServiceOf,
    Unread,
)
from placement_insight.names import short_name

_SET_AGGREGATES = "--os-placement-api-version 1.1 resource provider aggregate set"


class HypervisorWithoutProvider(Finding, code="hypervisor_without_provider"):
    """A hypervisor whose UUID no provider has; ``provider`` has its name."""

    repair: str = "see the log of nova-compute on the host; adopt or rename the other provider"
    hypervisor: Named
    provider: Named | None

    def first_command(self, commands: Commands) -> str:
        """Return the command that lists the providers that its name could mean."""
        return commands.identity_of(self.hypervisor)


class ProviderWithoutHypervisor(OfProvider, code="provider_without_hypervisor", level=NOTICE):
    """A host that nova does not have."""

    cause: str = "the host was removed, or belongs to another region"
    repair: str = "move its consumers away, and retire it"

    def first_command(self, commands: Commands) -> str:
        """Return the command that lists the providers that its name could mean."""
        return commands.identity_of(self.provider)


class StatusOfNova(OfProvider, code="status_of_nova"):
    """A host whose trait of disabled hosts differs from the status of its compute service."""

    status: str
    repair: str = "start nova-compute on the host, or see its log: it writes the trait each minute"

    def first_command(self, commands: Commands) -> str:
        """Return the command that shows the states of the services, and their reasons."""
        return f"{commands.openstack} compute service list --long --service nova-compute"


_CAUSES = {
    True: "nova has it disabled, and it has no COMPUTE_STATUS_DISABLED: it is a candidate",
    False: "nova has it enabled, and it has the trait COMPUTE_STATUS_DISABLED: it gets no server",
}


def hypervisors(
    of_nova: Mapping[str, Hypervisor], providers: AuditedProviders
) -> Iterator[Finding]:
    """Yield the hypervisors of nova that differ from providers, then hosts without hypervisor.

    ``of_nova`` are by UUID. A host with the name of a hypervisor that has another UUID is reported
    with this hypervisor only.
    """
    names, others = providers.names, set[str | None]()
    uuids = {name: uuid for uuid, name in names.items()}
    for uuid, (name, is_down, is_disabled) in sorted(of_nova.items()):
        if uuid in names and (uuid in providers.disabled) != is_disabled:
            status = "disabled" if is_disabled else "enabled"
            provider = Named(uuid, names[uuid])
            yield StatusOfNova(
                provider=provider, status=status, cause=_CAUSES[is_disabled], ends=is_down
            )
        if uuid not in names:
            other = Named(uuids[name], name) if name in uuids else None
            cause = "nova-compute did not create it, or it was deleted"
            if other:
                cause = "a provider with another UUID has the name"
                others.add(other.uuid)
            hypervisor = Named(uuid, name)
            yield HypervisorWithoutProvider(hypervisor=hypervisor, provider=other, cause=cause)
    for uuid in sorted(set(providers.hosts) - of_nova.keys() - others):
        yield ProviderWithoutHypervisor(provider=Named(uuid, names[uuid]))


class AggregatesOfNova(OfProvider, code="aggregates_of_nova", level=WARNING):
    """A host in other aggregates in nova; ``aggregates`` are to stay."""

    cause: str = "the host is in other aggregates in nova than in Placement"
    missing: Sequence[Named]
    extra: Sequence[Named]
    aggregates: Sequence[str]

    def first_command(self, commands: Commands) -> str:
        """Return the command with which the repair begins: nova does not remove a host."""
        if self.missing:
            return SYNC_AGGREGATES
        kept = [f"--aggregate {uuid}" for uuid in self.aggregates]
        return " ".join((commands.openstack, _SET_AGGREGATES, *kept, str(self.provider.uuid)))


def aggregates(
    of_nova: Mapping[str, NovaAggregate],
    hypervisors: Mapping[str, Hypervisor],
    providers: AuditedProviders,
    service_of: ServiceOf,
) -> Iterator[AggregatesOfNova | Unread]:
    """Yield the hosts whose aggregates of nova are not those in Placement.

    The hosts of an aggregate are compute services; ``service_of`` is called for a hypervisor with
    another name, and its host is not compared if nova does not return it. Bare metal nodes are
    not compared: nova does not synchronize their aggregates. Other aggregates of a provider are
    not of nova.
    """

    def named(uuids: Collection[str]) -> list[Named]:
        return [Named(uuid, of_nova[uuid].name) for uuid in sorted(uuids)]

    services = {name for aggregate in of_nova.values() for name in aggregate.hosts}
    by_service = _by_service(services, hypervisors)
    known = {short_name(service) for service in services}
    for uuid in sorted(hypervisors.keys() & providers.names.keys()):
        stored, service = set(providers.aggregates.get(uuid, ())), by_service.get(uuid)
        if is_bare_metal(hypervisors[uuid].name):
            continue
        is_listed = stored & of_nova.keys() or short_name(hypervisors[uuid].name) in known
        if service is None and is_listed and (service := service_of(uuid)) is None:
            yield Unread("nova did not return the compute service of the hypervisor")
            continue
        wanted = {key for key, aggregate in of_nova.items() if service in aggregate.hosts}
        missing, extra = wanted - stored, (stored & of_nova.keys()) - wanted
        if missing or extra:
            removal = "remove it from the extra ones"
            yield AggregatesOfNova(
                provider=Named(uuid, providers.names[uuid]),
                missing=named(missing),
                extra=named(extra),
                aggregates=sorted(stored - extra),
                repair="add it to the missing aggregates" if missing else removal,
            )


def is_bare_metal(name: str) -> bool:
    """Return whether a hypervisor is a bare metal node: its name is a UUID."""
    return canonical_uuid(name) == name.lower()


def _by_service(
    services: Collection[str], hypervisors: Mapping[str, Hypervisor]
) -> Mapping[str, str]:
    """Return the compute services by the UUIDs of their hypervisors.

    They have the same name, or one of them has a domain; ambiguous names are left out.
    """
    short: dict[str, list[str]] = defaultdict(list)
    for uuid, hypervisor in hypervisors.items():
        short[short_name(hypervisor.name)].append(uuid)
    by_name = {hypervisor.name: uuid for uuid, hypervisor in hypervisors.items()}
    found = {}
    for service in services:
        similar = short[short_name(service)]
        if service in by_name:
            found[by_name[service]] = service
        elif len(similar) == 1:
            found[similar[0]] = service
    return found
