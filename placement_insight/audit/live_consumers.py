"""The comparison of consumers with a list of live consumers, in both directions.

Consumers that the list lacks are orphans. A server in the list has its allocations on its host:
after an evacuation, or a migration that failed, allocations on another host may remain
(``servers``). Providers of other trees that share a resource, such as storage, are recognized by
the classes: the host has no allocations of their classes.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from placement_insight.audit import live_sources
from placement_insight.audit.consumers.model import UNKNOWN_TYPE, ListedConsumer
from placement_insight.audit.finding import Finding, Named
from placement_insight.audit.hosts import (
    AggregatesOfNova,
    ProviderWithoutHypervisor,
    aggregates,
    hypervisors,
    is_bare_metal,
)
from placement_insight.audit.model import (
    INSTANCE,
    MIGRATION,
    AuditedProviders,
    InvalidList,
    LiveConsumers,
    Skipped,
    young,
)
from placement_insight.audit.servers import (
    AllocationsOnOtherHost,
    DoubledConsumer,
    OrphanedConsumer,
    ServerWithoutAllocations,
    Trees,
    on_other_hosts,
)

FEW: Final = 10
ORPHANED: Final = OrphanedConsumer.code
_COMPARED: Final = (
    *(ORPHANED, AllocationsOnOtherHost.code, DoubledConsumer.code),
    *(ServerWithoutAllocations.code, ProviderWithoutHypervisor.code, AggregatesOfNova.code),
)
"""The codes of findings that need the list, in the order of the rows that were not compared."""

_CELL_DOWN: Final = "a cell of nova is down, whose migrations and hypervisors are not listed"
_UNLISTED: Final = "nova has the server, although its list lacks it"
_MOVING: Final = "the server is being moved"
_NO_PROVIDER: Final = "no provider is the host of the server"
_CHANGED: Final = "the server changed while it was compared"
_NO_AGGREGATES: Final = "nova does not list its aggregates to this user"


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
    live = live_sources.read(options.live, options.type, connect)
    before = datetime.now(UTC).replace(tzinfo=None) - timedelta(minutes=options.grace_minutes)
    comparison = Comparison(live, providers, before, young(options.grace_minutes))
    comparison.add(consumers)
    found: list[Finding] = []
    if not options.code or ORPHANED in options.code:
        if not options.allow_many_orphans:
            comparison.check_list()
        found += map(OrphanedConsumer.of, comparison.confirmed_orphans())
    found += comparison.of_servers()
    found += comparison.of_hosts()
    skipped = sorted(comparison.skipped.items())
    return LiveFindings(
        found,
        [
            Skipped(code, count, reason)
            for code in _COMPARED
            if not options.code or code in options.code
            for (of, reason), count in skipped
            if of == code and reason and count
        ],
    )


class Comparison:
    """The comparison of consumers with a list.

    Consumers written since ``before`` (naive UTC) are skipped, with the reason ``young``.
    ``orphans`` have allocations, and the list lacks them; ``compared`` is the number of consumers
    whose types the list covers, ``missing`` of those that the list lacks, young ones included.
    ``skipped`` are the numbers of rows that were not compared, by code and reason; the reason is
    empty if there is nothing to compare.
    """

    def __init__(
        self, live: LiveConsumers, providers: AuditedProviders, before: datetime, young: str
    ) -> None:
        self._live, self._providers = live, providers
        self._before, self._young = before, young
        # A provider may be renamed: nova has the name of its UUID.
        names = providers.names
        of_nova = {name: uuid for uuid, name in (live.hypervisors or {}).items()}
        self._hosts = {name: uuid for uuid, name in names.items()}
        self._hosts |= {name: uuid for name, uuid in of_nova.items() if uuid in names}
        self._known_names = self._hosts.keys() | of_nova.keys()
        self._on_nova = _hosts_of_nova(live, providers)
        self.orphans: list[ListedConsumer] = []
        self.compared = self.missing = 0
        self.skipped = Counter[tuple[str, str]]()
        self._with_allocations: set[str] = set()
        self._doubled: list[Finding] = []
        self._suspects: dict[str, Finding] = {}

    def add(self, consumers: Iterable[ListedConsumer]) -> None:
        """Compare consumers.  Cost: reads all of them with allocations, one after the other."""
        for consumer in consumers:
            uuid, too_new = consumer.uuid.lower(), self._too_new(consumer)
            not_covered = self._not_covered(consumer)
            self.compared += not too_new and not not_covered
            if not consumer.allocations:
                continue  # another finding
            if uuid in self._live.hosts:
                self._with_allocations.add(uuid)
                if consumer.type in (None, INSTANCE):
                    self._compare_with_host(consumer, too_new)
                continue
            self.missing += not not_covered
            if reason := not_covered or too_new:
                self.skipped[ORPHANED, reason] += 1
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

    def _compare_with_host(self, consumer: ListedConsumer, too_new: str) -> None:
        """Compare the allocations of an instance with its host, if the list has its host.

        ``too_new`` is the reason why the consumer can have no finding, empty if it can.
        Cost: a few look-ups if all allocations are on the host; this is called for each consumer.
        """
        uuid, names, roots = consumer.uuid.lower(), self._providers.names, self._providers.roots
        settled = self._live.hosts[uuid]
        name = settled or self._live.moving.get(uuid)
        if name is None:
            for kind in (DoubledConsumer, AllocationsOnOtherHost):
                self.skipped[kind.code, self._live.hidden.get(uuid, "")] += 1
            return
        first, *others = consumer.allocations
        if not others and names.get(roots.get(first, "")) == name:
            return
        host, trees = self._hosts.get(name), self._trees(consumer)
        root = host if host is None or host in trees else roots.get(host)
        skipped = too_new or ("" if settled else _MOVING)
        if root is not None and root in trees:
            doubled = list(on_other_hosts(consumer, root, trees, self._live, self._providers))
            self._doubled += [] if skipped else doubled
            self.skipped[DoubledConsumer.code, skipped] += bool(doubled)
        elif skipped or name not in self._known_names:
            self.skipped[AllocationsOnOtherHost.code, skipped or _NO_PROVIDER] += 1
        else:
            listed = ", ".join(names[root] for root in trees)
            self._suspects[uuid] = AllocationsOnOtherHost.of(
                consumer,
                host=Named(host, name),
                cause=f"nova says that the server is on {name}; its allocations are on {listed}",
                repair=f"replace its allocations by those on {name}",
            )

    def _trees(self, consumer: ListedConsumer) -> Trees:
        trees: dict[str, dict[str, Mapping[str, int]]] = defaultdict(dict)
        for provider, amounts in consumer.allocations.items():
            if provider in self._providers.roots:
                trees[self._providers.roots[provider]][provider] = amounts
        return trees

    def _compare_without(self, uuid: str) -> None:
        """Compare a server that has no allocations; nova reserves its bare metal node."""
        code, name = ServerWithoutAllocations.code, self._live.hosts[uuid]
        if name is None:
            is_moving = uuid in self._live.moving
            self.skipped[code, _MOVING if is_moving else self._live.hidden.get(uuid, "")] += 1
        elif is_bare_metal(name):
            return
        elif name not in self._known_names:
            self.skipped[code, _NO_PROVIDER] += 1
        else:
            host = self._hosts.get(name)
            self._suspects[uuid] = ServerWithoutAllocations(
                consumer=uuid,
                host=Named(host, self._providers.names.get(host or "", name)),
                cause=f"the server is on {name}, whose capacity can be claimed a second time",
            )

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

    def confirmed_orphans(self) -> Sequence[ListedConsumer]:
        """Return the orphans that nova does not have: it is asked for each server.

        Migrations are not confirmed, because nova has no request for a single migration by its
        UUID. Raises: InvalidList.
        """
        if self._live.current_hosts is None:
            return self.orphans
        servers = [orphan.uuid for orphan in self.orphans if orphan.type != MIGRATION]
        alive = self._live.current_hosts(servers).keys()
        confirmed = [orphan for orphan in self.orphans if orphan.uuid not in alive]
        self.skipped[ORPHANED, _UNLISTED] += len(self.orphans) - len(confirmed)
        return confirmed

    def of_servers(self) -> Sequence[Finding]:
        """Return the findings about all servers of the list.

        Nova confirms them, because consumers were read after the list. Raises: InvalidList.
        """
        for uuid in sorted(self._live.hosts.keys() - self._with_allocations):
            self._compare_without(uuid)
        now, current, confirmed = self._live.hosts, self._live.current_hosts, list[Finding]()
        if current is not None:
            now = current(sorted(self._suspects))
        for uuid, suspect in sorted(self._suspects.items()):
            if now.get(uuid) == self._live.hosts[uuid]:
                confirmed.append(suspect)
            else:
                self.skipped[suspect.code, _CHANGED] += 1
        return [*self._doubled, *confirmed]

    def of_hosts(self) -> Sequence[Finding]:
        """Return the findings about the hypervisors and aggregates of nova."""
        live = self._live
        if live.hypervisors is None:
            return ()
        found: list[Finding] = list(hypervisors(live.hypervisors, self._providers))
        if live.cell_is_down:
            kept = [each for each in found if not isinstance(each, ProviderWithoutHypervisor)]
            self.skipped[ProviderWithoutHypervisor.code, _CELL_DOWN] += len(found) - len(kept)
            found = kept
        if live.aggregates is None:
            self.skipped[AggregatesOfNova.code, _NO_AGGREGATES] += len(live.hypervisors)
            return found
        found += aggregates(live.aggregates, live.hypervisors, self._providers, live.service_of)
        return found


def _hosts_of_nova(live: LiveConsumers, providers: AuditedProviders) -> set[str]:
    """Return the providers in the trees of hypervisors, if the list covers untyped consumers."""
    if not live.covers_untyped or live.hypervisors is None:
        return set()
    names = {*live.hypervisors.values()}
    known = providers.names.keys() & live.hypervisors.keys()
    known |= {uuid for uuid in providers.hosts if providers.names[uuid] in names}
    return known | {uuid for uuid, root in providers.roots.items() if root in known}
