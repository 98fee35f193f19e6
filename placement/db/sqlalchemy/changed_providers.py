"""The one statement that reads what was written since the clocks were seen.

Databases let a single statement see one state, even outside a transaction, so
what is read by one needs no BEGIN and no COMMIT: two round trips fewer, and
with the five things that are read in it at once, six. Its rows are of several
kinds, told by their first column; what a kind has nothing to say of is NULL.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from placement.db.sqlalchemy import clocks
from placement.db.sqlalchemy.models import (
    inventories,
    placement_aggregates,
    removed_providers,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
)

# The kinds of rows: a provider with one inventory or none, a trait or an aggregate that a
# provider has, a provider that is no more, and the values of all clocks.
PROVIDER, TRAIT, AGGREGATE, REMOVED, CLOCKS = range(5)

# The columns of a row, after its kind. Texts of different tables are kept apart: their
# collations may differ.
PROVIDER_ID = 1
PROVIDER_COLUMNS = slice(1, 8)
NAME_ID = 8  # of the class of an inventory, or of a trait
INVENTORY_COLUMNS = slice(8, 16)
AGGREGATE_UUID, CLOCK_VALUES = 16, 17
_WIDTH = 18

_own, _has = resource_providers.c, inventories.c
_root = resource_providers.alias("root")
_parent = resource_providers.alias("parent")

PROVIDERS = (
    sa.select(
        _own.id,
        _own.uuid,
        _own.name,
        sa.func.coalesce(_own.generation, 0),
        _parent.c.uuid,
        _root.c.uuid,
        sa.func.coalesce(_own.updated_at, _own.created_at),
    )
    # one without a root is half removed, or not migrated: nobody sees it
    .join(_root, _root.c.id == _own.root_provider_id)
    .outerjoin(_parent, _parent.c.id == _own.parent_provider_id)
)
INVENTORY = (
    _has.resource_class_id,
    _has.used,
    _has.total,
    _has.reserved,
    _has.min_unit,
    _has.max_unit,
    _has.step_size,
    _has.allocation_ratio,
)


def since(
    seen: Mapping[int, int], moved: Sequence[int]
) -> tuple[sa.CompoundSelect[Any], dict[str, int]]:
    """Return the statement, and its parameters, for what clocks that moved gave since then."""
    return _since(len(moved)), _parameters(seen, moved)


def _parameters(seen: Mapping[int, int], moved: Sequence[int]) -> dict[str, int]:
    parameters = {}
    for turn, clock in enumerate(moved):
        parameters[f"after_{turn}"] = seen[clock]
        parameters[f"before_{turn}"] = clocks.first_value(clock + 1)
    return parameters


@lru_cache(maxsize=clocks.PROVIDER_CLOCKS + 1)
def _since(count: int) -> sa.CompoundSelect[Any]:
    """Return the statement for so many clocks; to make it costs more than to send it."""
    is_new = _between(_own.stamp, count)
    held, members, removed = (
        table.c
        for table in (resource_provider_traits, resource_provider_aggregates, removed_providers)
    )
    return sa.union_all(
        # the first: its columns have types, which those of the others take over
        PROVIDERS.outerjoin(inventories, _has.resource_provider_id == _own.id)
        .with_only_columns(*_columns(PROVIDER, _own.id, _FACTS))
        .where(is_new),
        sa.select(*_columns(TRAIT, _own.id, {NAME_ID: held.trait_id}))
        .join(resource_provider_traits, held.resource_provider_id == _own.id)
        .where(is_new),
        sa.select(*_columns(AGGREGATE, _own.id, {AGGREGATE_UUID: placement_aggregates.c.uuid}))
        .join(resource_provider_aggregates, members.resource_provider_id == _own.id)
        .join(placement_aggregates, placement_aggregates.c.id == members.aggregate_id)
        .where(is_new),
        sa.select(*_columns(REMOVED, removed.provider_id)).where(_between(removed.stamp, count)),
        sa.select(*_columns(CLOCKS, sa.null(), {CLOCK_VALUES: clocks.ALL})),
    )


_FACTS = dict(enumerate((*PROVIDERS.selected_columns, *INVENTORY), PROVIDER_ID))


def _columns(
    kind: int,
    provider_id: sa.ColumnElement[Any],
    facts: Mapping[int, sa.ColumnElement[Any]] = MappingProxyType({}),
) -> Iterator[sa.ColumnElement[Any]]:
    """Yield the columns of a kind of row, by their places; the rest are NULL."""
    yield sa.literal_column(str(kind))
    yield provider_id
    for place in range(PROVIDER_ID + 1, _WIDTH):
        yield facts.get(place, sa.null())


def touched_since(
    seen: Mapping[int, int], moved: Sequence[int]
) -> tuple[sa.CompoundSelect[Any], dict[str, int]]:
    """Return the statement, and its parameters, for which providers changed or were removed.

    Rows are a provider's id, and of a removed one True and its UUID, which is NULL if the
    release that removed it did not note it.
    """
    return _touched_since(len(moved)), _parameters(seen, moved)


@lru_cache(maxsize=clocks.PROVIDER_CLOCKS + 1)
def _touched_since(count: int) -> sa.CompoundSelect[Any]:
    removed = removed_providers.c
    return sa.union_all(
        sa.select(
            _own.id,
            sa.false().label("is_removed"),
            sa.cast(sa.null(), sa.String(36)).label("uuid"),
        ).where(_between(_own.stamp, count)),
        sa.select(removed.provider_id, sa.true(), removed.uuid).where(
            _between(removed.stamp, count)
        ),
    )


def _between(stamp: sa.Column[int], count: int) -> sa.ColumnElement[bool]:
    """Stamps that one of the clocks gave after it was seen; a range of the index for each."""
    return sa.or_(
        sa.false(),
        *(
            (stamp > sa.bindparam(f"after_{turn}", type_=sa.BigInteger))
            & (stamp < sa.bindparam(f"before_{turn}", type_=sa.BigInteger))
            for turn in range(count)
        ),
    )
