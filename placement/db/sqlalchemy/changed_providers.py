"""The one statement that reads the providers that changed since the clocks were last read.

A single statement sees one state of the database even outside a transaction, so it needs neither
BEGIN nor COMMIT: one round trip instead of nine for the same data. Its rows are of several kinds,
given by their first column; columns that a kind does not use are NULL.

There are few columns: drivers written in Python take time for each value, and for each column of
a result. So the integers of an inventory are one text, and the texts of all kinds one column.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from placement.db.sqlalchemy import clock_versions, clocks
from placement.db.sqlalchemy.models import (
    inventories,
    placement_aggregates,
    removed_providers,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)
from placement.db.sqlalchemy.providers import SELECT_PROVIDER

# The kinds of rows: a provider with one inventory or none, a trait of a provider, an aggregate of
# a provider, a removed provider, the values of all clocks, a resource class, a trait with its name
PROVIDER, TRAIT, AGGREGATE, REMOVED, CLOCKS, RESOURCE_CLASS, TRAIT_NAMED = range(7)

# The columns of a row, after its kind. TEXT is the integers of an inventory (NULL if there is
# none), the id of a trait, the UUID of an aggregate, the values of the clocks, or a name.
ID = 1  # of a provider, of a class, or of a trait with its name
PROVIDER_COLUMNS = slice(1, 8)
TEXT, ALLOCATION_RATIO = 8, 9
_WIDTH = 10

_provider, _inventory = resource_providers.c, inventories.c

_INTEGERS = (
    _inventory.resource_class_id,
    _inventory.used,
    _inventory.total,
    _inventory.reserved,
    _inventory.min_unit,
    _inventory.max_unit,
    _inventory.step_size,
)
INVENTORY = (*_INTEGERS, _inventory.allocation_ratio)


def integers(text: str) -> Iterator[int]:
    """Yield the integers of an inventory, in the order of ``INVENTORY``.

    >>> list(integers("0,2,64,0,1,64,1"))
    [0, 2, 64, 0, 1, 64, 1]
    """
    return map(int, text.split(","))


def _text(value: sa.ColumnElement[Any]) -> sa.ColumnElement[str]:
    """Return the value as a text of the connection's collation: those of tables may differ."""
    return sa.cast(value, sa.Text)


def _joined(values: Sequence[sa.ColumnElement[Any]]) -> sa.ColumnElement[str]:
    comma = sa.literal_column("','", sa.Text)
    return reduce(lambda text, value: text + comma + value, map(_text, values))


def since(
    seen: Mapping[int, int],
    moved: Sequence[int],
    *,
    has_names: bool,
    has_many_versions: bool = False,
) -> tuple[sa.CompoundSelect[Any], dict[str, int]]:
    """Return the statement and its parameters for the changes of the ``moved`` clocks.

    With ``has_names`` it also reads all resource classes and traits. ``has_many_versions`` is that
    of the clocks, see ``clock_versions``.
    """
    all_clocks = clock_versions.ALL if has_many_versions else clocks.ALL
    return _since(len(moved), all_clocks, has_names=has_names), _parameters(seen, moved)


def _parameters(seen: Mapping[int, int], moved: Sequence[int]) -> dict[str, int]:
    parameters = {}
    for number, clock in enumerate(moved):
        parameters[f"after_{number}"] = seen[clock]
        parameters[f"before_{number}"] = clocks.first_value(clock + 1)
    return parameters


@lru_cache(maxsize=4 * (clocks.PROVIDER_CLOCKS + 1))
def _since(
    count: int, all_clocks: sa.ColumnElement[str], *, has_names: bool
) -> sa.CompoundSelect[Any]:
    """Return the statement for so many clocks; to build it costs more than to send it."""
    parts = [
        *_provider_parts(count),
        sa.select(*_columns(CLOCKS, sa.null(), {TEXT: all_clocks})),
        *(_name_parts() if has_names else ()),
    ]
    return sa.union_all(*parts)


def _provider_parts(count: int) -> Iterator[sa.Select[Any]]:
    is_changed = _between(_provider.stamp, count)
    trait, member, removed = (
        table.c
        for table in (resource_provider_traits, resource_provider_aggregates, removed_providers)
    )
    # the first part gives the columns their types
    yield (
        SELECT_PROVIDER.outerjoin(inventories, _inventory.resource_provider_id == _provider.id)
        .with_only_columns(*_columns(PROVIDER, _provider.id, _VALUES))
        .where(is_changed)
    )
    yield (
        sa.select(*_columns(TRAIT, _provider.id, {TEXT: _text(trait.trait_id)}))
        .join(resource_provider_traits, trait.resource_provider_id == _provider.id)
        .where(is_changed)
    )
    yield (
        sa.select(*_columns(AGGREGATE, _provider.id, {TEXT: _text(placement_aggregates.c.uuid)}))
        .join(resource_provider_aggregates, member.resource_provider_id == _provider.id)
        .join(placement_aggregates, placement_aggregates.c.id == member.aggregate_id)
        .where(is_changed)
    )
    yield sa.select(*_columns(REMOVED, removed.provider_id)).where(_between(removed.stamp, count))


def _name_parts() -> Iterator[sa.Select[Any]]:
    for kind, table in ((RESOURCE_CLASS, resource_classes), (TRAIT_NAMED, traits)):
        yield sa.select(*_columns(kind, table.c.id, {TEXT: _text(table.c.name)}))


_VALUES = {
    **dict(enumerate(SELECT_PROVIDER.selected_columns, ID)),
    TEXT: _joined(_INTEGERS),
    ALLOCATION_RATIO: _inventory.allocation_ratio,
}


def _columns(
    kind: int,
    id_: sa.ColumnElement[Any],
    values: Mapping[int, sa.ColumnElement[Any]] = MappingProxyType({}),
) -> Iterator[sa.ColumnElement[Any]]:
    """Yield the columns of a kind of row, in their order; the unused ones are NULL."""
    yield sa.literal_column(str(kind))
    yield id_
    for position in range(ID + 1, _WIDTH):
        yield values.get(position, sa.null())


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
            (stamp > sa.bindparam(f"after_{number}", type_=sa.BigInteger))
            & (stamp < sa.bindparam(f"before_{number}", type_=sa.BigInteger))
            for number in range(count)
        ),
    )
