"""The comparison of consumers with a list of live consumers, in both directions.

Consumers that the list lacks are orphans. A server in the list has its allocations on its host:
after an evacuation, or a migration that failed, allocations on another host may remain
(``placed``). Providers of other trees that share a resource, such as storage, are recognized by
the classes: the host has no allocations of their classes.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from placement.insight.audit import live_sources, placed
from placement.insight.audit.hosts import aggregate_findings, hypervisor_findings
from placement.insight.audit.kinds import OrphanedConsumer
from placement.insight.audit.model import (
    INSTANCE,
    MIGRATION,
    AuditedProviders,
    Finding,
    InvalidList,
    LiveConsumers,
    Skipped,
    young,
)
from placement.insight.consumers.model import UNKNOWN_TYPE, ListedConsumer

ORPHANED: Final = OrphanedConsumer.code
FEW: Final = 10
_UNLISTED: Final = "nova has the server, although its list lacks it"
_NO_PROVIDERS: Final = AuditedProviders({}, {}, ())


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
    connect: Callable[[], Any],
) -> LiveFindings:
    """Return the findings that ``--live`` adds, without orphans if only other codes are asked for.

    ``connect`` returns a connection of openstacksdk; it is called for the source ``nova``.
    Raises: InvalidList if the list cannot be used, OSError if the file cannot be read.
    """
    live = live_sources.read(options.live, options.type, connect)
    before = datetime.now(UTC).replace(tzinfo=None) - timedelta(minutes=options.grace_minutes)
    comparison = compare(consumers, live, before, young(options.grace_minutes), providers)
    is_nova = options.live == live_sources.NOVA
    found: list[Finding] = []
    skipped: list[Skipped] = []
    if not options.code or ORPHANED in options.code:
        _check_list(comparison, live, accept_many=options.allow_many_orphans)
        orphans = comparison.orphans
        if is_nova:
            orphans = _confirmed(orphans, connect)
        found += map(_orphan, orphans)
        unlisted = Counter({_UNLISTED: len(comparison.orphans) - len(orphans)})
        counts = sorted((comparison.skipped + unlisted).items())  # positive ones only
        skipped += (Skipped(ORPHANED, count, reason) for reason, count in counts)
    current = _current_hosts(connect) if is_nova else None
    of_servers = placed.findings(
        comparison.located, comparison.with_allocations, live, providers, current
    )
    found += of_servers.findings
    skipped += (row for row in of_servers.skipped if not options.code or row.code in options.code)
    if live.hypervisors is not None:
        found += hypervisor_findings(live.hypervisors, providers)
        found += aggregate_findings(live.aggregates or {}, live.hypervisors, providers)
        if live.aggregates is None and live.hypervisors:
            reason = "nova does not list its aggregates to this user"
            skipped.append(Skipped("aggregates_of_nova", len(live.hypervisors), reason))
    return LiveFindings(found, skipped)


@dataclass(slots=True)
class Comparison:
    """The comparison of the consumers with a list.

    ``orphans`` have allocations, and the list lacks them; ``compared`` is the number of consumers
    whose types the list covers, ``missing`` of those that the list lacks, young ones included.
    ``located`` are instances that have allocations on several
    providers or not on their host, and the list has their hosts. All of them were written before
    the list and the grace period. ``with_allocations`` are the UUIDs of all consumers that the
    list has and that have allocations. ``skipped`` are the numbers of other consumers that the
    list lacks, by the reason.
    """

    orphans: list[ListedConsumer] = field(default_factory=list)
    compared: int = 0
    missing: int = 0
    located: list[ListedConsumer] = field(default_factory=list)
    with_allocations: set[str] = field(default_factory=set)
    skipped: Counter[str] = field(default_factory=Counter)


def compare(
    consumers: Iterable[ListedConsumer],
    live: LiveConsumers,
    before: datetime,
    young: str,
    providers: AuditedProviders = _NO_PROVIDERS,
) -> Comparison:
    """Return the comparison with a list.

    Consumers written since ``before`` (naive UTC) are skipped, with the reason ``young``.
    Cost: reads all consumers with their allocations, one after the other.
    """
    comparison = Comparison()
    on_nova = _hosts_of_nova(live, providers)
    for consumer in consumers:
        written_at = consumer.written_at or datetime.min
        is_covered = _is_covered(consumer, live, on_nova)
        # A consumer without allocations has another finding.
        is_listed = consumer.uuid.lower() in live.hosts
        is_missing = bool(consumer.allocations) and not is_listed
        if is_listed and consumer.allocations:
            comparison.with_allocations.add(consumer.uuid.lower())
        comparison.missing += is_covered and is_missing
        if written_at >= before:
            comparison.skipped[young] += is_covered and is_missing
        elif written_at >= live.listed_at:
            comparison.skipped["written after the list"] += is_covered and is_missing
        else:
            comparison.compared += is_covered
            if is_missing and is_covered:
                comparison.orphans.append(consumer)
            elif is_missing:
                comparison.skipped[_not_covered(consumer, live)] += 1
            elif consumer.type in (None, INSTANCE) and placed.is_odd(consumer, live, providers):
                comparison.located.append(consumer)
    return comparison


def _hosts_of_nova(live: LiveConsumers, providers: AuditedProviders) -> Collection[str]:
    """Return the providers in the trees of hypervisors, if the list covers untyped consumers."""
    if not live.covers_untyped or live.hypervisors is None:
        return ()
    hypervisors = live.hypervisors
    known = {uuid for uuid, name in providers.names.items() if uuid in hypervisors}
    known |= {uuid for uuid in providers.hosts if providers.names[uuid] in hypervisors.values()}
    return known | {uuid for uuid, root in providers.roots.items() if root in known}


def _is_covered(consumer: ListedConsumer, live: LiveConsumers, on_nova: Collection[str]) -> bool:
    if (consumer.type or UNKNOWN_TYPE) in live.types:
        return True
    return consumer.type is None and any(uuid in on_nova for uuid in consumer.allocations)


def _not_covered(consumer: ListedConsumer, live: LiveConsumers) -> str:
    type_ = consumer.type or UNKNOWN_TYPE
    where = " outside of its hosts" if consumer.type is None and live.covers_untyped else ""
    return f"the list does not cover the consumer type {type_}{where} (--type {type_})"


def _check_list(comparison: Comparison, live: LiveConsumers, *, accept_many: bool) -> None:
    """Check that orphans do not come from an empty or partial list.  Raises: InvalidList."""
    if comparison.missing and not live.hosts and not accept_many:
        raise InvalidList(
            f"The list of live consumers is empty: all {comparison.missing} consumers would be "
            "reported as orphaned. Check the source, or add --allow-many-orphans."
        )
    check_plausible(len(comparison.orphans), comparison.compared, accept_many=accept_many)


def check_plausible(orphans: int, compared: int, *, accept_many: bool) -> None:
    """Check that a list does not make most consumers orphans.

    Such a list is probably incomplete, or of another region. Raises: InvalidList.
    """
    if orphans > FEW and 2 * orphans > compared and not accept_many:
        raise InvalidList(
            f"{orphans} of {compared} consumers, more than half, are not in the list of live "
            "consumers. Check that the list is complete and of this region, or add "
            "--allow-many-orphans."
        )


def _current_hosts(connect: Callable[[], Any]) -> placed.CurrentHosts:
    def current(uuids: Collection[str]) -> Any:
        from placement.insight.audit.nova import current_hosts  # noqa: PLC0415  an extra

        return current_hosts(connect(), uuids) if uuids else {}

    return current


def _confirmed(
    orphans: Sequence[ListedConsumer], connect: Callable[[], Any]
) -> list[ListedConsumer]:
    """Return the orphans that nova does not have: it is asked for each server.

    Migrations are not confirmed, because nova has no request for a single migration by its UUID.
    Raises: InvalidList.
    """
    servers = [orphan.uuid for orphan in orphans if orphan.type != MIGRATION]
    alive = _current_hosts(connect)(servers).keys()
    return [orphan for orphan in orphans if orphan.uuid not in alive]


def _orphan(consumer: ListedConsumer) -> Finding:
    cause = "the list of live consumers does not have it"
    kind = OrphanedConsumer(**placed.values_of(consumer))
    return Finding(kind, cause, "remove its allocations, and the consumer")
