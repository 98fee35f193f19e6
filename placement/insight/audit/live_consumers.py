"""The comparison of consumers with a list of live consumers, in both directions.

Consumers that the list lacks are orphans. A server in the list has its allocations on its host:
after an evacuation, or a migration that failed, allocations on another host may remain
(``servers``). Providers of other trees that share a resource, such as storage, are recognized by
the classes: the host has no allocations of their classes.
"""

import argparse
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Final, NamedTuple

from placement.insight.audit import live_sources
from placement.insight.audit.finding import Finding
from placement.insight.audit.hosts import (
    AggregatesOfNova,
    ProviderWithoutHypervisor,
    ServiceOf,
    aggregates,
    hypervisors,
)
from placement.insight.audit.model import (
    INSTANCE,
    MIGRATION,
    AuditedProviders,
    InvalidList,
    LiveConsumers,
    Skipped,
    young,
)
from placement.insight.audit.servers import CurrentHosts, OrphanedConsumer, Servers
from placement.insight.consumers.model import UNKNOWN_TYPE, ListedConsumer

ORPHANED: Final = OrphanedConsumer.code
FEW: Final = 10
_CELL_DOWN: Final = "a cell of nova is down, whose migrations and hypervisors are not listed"
_UNLISTED: Final = "nova has the server, although its list lacks it"


class LiveFindings(NamedTuple):
    """The findings that ``--live`` adds, and the rows that were not compared.

    Orphans come first, then the consumers of servers, both in the order of UUIDs, then hosts.
    """

    findings: Sequence[Finding] = ()
    skipped: Sequence[Skipped] = ()


NO_LIST: Final = LiveFindings()


def live_findings(
    consumers: Iterable[ListedConsumer],
    providers: AuditedProviders,
    options: argparse.Namespace,
    connect: live_sources.Connect,
) -> LiveFindings:
    """Return the findings that ``--live`` adds, without orphans if only other codes are asked for.

    ``connect`` is called for the source ``nova``.
    Raises: InvalidList if the list cannot be used, OSError if the file cannot be read.
    """
    connect = cache(connect)
    live = live_sources.read(options.live, options.type, connect)
    before = datetime.now(UTC).replace(tzinfo=None) - timedelta(minutes=options.grace_minutes)
    comparison = Comparison(live, providers, before, young(options.grace_minutes))
    comparison.add(consumers)
    current = partial(_current_hosts, connect) if options.live == live_sources.NOVA else None
    found: list[Finding] = []
    skipped: list[Skipped] = []
    if not options.code or ORPHANED in options.code:
        if not options.allow_many_orphans:
            comparison.check_list()
        orphans = _confirmed(comparison.orphans, current)
        found += map(OrphanedConsumer.of, orphans)
        unlisted = Counter({_UNLISTED: len(comparison.orphans) - len(orphans)})
        counts = sorted((comparison.skipped + unlisted).items())  # positive ones only
        skipped += (Skipped(ORPHANED, count, reason) for reason, count in counts)
    of_servers, not_compared = comparison.servers.findings(comparison.with_allocations, current)
    found += of_servers
    of_hosts, hosts_not_compared = _of_hosts(live, providers, partial(_service_of, connect))
    found += of_hosts
    skipped += (*not_compared, *hosts_not_compared)
    codes = options.code or {row.code for row in skipped}
    return LiveFindings(found, [row for row in skipped if row.code in codes])


def _of_hosts(
    live: LiveConsumers, providers: AuditedProviders, service_of: ServiceOf
) -> LiveFindings:
    """Return the findings about the hypervisors and aggregates of nova."""
    if live.hypervisors is None:
        return NO_LIST
    found, skipped = list(hypervisors(live.hypervisors, providers)), []
    if live.cell_is_down:
        kept = [each for each in found if not isinstance(each, ProviderWithoutHypervisor)]
        number = len(found) - len(kept)
        skipped, found = [Skipped(ProviderWithoutHypervisor.code, number, _CELL_DOWN)], kept
    if live.aggregates is None:
        reason = "nova does not list its aggregates to this user"
        skipped.append(Skipped(AggregatesOfNova.code, len(live.hypervisors), reason))
    else:
        found += aggregates(live.aggregates, live.hypervisors, providers, service_of)
    return LiveFindings(found, [row for row in skipped if row.count])


class Comparison:
    """The comparison of consumers with a list.

    Consumers written since ``before`` (naive UTC) are skipped, with the reason ``young``.
    ``orphans`` have allocations, and the list lacks them; ``compared`` is the number of consumers
    whose types the list covers, ``missing`` of those that the list lacks, young ones included.
    ``with_allocations`` are the UUIDs of all consumers that the list has and that have
    allocations. ``skipped`` are the numbers of other consumers that the list lacks, by the reason.
    """

    def __init__(
        self, live: LiveConsumers, providers: AuditedProviders, before: datetime, young: str
    ) -> None:
        self._live, self._before, self._young = live, before, young
        self._on_nova = _hosts_of_nova(live, providers)
        self.servers = Servers(live, providers)
        self.orphans: list[ListedConsumer] = []
        self.compared = self.missing = 0
        self.with_allocations: set[str] = set()
        self.skipped = Counter[str]()

    def add(self, consumers: Iterable[ListedConsumer]) -> None:
        """Compare consumers.  Cost: reads all of them with allocations, one after the other."""
        for consumer in consumers:
            self._add(consumer)

    def _add(self, consumer: ListedConsumer) -> None:
        uuid, too_new = consumer.uuid.lower(), self._too_new(consumer)
        not_covered = self._not_covered(consumer)
        self.compared += not too_new and not not_covered
        if not consumer.allocations:
            return  # another finding
        if uuid in self._live.hosts:
            self.with_allocations.add(uuid)
            if consumer.type in (None, INSTANCE):
                self.servers.compare(consumer, too_new)
            return
        self.missing += not not_covered
        if reason := not_covered or too_new:
            self.skipped[reason] += 1
        else:
            self.orphans.append(consumer)

    def _too_new(self, consumer: ListedConsumer) -> str:
        """Return why a consumer is too new to be compared, empty if it is not."""
        written_at = consumer.written_at or datetime.min
        if written_at >= self._before:
            return self._young
        return "written after the list" if written_at >= self._live.listed_at else ""

    def _not_covered(self, consumer: ListedConsumer) -> str:
        """Return why the list does not cover a consumer, empty if it does."""
        if self._live.cell_is_down and consumer.type in (None, MIGRATION):
            return _CELL_DOWN
        type_ = consumer.type or UNKNOWN_TYPE
        if type_ in self._live.types:
            return ""
        if consumer.type is None and not self._on_nova.isdisjoint(consumer.allocations):
            return ""
        is_elsewhere = consumer.type is None and self._live.covers_untyped
        where = " outside of its hosts" if is_elsewhere else ""
        return f"the list does not cover the consumer type {type_}{where} (--type {type_})"

    def check_list(self) -> None:
        """Check that the list does not make all or most consumers orphans.

        Such a list is probably incomplete, or of another region. Raises: InvalidList.
        """
        if self.missing and not self._live.hosts:
            raise InvalidList(
                f"The list of live consumers is empty: all {self.missing} consumers would be "
                "reported as orphaned. Check the source, or add --allow-many-orphans."
            )
        if len(self.orphans) > FEW and 2 * len(self.orphans) > self.compared:
            raise InvalidList(
                f"{len(self.orphans)} of {self.compared} consumers, more than half, are not in "
                "the list of live consumers. Check that the list is complete and of this region, "
                "or add --allow-many-orphans."
            )


def _hosts_of_nova(live: LiveConsumers, providers: AuditedProviders) -> set[str]:
    """Return the providers in the trees of hypervisors, if the list covers untyped consumers."""
    if not live.covers_untyped or live.hypervisors is None:
        return set()
    hypervisors = live.hypervisors
    known = {uuid for uuid, name in providers.names.items() if uuid in hypervisors}
    known |= {uuid for uuid in providers.hosts if providers.names[uuid] in hypervisors.values()}
    return known | {uuid for uuid, root in providers.roots.items() if root in known}


def _service_of(connect: live_sources.Connect, hypervisor: str) -> str | None:
    from placement.insight.audit.nova import service_of  # noqa: PLC0415  an extra

    return service_of(connect(), hypervisor)


def _current_hosts(
    connect: live_sources.Connect, uuids: Collection[str]
) -> Mapping[str, str | None]:
    from placement.insight.audit.nova import current_hosts  # noqa: PLC0415  an extra

    return current_hosts(connect(), uuids) if uuids else {}


def _confirmed(
    orphans: Sequence[ListedConsumer], current: CurrentHosts | None
) -> Sequence[ListedConsumer]:
    """Return the orphans that nova does not have: it is asked for each server.

    Migrations are not confirmed, because nova has no request for a single migration by its UUID.
    Raises: InvalidList.
    """
    if current is None:
        return orphans
    alive = current([orphan.uuid for orphan in orphans if orphan.type != MIGRATION]).keys()
    return [orphan for orphan in orphans if orphan.uuid not in alive]
