"""What a claim changes, or why it cannot be: the decision behind each write of allocations.

A claim says all that a consumer is to hold. The store reads, under locks, how
things stand; :func:`plan` decides in the order that the contract gives (the
first mistake wins) and returns what to write; nothing here knows a database.

A claim fits when what all others use and what this request needs together stay
within the capacity. If they do not, it is still accepted as long as it makes
nothing worse: as long as no more is used afterwards than before, so that the
holder of an over-committed provider can always be moved, shrunk or restated.

Source: API reference, "Update allocations"; contract, "Allocation write algorithm".
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from placement import exception
from placement.core.capacity import integer_capacity, is_portion, within_capacity
from placement.core.model import ConsumerClaim, Inventory

Amounts = Mapping[str, Mapping[str, int]]
"""Amounts by provider UUID and resource class."""


@dataclass(frozen=True, slots=True)
class Stock:
    """What a provider has of each class, and how much of it is used, by all consumers."""

    id: int
    inventories: Mapping[str, Inventory]
    used: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Standing:
    """How things stand before a request: all that its decision depends on.

    ``generations`` has the consumers that exist, ``held`` what the consumers
    named hold, ``providers`` those that exist of the ones named or held on, and
    ``class_ids`` the classes that exist of the ones named.
    """

    generations: Mapping[str, int]
    held: Mapping[str, Amounts]
    providers: Mapping[str, Stock]
    class_ids: Mapping[str, int]


class Allocation(NamedTuple):
    """An amount that a consumer holds of one class on one provider."""

    consumer_uuid: str
    provider_uuid: str
    resource_class: str
    amount: int


@dataclass(frozen=True, slots=True)
class Changes:
    """What is to be written.

    ``allocations`` replace everything that the consumers held, ``used`` is what
    to add to the used amount of a provider's class, ``grown`` are the providers
    whose generation increases, ``changed`` the others whose usage does.
    ``kept`` consumers hold something afterwards, ``emptied`` ones cease to exist.
    """

    allocations: Sequence[Allocation]
    used: Mapping[tuple[str, str], int]
    generation_bumped: frozenset[str]
    changed: frozenset[str]
    kept: Sequence[ConsumerClaim]
    emptied: Sequence[str]


def plan(standing: Standing, claims: Sequence[ConsumerClaim]) -> Changes:
    """Return what the claims change, all or none.

    Raises: StaleConsumerGeneration, ProviderToAllocateNotFound, UnknownResourceClass,
    NotAllocatable (one of its kinds), in this order.
    """
    check_generations(standing.generations, claims)
    check_providers(standing, claims)
    wanted = tuple(_wanted(claims))
    _check_classes(standing, claims)
    _check_inventories(standing, wanted)
    _check_amounts(standing, wanted)
    return _changes(standing, claims, wanted)


def check_generations(generations: Mapping[str, int], claims: Iterable[ConsumerClaim]) -> None:
    """Return if each claim that names a generation names the consumer's.

    Raises: StaleConsumerGeneration.
    """
    for claim in claims:
        actual = generations.get(claim.consumer_uuid)
        if claim.check_generation and claim.generation != actual:
            raise exception.StaleConsumerGeneration(claim.consumer_uuid, actual, claim.generation)


def _wanted(claims: Iterable[ConsumerClaim]) -> Iterator[Allocation]:
    """Yield what is asked for, in the order in which it is."""
    for claim in claims:
        yield from _listed(claim.consumer_uuid, claim.resources)


def _listed(consumer_uuid: str, amounts: Amounts) -> Iterator[Allocation]:
    for provider_uuid, resources in amounts.items():
        for resource_class, amount in resources.items():
            yield Allocation(consumer_uuid, provider_uuid, resource_class, amount)


def check_providers(standing: Standing, claims: Iterable[ConsumerClaim]) -> None:
    """Return if all providers that the claims name exist.  Raises: ProviderToAllocateNotFound."""
    for claim in claims:
        for provider_uuid in claim.resources:
            if provider_uuid not in standing.providers:
                raise exception.ProviderToAllocateNotFound(provider_uuid)


def _check_classes(standing: Standing, claims: Sequence[ConsumerClaim]) -> None:
    for allocation in _wanted(claims):
        if allocation.resource_class not in standing.class_ids:
            whose = f" for consumer {allocation.consumer_uuid}" if len(claims) == 1 else ""
            raise exception.UnknownResourceClass(
                allocation.resource_class, f"Unable to allocate inventory{whose}"
            )


def _check_inventories(standing: Standing, wanted: Iterable[Allocation]) -> None:
    """A provider with nothing of any class of the request is told before single amounts are."""
    asked = {allocation.resource_class for allocation in wanted}
    for allocation in wanted:
        if asked.isdisjoint(standing.providers[allocation.provider_uuid].inventories):
            raise exception.NoSuchInventory(tuple(sorted(asked)), allocation.provider_uuid)


def _check_amounts(standing: Standing, wanted: Iterable[Allocation]) -> None:
    released = _totals(_held(standing))
    needed: Counter[tuple[str, str]] = Counter()
    for allocation in wanted:
        key = (allocation.provider_uuid, allocation.resource_class)
        _check_portion(standing, allocation)
        needed[key] += allocation.amount
        _check_capacity(standing, allocation, released[key], needed[key])


def _check_portion(standing: Standing, allocation: Allocation) -> None:
    _, provider_uuid, resource_class, amount = allocation
    inventory = standing.providers[provider_uuid].inventories.get(resource_class)
    if inventory is None:
        raise exception.NoSuchInventory((resource_class,), provider_uuid)
    if not is_portion(inventory, amount):
        raise exception.InventoryConstraintsViolated(
            resource_class,
            provider_uuid,
            amount,
            inventory.min_unit,
            inventory.max_unit,
            inventory.step_size,
        )


def _check_capacity(
    standing: Standing, allocation: Allocation, released: int, needed: int
) -> None:
    _, provider_uuid, resource_class, amount = allocation
    stock = standing.providers[provider_uuid]
    inventory, used = stock.inventories[resource_class], stock.used.get(resource_class, 0)
    makes_it_worse = needed > released
    if makes_it_worse and not within_capacity(inventory, used - released, needed):
        raise exception.CapacityExceeded(
            resource_class,
            provider_uuid,
            amount,
            used - released + needed - amount,
            integer_capacity(inventory),
        )


def _held(standing: Standing) -> Iterator[Allocation]:
    for consumer_uuid, amounts in standing.held.items():
        yield from _listed(consumer_uuid, amounts)


def _totals(allocations: Iterable[Allocation]) -> Counter[tuple[str, str]]:
    """Sum up by provider and class."""
    totals: Counter[tuple[str, str]] = Counter()
    for _, provider_uuid, resource_class, amount in allocations:
        totals[provider_uuid, resource_class] += amount
    return totals


def _changes(
    standing: Standing, claims: Sequence[ConsumerClaim], wanted: Sequence[Allocation]
) -> Changes:
    used = _totals(wanted)
    used.subtract(_totals(_held(standing)))
    grown = frozenset(_grown(standing, claims))
    held_on = {provider_uuid for amounts in standing.held.values() for provider_uuid in amounts}
    return Changes(
        allocations=wanted,
        used={key: amount for key, amount in used.items() if amount},
        generation_bumped=grown,
        changed=frozenset(held_on - grown),
        kept=tuple(claim for claim in claims if claim.resources),
        emptied=tuple(
            claim.consumer_uuid
            for claim in claims
            if not claim.resources and claim.consumer_uuid in standing.generations
        ),
    )


def _grown(standing: Standing, claims: Iterable[ConsumerClaim]) -> Iterator[str]:
    """Yield the providers named, or held on by consumers that give everything back.

    A provider that a consumer is moved away from is not among them.
    """
    for claim in claims:
        yield from claim.resources or standing.held.get(claim.consumer_uuid, {})
