"""The classification of an audit: the defects of a database, and their repairs.

Each finding has a stable code. An ``error`` makes the service return wrong results or wastes
capacity; a ``notice`` may be intended; an operator should check it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from difflib import get_close_matches

from placement.core.capacity import integer_capacity, is_reserved_in_use, is_within_capacity
from placement.core.text import timestamp
from placement.insight.audit import hosts
from placement.insight.audit.hosts import named
from placement.insight.audit.kinds import (
    EmptyConsumer,
    MissingConsumer,
    MissingInventory,
    MissingParent,
    MissingProvider,
    MissingRoot,
    OverCapacity,
    ReservedInUse,
    SimilarNames,
    SimilarTypes,
    StaleProvider,
    UntypedConsumers,
    UnusedClass,
    UnusedTrait,
    UnusedType,
    UsageCounter,
    WrongRoot,
)
from placement.insight.audit.model import (
    INSTANCE,
    MIGRATION,
    AuditedInventory,
    AuditedProvider,
    AuditedState,
    Finding,
    Key,
    UsageSum,
)
from placement.insight.consumers.model import UNKNOWN_TYPE

_NO_USAGE = UsageSum(0, None)
_TYPES_OF_NOVA = frozenset({INSTANCE, MIGRATION})
_SIMILAR = 0.9  # of difflib: one of five letters is missing, or one of ten is another
_MOST_USED = 20


def findings(
    state: AuditedState, live: Iterable[Finding] = (), *, stale_before: datetime | None = None
) -> Iterator[Finding]:
    """Yield the findings in the order of their codes.

    ``live`` are the findings from a list of live consumers. With ``stale_before`` (naive UTC), the
    findings include providers with allocations whose generation did not change since.
    Cost: linear in the audited rows.
    """
    yield from _trees(state)
    yield from hosts.nested_compute_nodes(state)
    yield from _without_provider_or_inventory(state)
    yield from _consumers(state)
    yield from live
    yield from _counters(state)
    yield from _over_capacity(state)
    yield from _similar_names(state)
    yield from hosts.providers_without_inventory(state)
    yield from hosts.hosts_without_aggregate(state)
    yield from _unused(state)
    yield from _consumer_types(state)
    if stale_before is not None:
        yield from _stale_providers(state, stale_before)


# --- trees ----------------------------------------------------------------------------


def _trees(state: AuditedState) -> Iterator[Finding]:
    for provider in state.providers.values():
        finding = _of_tree(provider, state.providers)
        if finding is not None:
            yield finding


def _of_tree(
    provider: AuditedProvider, providers: Mapping[int, AuditedProvider]
) -> Finding | None:
    parent, root = (providers.get(id_ or 0) for id_ in (provider.parent_id, provider.root_id))
    *_, last = hosts.ancestors(provider, providers)
    top = None if last.parent_id in providers else last  # in a loop, the last one has a parent
    parent_uuid, root_uuid, top_uuid = (each and each.uuid for each in (parent, root, top))
    fields = (named(provider), parent_uuid, root_uuid, top_uuid)
    if root is None:
        repair = "set the root to that of the parent, or to the provider itself"
        return Finding(MissingRoot(*fields), _cause_of_missing(provider.root_id), repair)
    if provider.parent_id is not None and parent is None:
        cause = _cause_of_missing(provider.parent_id)
        return Finding(MissingParent(*fields), cause, "make it a root")
    if top is None:
        repair = "none: set the parent of one provider of the loop to NULL"
        return Finding(WrongRoot(*fields), "its parents are a loop", repair)
    if root is top:
        return None
    if parent is None:
        return Finding(WrongRoot(*fields), "it has no parent", "set the root to the provider")
    cause = f"the root of its parent {parent.uuid} is another one"
    return Finding(WrongRoot(*fields), cause, "set the root to that of the parent")


def _cause_of_missing(id_: int | None) -> str:
    return "none is set" if id_ is None else f"the provider with the id {id_} does not exist"


# --- inventories and usage ----------------------------------------------------------------


def _without_provider_or_inventory(state: AuditedState) -> Iterator[Finding]:
    present = {(inventory.provider_id, inventory.class_id) for inventory in state.inventories}
    for key, usage in sorted(state.usage.items()):
        provider = state.providers.get(key[0])
        resource_class = _class_name(state, key)
        if provider is None:
            kind = MissingProvider(key[0], resource_class, usage.amount)
            cause = "the provider was removed without its allocations"
            yield Finding(kind, cause, "delete the allocations")
        elif key not in present:
            cause = "the inventory was removed without its allocations"
            repair = "add the inventory again, or move the consumers away"
            without = MissingInventory(named(provider), resource_class, usage.amount)
            yield Finding(without, cause, repair)


def _counters(state: AuditedState) -> Iterator[Finding]:
    for provider, inventory, usage in _inventories(state):
        if inventory.used != usage.amount:
            name = _class_name(state, (provider.id, inventory.class_id))
            kind = UsageCounter(named(provider), name, inventory.used, usage.amount)
            cause = "another program wrote to the database: openstack-placement, or SQL"
            yield Finding(kind, cause, "set the counter to the sum")


def _over_capacity(state: AuditedState) -> Iterator[Finding]:
    for provider, inventory, usage in _inventories(state):
        if usage.amount and not is_within_capacity(inventory.limits, usage.amount, 0):
            limits = inventory.limits
            values = (
                named(provider),
                _class_name(state, (provider.id, inventory.class_id)),
                usage.amount,
                integer_capacity(limits),
                limits.total,
                limits.reserved,
                limits.allocation_ratio,
            )
            if is_reserved_in_use(inventory.limits, usage.amount):
                cause = "reserved: the usage is within the capacity without it"
                repair = "none if the amount was reserved on purpose, as nova does in use"
                yield Finding(ReservedInUse(*values), cause, repair)
            else:
                repair = "raise the capacity, or move consumers away"
                cause = _cause_of_excess(inventory, usage)
                yield Finding(OverCapacity(*values), cause, repair)


def _cause_of_excess(inventory: AuditedInventory, usage: UsageSum) -> str:
    """Return why the usage exceeds the capacity; empty without evidence.

    Allocations that were written before the last change of the inventory were there when it
    changed. Allocations that were written later show nothing: the write may have reduced them, or
    replaced one consumer by another.
    """
    changed_at, written_at = inventory.changed_at, usage.newest_at
    if changed_at is None or written_at is None or written_at >= changed_at:
        return ""
    return f"total or allocation_ratio: the inventory was changed at {timestamp(changed_at)}"


def _inventories(
    state: AuditedState,
) -> Iterator[tuple[AuditedProvider, AuditedInventory, UsageSum]]:
    """Yield the inventories of existing providers, with their usage."""
    for inventory in state.inventories:
        provider = state.providers.get(inventory.provider_id)
        if provider is not None:
            key = (inventory.provider_id, inventory.class_id)
            yield provider, inventory, state.usage.get(key, _NO_USAGE)


# --- consumers --------------------------------------------------------------------------


def _consumers(state: AuditedState) -> Iterator[Finding]:
    lone: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    for allocation in state.lone_allocations:
        provider = state.providers.get(allocation.provider_id)
        holder = provider.uuid if provider else f"id {allocation.provider_id}"
        name = _class_name(state, (allocation.provider_id, allocation.class_id))
        lone[allocation.consumer_uuid][holder][name] = allocation.amount
    for uuid, allocations in sorted(lone.items()):
        amounts = {provider: dict(by_class) for provider, by_class in allocations.items()}
        repair = "create the consumer for the incomplete project and user"
        yield Finding(MissingConsumer(uuid, amounts), "", repair)
    for uuid, generation in sorted(state.empty_consumers):
        cause = "its allocations were deleted without it"
        yield Finding(EmptyConsumer(uuid, generation), cause, "delete the consumer")


# --- notices ----------------------------------------------------------------------------


def _similar_names(state: AuditedState) -> Iterator[Finding]:
    """Yield a finding for roots whose names differ only in letter case or by a domain."""
    roots = [root for root in state.providers.values() if root.parent_id is None]
    short = {root.name.lower() for root in roots if "." not in root.name}
    groups: dict[str, list[AuditedProvider]] = defaultdict(list)
    for root in roots:
        name = root.name.lower()
        first = name.partition(".")[0]
        groups[first if first in short else name].append(root)
    for name, group in sorted(groups.items()):
        if len(group) > 1:
            cause = f"all may be the host {name}"
            repair = "keep one, and move the allocations of the others to it"
            yield Finding(SimilarNames([named(root) for root in sorted(group)]), cause, repair)


def _unused(state: AuditedState) -> Iterator[Finding]:
    for name in sorted(state.unused_classes):
        yield Finding(UnusedClass(name), "", "delete the resource class")
    for name in sorted(state.unused_traits):
        yield Finding(UnusedTrait(name), "", "delete the trait")


def _consumer_types(state: AuditedState) -> Iterator[Finding]:
    numbers = {name: number for name, number in state.consumer_types.items() if name is not None}
    for name in sorted(numbers.keys() - _TYPES_OF_NOVA):
        if not numbers[name]:
            cause = "no consumer has it"
            yield Finding(UnusedType(name), cause, "delete the consumer type")
    for name, similar in _similar_types(numbers):
        cause = f"{numbers[similar]} consumers have the type {similar}"
        yield Finding(
            SimilarTypes(name, numbers[name], similar),
            cause,
            "correct the client that writes this type",
        )
    without_type = state.consumer_types.get(None)
    if without_type and any(numbers.values()):
        cause = "written below microversion 1.38, while other consumers have a type"
        repair = "upgrade the client that writes them; its next write sets the type"
        yield Finding(UntypedConsumers(UNKNOWN_TYPE, without_type), cause, repair)


def _similar_types(numbers: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield types that consumers have, each with the usual type that may be meant.

    The usual types are the types of nova, then the types with most consumers. A type with other
    digits is another type.
    """
    order = sorted(numbers, key=lambda name: (name not in _TYPES_OF_NOVA, -numbers[name], name))
    usual: dict[str, dict[str, str]] = defaultdict(dict)
    for position, name in enumerate(order):
        stem, by_stem = _stem(name), usual[re.sub(r"\D", "", name)]
        similar = get_close_matches(stem, by_stem, n=1, cutoff=_SIMILAR)
        if similar and numbers[name]:
            yield name, by_stem[similar[0]]
        elif position < _MOST_USED:
            by_stem.setdefault(stem, name)


def _stem(name: str) -> str:
    """Return the name without the differences between the spellings of one word.

    >>> _stem("INSTANCE") == _stem("INSTANCE_S")
    True
    """
    return name.replace("_", "").removesuffix("S")


def _stale_providers(state: AuditedState, before: datetime) -> Iterator[Finding]:
    used = {provider_id for (provider_id, _), usage in state.usage.items() if usage.amount}
    for provider in state.providers.values():
        if (
            provider.id in used
            and provider.updated_at is not None
            and provider.updated_at < before
        ):
            at = timestamp(provider.updated_at)
            cause = f"its generation has not changed since {at}"
            repair = "check that the host exists; move its consumers away if it does not"
            yield Finding(StaleProvider(named(provider), at), cause, repair)


# --- rows -------------------------------------------------------------------------------


def _class_name(state: AuditedState, key: Key) -> str:
    return state.class_names.get(key[1], f"id {key[1]}")
