"""All providers as columns: what a snapshot is built from.

A cloud has few different hosts, so equal parts of the states are stored once. The objects of a
provider are created when they are first read: objects of all providers would be most of the time
of a load, and a third of the memory of a process.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

import numpy as np

from placement.core.model import Inventory, Provider, ProviderState
from placement.core.snapshot.rows import NO_ROW, Indices, Mask, Numbers, numbers
from placement.core.snapshot.tree_order import tree_order

T = TypeVar("T")

Amounts = tuple[Mapping[str, Inventory], Mapping[str, int]]
"""The inventories of a provider and the used amounts, by resource class."""


@dataclass(frozen=True, slots=True, eq=False)
class Shared(Generic[T]):
    """A column with few different values: ``number`` is the index of each into ``values``."""

    number: Numbers
    values: Sequence[T]

    def __getitem__(self, index: int) -> T:
        return self.values[self.number.item(index)]

    def take(self, order: Indices | Numbers) -> "Shared[T]":
        """Return the column in another order."""
        return Shared(self.number[order], self.values)

    def rows_of_values(self) -> list[tuple[T, Numbers]]:
        """Return each value with the indices that have it, in any order, values in use only."""
        # a stable sort is several times faster where alike hosts follow each other
        order = np.argsort(self.number, kind="stable").astype(np.int32)
        counts = np.bincount(self.number, minlength=len(self.values))
        rows = np.split(order, np.cumsum(counts)[:-1]) if len(counts) else []
        return [(value, own) for value, own in zip(self.values, rows, strict=True) if len(own)]


@dataclass(frozen=True, slots=True, eq=False)
class ProviderTable:
    """Providers in any order; all columns have one value for each."""

    ids: Numbers
    uuids: Sequence[str]
    names: Sequence[str]
    generations: Numbers
    parent_uuids: Sequence[str | None]
    root_uuids: Sequence[str]
    modified_at: Sequence[datetime | None]
    amounts: Shared[Amounts]
    traits: Shared[frozenset[str]]
    aggregates: Shared[frozenset[str]]

    @classmethod
    def of(cls, states: Iterable[ProviderState]) -> "ProviderTable":
        """Return the table of some states."""
        listed = list(states)
        providers = [state.provider for state in listed]
        return cls(
            ids=numbers(each.id for each in providers),
            uuids=[each.uuid for each in providers],
            names=[each.name for each in providers],
            generations=numbers(each.generation for each in providers),
            parent_uuids=[each.parent_uuid for each in providers],
            root_uuids=[each.root_uuid for each in providers],
            modified_at=[each.modified_at for each in providers],
            amounts=_amounts(listed),
            traits=shared((each.traits, each.traits) for each in listed),
            aggregates=shared((each.aggregates, each.aggregates) for each in listed),
        )

    def __len__(self) -> int:
        return len(self.uuids)

    def provider(self, index: int) -> Provider:
        """Return a new object for a provider."""
        return Provider(
            self.ids.item(index),
            self.uuids[index],
            self.names[index],
            self.generations.item(index),
            self.parent_uuids[index],
            self.root_uuids[index],
            self.modified_at[index],
        )

    def state(self, index: int) -> ProviderState:
        """Return a new object for a state; its parts are shared."""
        inventories, used = self.amounts[index]
        return ProviderState(
            self.provider(index), inventories, used, self.traits[index], self.aggregates[index]
        )

    def parents(self, index_of: Mapping[str, int]) -> Numbers:
        """Return the index of each parent, -1 where there is none in the table."""
        return numbers(
            NO_ROW if uuid is None else index_of.get(uuid, NO_ROW) for uuid in self.parent_uuids
        )

    def in_tree_order(self) -> "ProviderTable":
        """Return the table tree by tree, trees by the id of the root, siblings by id.

        Raises: ParentLoop.
        """
        table = self
        if (np.diff(self.ids) < 0).any():
            table = self.take(np.argsort(self.ids))
        parents = table.parents(dict(zip(table.uuids, range(len(table)), strict=True)))
        rows = np.arange(len(table), dtype=np.int32)
        return table.take(tree_order(parents, rows).order)

    def take(self, order: Indices | Numbers) -> "ProviderTable":
        """Return the providers with these indices, in this order."""
        at = order.tolist()
        return replace(
            self,
            ids=self.ids[order],
            uuids=_taken(self.uuids, at),
            names=_taken(self.names, at),
            generations=self.generations[order],
            parent_uuids=_taken(self.parent_uuids, at),
            root_uuids=_taken(self.root_uuids, at),
            modified_at=_taken(self.modified_at, at),
            amounts=self.amounts.take(order),
            traits=self.traits.take(order),
            aggregates=self.aggregates.take(order),
        )

    def only(self, mask: Mask) -> "ProviderTable":
        """Return the providers where the mask is set."""
        return self if mask.all() else self.take(np.flatnonzero(mask))


def _taken(values: Sequence[T], at: Iterable[int]) -> list[T]:
    return [values[index] for index in at]


def shared(items: Iterable[tuple[Hashable, T]]) -> Shared[T]:
    """Return the column of some values; those with equal keys are stored once.

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


def _amounts(states: Iterable[ProviderState]) -> Shared[Amounts]:
    """Return inventories and used amounts; equal mappings are one object."""
    kept: dict[Hashable, Mapping[str, Inventory]] = {}
    return shared(
        (
            (inventories, tuple(sorted(state.used.items()))),
            (kept.setdefault(inventories, state.inventories), state.used),
        )
        for state in states
        for inventories in (tuple(state.inventories.items()),)
    )
