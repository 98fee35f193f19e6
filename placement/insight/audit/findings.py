"""The classification of an audit: the defects of a database, and their repairs.

Each finding has a stable code. An ``error`` makes the service return wrong results or wastes
capacity; a ``notice`` may be intended; an operator should check it.

Orphaned and doubled consumers need a list of live consumers. An instance has its claim on one
host; after an evacuation, or a migration that failed, the claim on the other host may remain.
Providers of other trees that share a resource, such as storage, are recognized by the classes:
the host has no allocations of their classes.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from placement.core.capacity import integer_capacity, is_within_capacity
from placement.core.model import Inventory
from placement.core.text import timestamp
from placement.insight.audit.model import (
    INSTANCE,
    AuditedInventory,
    AuditedProvider,
    AuditedState,
    Finding,
    Key,
    LiveConsumers,
    UsageSum,
)
from placement.insight.consumers.model import UNKNOWN_TYPE, ListedConsumer

ORPHANED = "orphaned_consumer"
DOUBLED = "doubled_consumer"

_NO_USAGE = UsageSum(0, None)


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

    ``roots`` has the root of each provider, by the UUID of the provider.
    """
    for consumer in consumers:
        host = live.hosts.get(consumer.uuid.lower())
        if host is None or consumer.type not in (None, INSTANCE):
            continue
        trees = _by_tree(consumer, roots)
        host_roots = [root for root in trees if root.name == host]
        if host_roots:
            yield from _on_other_hosts(consumer, host_roots[0], trees)


def _by_tree(
    consumer: ListedConsumer, roots: Mapping[str, Root]
) -> dict[Root, dict[str, Mapping[str, int]]]:
    trees: dict[Root, dict[str, Mapping[str, int]]] = defaultdict(dict)
    for provider, amounts in consumer.allocations.items():
        if provider in roots:
            trees[roots[provider]][provider] = amounts
    return trees


def _on_other_hosts(
    consumer: ListedConsumer, host: Root, trees: Mapping[Root, Mapping[str, Mapping[str, int]]]
) -> Iterator[Finding]:
    classes = {name for amounts in trees[host].values() for name in amounts}
    other_roots = [
        root
        for root, tree in trees.items()
        if root != host and any(classes & amounts.keys() for amounts in tree.values())
    ]
    if other_roots:
        rows = _rows(consumer) | {
            "host": {"uuid": host.uuid, "name": host.name},
            "others": [{"uuid": root.uuid, "name": root.name} for root in other_roots],
            "providers": sorted(uuid for root in other_roots for uuid in trees[root]),
        }
        cause = f"the instance runs on {host.name}; an evacuation or a migration left the rest"
        repair = f"remove its allocations outside of {host.name}"
        yield Finding(DOUBLED, rows, cause, repair)


def _rows(consumer: ListedConsumer) -> dict[str, object]:
    return {
        "consumer": consumer.uuid,
        "type": consumer.type,
        "project_id": consumer.project_id,
        "user_id": consumer.user_id,
        "generation": consumer.generation,
        "written_at": timestamp(consumer.updated_at or consumer.created_at),
        "allocations": {
            provider: dict(amounts) for provider, amounts in consumer.allocations.items()
        },
    }


def findings(
    state: AuditedState, *, now: datetime | None = None, stale_days: int | None = None
) -> Iterator[Finding]:
    """Yield the findings in the order of their codes.

    With ``now`` (naive UTC) and ``stale_days``, the findings include providers with allocations
    whose generation did not change in the last ``stale_days``.
    Cost: linear in the audited rows.
    """
    for find in _KINDS:
        yield from find(state)
    if now is not None and stale_days is not None:
        yield from _stale_providers(state, now - timedelta(days=stale_days))


# --- trees ----------------------------------------------------------------------------


def _trees(state: AuditedState) -> Iterator[Finding]:
    providers = {provider.id: provider for provider in state.providers}
    for provider in state.providers:
        finding = _of_tree(provider, providers)
        if finding is not None:
            yield finding


def _of_tree(
    provider: AuditedProvider, providers: Mapping[int, AuditedProvider]
) -> Finding | None:
    parent, root = (providers.get(id_ or 0) for id_ in (provider.parent_id, provider.root_id))
    top = _top(provider, providers)
    rows = _provider(provider) | {
        "generation": provider.generation,
        "parent": parent.uuid if parent else None,
        "root": root.uuid if root else None,
        "expected_root": top.uuid if top else None,
    }
    if root is None:
        repair = "set the root to that of the parent, or to the provider itself"
        return Finding("missing_root", rows, _cause_of_missing(provider.root_id), repair)
    if provider.parent_id is not None and parent is None:
        cause = _cause_of_missing(provider.parent_id)
        return Finding("missing_parent", rows, cause, "make it a root")
    if top is None:
        repair = "none: set the parent of one provider of the loop to NULL"
        return Finding("wrong_root", rows, "its parents are a loop", repair)
    if root is top:
        return None
    if parent is None:
        return Finding("wrong_root", rows, "it has no parent", "set the root to the provider")
    cause = f"the root of its parent {parent.uuid} is another one"
    return Finding("wrong_root", rows, cause, "set the root to that of the parent")


def _top(
    provider: AuditedProvider, providers: Mapping[int, AuditedProvider]
) -> AuditedProvider | None:
    """Return the end of the chain of parents, None if it is a loop."""
    visited = set()
    while provider.id not in visited:
        visited.add(provider.id)
        parent = providers.get(provider.parent_id or 0)
        if parent is None:
            return provider
        provider = parent
    return None


def _cause_of_missing(id_: int | None) -> str:
    return "none is set" if id_ is None else f"the provider with the id {id_} does not exist"


# --- inventories and usage ----------------------------------------------------------------


def _without_provider_or_inventory(state: AuditedState) -> Iterator[Finding]:
    providers = {provider.id: provider for provider in state.providers}
    present = {(inventory.provider_id, inventory.class_id) for inventory in state.inventories}
    for key, usage in sorted(state.usage.items()):
        provider = providers.get(key[0])
        resource_class = _class_name(state, key)
        if provider is None:
            rows = {"provider_id": key[0], "resource_class": resource_class, "used": usage.amount}
            cause = "the provider was removed without its allocations"
            yield Finding("missing_provider", rows, cause, "delete the allocations")
        elif key not in present:
            rows = {**_provider(provider), "resource_class": resource_class, "used": usage.amount}
            cause = "the inventory was removed without its allocations"
            repair = "add the inventory again, or move the consumers away"
            yield Finding("missing_inventory", rows, cause, repair)


def _counters(state: AuditedState) -> Iterator[Finding]:
    for provider, inventory, usage in _inventories(state):
        if inventory.used != usage.amount:
            rows = _inventory(state, provider, inventory) | {
                "counter": inventory.used,
                "used": usage.amount,
            }
            cause = "another implementation wrote to the database"
            yield Finding("usage_counter", rows, cause, "set the counter to the sum")


def _over_capacity(state: AuditedState) -> Iterator[Finding]:
    for provider, inventory, usage in _inventories(state):
        limits = Inventory(
            inventory.total, inventory.reserved, allocation_ratio=inventory.allocation_ratio
        )
        if usage.amount and not is_within_capacity(limits, usage.amount, 0):
            rows = _inventory(state, provider, inventory) | {
                "used": usage.amount,
                "capacity": integer_capacity(limits),
                "total": inventory.total,
                "reserved": inventory.reserved,
                "allocation_ratio": inventory.allocation_ratio,
            }
            repair = "raise the capacity, or move consumers away"
            yield Finding("over_capacity", rows, _cause_of_excess(inventory, usage), repair)


def _cause_of_excess(inventory: AuditedInventory, usage: UsageSum) -> str:
    """Return why the usage exceeds the capacity; empty if the cause is unknown."""
    changed_at, claimed_at = inventory.changed_at, usage.newest_at
    if usage.amount <= inventory.total * inventory.allocation_ratio:
        return f"reserved: {inventory.reserved} are reserved of {inventory.total}"
    if changed_at is None or claimed_at is None:
        return ""
    if claimed_at > changed_at:
        return "race: claims after the last change of the inventory exceeded it"
    return f"total or allocation_ratio: the inventory was changed at {timestamp(changed_at)}"


def _inventories(
    state: AuditedState,
) -> Iterator[tuple[AuditedProvider, AuditedInventory, UsageSum]]:
    """Yield the inventories of existing providers, with their usage."""
    providers = {provider.id: provider for provider in state.providers}
    for inventory in state.inventories:
        provider = providers.get(inventory.provider_id)
        if provider is not None:
            key = (inventory.provider_id, inventory.class_id)
            yield provider, inventory, state.usage.get(key, _NO_USAGE)


# --- consumers --------------------------------------------------------------------------


def _consumers(state: AuditedState) -> Iterator[Finding]:
    providers = {provider.id: provider.uuid for provider in state.providers}
    lone: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    for allocation in state.lone_allocations:
        provider = providers.get(allocation.provider_id, f"id {allocation.provider_id}")
        name = _class_name(state, (allocation.provider_id, allocation.class_id))
        lone[allocation.consumer_uuid][provider][name] = allocation.amount
    for uuid, allocations in sorted(lone.items()):
        amounts = {provider: dict(by_class) for provider, by_class in allocations.items()}
        rows: dict[str, object] = {"consumer": uuid, "allocations": amounts}
        repair = "create the consumer for the incomplete project and user"
        yield Finding("missing_consumer", rows, "written before consumers had rows", repair)
    for empty in sorted(state.empty_consumers):
        cause = "its allocations were deleted without it"
        rows = {"consumer": empty.uuid, "generation": empty.generation}
        yield Finding("empty_consumer", rows, cause, "delete the consumer")


def _live(state: AuditedState) -> Iterator[Finding]:
    """Yield the findings from a list of live consumers, if there is one."""
    if state.live is None:
        return
    yield from orphaned(state.unlisted)
    providers = {provider.id: provider for provider in state.providers}
    roots = {
        provider.uuid: Root(root.uuid, root.name)
        for provider in state.providers
        if (root := providers.get(provider.root_id or 0)) is not None
    }
    yield from doubled(state.on_several_roots, roots, state.live)


# --- notices ----------------------------------------------------------------------------


def _similar_names(state: AuditedState) -> Iterator[Finding]:
    """Yield a finding for roots whose names differ only in letter case or by a domain."""
    roots = [root for root in state.providers if root.parent_id is None]
    short = {root.name.lower() for root in roots if "." not in root.name}
    groups: dict[str, list[AuditedProvider]] = defaultdict(list)
    for root in roots:
        name = root.name.lower()
        first = name.partition(".")[0]
        groups[first if first in short else name].append(root)
    for name, group in sorted(groups.items()):
        if len(group) > 1:
            rows = {"providers": [_provider(root) for root in sorted(group)]}
            cause = f"all may be the host {name}"
            repair = "keep one, and move the allocations of the others to it"
            yield Finding("similar_names", rows, cause, repair)


def _unused(state: AuditedState) -> Iterator[Finding]:
    for name in sorted(state.unused_classes):
        yield Finding("unused_class", {"resource_class": name}, "", "delete the resource class")
    for name in sorted(state.unused_traits):
        yield Finding("unused_trait", {"trait": name}, "", "delete the trait")


def _stale_providers(state: AuditedState, before: datetime) -> Iterator[Finding]:
    used = {provider_id for (provider_id, _), usage in state.usage.items() if usage.amount}
    for provider in state.providers:
        if (
            provider.id in used
            and provider.updated_at is not None
            and provider.updated_at < before
        ):
            rows = {**_provider(provider), "updated_at": timestamp(provider.updated_at)}
            repair = "check that the host exists; move its consumers away if it does not"
            yield Finding("stale_provider", rows, "nothing reports this provider", repair)


# --- rows -------------------------------------------------------------------------------


def _provider(provider: AuditedProvider) -> dict[str, object]:
    return {"provider": {"uuid": provider.uuid, "name": provider.name}}


def _inventory(
    state: AuditedState, provider: AuditedProvider, inventory: AuditedInventory
) -> dict[str, object]:
    name = _class_name(state, (provider.id, inventory.class_id))
    return {**_provider(provider), "resource_class": name}


def _class_name(state: AuditedState, key: Key) -> str:
    return state.class_names.get(key[1], f"id {key[1]}")


_KINDS: Sequence[Callable[[AuditedState], Iterator[Finding]]] = (
    _trees,
    _without_provider_or_inventory,
    _consumers,
    _live,
    _counters,
    _over_capacity,
    _similar_names,
    _unused,
)
