"""What a write changes, as values: a class for each kind of change, with ``before`` and ``after``.

Both have only what differs: the fields of an inventory, and the traits that were removed and
added, not those that remain. They are texts, numbers, lists and mappings. None is something that
does not exist.

The functions are generators: without an observer of changes, nothing is compared.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

from placement.core.claims import Amounts
from placement.core.model import ConsumerClaim, Inventory, Provider

Place = Mapping[str, str | None]
"""The ``name`` of a provider, and its ``parent_provider_uuid``."""

Fields = Mapping[str, int | float]
"""Values of an inventory, by the name of the field."""


@dataclass(frozen=True, slots=True)
class ProviderChange:
    """A provider was created, renamed, moved or deleted, with everything that belongs to it."""

    kind: ClassVar = "provider"
    uuid: str
    name: str
    before: Place | None
    after: Place | None


@dataclass(frozen=True, slots=True)
class InventoryChange:
    """Inventories of a provider changed, by resource class."""

    kind: ClassVar = "inventory"
    uuid: str
    name: str
    before: Mapping[str, Fields | None]
    after: Mapping[str, Fields | None]


@dataclass(frozen=True, slots=True)
class TraitsChange:
    """A provider lost the traits ``before``, and got the traits ``after``."""

    kind: ClassVar = "traits"
    uuid: str
    name: str
    before: Sequence[str]
    after: Sequence[str]


@dataclass(frozen=True, slots=True)
class AggregatesChange:
    """A provider lost the aggregates ``before``, and got the aggregates ``after``."""

    kind: ClassVar = "aggregates"
    uuid: str
    name: str
    before: Sequence[str]
    after: Sequence[str]


@dataclass(frozen=True, slots=True)
class AllocationsChange:
    """The allocations of a consumer changed: all of them before and after.

    The type of the consumer is None if the write does not know it.
    """

    kind: ClassVar = "allocations"
    consumer_uuid: str
    consumer_type: str | None
    before: Amounts
    after: Amounts


@dataclass(frozen=True, slots=True)
class ClassChange:
    """A resource class was created, renamed or deleted."""

    kind: ClassVar = "class"
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class TraitChange:
    """A trait was created or deleted."""

    kind: ClassVar = "trait"
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class RepairChange:
    """An action of a repair was applied, or undone; what it changed are other changes."""

    kind: ClassVar = "repair"
    before: str | None
    after: str | None


OfProvider = ProviderChange | InventoryChange | TraitsChange | AggregatesChange
Change = OfProvider | AllocationsChange | ClassChange | TraitChange | RepairChange


def of_provider(before: Provider | None, after: Provider | None) -> Iterator[Change]:
    """Yield the change of a provider that was created, renamed, moved or deleted, if it was."""
    old, new = _place(before), _place(after)
    if (current := after or before) and old != new:
        yield ProviderChange(current.uuid, current.name, old, new)


def _place(provider: Provider | None) -> Place | None:
    if provider is None:
        return None
    return {"name": provider.name, "parent_provider_uuid": provider.parent_uuid}


def of_inventories(
    provider: Provider, before: Mapping[str, Inventory], after: Mapping[str, Inventory]
) -> Iterator[Change]:
    """Yield the change of the inventories of a provider, if they differ."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if names:
        yield InventoryChange(
            provider.uuid,
            provider.name,
            {name: _fields(before.get(name), after.get(name)) for name in names},
            {name: _fields(after.get(name), before.get(name)) for name in names},
        )


def _fields(inventory: Inventory | None, other: Inventory | None) -> Fields | None:
    """Return the fields in which an inventory differs from another one, all if there is none."""
    if inventory is None:
        return None
    others = asdict(other) if other else {}
    return {name: value for name, value in asdict(inventory).items() if value != others.get(name)}


def of_names(
    kind: type[TraitsChange] | type[AggregatesChange],
    provider: Provider,
    names: Callable[[], tuple[Iterable[str], Iterable[str]]],
) -> Iterator[Change]:
    """Yield the change of the traits or aggregates of a provider, if they differ.

    ``names`` reads them, before and after; those that remain can be left out.
    """
    before, after = map(set, names())
    if before != after:
        removed, added = sorted(before - after), sorted(after - before)
        yield kind(provider.uuid, provider.name, removed, added)


def of_claims(claims: Iterable[ConsumerClaim], before: Mapping[str, Amounts]) -> Iterator[Change]:
    """Yield the change of each consumer whose claim differs from its allocations ``before``."""
    for claim in claims:
        current = before.get(claim.consumer_uuid, {})
        if current != claim.resources:
            yield AllocationsChange(claim.consumer_uuid, claim.type, current, claim.resources)
