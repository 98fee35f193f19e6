"""The one statement that reads the providers that changed since the clocks were last read.

A single statement sees one state of the database even outside a transaction, so it needs neither
BEGIN nor COMMIT: one round trip instead of nine for the same data. Its rows are of several kinds,
given by their first column; columns that a kind does not use are NULL.

A changed provider is one row, in which its inventories, traits and aggregates are texts: drivers
written in Python take time for each row and each column. See ``joined_values``.

The inventories, traits and aggregates of providers, of which a statement returned texts.

Providers with equal texts share the objects: of many providers that changed, most have the same
inventories, and each text is read once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, reduce
from typing import Any

import sqlalchemy as sa

from placement.core.model import Inventory
from placement.core.snapshot.provider_table import InventoriesAndUsed
from placement.db import clocks, tables
from placement.db.resources.providers import SELECT_PROVIDER
from placement.db.snapshot import grouped_rows, inconsistent_rows
from placement.db.snapshot.grouped_rows import Times
from placement.db.tables import (
    inventories,
    placement_aggregates,
    removed_providers,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)

# The kinds of rows: a provider, a removed provider, the values of all clocks, a resource class, a
# trait. Columns are those of a provider; ``name`` is also that of a class or trait, or the clocks.
PROVIDER, REMOVED, CLOCKS, RESOURCE_CLASS, TRAIT = range(5)

_provider, _inventory = resource_providers.c, inventories.c
_other = resource_providers.alias("other").c
_trait, _member = resource_provider_traits.c, resource_provider_aggregates.c

_LIMITS = (
    _inventory.total,
    _inventory.reserved,
    _inventory.min_unit,
    _inventory.max_unit,
    _inventory.step_size,
)
INVENTORY = (
    _inventory.resource_class_id,
    _inventory.used,
    *_LIMITS,
    _inventory.allocation_ratio,
)


def _text(value: sa.ColumnElement[Any]) -> sa.ColumnElement[str]:
    """Return the value as a text of the connection's collation: those of tables may differ."""
    return sa.cast(value, sa.Text)


def _inventory_text(dialect: str) -> sa.ColumnElement[str]:
    """Return an inventory as one text; see ``StateTexts.amounts``."""
    ratio = _inventory.allocation_ratio
    # a cast in SQLite would round to 15 digits
    ratio_text = sa.func.quote(ratio) if dialect == "sqlite" else _text(ratio)
    integers = map(_text, (_inventory.resource_class_id, *_LIMITS))
    comma = sa.literal_column("','", sa.Text)
    return reduce(
        lambda text, value: text + comma + value, (*integers, ratio_text, _text(_inventory.used))
    )


def since(
    seen: Mapping[int, int],
    moved: Sequence[int],
    *,
    dialect: str,
    has_names: bool,
    has_many_versions: bool = False,
) -> tuple[sa.CompoundSelect[Any], dict[str, int]]:
    """Return the statement and its parameters for the changes of the ``moved`` clocks.

    With ``has_names`` it also reads all resource classes and traits. ``has_many_versions`` is that
    of the clocks, see ``clock_versions``.
    """
    all_clocks = tables.ALL_OF_MANY_VERSIONS if has_many_versions else clocks.ALL
    statement = _since(len(moved), all_clocks, dialect, has_names=has_names)
    return statement, _parameters(seen, moved)


def _parameters(seen: Mapping[int, int], moved: Sequence[int]) -> dict[str, int]:
    parameters = {}
    for number, clock in enumerate(moved):
        parameters[f"after_{number}"] = seen[clock]
        parameters[f"before_{number}"] = clocks.first_value(clock + 1)
    return parameters


@lru_cache(maxsize=4 * (clocks.PROVIDER_CLOCKS + 1))
def _since(
    count: int, all_clocks: sa.ColumnElement[str], dialect: str, *, has_names: bool
) -> sa.CompoundSelect[Any]:
    """Return the statement for so many clocks; to build it costs more than to send it."""
    removed = removed_providers.c
    return sa.union_all(
        # the first part gives the columns their names and types
        _providers(dialect).where(_between(_provider.stamp, count)),
        _part(REMOVED, id=removed.provider_id).where(_between(removed.stamp, count)),
        _part(CLOCKS, name=all_clocks),
        *(_name_parts() if has_names else ()),
    )


def _providers(dialect: str) -> sa.Select[Any]:
    """Return the statement for the rows of providers; ``root_uuid`` is NULL without a root.

    All other tables are in subqueries. PostgreSQL estimates that a 200th of all providers changed
    unless statistics say otherwise, and for so many it would join whole tables.
    """
    traits_of = sa.select(grouped_rows.joined(_text(_trait.trait_id))).where(
        _trait.resource_provider_id == _provider.id
    )
    aggregates_of = (
        sa.select(grouped_rows.joined(_text(placement_aggregates.c.uuid)))
        .join_from(resource_provider_aggregates, placement_aggregates, _IS_AGGREGATE)
        .where(_member.resource_provider_id == _provider.id)
    )
    inventories_of = sa.select(grouped_rows.joined(_inventory_text(dialect))).where(
        _inventory.resource_provider_id == _provider.id
    )
    values = {
        "kind": _kind(PROVIDER),
        **dict(SELECT_PROVIDER.selected_columns.items()),
        "parent_uuid": _uuid_of(_provider.parent_provider_id),
        "root_uuid": _uuid_of(_provider.root_provider_id),
        "inventories": inventories_of.scalar_subquery(),
        "traits": traits_of.scalar_subquery(),
        "aggregates": aggregates_of.scalar_subquery(),
    }
    return sa.select(*(values[name].label(name) for name in _COLUMNS))


def _uuid_of(id_: sa.Column[int]) -> sa.ScalarSelect[str]:
    return sa.select(_other.uuid).where(_other.id == id_).scalar_subquery()


_IS_AGGREGATE = placement_aggregates.c.id == _member.aggregate_id
_COLUMNS = (
    "kind",
    "id",
    "name",
    "uuid",
    "generation",
    "parent_uuid",
    "root_uuid",
    "modified_at",
    "inventories",
    "traits",
    "aggregates",
)


def _kind(kind: int) -> sa.ColumnElement[int]:
    return sa.literal_column(str(kind), sa.Integer)


def _part(kind: int, **values: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Return the statement for the rows of another kind, by the values that they have."""
    values["kind"] = _kind(kind)
    null: sa.ColumnElement[Any] = sa.literal_column("NULL")
    return sa.select(*(values.get(name, null).label(name) for name in _COLUMNS))


def _name_parts() -> Iterator[sa.Select[Any]]:
    for kind, table in ((RESOURCE_CLASS, resource_classes), (TRAIT, traits)):
        yield _part(kind, id=table.c.id, name=_text(table.c.name))


def touched_since(
    seen: Mapping[int, int], moved: Sequence[int]
) -> tuple[sa.CompoundSelect[Any], dict[str, int]]:
    """Return the statement, and its parameters, for the ids of changed and removed providers.

    A row is the id of a provider; for a removed one also True and its UUID, which is NULL if an
    older release removed it.
    """
    return _touched_since(len(moved)), _parameters(seen, moved)


@lru_cache(maxsize=clocks.PROVIDER_CLOCKS + 1)
def _touched_since(count: int) -> sa.CompoundSelect[Any]:
    removed = removed_providers.c
    return sa.union_all(
        sa.select(
            _provider.id,
            sa.false().label("is_removed"),
            sa.cast(sa.null(), sa.String(36)).label("uuid"),
        ).where(_between(_provider.stamp, count)),
        sa.select(removed.provider_id, sa.true(), removed.uuid).where(
            _between(removed.stamp, count)
        ),
    )


def _between(stamp: sa.Column[int], count: int) -> sa.ColumnElement[bool]:
    """Stamps of the clocks above the values seen: one range of the index for each clock."""
    return sa.or_(
        sa.false(),
        *(
            (stamp > _bound(f"after_{number}")) & (stamp < _bound(f"before_{number}"))
            for number in range(count)
        ),
    )


def _bound(name: str) -> sa.BindParameter[int]:
    # with a value, as a statement with written-out parameters needs one to be compiled
    return sa.bindparam(name, 0, type_=sa.BigInteger)


_Named = tuple[str, Inventory] | None


class StateTexts:
    """Reads texts with the names of classes and traits by id.  Methods raise: Unreadable."""

    def __init__(self, class_names: Mapping[int, str], trait_names: Mapping[int, str]) -> None:
        self._class_names = class_names
        self._trait_names = trait_names
        self._amounts: dict[str | None, InventoriesAndUsed] = {}
        self._inventories: dict[tuple[str, ...], Mapping[str, Inventory]] = {}
        self._named: dict[str, _Named] = {}
        self._traits: dict[str | None, frozenset[str]] = {}
        self._aggregates: dict[str | None, frozenset[str]] = {}
        self._times = Times()

    def amounts(self, provider_id: int, text: str | None) -> InventoriesAndUsed:
        """Return the inventories and the used amounts by class, in the order of class ids.

        A value is the integers of ``changed_providers.INVENTORY``, the ratio, the used amount.
        """
        amounts = self._amounts.get(text)
        if amounts is None:
            amounts = self._amounts[text] = self._read_amounts(provider_id, text)
        return amounts

    def _read_amounts(self, provider_id: int, text: str | None) -> InventoriesAndUsed:
        keys, used = [], {}
        for value in sorted(grouped_rows.joined_values(text), key=_class_id):
            key, _, amount = value.rpartition(",")
            named = self._named[key] if key in self._named else self._name(provider_id, key)
            if named is not None:
                keys.append(key)
                if amount != "0":
                    used[named[0]] = int(amount)
        return self._shared(tuple(keys)), used

    def _name(self, provider_id: int, key: str) -> _Named:
        """Return the class and the inventory of a text without the used amount."""
        class_id, *integers, ratio = key.split(",")
        limits: list[Any] = [*map(int, integers), float(ratio)]
        inventory = Inventory(*limits)
        name = self._class_names.get(int(class_id))
        if name is None or inventory.step_size < 1:
            inconsistent_rows.warn_inventory(provider_id, int(class_id))
            name = None
        named = self._named[key] = None if name is None else (name, inventory)
        return named

    def _shared(self, keys: tuple[str, ...]) -> Mapping[str, Inventory]:
        inventories = self._inventories.get(keys)
        if inventories is None:
            named = (self._named[key] for key in keys)
            inventories = self._inventories[keys] = dict(filter(None, named))
        return inventories

    def traits(self, provider_id: int, text: str | None) -> frozenset[str]:
        """Return the names of the traits; a value is the id of one."""
        return _kept(self._traits, text, lambda: self._read_traits(provider_id, text))

    def _read_traits(self, provider_id: int, text: str | None) -> frozenset[str]:
        names = {int(value): None for value in grouped_rows.joined_values(text)}
        for trait_id in names.keys() - self._trait_names.keys():
            inconsistent_rows.warn_trait(provider_id, trait_id)
        return frozenset(self._trait_names[id_] for id_ in names if id_ in self._trait_names)

    def aggregates(self, text: str | None) -> frozenset[str]:
        """Return the UUIDs of the aggregates."""
        return _kept(self._aggregates, text, lambda: frozenset(grouped_rows.joined_values(text)))

    def time(self, value: datetime | str | None) -> datetime | None:
        """Return a time, which is text in JSON and in SQLite."""
        return self._times[value] if isinstance(value, str) else value


def _class_id(value: str) -> int:
    return int(value.partition(",")[0])


def _kept(
    sets: dict[str | None, frozenset[str]], text: str | None, read: Callable[[], frozenset[str]]
) -> frozenset[str]:
    names = sets.get(text)
    if names is None:
        names = sets[text] = read()
    return names
