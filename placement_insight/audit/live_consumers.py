"""The comparison of consumers with a list of live consumers, in both directions.

Consumers that the list lacks are orphans. A server in the list has its allocations on its host:
after an evacuation, or a migration that failed, allocations on another host may remain
(``servers``). Providers of other trees that share a resource, such as storage, are recognized by
the classes: the host has no allocations of their classes.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from placement_insight.audit import live_sources
from placement_insight.audit.consumers.model import UNKNOWN_TYPE, ListedConsumer
from placement_insight.audit.finding import Finding, Named
from placement_insight.audit.hosts import (
    AggregatesOfNova,
    ProviderWithoutHypervisor,
    StatusOfNova,
    aggregates,
    hypervisors,
    is_bare_metal,
)
from placement_insight.audit.model import (
    AuditedProviders,
    FailedMigration,
    Hidden,
    InvalidList,
    LeftOut,
    ListOfFile,
    ListOfNova,
    LiveConsumers,
    Moves,
    NotCompared,
    Offloaded,
    Place,
    RunsOn,
    Skipped,
    Unread,
    listed_hypervisors,
    young,
)
from placement_insight.audit.pairs import LOST, MOVING, NO_PROVIDER, NOT_COMPARED, Claimants, Held
from placement_insight.audit.servers import (
    AllocationsOnOtherHost,
    DoubledConsumer,
    OfServer,
    OrphanedConsumer,
    ServerWithoutAllocations,
    Trees,
    on_other_hosts,
)
from placement_insight.hosts import INSTANCE, MIGRATION, SERVER_CLASSES

FEW: Final = 10
ORPHANED: Final = OrphanedConsumer.code
_COMPARED: Final = (
    *(ORPHANED, AllocationsOnOtherHost.code, DoubledConsumer.code),
    *(ServerWithoutAllocations.code, ProviderWithoutHypervisor.code, StatusOfNova.code),
    AggregatesOfNova.code,
)
"""The codes of findings that need the list, in the order of the rows that were not compared."""

_CELL_DOWN: Final = "a cell of nova is down: its servers and migrations are not known"
_WRITTEN_LATER: Final = "written after the list, or while it was read (--grace-minutes)"
_UNLISTED: Final = "nova has the server, although its list lacks it"
_CHANGED: Final = "the server changed while it was compared"
_OFFLOADED: Final = "nova shelved the server and took it from its host"
_FAILED: Final = "its migration did not complete, and nova may still count it"
_SEVERAL: Final = "several migrations have a claim on the host of their server"
_WITH_MIGRATIONS: Final = ", if the file has the migrations of nova"
_ALL: Final = ", including those of devices and shared storage, which nova-manage does not create"
_CREATE: Final = "create its allocations from its flavor; nova-manage leaves out those of ports"


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
    grace = timedelta(minutes=options.grace_minutes)
    if isinstance(live, ListOfFile):  # written at the end of the listing
        live = replace(live, listed_at=live.listed_at - grace)
    before = datetime.now(UTC).replace(tzinfo=None) - grace
    comparison = Comparison(live, providers, before, young(options.grace_minutes))
    comparison.add(consumers)
    with_orphans = not options.code or ORPHANED in options.code
    if with_orphans and not options.allow_many_orphans:
        comparison.check_list()
    found = [*comparison.of_consumers(with_orphans=with_orphans), *comparison.of_hosts()]
    skipped = sorted(
        comparison.skipped.items(), key=lambda row: (_COMPARED.index(row[0][1]), row[0][2])
    )
    return LiveFindings(
        found,
        [
            kind(code, count, reason)
            for (kind, code, reason), count in skipped
            if count and (not options.code or code in options.code)
        ],
    )


class Comparison:
    """The comparison of consumers with a list.

    Consumers written since ``before`` (naive UTC) are skipped, with the reason ``young``.
    ``orphans`` have allocations, and the list lacks them; ``compared`` is the number of consumers
    whose types the list covers, ``missing`` of those that the list lacks, young ones included.
    ``skipped`` are the numbers of rows without a finding, by kind, code and reason.
    """

    def __init__(
        self, live: LiveConsumers, providers: AuditedProviders, before: datetime, young: str
    ) -> None:
        self._live, self._providers = live, providers
        self._before, self._young = before, young
        # A provider may be renamed: nova has the name of its UUID, and another host its name.
        names = providers.names
        hypervisors_ = listed_hypervisors(live)
        # hosts of two cells can have one name, which one provider has
        ordered = sorted(hypervisors_, key=names.keys().__contains__)
        of_nova = {hypervisors_[uuid].name: uuid for uuid in ordered}
        self._hosts = {name: uuid for uuid, name in names.items()}
        self._hosts |= {
            name: uuid
            for name, uuid in of_nova.items()
            if uuid in names or self._hosts.get(name) in hypervisors_
        }
        self._known_names = self._hosts.keys() | of_nova.keys()
        self._answering = _in_trees(providers, live.answering)
        listed = _in_trees(providers, of_nova, hypervisors_)
        self._on_nova = (listed or self._answering) if live.covers_untyped else set()
        self.orphans: list[ListedConsumer] = []
        self.compared = self.missing = 0
        self.skipped = Counter[tuple[type[Skipped], str, str]]()
        self._with_allocations: set[str] = set()
        self._claimants = Claimants(live, providers)
        self._failed: list[ListedConsumer] = []
        self._doubled: list[Finding] = []
        self._suspects: dict[str, OfServer | OrphanedConsumer] = {}

    def add(self, consumers: Iterable[ListedConsumer]) -> None:
        """Compare consumers.  Cost: reads all of them with allocations, one after the other."""
        for consumer in consumers:
            uuid, too_new = consumer.uuid.lower(), self._too_new(consumer)
            not_covered = self._not_covered(consumer)
            self.compared += not too_new and not not_covered
            if not consumer.allocations:
                continue  # another finding
            place = self._live.places.get(uuid)
            if place is not None:
                self._with_allocations.add(uuid)
                if isinstance(place, FailedMigration) and not too_new:
                    self._failed.append(consumer)
                elif consumer.type in (None, INSTANCE) and isinstance(place, Offloaded):
                    self._compare_offloaded(consumer, too_new)
                elif consumer.type in (None, INSTANCE):
                    self._compare_with_host(consumer, place, too_new)
                continue
            self.missing += not not_covered
            if not_covered:
                self.skipped[NotCompared, ORPHANED, not_covered] += 1
            elif too_new:
                self.skipped[LeftOut, ORPHANED, too_new] += 1
            else:
                self.orphans.append(consumer)

    def _too_new(self, consumer: ListedConsumer) -> str:
        """Return why a consumer is too new to be compared, empty if it is not."""
        written_at = consumer.written_at or datetime.min
        if written_at >= self._before:
            return self._young
        return _WRITTEN_LATER if written_at >= self._live.listed_at else ""

    def _not_covered(self, consumer: ListedConsumer) -> str:
        """Return why the list does not cover a consumer, empty if it does."""
        may_be_unlisted = self._live.cell_is_down and consumer.type in (None, MIGRATION)
        if may_be_unlisted and consumer.allocations.keys() - self._answering:
            return _CELL_DOWN
        type_ = consumer.type or UNKNOWN_TYPE
        is_untyped = consumer.type is None and self._live.covers_untyped
        is_on_nova = is_untyped and not self._on_nova.isdisjoint(consumer.allocations)
        if type_ in self._live.types or is_on_nova:
            return ""
        where = " outside of its hosts" if is_untyped else ""
        is_file = isinstance(self._live, ListOfFile)
        is_of_migrations = is_file and consumer.type in (None, MIGRATION)
        option = f"--type {type_}{_WITH_MIGRATIONS if is_of_migrations else ''}"
        return f"the list does not cover the consumer type {type_}{where} ({option})"

    def _compare_offloaded(self, consumer: ListedConsumer, too_new: str) -> None:
        if too_new:
            self.skipped[LeftOut, ORPHANED, too_new] += 1
        else:
            suspect = OrphanedConsumer.of(consumer, cause=_OFFLOADED)
            self._suspects[consumer.uuid.lower()] = suspect

    def _compare_with_host(self, consumer: ListedConsumer, place: Place, too_new: str) -> None:
        """Compare the allocations of an instance with its host, if the list has its host.

        ``too_new`` is the reason why the consumer can have no finding, empty if it can.
        Cost: a few look-ups if all allocations are on the host; this is called for each consumer.
        """
        uuid, roots = consumer.uuid.lower(), self._providers.roots
        if isinstance(place, Hidden):
            for kind in (DoubledConsumer, AllocationsOnOtherHost):
                self.skipped[NotCompared, kind.code, place.reason] += 1
        if not isinstance(place, RunsOn | Moves):
            # a file has no hosts of a cell that is down
            return self._claimants.add_hidden(consumer)
        first, *others = consumer.allocations
        root = roots.get(self._hosts.get(place.host, ""))
        if not others and root is not None and roots.get(first) == root:
            return None
        trees = self._trees(consumer)
        if root is None or root not in trees:
            return self._compare_elsewhere(consumer, place, trees, too_new)
        if trees.keys() - {root} & self._providers.lost:
            self.skipped[NotCompared, DoubledConsumer.code, LOST] += 1
        doubled = list(on_other_hosts(consumer, root, trees, self._live, self._providers))
        hypervisors_ = self._live.hypervisors
        if doubled and (isinstance(place, Moves) or place.is_resized):
            self.skipped[NotCompared, DoubledConsumer.code, MOVING] += 1
        elif doubled and isinstance(hypervisors_, Unread) and uuid in self._live.evacuated:
            self.skipped[NotCompared, DoubledConsumer.code, hypervisors_.reason] += 1
        elif doubled and too_new:
            self.skipped[LeftOut, DoubledConsumer.code, too_new] += 1
        else:
            self._doubled += doubled
        return None

    def _compare_elsewhere(
        self, consumer: ListedConsumer, place: RunsOn | Moves, trees: Trees, too_new: str
    ) -> None:
        """Compare an instance without allocations in the tree of its host."""
        code, uuid, host = AllocationsOnOtherHost.code, consumer.uuid.lower(), place.host
        self._claimants.add(uuid, self._hosts.get(host), consumer)
        if isinstance(place, Moves):
            self.skipped[NotCompared, code, MOVING] += 1
        elif trees.keys() & self._providers.lost:
            self.skipped[NotCompared, code, LOST] += 1
        elif host not in self._known_names:
            self.skipped[NotCompared, code, NO_PROVIDER] += 1
        elif too_new:
            self.skipped[LeftOut, code, too_new] += 1
        else:
            (uuid_, amounts), *others = consumer.allocations.items()
            is_plain = uuid_ in trees and amounts.keys() <= SERVER_CLASSES and not others
            devices = place.has_devices if is_plain else True
            what = "" if devices is False else _ALL
            listed = ", ".join(self._providers.names[root] for root in trees) or "none"
            self._suspects[uuid] = AllocationsOnOtherHost.of(
                consumer,
                host=Named(self._hosts.get(host), host),
                host_alone=None if devices is None else not devices,
                cause=f"the server is on {host}; its allocations are on {listed}"
                f"{self._live.unsure}",
                repair=f"replace its allocations by those on {host}{what}",
            )

    def _trees(self, consumer: ListedConsumer) -> Trees:
        trees: dict[str, dict[str, Mapping[str, int]]] = defaultdict(dict)
        for provider, amounts in consumer.allocations.items():
            if provider in self._providers.roots:
                trees[self._providers.roots[provider]][provider] = amounts
        return trees

    def _compare_without(self, uuid: str, place: Place) -> None:
        """Compare a server that has no allocations; nova reserves its bare metal node."""
        code = ServerWithoutAllocations.code
        if isinstance(place, Hidden):
            self.skipped[NotCompared, code, place.reason] += 1
            self._claimants.add_hidden(None)
        if not isinstance(place, RunsOn | Moves) or is_bare_metal(place.host):
            return
        host = self._hosts.get(place.host)
        self._claimants.add(uuid, host, None)
        if uuid in self._providers.consumers_without_row:
            return  # another finding
        if isinstance(place, Moves):
            self.skipped[NotCompared, code, MOVING] += 1
        elif place.host not in self._known_names:
            self.skipped[NotCompared, code, NO_PROVIDER] += 1
        else:
            devices = place.has_devices
            self._suspects[uuid] = ServerWithoutAllocations(
                consumer=uuid,
                host=Named(host, self._providers.names.get(host or "", place.host)),
                host_alone=None if devices is None else not devices,
                cause=f"the server is on {place.host}, whose capacity can be claimed again"
                f"{self._live.unsure}",
                repair=f"create its allocations{_ALL}" if devices else _CREATE,
            )

    def check_list(self) -> None:
        """Check that the list does not make all or most consumers orphans.

        Such a list is probably incomplete, or of another region. Raises: InvalidList.
        """
        if self.missing and not self._live.places:
            raise InvalidList(
                "The list of live consumers is empty, but consumers of its types have "
                f"allocations: {self.missing}. Check the source, or add --allow-many-orphans."
            )
        if len(self.orphans) > FEW and 2 * len(self.orphans) > self.compared:
            raise InvalidList(
                f"{len(self.orphans)} of {self.compared} consumers, more than half, are not in "
                "the list of live consumers. Check that the list is complete and of this region, "
                "or add --allow-many-orphans."
            )

    def of_consumers(self, *, with_orphans: bool) -> Sequence[Finding]:
        """Return the findings about orphans, and about all servers of the list.

        Raises: InvalidList.
        """
        for uuid in sorted(self._live.places.keys() - self._with_allocations):
            self._compare_without(uuid, self._live.places[uuid])
        servers = self._confirmed_servers()
        unneeded = self._unneeded(servers)
        orphans = self._confirmed_orphans(unneeded) if with_orphans else ()
        return [*map(OrphanedConsumer.of, orphans), *self._doubled, *servers.values()]

    def _confirmed_servers(self) -> dict[str, OfServer | OrphanedConsumer]:
        """Return the suspects whose hosts nova confirms, because consumers were read later."""
        now = self._live.places
        if isinstance(self._live, ListOfNova):
            now = self._live.current_places(sorted(self._suspects))
        confirmed = {}
        for uuid, suspect in sorted(self._suspects.items()):
            if now.get(uuid) == self._live.places[uuid]:
                confirmed[uuid] = suspect
            else:
                self.skipped[NotCompared, suspect.code, _CHANGED] += 1
                self._claimants.changed.add(uuid)
        return confirmed

    def _unneeded(
        self, servers: dict[str, OfServer | OrphanedConsumer]
    ) -> Sequence[ListedConsumer]:
        """Return the orphans on which no server runs; the others are claims of ``servers``."""
        unneeded, held = list[ListedConsumer](), list[tuple[ListedConsumer, str]]()
        claims = defaultdict[str, list[ListedConsumer]](list)
        for consumer in (*self.orphans, *self._failed):
            match self._claimants.server_of(consumer):
                case None:
                    unneeded.append(consumer)
                case Held(reason):
                    held.append((consumer, reason))
                case str(uuid):
                    claims[uuid].append(consumer)
        for uuid, of_server in claims.items():
            server = servers.get(uuid)
            if isinstance(server, OfServer) and len(of_server) == 1:
                servers[uuid] = server.taking_over(of_server[0])
            else:
                reason = _SEVERAL if len(of_server) > 1 else NOT_COMPARED
                held += ((consumer, reason) for consumer in of_server)
        for consumer, reason in held:
            if consumer.uuid.lower() not in self._live.places:
                self.skipped[LeftOut, ORPHANED, reason] += 1
        orphans = [each for each in unneeded if each.uuid.lower() not in self._live.places]
        if over := len(unneeded) - len(orphans):
            self.skipped[LeftOut, ORPHANED, _FAILED] += over
        return orphans

    def _confirmed_orphans(self, orphans: Sequence[ListedConsumer]) -> Sequence[ListedConsumer]:
        """Return the orphans that nova does not have: it is asked for each server.

        Migrations of other types are not confirmed, because nova has no request for a single
        migration by its UUID. Raises: InvalidList.
        """
        if isinstance(self._live, ListOfFile):
            return orphans
        of_nova = self._live.servers_of
        servers = {each.uuid: of_nova.get(uuid := each.uuid.lower(), uuid) for each in orphans}
        requested = {
            uuid
            for orphan in orphans
            if (uuid := servers[orphan.uuid]) not in self._live.places
            and (orphan.type != MIGRATION or uuid != orphan.uuid.lower())
        }
        alive = self._live.current_places(sorted(requested)).keys()
        for orphan in orphans:
            if servers[orphan.uuid] in alive:
                self.skipped[LeftOut, ORPHANED, _UNLISTED] += 1
        return [orphan for orphan in orphans if servers[orphan.uuid] not in alive]

    def of_hosts(self) -> Sequence[Finding]:
        """Return the findings about the hypervisors and aggregates of nova."""
        live, providers = self._live, self._providers
        if isinstance(live, ListOfFile):
            return ()
        if isinstance(live.hypervisors, Unread):
            for kind in (ProviderWithoutHypervisor, StatusOfNova, AggregatesOfNova):
                row = (NotCompared, kind.code, live.hypervisors.reason)
                self.skipped[row] += len(providers.hosts)
            return ()
        without_root = live.hypervisors.keys() & {*providers.without_root}
        for kind in (StatusOfNova, AggregatesOfNova):
            self.skipped[NotCompared, kind.code, "its provider has no root"] += len(without_root)
        listed = {key: each for key, each in live.hypervisors.items() if key not in without_root}
        found = list(hypervisors(listed, providers))
        if isinstance(live.aggregates, Unread):
            self.skipped[NotCompared, AggregatesOfNova.code, live.aggregates.reason] += len(listed)
            return found
        for each in aggregates(live.aggregates, listed, providers, live.service_of):
            if isinstance(each, Unread):
                self.skipped[NotCompared, AggregatesOfNova.code, each.reason] += 1
            else:
                found.append(each)
        return found


def _in_trees(
    providers: AuditedProviders, names: Collection[str], uuids: Collection[str] = ()
) -> set[str]:
    """Return the providers in the trees of hosts with these names or UUIDs."""
    known = {uuid for uuid, name in providers.names.items() if name in names or uuid in uuids}
    return known | {uuid for uuid, root in providers.roots.items() if root in known}
