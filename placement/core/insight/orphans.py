"""Findings that need a list of live consumers: orphaned ones, and those on two hosts.

An instance has its claim on one host; after an evacuation, or a migration that failed, the claim
on the other host may remain. Providers of other trees that share a resource, such as storage, are
recognized by the classes: no class of theirs is allocated on the host.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from placement.core.insight.consumers import UNKNOWN_TYPE, ListedConsumer
from placement.core.insight.finding import Finding
from placement.core.insight.live import INSTANCE, LiveConsumers
from placement.core.timestamps import timestamp

ORPHANED = "orphaned_consumer"
DOUBLED = "doubled_consumer"


class Root(NamedTuple):
    """The root of the tree of a provider."""

    uuid: str
    name: str


def is_compared(
    live: LiveConsumers, type_: str | None, written_at: datetime | None, before: datetime
) -> bool:
    """Return whether a list covers a consumer with this type and time (naive UTC)."""
    is_old = written_at is None or written_at < min(before, live.listed_at)
    return is_old and (type_ or UNKNOWN_TYPE) in live.types


def orphaned(unlisted: Iterable[ListedConsumer]) -> Iterator[Finding]:
    """Yield a finding for each consumer that a list of live consumers lacks."""
    for consumer in unlisted:
        cause = "the list of live consumers does not have it"
        repair = "remove its allocations, and the consumer"
        yield Finding(ORPHANED, _rows(consumer), cause, repair)


def doubled(
    consumers: Iterable[ListedConsumer], roots: Mapping[str, Root], live: LiveConsumers
) -> Iterator[Finding]:
    """Yield a finding for each instance with the same class in the trees of several hosts.

    ``roots`` are those of the providers, by UUID.
    """
    for consumer in consumers:
        host = live.hosts.get(consumer.uuid.lower())
        if host is None or consumer.type not in (None, INSTANCE):
            continue
        trees = _by_tree(consumer, roots)
        own = [root for root in trees if root.name == host]
        if own:
            yield from _on_others(consumer, own[0], trees)


def _by_tree(
    consumer: ListedConsumer, roots: Mapping[str, Root]
) -> dict[Root, dict[str, Mapping[str, int]]]:
    trees: dict[Root, dict[str, Mapping[str, int]]] = defaultdict(dict)
    for provider, amounts in consumer.allocations.items():
        if provider in roots:
            trees[roots[provider]][provider] = amounts
    return trees


def _on_others(
    consumer: ListedConsumer, own: Root, trees: Mapping[Root, Mapping[str, Mapping[str, int]]]
) -> Iterator[Finding]:
    classes = {name for amounts in trees[own].values() for name in amounts}
    others = [
        root
        for root, tree in trees.items()
        if root != own and any(classes & amounts.keys() for amounts in tree.values())
    ]
    if others:
        rows = _rows(consumer) | {
            "host": {"uuid": own.uuid, "name": own.name},
            "others": [{"uuid": root.uuid, "name": root.name} for root in others],
            "providers": sorted(uuid for root in others for uuid in trees[root]),
        }
        cause = f"the instance runs on {own.name}; an evacuation or a migration left the rest"
        repair = f"remove its allocations outside of {own.name}"
        yield Finding(DOUBLED, rows, cause, repair)


def _rows(consumer: ListedConsumer) -> dict[str, object]:
    return {
        "consumer": consumer.uuid,
        "type": consumer.type,
        "project_id": consumer.project_id,
        "user_id": consumer.user_id,
        "generation": consumer.generation,
        "written_at": timestamp(consumer.updated_at or consumer.created_at),
        "allocations": {key: dict(own) for key, own in consumer.allocations.items()},
    }
