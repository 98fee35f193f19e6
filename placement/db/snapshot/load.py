"""Reads all providers, the contents of a snapshot.

All providers are read by five statements, which see one state of the database in one transaction.
Inventories that differ only in their provider are one row with a list of provider ids. The
providers with one trait, or in one aggregate, are also one row: see ``grouped_rows``.

No value depends on the order of rows in a text: every row has the id of its provider.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

import numpy as np
import sqlalchemy as sa

from placement.core.model import Inventory
from placement.core.snapshot.provider_table import InventoriesAndUsed, ProviderTable, Shared
from placement.core.snapshot.rows import NO_ROW, Ids, numbers, wide
from placement.db import grouped_rows
from placement.db.clocks import time_of_text
from placement.db.snapshot.changes import INVENTORY, NameTables, inventory_of, warn_once
from placement.db.tables import (
    GENERATION,
    inventories,
    placement_aggregates,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)

T = TypeVar("T")
_Key = tuple[Any, ...]

_provider, _inventory = resource_providers.c, inventories.c
_trait, _member = resource_provider_traits.c, resource_provider_aggregates.c

_NONE = -1  # the id of no provider
_TIME = sa.func.coalesce(_provider.updated_at, _provider.created_at)
_PROVIDER = (
    _provider.id,
    GENERATION,
    sa.func.coalesce(_provider.parent_provider_id, _NONE),
    sa.func.coalesce(_provider.root_provider_id, _NONE),
    sa.func.coalesce(sa.cast(_TIME, sa.Text), ""),
    grouped_rows.escaped(_provider.uuid),
    grouped_rows.escaped(sa.func.coalesce(_provider.name, _provider.uuid)),
)


class SnapshotReader:
    """Providers with their inventories, usage, traits and aggregates, in one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._dialect = connection.dialect.name

    def names(self) -> NameTables:
        """Return all names.  Cost: two statements."""
        return NameTables(
            classes=self._by_id(resource_classes.c.id, resource_classes.c.name),
            traits=self._by_id(traits.c.id, traits.c.name),
        )

    def _by_id(self, id_: sa.Column[int], name: sa.Column[str]) -> dict[int, str]:
        return {row[0]: row[1] for row in self._connection.execute(sa.select(id_, name))}

    def table(self, names: NameTables) -> ProviderTable:
        """Return all providers that have a root, in tree order.  Cost: five statements.

        Raises: grouped_rows.Truncated.
        """
        table = self._table(names)
        ordered = table.in_tree_order()
        if len(ordered) < len(table):
            looped = sorted({*table.uuids} - {*ordered.uuids})
            warn_once(f"Providers in a loop of parents are left out: {looped[:5]}.")
        return ordered

    def _table(self, names: NameTables) -> ProviderTable:
        ids, generations, parent_ids, root_ids, times, uuids, names_ = self._providers()
        index_of = dict(zip(ids.tolist(), range(len(ids)), strict=True))
        parents, roots = (
            [index_of.get(id_, NO_ROW) for id_ in column.tolist()]
            for column in (parent_ids, root_ids)
        )
        table = ProviderTable(
            ids=ids,
            uuids=uuids,
            names=names_,
            generations=generations,
            parent_uuids=[None if at < 0 else uuids[at] for at in parents],
            root_uuids=["" if at < 0 else uuids[at] for at in roots],
            modified_at=times,
            amounts=self._amounts(index_of, names),
            traits=self._traits(index_of, names),
            aggregates=self._aggregates(index_of),
        )
        return table.only(numbers(roots) >= 0)

    def _providers(self) -> tuple[Any, ...]:
        """Return the columns ``_PROVIDER`` of all providers: arrays of the integers, and lists."""
        statement = sa.select(grouped_rows.joined(self._dialect, *_PROVIDER)).group_by(
            _provider.id // grouped_rows.IDS_OF_NAMES
        )
        integers: tuple[list[Ids], ...] = tuple([wide(())] for _ in range(4))
        times: list[datetime | None] = []
        uuids: list[str] = []
        names: list[str] = []
        time_of = cache(time_of_text)
        for (text,) in self._connection.execute(statement):
            *columns, time_texts, uuid_texts, name_texts = grouped_rows.fields(
                text, len(_PROVIDER)
            )
            # arrays: Python integers that remain until the end would leave gaps between the names
            for arrays, column in zip(integers, columns, strict=True):
                arrays.append(wide(map(int, column)))
            times.extend(map(time_of, time_texts))
            uuids.extend(map(grouped_rows.unescaped, uuid_texts))
            names.extend(map(grouped_rows.unescaped, name_texts))
        return *map(np.concatenate, integers), times, uuids, names

    def _amounts(
        self, index_of: Mapping[int, int], names: NameTables
    ) -> Shared[InventoriesAndUsed]:
        shared: dict[Any, Mapping[str, Inventory]] = {}

        def amounts(keys: Iterable[_Key]) -> InventoriesAndUsed:
            inventories_ = {names.classes[id_]: inventory_of(limits) for id_, _, *limits in keys}
            used = {names.classes[id_]: amount for id_, amount, *_ in keys if amount}
            return shared.setdefault(tuple(inventories_.items()), inventories_), used

        ids_of = self._grouped(_inventory.resource_provider_id, *INVENTORY)
        usable = {
            (id_, used, *limits): ids
            for (id_, used, *limits), ids in ids_of.items()
            if names.has_usable(id_, inventory_of(limits))
        }
        return _sets(index_of, usable, amounts)

    def _traits(self, index_of: Mapping[int, int], names: NameTables) -> Shared[frozenset[str]]:
        ids_of = self._grouped(_trait.resource_provider_id, _trait.trait_id)
        return _sets(index_of, ids_of, lambda keys: names.of_traits(id_ for (id_,) in keys))

    def _aggregates(self, index_of: Mapping[int, int]) -> Shared[frozenset[str]]:
        uuid_of = self._by_id(placement_aggregates.c.id, placement_aggregates.c.uuid)
        ids_of = self._grouped(_member.resource_provider_id, _member.aggregate_id)
        return _sets(
            index_of,
            ids_of,
            lambda keys: frozenset(uuid for (id_,) in keys if (uuid := uuid_of.get(id_))),
        )

    def _grouped(
        self, provider_id: sa.Column[int], *columns: sa.Column[Any]
    ) -> dict[_Key, list[int]]:
        """Return the ids of the providers that have equal values in some columns."""
        statement = sa.select(*columns, grouped_rows.joined(self._dialect, provider_id)).group_by(
            *columns, provider_id // grouped_rows.IDS_OF_NUMBERS
        )
        ids_of = defaultdict[_Key, list[int]](list)
        for *key, text in self._connection.execute(statement):
            (ids,) = grouped_rows.fields(text, 1)
            ids_of[tuple(key)].extend(map(int, ids))
        return ids_of


def _sets(
    index_of: Mapping[int, int],
    ids_of: Mapping[_Key, Iterable[int]],
    value_of: Callable[[tuple[_Key, ...]], T],
) -> Shared[T]:
    """Return a value for the keys of each provider; the keys are in ascending order.

    ``ids_of`` has the ids of the providers by key. Equal sets of keys share a value. A key adds
    a member to the sets of its providers: the number of the larger set replaces their numbers.
    """
    number = [0] * len(index_of)
    sets: list[tuple[int, _Key]] = [(0, ())]  # the number of the set without the last key, the key
    for key in sorted(ids_of):
        larger: dict[int, int] = {}
        for id_ in ids_of[key]:
            at = index_of.get(id_)
            if at is None:
                continue
            if number[at] not in larger:
                larger[number[at]] = len(sets)
                sets.append((number[at], key))
            number[at] = larger[number[at]]
    used_numbers, index = np.unique(numbers(number), return_inverse=True)
    values = [value_of(_keys(sets, set_number)) for set_number in used_numbers.tolist()]
    return Shared(index.astype(np.int32), values)


def _keys(sets: Sequence[tuple[int, _Key]], number: int) -> tuple[_Key, ...]:
    """Return the keys of a set, which a set without the last key precedes."""
    keys: list[_Key] = []
    while number:
        number, key = sets[number]
        keys.append(key)
    return tuple(reversed(keys))
