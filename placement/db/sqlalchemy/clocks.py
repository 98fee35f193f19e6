"""Clocks: how a process learns, exactly and cheaply, what others have written.

There are a few dozen clock rows. A provider belongs to one by its id. Each
transaction that changes what a snapshot holds advances, as its last
statements, the clocks of the providers it changed, and stamps these providers'
rows with their clock's new value.

Why a reader misses nothing: a transaction holds the row of a clock from when
it advances it until it is committed, so the values of one clock become visible
in their order. Who sees a clock at ``now`` sees every change stamped up to
``now``; the providers stamped above what was seen last are those to reload. Ids
and timestamps could not do this: they become visible in any order.

The values of clock ``n`` start at ``n << 40``: the ranges never meet, so one
index on the stamp finds the changed providers of a clock.

Clocks are advanced in the order of their ids, and after all other rows are
locked, so transactions that touch several of the same cannot deadlock.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from types import MappingProxyType

import sqlalchemy as sa

from placement.db.sqlalchemy import compiled_statements
from placement.db.sqlalchemy.models import clocks, removed_providers, resource_providers

PROVIDER_CLOCKS = 32
NAMES_CLOCK = 32
EPOCH_CLOCK = 33  # everything is to be loaded again
CLOCKS = 34
_RANGE_BITS = 40
_NOTHING: Mapping[int, str] = MappingProxyType({})


def first_value(clock: int) -> int:
    """Return the value that a clock starts with."""
    return clock << _RANGE_BITS


def of_provider(provider_id: int) -> int:
    """Return the clock that a provider belongs to."""
    return provider_id % PROVIDER_CLOCKS


# All in one row: drivers written in Python take their time for each.
ALL = sa.func.aggregate_strings(sa.cast(clocks.c.value, sa.String(20)), ",")
_ALL = sa.select(ALL)


def values(connection: sa.Connection) -> dict[int, int]:
    """Return the value of each clock."""
    return by_id(compiled_statements.execute(connection, _ALL, {}).scalar_one())


def by_id(listed: str | None) -> dict[int, int]:
    """Return the values of ``ALL`` by clock: each tells whose it is."""
    numbers = map(int, listed.split(",")) if listed else ()
    return {value >> _RANGE_BITS: value for value in sorted(numbers)}


def publish(
    connection: sa.Connection,
    changed: AbstractSet[int] = frozenset(),
    *,
    generation_bumped: AbstractSet[int] = frozenset(),
    removed: Mapping[int, str] = _NOTHING,
    names: bool = False,
) -> None:
    """Advance the clocks of the providers and stamp them; see ``Transaction.publish``.

    The rows of the providers that remain must be locked already.
    Cost: one statement for the clocks (two for several on PostgreSQL) and one for the stamps.
    """
    remaining = changed | generation_bumped
    touched = {of_provider(provider_id) for provider_id in remaining | removed.keys()}
    if names:
        touched.add(NAMES_CLOCK)
    if not touched:
        return
    advance(connection, touched)
    if generation_bumped - removed.keys():
        compiled_statements.execute_for(
            connection,
            _GROW,
            _own.id,
            sorted(generation_bumped - removed.keys()),
            {"now": utcnow()},
        )
    if changed - generation_bumped - removed.keys():
        compiled_statements.execute_for(
            connection, _STAMP, _own.id, sorted(changed - generation_bumped - removed.keys())
        )
    if removed:
        connection.execute(
            _NOTE_REMOVAL,
            [
                {"provider": id_, "clock": of_provider(id_), "uuid": uuid}
                for id_, uuid in sorted(removed.items())
            ],
        )


def advance(connection: sa.Connection, touched: Iterable[int]) -> None:
    """Move clocks on by one, in the order of their ids."""
    ids = sorted(touched)
    if connection.dialect.name == "postgresql" and len(ids) > 1:
        # an UPDATE locks rows as it meets them in the table; MySQL meets them by primary key
        compiled_statements.execute_for(connection, _LOCK, clocks.c.id, ids)
    compiled_statements.execute_for(connection, _ADVANCE, clocks.c.id, ids)


def advance_all_of_providers(connection: sa.Connection) -> None:
    """Be in the way of every transaction that changes what some provider has.

    Whoever removes a name does that before it looks whether a provider has it. That the
    name is locked would do, but in a Galera cluster the other nodes do not know of locks:
    two transactions conflict if they write the same row.
    """
    advance(connection, range(PROVIDER_CLOCKS))


def start_epoch(connection: sa.Connection) -> None:
    """Have every process load everything again, which makes the notes of removals needless."""
    advance(connection, [EPOCH_CLOCK])
    connection.execute(removed_providers.delete())


def utcnow() -> datetime:
    """Return the time as the tables have it: naive, in UTC, in whole seconds."""
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)


_own = resource_providers.c
_LOCK = sa.select(clocks.c.id).order_by(clocks.c.id).with_for_update()
_ADVANCE = clocks.update().values(value=clocks.c.value + 1)

_NOW_OF_PROVIDER = (
    sa.select(clocks.c.value).where(clocks.c.id == _own.id % PROVIDER_CLOCKS).scalar_subquery()
)
_STAMP = resource_providers.update().values(stamp=_NOW_OF_PROVIDER)
_GROW = _STAMP.values(
    generation=sa.func.coalesce(_own.generation, 0) + 1,
    updated_at=sa.bindparam("now", type_=sa.DateTime),
)
_NOTE_REMOVAL = removed_providers.insert().from_select(
    ["provider_id", "stamp", "uuid"],
    sa.select(
        sa.bindparam("provider", type_=sa.Integer),
        clocks.c.value,
        sa.bindparam("uuid", type_=sa.String(36)),
    ).where(clocks.c.id == sa.bindparam("clock")),
)
