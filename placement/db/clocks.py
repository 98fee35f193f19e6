"""Clocks: how a process detects, exactly and cheaply, what other processes have written.

There are 34 clock rows. A provider belongs to one of 32 by its id. Each transaction that changes
the contents of a snapshot advances, as its last statements, the clocks of the providers it
changed, and stamps the rows of these providers with the new value of their clock.

A reader misses no change: a transaction holds the row lock of a clock from its advance to the
commit, so the values of one clock become visible in order. A reader that reads the value ``now``
sees every change stamped up to ``now``. It reloads the providers whose stamps are greater than the
value that it read last. Ids and timestamps could not do this: they become visible in any order.

The values of clock ``n`` start at ``n << 40``: the ranges never overlap, so one index on the stamp
finds the changed providers of a clock.

Clocks are advanced in the order of their ids, after all other rows are locked, so transactions
that advance several of the same clocks cannot deadlock.
"""

import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from placement.core.model import EPOCH_CLOCK
from placement.db.connections import server_checks
from placement.db.errors import TablesMissing
from placement.db.tables import GENERATION, ONE, clocks, removed_providers, resource_providers
from placement.db.writes import Write, execute_all, writes_of

PROVIDER_CLOCKS = 32
NAMES_CLOCK = 32  # advances when a class or trait is created, renamed or removed
# EPOCH_CLOCK, 33, changes when everything must be loaded again.
CLOCKS = 34
_RANGE_BITS = 40


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


# All values in one row: drivers written in Python take time for each row. SQLAlchemy 2.0 does not
# render a literal string in this function.
_COMMA: Any = sa.literal_column("','")
ALL = sa.func.aggregate_strings(sa.cast(clocks.c.value, sa.String(20)), _COMMA)


@cache
def _values_statement(dialect: sa.Dialect) -> str:
    """Return the statement as text: SQLAlchemy would take longer for it than the driver."""
    columns: list[Any] = [ALL]
    if dialect.name in server_checks.PRIMARY:
        columns.append(sa.literal_column(server_checks.PRIMARY[dialect.name]))
    literal = {"literal_binds": True}
    return str(sa.select(*columns).compile(dialect=dialect, compile_kwargs=literal))


def values(connection: sa.Connection) -> dict[int, int]:
    """Return the value of each clock.  Raises: ServerReadOnly, SeveralServers, TablesMissing.

    The statement also reads which server it reached, and whether that server is read-only. A proxy
    may route it to another server than the one that was checked when the connection was opened.
    """
    text, *server = connection.exec_driver_sql(_values_statement(connection.dialect)).one()
    if server:
        server_checks.verify(connection.info, *server)
    by_clock = by_id(text)
    if len(by_clock) < CLOCKS:
        raise TablesMissing(f"The table clocks has {len(by_clock)} of {CLOCKS} rows")
    return by_clock


def by_id(text: str | None) -> dict[int, int]:
    """Return the values of ``ALL`` by clock: the range of a value gives its clock.

    >>> by_id("1099511627777,5")
    {0: 5, 1: 1099511627777}
    """
    numbers = map(int, text.split(",")) if text else ()
    return {value >> _RANGE_BITS: value for value in sorted(numbers)}


def publications(
    changed: Iterable[int] = (),
    *,
    generation_bumped: Iterable[int] = (),
    removed: Mapping[int, str] = MappingProxyType({}),
    names: bool = False,
) -> list[Write]:
    """Return the writes that make a change visible: the last ones of its transaction.

    The writes advance the clocks of the providers in a fixed order, and stamp the providers. The
    generation of the ``generation_bumped`` providers is increased by one. ``removed`` has the
    UUIDs of removed providers by id, which are recorded for readers of changes. ``names`` is true
    if resource classes or traits were created, renamed or removed. The rows of the providers
    that remain must be locked already.
    One write advances one clock, two writes advance several clocks. One write stamps providers,
    another one stamps the providers whose generation increases. One write records each removal.
    """
    bumped = set(generation_bumped) - removed.keys()
    stamped = set(changed) - bumped - removed.keys()
    touched = {of_provider(provider_id) for provider_id in bumped | stamped | removed.keys()}
    if names:
        touched.add(NAMES_CLOCK)
    if not touched:
        return []
    records = [
        Write(_RECORD_REMOVAL, {"provider": id_, "removed_uuid": uuid, "clock": of_provider(id_)})
        for id_, uuid in sorted(removed.items())
    ]
    return [
        *advances(touched),
        *writes_of(_STAMP_AND_BUMP, _provider.id, sorted(bumped), now=utcnow()),
        *writes_of(_STAMP, _provider.id, sorted(stamped)),
        *records,
    ]


def advances(touched: Iterable[int]) -> list[Write]:
    """Return the writes that increase the values of clocks by one, in the order of their ids.

    Several clocks are locked first, because PostgreSQL locks the rows of an UPDATE in the order of
    the table.
    """
    ids = sorted(touched)
    locks = writes_of(_LOCK, clocks.c.id, ids) if len(ids) > 1 else []
    return [*locks, *writes_of(_ADVANCE, clocks.c.id, ids)]


def advance_all_of_providers(connection: sa.Connection) -> None:
    """Conflict with every concurrent transaction that changes a provider.

    A transaction that removes a name calls this before it checks whether a provider uses it. The
    lock on the name would be enough on one server, but Galera nodes do not see each other's
    locks: two transactions conflict there only if they write the same row.
    """
    execute_all(connection, advances(range(PROVIDER_CLOCKS)))


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
    connection.execute(_SET_EPOCH, {"epoch": new_epoch()})
    connection.execute(removed_providers.delete())


def utcnow() -> datetime:
    """Return the time as it is stored: naive, in UTC, in whole seconds."""
    return datetime.now(UTC).replace(microsecond=0, tzinfo=None)


def time_of_text(text: str) -> datetime | None:
    """Return a time in ISO 8601; None for an empty text, and for the date of zeros of MySQL.

    >>> time_of_text("2026-01-02 03:04:05"), time_of_text("0000-00-00 00:00:00")
    (datetime.datetime(2026, 1, 2, 3, 4, 5), None)
    """
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    return None


_provider = resource_providers.c
_LOCK = sa.select(clocks.c.id).order_by(clocks.c.id).with_for_update()
_SET_EPOCH = clocks.update().where(clocks.c.id == EPOCH_CLOCK).values(value=sa.bindparam("epoch"))
_ADVANCE = clocks.update().values(value=clocks.c.value + ONE)

_NUMBER = sa.literal_column(str(PROVIDER_CLOCKS), sa.Integer)
_CLOCK_VALUE = sa.select(clocks.c.value).where(clocks.c.id == _provider.id % _NUMBER)
_STAMP = resource_providers.update().values(stamp=_CLOCK_VALUE.scalar_subquery())
_STAMP_AND_BUMP = _STAMP.values(
    generation=GENERATION + ONE,
    counted_generation=_provider.counted_generation + ONE,
    updated_at=sa.bindparam("now", type_=sa.DateTime),
)
_RECORD_REMOVAL = removed_providers.insert().from_select(
    ["provider_id", "stamp", "uuid"],
    sa.select(
        sa.bindparam("provider", type_=sa.Integer),
        clocks.c.value,
        sa.bindparam("removed_uuid", type_=sa.String(36)),
    ).where(clocks.c.id == sa.bindparam("clock", type_=sa.Integer)),
)
