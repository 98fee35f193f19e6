"""Snapshots of states, built as a load builds them."""

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

from placement.core.model import Inventory, ProviderState
from placement.core.snapshot.provider_table import InventoriesAndUsed, ProviderTable, Shared
from placement.core.snapshot.rows import numbers, wide
from placement.core.snapshot.snapshot import Snapshot

T = TypeVar("T")


def snapshot_of_states(
    states: Iterable[ProviderState],
    class_names: Iterable[str] | None = None,
    trait_names: Iterable[str] | None = None,
) -> Snapshot:
    """Return the snapshot of these providers, parents included, in any order, as a load does.

    The default names are the names that the providers have.
    """
    return Snapshot.of_table(table_of(states).in_tree_order(), class_names, trait_names)


def table_of(states: Iterable[ProviderState]) -> ProviderTable:
    """Return the table of some states."""
    all_states = list(states)
    providers = [state.provider for state in all_states]
    return ProviderTable(
        ids=wide(provider.id for provider in providers),
        uuids=[provider.uuid for provider in providers],
        names=[provider.name for provider in providers],
        generations=wide(provider.generation for provider in providers),
        parent_uuids=[provider.parent_uuid for provider in providers],
        root_uuids=[provider.root_uuid for provider in providers],
        modified_at=[provider.modified_at for provider in providers],
        amounts=_amounts(all_states),
        traits=shared((state.traits, state.traits) for state in all_states),
        aggregates=shared((state.aggregates, state.aggregates) for state in all_states),
    )


def shared(items: Iterable[tuple[Hashable, T]]) -> Shared[T]:
    """Return the column of some values; values with equal keys are stored once.

    >>> shared([("a", 1), ("b", 2), ("a", 1)]).number.tolist()
    [0, 1, 0]
    """
    number_of: dict[Hashable, int] = {}
    values: list[T] = []
    number = []
    for key, value in items:
        if key not in number_of:
            number_of[key] = len(values)
            values.append(value)
        number.append(number_of[key])
    return Shared(numbers(number), values)


def _amounts(states: Iterable[ProviderState]) -> Shared[InventoriesAndUsed]:
    """Return inventories and used amounts; equal mappings are one object."""
    distinct: dict[Hashable, Mapping[str, Inventory]] = {}
    return shared(
        (
            (inventories, tuple(sorted(state.used.items()))),
            (distinct.setdefault(inventories, state.inventories), state.used),
        )
        for state in states
        for inventories in (tuple(state.inventories.items()),)
    )
