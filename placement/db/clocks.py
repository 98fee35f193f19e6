"""Clocks: how a process detects, exactly and cheaply, what other processes have written.

There are 34 clock rows. A provider belongs to one of 32 by its id. Each transaction that changes
the contents of a snapshot advances, as its last statements, the clocks of the providers it
changed, and stamps the rows of these providers with the new value of their clock.

Why a reader misses nothing: a transaction holds the row lock of a clock from its advance to the
commit, so the values of one clock become visible in order. A reader that sees a clock at ``now``
sees every change stamped up to ``now``; the providers stamped above the value seen last are those
to reload. Ids and timestamps could not do this: they become visible in any order.

The values of clock ``n`` start at ``n << 40``: the ranges never overlap, so one index on the stamp
finds the changed providers of a clock.

Clocks are advanced in the order of their ids, after all other rows are locked, so transactions
that advance several of the same clocks cannot deadlock.
"""

import secrets
import time
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from placement.core.model import EPOCH_CLOCK
from placement.db import tables
from placement.db.connections import server_checks
from placement.db.statements import compiled
from placement.db.statements.batch import StatementBatch
from placement.db.tables import clocks, removed_providers, resource_providers

PROVIDER_CLOCKS = 32
NAMES_CLOCK = 32  # advances when a resource class, trait or aggregate is created or removed
# EPOCH_CLOCK, 33, changes when everything must be loaded again.
CLOCKS = 34
PRUNED = 0  # the id of no provider, in a record that stands for all older ones of its clock
KEPT_ADVANCES = 10_000  # of a clock, for which removals are recorded: about 300,000 writes
_RANGE_BITS = 40
_NO_PROVIDERS: Mapping[int, str] = MappingProxyType({})


def first_value(clock: int) -> int:
    """Return the value that a clock starts with.

    >>> first_value(0), first_value(2) == 2 * 2**40
    (0, True)
    """
    return clock << _RANGE_BITS


def of_provider(provider_id: int) -> int:
    """Return the clock that a provider belongs to.

    >>> of_provider(33)
    1
    """
    return provider_id % PROVIDER_CLOCKS


# All values in one row: drivers written in Python take time for each row.
ALL = sa.func.aggregate_strings(sa.cast(clocks.c.value, sa.String(20)), ",")


@cache
def _values_statement(dialect: str, *, has_many_versions: bool) -> sa.Select[Any]:
    columns: list[Any] = [tables.ALL_OF_MANY_VERSIONS if has_many_versions else ALL]
    if dialect in server_checks.PROBED:
        columns.append(sa.literal_column(server_checks.PROBED[dialect]))
    return sa.select(*columns)


def values(connection: sa.Connection) -> dict[int, int]:
    """Return the value of each clock.  Raises: ServerReadOnly, SeveralServers.

    The statement also reads which server it reached, and whether that is read-only. A proxy may
    route it to another server than the one that was checked when the connection was opened.
    """
    has_many_versions = tables.are_many(connection)
    statement = _values_statement(connection.dialect.name, has_many_versions=has_many_versions)
    text, *probed = tuple(compiled.execute(connection, statement, {}).one())
    if probed:
        server_checks.verify(connection.info, *probed)
    return by_id(text)


def by_id(text: str | None) -> dict[int, int]:
    """Return the values of ``ALL`` by clock: the range of a value gives its clock.

    >>> by_id("1099511627777,5")
    {0: 5, 1: 1099511627777}
    """
    numbers = map(int, text.split(",")) if text else ()
    return {value >> _RANGE_BITS: value for value in sorted(numbers)}


def publish(
    batch: StatementBatch,
    changed: AbstractSet[int] = frozenset(),
    *,
    generation_bumped: AbstractSet[int] = frozenset(),
    removed: Mapping[int, str] = _NO_PROVIDERS,
    names: bool = False,
) -> None:
    """Advance the clocks of the providers and stamp them; see ``Transaction.publish``.

    The rows of the providers that remain must be locked already.
    Cost: one statement for the clocks (two for several on PostgreSQL), one for the stamps, another
    one for stamps of providers whose generation increases, and three for each removed provider.
    """
    remaining = changed | generation_bumped
    touched = {of_provider(provider_id) for provider_id in remaining | removed.keys()}
    if names:
        touched.add(NAMES_CLOCK)
    if not touched:
        return
    advance(batch, touched)
    stamp, stamp_and_bump = _STAMPS[tables.are_many(batch.connection)]
    bumped = sorted(generation_bumped - removed.keys())
    stamped = sorted(changed - generation_bumped - removed.keys())
    if bumped:
        now = {"now": utcnow()}
        batch.execute_for(stamp_and_bump, _provider.id, bumped, now)
    if stamped:
        batch.execute_for(stamp, _provider.id, stamped)
    for id_, uuid in sorted(removed.items()):
        _record_removal(batch, id_, uuid)


def _record_removal(batch: StatementBatch, provider_id: int, uuid: str) -> None:
    """Record a removal; replace old records of the clock by one that tells that they are missing.

    Only the holder of the lock on the clock writes in its range of stamps.
    """
    clock = of_provider(provider_id)
    now = {"clock": clock, "first": first_value(clock), "kept": 0}
    then = now | {"kept": KEPT_ADVANCES}
    batch.execute(_REMOVE_OLD, then)
    batch.execute(_RECORD_REMOVAL, then | {"provider": PRUNED, "uuid": None})
    batch.execute(_RECORD_REMOVAL, now | {"provider": provider_id, "uuid": uuid})


def advance(batch: StatementBatch, touched: Iterable[int]) -> None:
    """Increase the values of clocks by one, in the order of their ids."""
    ids = sorted(touched)
    if tables.are_many(batch.connection):
        for id_ in ids:
            batch.execute(tables.ADVANCE, {"id": id_})
        return
    if batch.connection.dialect.name == "postgresql" and len(ids) > 1:
        # an UPDATE locks rows in the order of the table there, on MySQL by primary key
        batch.execute_for(_LOCK, clocks.c.id, ids)
    batch.execute_for(_ADVANCE, clocks.c.id, ids)


def advance_all_of_providers(connection: sa.Connection) -> None:
    """Conflict with every concurrent transaction that changes a provider.

    A transaction that removes a name calls this before it checks whether a provider uses it. The
    lock on the name would be enough on one server, but Galera nodes do not see each other's
    locks: two transactions conflict there only if they write the same row.
    """
    advance(StatementBatch(connection), range(PROVIDER_CLOCKS))


def new_epoch() -> int:
    """Return a value for the clock of epochs.

    It is random: after a backup, a sync, a restore of the backup and another sync, a counted epoch
    would have the value that processes saw before the restore.

    >>> by_id(str(new_epoch())).keys()
    dict_keys([33])
    """
    return first_value(EPOCH_CLOCK) + secrets.randbits(_RANGE_BITS)


def start_epoch(connection: sa.Connection) -> None:
    """Make every process load everything again; records of removals become unnecessary."""
    compiled.execute(connection, _SET_EPOCH, {"epoch": new_epoch()})
    connection.execute(removed_providers.delete())


def utcnow() -> datetime:
    """Return the time as it is stored: naive, in UTC, in whole seconds."""
    return _at(int(time.time()))


@lru_cache(maxsize=2)  # a write needs it several times
def _at(second: int) -> datetime:
    return datetime.fromtimestamp(second, UTC).replace(tzinfo=None)


_provider = resource_providers.c
_LOCK = sa.select(clocks.c.id).order_by(clocks.c.id).with_for_update()
_SET_EPOCH = clocks.update().where(clocks.c.id == EPOCH_CLOCK).values(value=sa.bindparam("epoch"))
_ADVANCE = clocks.update().values(value=clocks.c.value + 1)

_CLOCK_VALUE = sa.select(clocks.c.value).where(clocks.c.id == _provider.id % PROVIDER_CLOCKS)


def _stamps(clock_value: sa.Select[tuple[int]]) -> tuple[sa.Update, sa.Update]:
    """Return the statements that stamp providers, without and with their generations."""
    stamp = resource_providers.update().values(stamp=clock_value.scalar_subquery())
    return stamp, stamp.values(
        generation=sa.func.coalesce(_provider.generation, 0) + 1,
        counted_generation=_provider.counted_generation + 1,
        updated_at=sa.bindparam("now", type_=sa.DateTime),
    )


# by whether the table of clocks has many versions of its rows
_STAMPS = {
    False: _stamps(_CLOCK_VALUE),
    True: _stamps(_CLOCK_VALUE.order_by(tables.ERA.desc()).limit(1)),
}
_removed = removed_providers.c
_FIRST = sa.bindparam("first", type_=sa.BigInteger)
# what a clock was some advances ago
_FORMER_VALUE = clocks.c.value - sa.bindparam("kept", type_=sa.BigInteger)
_IS_CLOCK = clocks.c.id == sa.bindparam("clock", type_=sa.Integer)
_RECORD_REMOVAL = removed_providers.insert().from_select(
    ["provider_id", "stamp", "uuid"],
    sa.select(
        sa.bindparam("provider", type_=sa.Integer),
        _FORMER_VALUE,
        sa.bindparam("uuid", type_=sa.String(36)),
    ).where(_IS_CLOCK, _FORMER_VALUE > _FIRST),
)
_REMOVE_OLD = removed_providers.delete().where(
    _removed.stamp > _FIRST,
    _removed.stamp <= sa.select(_FORMER_VALUE).where(_IS_CLOCK).scalar_subquery(),
)
