"""The decision of every write of allocations: the changes, or the reason of the rejection.

A claim lists all allocations that a consumer has afterwards. The store reads the
current state under locks; :func:`plan_claims` checks the claims in the order of the
API (the first error is reported) and returns the changes. Nothing here uses a database.

A claim fits if the usage of all other consumers plus the requested amounts is
within the capacity. A claim that does not fit is still accepted if it does not
increase the usage, so that a consumer on an over-committed provider can always be
moved, reduced or written again.

Source: API reference, "Update allocations".
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from placement import exception
from placement.core.capacity import (
    integer_capacity,
    is_valid_amount,
    is_within_capacity,
    occupation,
)
from placement.core.model import ConsumerClaim, Inventory

Amounts = Mapping[str, Mapping[str, int]]
"""Amounts by provider UUID and resource class."""

Totals = Counter[tuple[str, str]]
"""Sums of amounts by provider UUID and resource class; 0 if there are none."""


@dataclass(frozen=True, slots=True)
class ProviderUsage:
    """The inventories of a provider, and the used amounts of all consumers, by resource class."""

    id: int
    inventories: Mapping[str, Inventory]
    used: Mapping[str, int]
    name: str = ""


@dataclass(frozen=True, slots=True)
class AllocationState:
    """The current state, as far as a decision about claims depends on it.

    ``generations``  of the existing consumers
    ``allocations``  of the consumers in the claims
    ``providers``    the existing providers in the claims or in ``allocations``
    ``class_ids``    of the existing resource classes in the claims
    """

    generations: Mapping[str, int]
    allocations: Mapping[str, Amounts]
    providers: Mapping[str, ProviderUsage]
    class_ids: Mapping[str, int]


class Allocation(NamedTuple):
    """An amount of one resource class that a consumer has on one provider."""

    consumer_uuid: str
    provider_uuid: str
    resource_class: str
    amount: int


@dataclass(frozen=True, slots=True)
class AllocationChanges:
    """The changes to write.

    ``allocations`` replace all allocations of the consumers, ``usage_deltas`` are
    added to the used amounts, by provider and resource class. ``generation_bumped`` are the
    providers whose generation increases, ``usage_changed`` the others whose usage
    changes. ``retained`` consumers have allocations afterwards, ``removed`` consumers
    do not exist afterwards.
    """

    allocations: Sequence[Allocation]
    usage_deltas: Mapping[tuple[str, str], int]
    generation_bumped: frozenset[str]
    usage_changed: frozenset[str]
    retained: Sequence[ConsumerClaim]
    removed: Sequence[str]


def plan_claims(state: AllocationState, claims: Sequence[ConsumerClaim]) -> AllocationChanges:
    """Return the changes of the claims, all or none.

    The generations and the existence of the providers are checked before, see
    :func:`check_generations` and :func:`check_providers`: as soon as they are read.

    Raises: UnknownResourceClass, NotAllocatable (one of its subclasses), in this order.
    """
    requested = tuple(_allocations((claim.consumer_uuid, claim.resources) for claim in claims))
    _check_classes(state, requested, is_single=len(claims) == 1)
    _check_inventories(state, requested)
    released = _totals(_allocations(state.allocations.items()))
    _check_amounts(state, requested, released)
    return _changes(state, claims, requested, released)


def check_generations(generations: Mapping[str, int], claims: Iterable[ConsumerClaim]) -> None:
    """Check that each claim with a generation has the generation of its consumer.

    Raises: StaleConsumerGeneration.
    """
    for claim in claims:
        actual = generations.get(claim.consumer_uuid)
        if claim.check_generation and claim.generation != actual:
            raise exception.StaleConsumerGeneration(claim.consumer_uuid, actual, claim.generation)


def check_providers(state: AllocationState, claims: Iterable[ConsumerClaim]) -> None:
    """Check that all providers of the claims exist.

    Raises: ProviderToAllocateNotFound.
    """
    for claim in claims:
        for provider_uuid in claim.resources:
            if provider_uuid not in state.providers:
                raise exception.ProviderToAllocateNotFound(provider_uuid)


def _allocations(consumers: Iterable[tuple[str, Amounts]]) -> Iterator[Allocation]:
    """Yield the allocations of consumers, in the order of the amounts."""
    for consumer_uuid, amounts in consumers:
        for provider_uuid, resources in amounts.items():
            for resource_class, amount in resources.items():
                yield Allocation(consumer_uuid, provider_uuid, resource_class, amount)


def _check_classes(
    state: AllocationState, requested: Iterable[Allocation], *, is_single: bool
) -> None:
    for allocation in requested:
        if allocation.resource_class not in state.class_ids:
            consumer = f" for consumer {allocation.consumer_uuid}" if is_single else ""
            raise exception.UnknownResourceClass(
                allocation.resource_class, f"Unable to allocate inventory{consumer}"
            )


def _check_inventories(state: AllocationState, requested: Iterable[Allocation]) -> None:
    """Check that each provider has an inventory of at least one class, before single amounts."""
    names = {allocation.resource_class for allocation in requested}
    for allocation in requested:
        if names.isdisjoint(state.providers[allocation.provider_uuid].inventories):
            raise exception.NoSuchInventory(
                tuple(sorted(names)), allocation.provider_uuid, allocation.consumer_uuid
            )


def _check_amounts(
    state: AllocationState, requested: Iterable[Allocation], released: Totals
) -> None:
    needed = Counter[tuple[str, str]]()
    for allocation in requested:
        key = (allocation.provider_uuid, allocation.resource_class)
        _check_unit_rules(state, allocation)
        needed[key] += allocation.amount
        _check_capacity(state, allocation, released[key], needed[key])


def _check_unit_rules(state: AllocationState, allocation: Allocation) -> None:
    consumer_uuid, provider_uuid, resource_class, amount = allocation
    inventory = state.providers[provider_uuid].inventories.get(resource_class)
    if inventory is None:
        raise exception.NoSuchInventory((resource_class,), provider_uuid, consumer_uuid)
    if not is_valid_amount(inventory, amount):
        raise exception.InventoryConstraintsViolated(
            resource_class,
            provider_uuid,
            amount,
            inventory.min_unit,
            inventory.max_unit,
            inventory.step_size,
            consumer_uuid,
        )


def _check_capacity(
    state: AllocationState, allocation: Allocation, released: int, needed: int
) -> None:
    consumer_uuid, provider_uuid, resource_class, amount = allocation
    provider = state.providers[provider_uuid]
    inventory = provider.inventories[resource_class]
    used_by_others = provider.used.get(resource_class, 0) - released
    is_increase = needed > released
    if is_increase and not is_within_capacity(inventory, used_by_others, needed):
        used = used_by_others + needed - amount
        raise exception.CapacityExceeded(
            resource_class,
            provider_uuid,
            amount,
            used,
            integer_capacity(inventory),
            inventory.reserved,
            consumer_uuid,
            occupation(inventory, used + released),
            released,
        )


def _totals(allocations: Iterable[Allocation]) -> Totals:
    totals = Counter[tuple[str, str]]()
    for _, provider_uuid, resource_class, amount in allocations:
        totals[provider_uuid, resource_class] += amount
    return totals


def _changes(
    state: AllocationState,
    claims: Sequence[ConsumerClaim],
    requested: Sequence[Allocation],
    released: Totals,
) -> AllocationChanges:
    after = _totals(requested)
    differences = {key: after[key] - released[key] for key in {**after, **released}}
    # an empty claim has the providers that it releases; a provider that a consumer is moved away
    # from is not among them
    bumped = frozenset(
        provider_uuid
        for claim in claims
        for provider_uuid in claim.resources or state.allocations.get(claim.consumer_uuid, {})
    )
    current = {uuid for amounts in state.allocations.values() for uuid in amounts}
    return AllocationChanges(
        allocations=requested,
        usage_deltas={key: amount for key, amount in differences.items() if amount},
        generation_bumped=bumped,
        usage_changed=frozenset(current - bumped),
        retained=tuple(claim for claim in claims if claim.resources),
        removed=tuple(
            claim.consumer_uuid
            for claim in claims
            if not claim.resources and claim.consumer_uuid in state.generations
        ),
    )
