"""Driver errors, turned into what a caller can act on.

oslo.db names most of them by their text; what it leaves is told apart by the
number or SQLSTATE of the database. Everything that reaches no rule here is a
mistake of ours, and goes on as it is.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from oslo_db import exception as oslo
from sqlalchemy import exc

from placement import exception

# Another transaction was in the way; nothing of this one remains.
_RACES = frozenset(
    {
        *("40001", "40P01", "55P03"),  # serialization failure, deadlock, lock timeout
        *(
            1020,
            1205,
            1213,
            1412,
        ),  # changed since last read, lock timeout, deadlock, table changed
        *(5, 6),  # SQLite: busy, locked
    }
)

# The server is there but cannot serve: starting, stopping, full, read-only.
_AWAY = frozenset(
    {
        *("25006", "53100", "53200", "53300", "57P01", "57P02", "57P03"),
        *(1021, 1026, 1030, 1040, 1047, 1053, 1114, 1203, 1290, 1836, 1927),
        *(8, 10, 13, 14),  # SQLite: read-only, I/O error, full, cannot open
    }
)

# Text that the database has no characters for: emoji in MySQL's utf8, as it is often found.
_UNSTORABLE = frozenset({1366, 1406, "22001", "22021", "22P05"})


class WriteConflict(Exception):  # noqa: N818
    """Raised in a write to run it again from its start: what it had read has changed."""


class ConnectionLost(Exception):  # noqa: N818
    """The connection broke; whatever was not committed is undone by the server."""


@contextmanager
def translated() -> Iterator[None]:
    """Translate driver errors to WriteConflict, ConnectionLost or DatabaseUnavailable."""
    try:
        yield
    except (oslo.DBDeadlock, oslo.DBDuplicateEntry) as error:
        # A row that a check a moment ago did not find: the work checks again.
        raise WriteConflict from error
    except oslo.DBConnectionError as error:
        raise ConnectionLost(first_line(error)) from error
    except exc.TimeoutError as error:
        raise exception.DatabaseUnavailable("No connection is free.") from error
    except (oslo.DBError, exc.DBAPIError) as error:
        _raise_by_code(error)
        raise


@contextmanager
def connecting() -> Iterator[None]:
    """The same where a connection is made: every error there means that there is none."""
    try:
        with translated():
            yield
    except (oslo.DBError, exc.DBAPIError) as error:
        raise ConnectionLost(first_line(error)) from error


@contextmanager
def committing() -> Iterator[None]:
    """The same where a transaction is committed.

    If the connection breaks here, nobody knows whether the server committed
    before it broke. Running the work again could do it twice, so the caller is
    told; a deadlock at commit (Galera) on the other hand says that it did not.
    """
    try:
        with translated():
            yield
    except ConnectionLost as error:
        raise exception.CommitLost(str(error)) from error


def _raise_by_code(error: Exception) -> None:
    found = code(error)
    if found in _RACES:
        raise WriteConflict from error
    if found in _UNSTORABLE:
        raise exception.BadRequest(
            f"The database cannot hold this text: {first_line(error)}"
        ) from error
    if found in _AWAY:
        raise exception.DatabaseUnavailable(first_line(error)) from error


def code(error: BaseException) -> int | str | None:
    """Return the SQLSTATE (PostgreSQL) or error number (MySQL, SQLite) of a driver error."""
    driver = _driver_error(error)
    if driver.args and isinstance(driver.args[0], int):
        return driver.args[0]  # PyMySQL, which has a SQLSTATE too, that says less
    state = getattr(driver, "sqlstate", None) or getattr(driver, "pgcode", None)
    if state is not None:
        return str(state)
    number = getattr(driver, "sqlite_errorcode", None)
    return None if number is None else int(number) & 0xFF  # without the extension


def _driver_error(error: BaseException) -> BaseException:
    """Peel oslo.db's and SQLAlchemy's wrapping off."""
    inner = getattr(error, "inner_exception", None) or getattr(error, "orig", None)
    return error if inner is None or inner is error else _driver_error(inner)


def first_line(error: BaseException) -> str:
    """Return what the driver says, without statement and links."""
    return str(_driver_error(error)).partition("\n")[0]
