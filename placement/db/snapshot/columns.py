"""Reading all providers as columns, by statements that join many rows to one text.

See ``grouped_rows``. The statements see one state of the database if they are executed in one
transaction. No value depends on the order of rows: each text contains the id of its provider.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from placement.core.model import Inventory
from placement.core.snapshot.provider_table import (
    InventoriesAndUsed,
    ProviderGroups,
    ProviderTable,
    Shared,
)
from placement.core.snapshot.rows import Numbers, concatenated, numbers
from placement.db.snapshot import changes, grouped_rows, inconsistent_rows
from placement.db.tables import (
    inventories,
    placement_aggregates,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
)

Key = tuple[Any, ...]

_provider, _inventory = resource_providers.c, inventories.c
_trait, _member = resource_provider_traits.c, resource_provider_aggregates.c


@dataclass(frozen=True, slots=True)
class Statements:
    """The four statements that read everything, for one kind of database.

    Columns: the number of rows of the group and each text with its length; before them, for
    inventories, traits and aggregates, what the rows of the group have in common.
    """

    providers: sa.Select[Any]
    inventories: sa.Select[Any]
    traits: sa.Select[Any]
    aggregates: sa.Select[Any]


@lru_cache(maxsize=3)
def statements(dialect: str) -> Statements:
    """Return the statements for ``mysql``, ``postgresql`` or ``sqlite``."""
    return Statements(
        providers=_providers(dialect),
        inventories=_grouped(_inventory.resource_provider_id, changes.INVENTORY, dialect),
        traits=_grouped(_trait.resource_provider_id, (_trait.trait_id,), dialect),
        aggregates=_aggregates_by_uuid(dialect),
    )


_NO_ID = -1
_FIELDS = 7


def _providers(dialect: str) -> sa.Select[Any]:
    """Return the statement for the rows of providers; see ``SELECT_PROVIDER``."""
    integers = (
        _provider.id,
        sa.func.coalesce(_provider.generation, 0),
        sa.func.coalesce(_provider.parent_provider_id, _NO_ID),
        sa.func.coalesce(_provider.root_provider_id, _NO_ID),
    )
    time = sa.func.coalesce(_provider.updated_at, _provider.created_at)
    record = grouped_rows.record_of(
        *(grouped_rows.text_of(each, dialect) for each in integers),
        grouped_rows.text_of_time(time, dialect),
        _provider.uuid,
        sa.func.coalesce(_provider.name, _provider.uuid),
    )
    # in the order of the groups, SQLite need not sort the texts
    records = sa.select(_provider.id, record.label("record")).order_by(_provider.id).subquery()
    return sa.select(
        sa.func.count(), *grouped_rows.joined_text(records.c.record, dialect)
    ).group_by(records.c.id // grouped_rows.IDS_OF_TEXTS)


def _grouped(
    provider_id: sa.Column[int], common: tuple[sa.Column[Any], ...], dialect: str
) -> sa.Select[Any]:
    """Return the statement for the ids of the providers with equal values in some columns."""
    text_and_length = grouped_rows.joined_text(grouped_rows.text_of(provider_id, dialect), dialect)
    return sa.select(*common, sa.func.count(), *text_and_length).group_by(
        *common, provider_id // grouped_rows.IDS_OF_NUMBERS
    )


def _aggregates_by_uuid(dialect: str) -> sa.Select[Any]:
    """Return the statement for aggregates: joining few groups is faster than joining all rows."""
    groups = _grouped(_member.resource_provider_id, (_member.aggregate_id,), dialect).subquery()
    aggregate_id, *texts = groups.c
    return sa.select(placement_aggregates.c.uuid, *texts).where(
        placement_aggregates.c.id == aggregate_id
    )


def read(
    connection: sa.Connection, class_names: Mapping[int, str], trait_names: Mapping[int, str]
) -> ProviderTable:
    """Return all providers that have a root.  Cost: four statements.

    Raises: grouped_rows.Unreadable if the providers must be read row by row.
    """
    by_kind = statements(connection.dialect.name)
    rows = _ProviderRows()
    for count, text, length in connection.execute(by_kind.providers):
        rows.add(grouped_rows.values(text, length, count * _FIELDS))
    ids = concatenated(rows.ids)
    groups = ProviderGroups(ids)
    parent, root = (
        groups.index_of(concatenated(indices)) for indices in (rows.parents, rows.roots)
    )
    table = ProviderTable(
        ids=ids,
        uuids=rows.uuids,
        names=rows.names,
        generations=concatenated(rows.generations),
        parent_uuids=[None if at < 0 else rows.uuids[at] for at in parent.tolist()],
        root_uuids=["" if at < 0 else rows.uuids[at] for at in root.tolist()],
        modified_at=rows.modified_at,
        amounts=_amounts(groups, connection.execute(by_kind.inventories), class_names),
        traits=_traits(groups, connection.execute(by_kind.traits), trait_names),
        aggregates=_aggregates(groups, connection.execute(by_kind.aggregates)),
    )
    return table.only(root >= 0)


@dataclass(frozen=True, slots=True)
class _ProviderRows:
    """The fields of rows of providers.

    Numbers become arrays group by group: text that stays until all is read would leave gaps
    between the names, which are kept.
    """

    ids: list[Numbers] = field(default_factory=list)
    generations: list[Numbers] = field(default_factory=list)
    parents: list[Numbers] = field(default_factory=list)
    roots: list[Numbers] = field(default_factory=list)
    modified_at: list[datetime | None] = field(default_factory=list)
    uuids: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    _times: grouped_rows.Times = field(default_factory=grouped_rows.Times)

    def add(self, fields: list[str]) -> None:
        """Add the fields of some rows, one row after the other."""
        for number, column in enumerate((self.ids, self.generations, self.parents, self.roots)):
            column.append(_integers(fields[number::_FIELDS]))
        self.modified_at.extend(map(self._times.__getitem__, fields[4::_FIELDS]))
        self.uuids.extend(fields[5::_FIELDS])
        self.names.extend(fields[6::_FIELDS])


def _integers(texts: Sequence[str]) -> Numbers:
    return numbers(map(int, texts))


def _providers_of(groups: ProviderGroups, count: int, text: str, length: Any) -> Numbers:
    """Return the indices of the providers in a text that exist."""
    return groups.existing(_integers(grouped_rows.values(text, length, count)))


def _amounts(
    groups: ProviderGroups, rows: Iterable[Sequence[Any]], class_names: Mapping[int, str]
) -> Shared[InventoriesAndUsed]:
    providers_of = defaultdict[Key, list[Numbers]](list)
    for *columns, count, text, length in rows:
        providers = _providers_of(groups, count, text, length)
        if _is_usable(columns, class_names):
            providers_of[tuple(columns)].append(providers)
        elif len(providers):
            inconsistent_rows.warn_once(
                f"{len(providers)} inventories of class {columns[0]} are left out: the class does "
                "not exist, or the step size is below 1."
            )
    number, sets = groups.sets(providers_of)
    inventory_of = {key: Inventory(*key[2:]) for key in providers_of}
    kept: dict[tuple[tuple[str, Inventory], ...], Mapping[str, Inventory]] = {}
    values: list[InventoriesAndUsed] = []
    for keys in sets:
        inventories_ = {class_names[key[0]]: inventory_of[key] for key in keys}
        used = {class_names[key[0]]: key[1] for key in keys if key[1]}
        values.append((kept.setdefault(tuple(inventories_.items()), inventories_), used))
    return Shared(number, values)


def _is_usable(columns: Sequence[Any], class_names: Mapping[int, str]) -> bool:
    class_id, *_, step_size, _ratio = columns
    return class_id in class_names and step_size >= 1


def _traits(
    groups: ProviderGroups, rows: Iterable[Sequence[Any]], trait_names: Mapping[int, str]
) -> Shared[frozenset[str]]:
    providers_of = defaultdict[str, list[Numbers]](list)
    for trait_id, count, text, length in rows:
        name = trait_names.get(trait_id)
        if name is None:
            inconsistent_rows.warn_once(f"{count} providers have a trait {trait_id} without name.")
        else:
            providers_of[name].append(_providers_of(groups, count, text, length))
    number, sets = groups.sets(providers_of)
    return Shared(number, [frozenset(each) for each in sets])


def _aggregates(groups: ProviderGroups, rows: Iterable[Sequence[Any]]) -> Shared[frozenset[str]]:
    providers_of = defaultdict[str, list[Numbers]](list)
    for uuid, count, text, length in rows:
        providers_of[uuid].append(_providers_of(groups, count, text, length))
    number, sets = groups.sets(providers_of)
    return Shared(number, [frozenset(each) for each in sets])
