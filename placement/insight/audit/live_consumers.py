"""The comparison of consumers with a list of live consumers: orphaned and doubled consumers.

An instance has its claim on one host; after an evacuation, or a migration that failed, the claim
on the other host may remain. Providers of other trees that share a resource, such as storage, are
recognized by the classes: the host has no allocations of their classes.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from placement.core.text import timestamp
from placement.insight.audit import live_sources
from placement.insight.audit.hosts import hypervisor_findings
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

ORPHANED: Final = "orphaned_consumer"
DOUBLED: Final = "doubled_consumer"
FEW: Final = 10
_UNLISTED: Final = "nova has the server, although its list lacks it"

Trees = dict[str, dict[str, Mapping[str, int]]]
"""Allocations by the UUIDs of the root and of the provider."""


class LiveFindings(NamedTuple):
    """The findings that ``--live`` adds, and the consumers that are missing but not reported.

    Orphans come first, then doubled consumers, both in the order of UUIDs, then hypervisors.
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
    many = options.allow_many_orphans
    live = live_sources.read(options.live, options.type, connect, accept_empty=many)
    before = datetime.now(UTC).replace(tzinfo=None) - timedelta(minutes=options.grace_minutes)
    comparison = compare(consumers, live, before, young(options.grace_minutes))
    found: list[Finding] = []
    skipped: list[Skipped] = []
    if not options.code or ORPHANED in options.code:
        check_plausible(len(comparison.orphans), comparison.compared, accept_many=many)
        orphans = comparison.orphans
        if options.live == live_sources.NOVA:
            orphans = _confirmed(orphans, connect)
        found += map(_orphan, orphans)
        unlisted = Counter({_UNLISTED: len(comparison.orphans) - len(orphans)})
        counts = sorted((comparison.skipped + unlisted).items())  # positive ones only
        skipped += (Skipped(ORPHANED, count, reason) for reason, count in counts)
    found += _doubled(comparison.located, providers, live)
    if live.hypervisors is not None:
        found += hypervisor_findings(live.hypervisors, providers)
    return LiveFindings(found, skipped)


@dataclass(slots=True)
class Comparison:
    """The comparison of the consumers with a list.

    ``orphans`` have allocations, and the list lacks them; ``compared`` is the number of consumers
    whose types the list covers. ``located`` are instances on several providers, and the list has
    their hosts. All of them were written before the list and the grace period. ``skipped`` are the
    numbers of other consumers that the list lacks, by the reason.
    """

    orphans: list[ListedConsumer] = field(default_factory=list)
    compared: int = 0
    located: list[ListedConsumer] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


def compare(
    consumers: Iterable[ListedConsumer], live: LiveConsumers, before: datetime, young: str
) -> Comparison:
    """Return the comparison with a list.

    Consumers written since ``before`` (naive UTC) are skipped, with the reason ``young``.
    Cost: reads all consumers with their allocations, one after the other.
    """
    comparison = Comparison()
    for consumer in consumers:
        type_, written_at = consumer.type or UNKNOWN_TYPE, consumer.written_at or datetime.min
        is_covered = type_ in live.types
        # A consumer without allocations has another finding.
        is_missing = bool(consumer.allocations) and consumer.uuid.lower() not in live.hosts
        if written_at >= before:
            comparison.skipped[young] += is_covered and is_missing
        elif written_at >= live.listed_at:
            comparison.skipped["written after the list"] += is_covered and is_missing
        else:
            comparison.compared += is_covered
            if is_missing and is_covered:
                comparison.orphans.append(consumer)
            elif is_missing:
                reason = f"the list does not cover the consumer type {type_} (--type {type_})"
                comparison.skipped[reason] += 1
            elif _is_located(consumer, live):
                comparison.located.append(consumer)
    return comparison


def _is_located(consumer: ListedConsumer, live: LiveConsumers) -> bool:
    """Return whether the list has the host of an instance with several providers."""
    host = live.hosts.get(consumer.uuid.lower())
    return host is not None and len(consumer.allocations) > 1 and consumer.type in (None, INSTANCE)


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


def _confirmed(
    orphans: Sequence[ListedConsumer], connect: Callable[[], Any]
) -> list[ListedConsumer]:
    """Return the orphans that nova does not have: it is asked for each server.

    Migrations are not confirmed, because nova has no request for a single migration by its UUID.
    Raises: InvalidList.
    """
    from placement.insight.audit.nova import missing_servers  # noqa: PLC0415  an extra

    servers = [orphan.uuid for orphan in orphans if orphan.type != MIGRATION]
    alive = set(servers) - missing_servers(connect(), servers) if servers else set()
    return [orphan for orphan in orphans if orphan.uuid not in alive]


def _orphan(consumer: ListedConsumer) -> Finding:
    cause = "the list of live consumers does not have it"
    return Finding(ORPHANED, _rows(consumer), cause, "remove its allocations, and the consumer")


def _doubled(
    located: Iterable[ListedConsumer], providers: AuditedProviders, live: LiveConsumers
) -> Iterator[Finding]:
    """Yield a finding for each instance with the same class in the trees of several hosts."""
    for consumer in located:
        trees: Trees = defaultdict(dict)
        for provider, amounts in consumer.allocations.items():
            if provider in providers.roots:
                trees[providers.roots[provider]][provider] = amounts
        name = live.hosts[consumer.uuid.lower()]
        for host in trees:
            if providers.names[host] == name:
                yield from _on_other_hosts(consumer, host, trees, providers.names)


def _on_other_hosts(
    consumer: ListedConsumer, host: str, trees: Trees, names: Mapping[str, str]
) -> Iterator[Finding]:
    classes = {name for amounts in trees[host].values() for name in amounts}
    other_roots = [
        root
        for root, tree in trees.items()
        if root != host and any(classes & amounts.keys() for amounts in tree.values())
    ]
    if other_roots:
        rows = _rows(consumer) | {
            "host": {"uuid": host, "name": names[host]},
            "others": [{"uuid": root, "name": names[root]} for root in other_roots],
            "providers": sorted(uuid for root in other_roots for uuid in trees[root]),
        }
        cause = f"the instance runs on {names[host]}; an evacuation or a migration left the rest"
        repair = f"remove its allocations outside of {names[host]}"
        yield Finding(DOUBLED, rows, cause, repair)


def _rows(consumer: ListedConsumer) -> dict[str, object]:
    return {
        "consumer": consumer.uuid,
        "type": consumer.type,
        "project_id": consumer.project_id,
        "user_id": consumer.user_id,
        "generation": consumer.generation,
        "written_at": timestamp(consumer.written_at),
        "allocations": consumer.allocations,
    }
