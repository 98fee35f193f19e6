"""Driver errors, translated to exceptions that a caller can handle.

They are classified by the error number or SQLSTATE of the database. An error that no rule matches
is a defect of this service, and is not translated.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from sqlalchemy import exc

from placement import exception
from placement.db.tables import NUMBERED

# Numbers are error numbers of MySQL, or of SQLite if they are below 100. Texts are SQLSTATEs of
# PostgreSQL. ``_KINDS`` has those that need no further decision.

# Another transaction inserted a row after a check had not found it. The error codes of SQLite are
# extended ones.
_DUPLICATES = frozenset({1062, 1586, 1555, 2067, "23505"})

# The server is read-only: it was demoted, or is a standby.
_READ_ONLY = frozenset({1036, 1290, 1792, 1836, "25006"})
# The server ends the connection: shutdown, killed, administrator or crash shutdown.
_ENDED = frozenset({1053, 1927, "57P01", "57P02"})
# A Galera node without quorum refuses statements. A new connection may reach another node.
_NO_QUORUM = 1047
# The server refuses a statement that is longer than its max_allowed_packet.
_TOO_LONG = 1153

# Galera lost its quorum while it replicated the transaction.
_ERROR_DURING_COMMIT = 1180
# The statement was ended by an administrator, or by a time limit. A COMMIT may already have taken
# effect.
_INTERRUPTED: frozenset[int | str] = frozenset({1317, 1969, 3024, "57014"})

# A write stamps its providers with the value of a clock that does not exist.
_NOT_NULL = frozenset({1048, "23502"})

# The next id, generation or usage counter is larger than its column can store.
_OUT_OF_RANGE = frozenset({167, 1264, 1467, "22003", "2200H"})
_TABLES_OF_WRITES = re.compile(r"\b(?:INSERT INTO|UPDATE) (\w+)")
# PostgreSQL names the sequence that has no further id
_SEQUENCE_AT_END = re.compile(rf'"({"|".join(NUMBERED)})_id_seq"')
# MySQL and MariaDB may use the last id of a table again: no conflict with another transaction
_LAST_ID_AGAIN = re.compile(r"'2147483647' for key '(\w+\.)?PRIMARY'")

# The sequence of PostgreSQL returned the id of an existing row
_SEQUENCE_BEHIND = re.compile(rf'"({"|".join(NUMBERED)})_pkey"')
# SQLite has no number for this.
_MISSING_IN_SQLITE = re.compile("no such (table|column)|table .* has no column")

# Text with characters that the character set of the database lacks, often emoji in MySQL's utf8.
_UNSTORABLE = frozenset({1366, 1406, "22001", "22021", "22P05"})
# MySQL reports a comparison with such a text as a mix of collations, and names the collation of
# a literal. With more than three operands the message does not name the collations.
_MIXED_COLLATIONS = frozenset({1267, 1270})
_MIXED_COLLATIONS_OF_MANY = 1271


# SQLAlchemy replaces a connection once before it is used. It raises this if the new connection
# must also be replaced: the lineage has ended since the new connection was opened.
_REPLACED_TWICE = "This connection is closed"


class WriteConflict(Exception):  # noqa: N818
    """Raised in a write to run it again from its start: the data that it read has changed."""

    is_attempt = True  # it counts as one of the attempts of a write


class UsageNotCounted(Exception):  # noqa: N818
    """Usage counters of these providers lack allocations; see ``usage_counters``."""

    def __init__(self, provider_ids: list[int]) -> None:
        super().__init__(provider_ids)
        self.provider_ids = provider_ids


class ForeignKeyFailed(WriteConflict):
    """A foreign key failed; if this repeats, it is no conflict: rows are inconsistent."""


class LockTimeout(WriteConflict):
    """A lock wait timed out; if this repeats, a transaction that does not end has the lock."""


class ConnectionLost(Exception):  # noqa: N818
    """The connection broke; the server rolls back the uncommitted transaction."""


class HostUnresponsive(ConnectionLost):
    """A new connection timed out: another attempt would double the time until the response."""


class ServerReadOnly(ConnectionLost):
    """The connection reaches a server that is not the primary; nothing was written."""


class SeveralServers(ConnectionLost):
    """Statements of one connection reach several servers; nothing was written."""


class TablesMissing(exception.DatabaseUnavailable):
    """Tables, columns or clocks are missing.

    A restore has not created them yet, it is of an older release, or there is no schema.
    """


_KINDS: Mapping[type[Exception], Iterable[int | str]] = {
    LockTimeout: (1205, "55P03"),
    # Another transaction removed a row after a check had found it, or refers to a row that a check
    # had found unused.
    ForeignKeyFailed: (1216, 1217, 1451, 1452, "23503"),
    # A conflict with another transaction; this one was rolled back.
    WriteConflict: (
        *("40001", "40P01"),  # serialization failure, deadlock
        *(1020, 1213, 1412),  # changed since last read, deadlock, table changed
        *(5, 6),  # SQLite: busy, locked
    ),
    TablesMissing: (1054, 1146, 1247, "42703", "42P01"),
    # The server cannot serve: starting, full, out of memory, at its limit for a statement or an
    # account, or the database does not exist.
    exception.DatabaseUnavailable: (
        *("3D000", "53100", "53200", "53300", "57P03", 1049),
        *(3, 1021, 1026, 1030, 1037, 1038, 1040, 1041, 1114, _ERROR_DURING_COMMIT, 1203, 1226),
        *_INTERRUPTED,
        *(8, 10, 13, 14),  # SQLite: read-only, I/O error, full, cannot open
    ),
}
_KIND_OF = {number: kind for kind, numbers in _KINDS.items() for number in numbers}


@contextmanager
def translated() -> Iterator[None]:
    """Translate driver errors.

    Raises: WriteConflict, ConnectionLost, DatabaseUnavailable, BadRequest.
    """
    try:
        yield
    except exc.TimeoutError as error:
        raise exception.DatabaseUnavailable("No connection of the pool is free.") from error
    except exc.DisconnectionError as error:
        raise ConnectionLost(first_line(error)) from error
    except exc.DBAPIError as error:
        _raise_translated(error)
        raise


@contextmanager
def connecting() -> Iterator[None]:
    """Translate driver errors while connecting.

    Any other error means that no connection was established.

    Raises: ArgumentError if the URL has a parameter that the driver does not accept.
    """
    try:
        with translated():
            yield
    except LockTimeout as timeout:
        # A Galera node without quorum reports it for a new connection: wsrep_sync_wait cannot end.
        error = timeout.__cause__
        if isinstance(error, exc.DBAPIError) and error.statement is None:
            raise ConnectionLost(str(timeout)) from error
        raise
    except exc.DBAPIError as error:
        raise ConnectionLost(first_line(error)) from error
    except exc.InvalidRequestError as error:
        if str(error) == _REPLACED_TWICE:
            raise ConnectionLost("A new connection also was of an earlier lineage.") from error
        raise
    except TypeError as error:  # a parameter of the URL that the driver does not have
        raise exc.ArgumentError(f"the driver reports: {error}") from error


@contextmanager
def committing() -> Iterator[None]:
    """Translate driver errors during the commit.

    If the connection breaks here, or the commit is interrupted, the server may or may not have
    committed. Running the work again could do it twice, so this is reported to the client. Any
    other error, such as a deadlock at commit (Galera) or a refusal by a read-only server, means
    that the server did not commit.
    """
    try:
        with translated():
            yield
    except ServerReadOnly:
        raise
    except ConnectionLost as lost:
        raise exception.CommitLost(str(lost)) from lost
    except exception.DatabaseUnavailable as unavailable:
        is_unknown = _INTERRUPTED | {_ERROR_DURING_COMMIT}
        if unavailable.__cause__ and code(unavailable.__cause__) in is_unknown:
            raise exception.CommitLost(unavailable.reason) from unavailable
        raise


def _raise_translated(error: exc.DBAPIError) -> None:
    number = code(error)
    if number in _READ_ONLY:
        raise ServerReadOnly(first_line(error)) from error
    if error.connection_invalidated or number == _NO_QUORUM:
        raise ConnectionLost(first_line(error)) from error
    if number in _KIND_OF:
        raise _KIND_OF[number](first_line(error)) from error
    check_numbers(error, error.statement or "")
    if _SEQUENCE_BEHIND.search(first_line(error)):
        raise exception.DatabaseUnavailable(
            f"{first_line(error)}: its sequence is behind the rows, for example after logical "
            "replication. Run `placement-manage db sync`, which sets the sequences."
        ) from error
    if is_duplicate(error):
        raise WriteConflict from error
    is_literal = number in _MIXED_COLLATIONS and ",COERCIBLE)" in first_line(error)
    if number in _UNSTORABLE or is_literal or number == _MIXED_COLLATIONS_OF_MANY:
        raise exception.BadRequest(
            "The database cannot store or compare a text of the request: it is too long, or has "
            "characters that the character set of the database does not have."
        ) from error
    if number == _TOO_LONG:
        raise exception.DatabaseUnavailable(
            "A statement is longer than max_allowed_packet of the server; set it to 16 MB or more."
        ) from error
    is_missing = number == 1 and _MISSING_IN_SQLITE.search(first_line(error))
    if is_missing or (number in _NOT_NULL and "stamp" in first_line(error)):
        raise TablesMissing(first_line(error)) from error


def check_numbers(error: exc.DBAPIError, statement: str) -> None:
    """Raise NumbersUsedUp, with the tables of the statement, if a number was out of range.

    A PostgreSQL error names the table whose ids are used up, others name none.
    """
    line = first_line(error)
    if code(error) in _OUT_OF_RANGE or _LAST_ID_AGAIN.search(line):
        tables = _SEQUENCE_AT_END.findall(line) or _TABLES_OF_WRITES.findall(statement)
        raise exception.NumbersUsedUp(line, tuple(dict.fromkeys(tables))) from error


# psycopg reports a socket that the kernel closed with a text only, and does not mark the
# connection as broken. PyMySQL closes a connection whose server sends a packet out of turn: the
# notice that an idle transaction ends, while the client waits for a result. MariaDB sends no more
# results of a message if KILL QUERY comes between two of its statements.
_ENDED_TEXTS = ("connection socket closed", "Packet sequence number wrong")


def ends_connection(error: BaseException) -> bool:
    """Return whether the connection cannot be used after this driver error."""
    is_closed = code(error) is None and first_line(error).startswith(_ENDED_TEXTS)
    return is_closed or code(error) in _READ_ONLY | _ENDED | {_NO_QUORUM}


def is_duplicate(error: exc.DBAPIError) -> bool:
    """Return whether a unique constraint was violated by a value that a client can choose."""
    extended = getattr(_driver_error(error), "sqlite_errorcode", None)
    is_unique = (code(error) if extended is None else extended) in _DUPLICATES
    return is_unique and not _SEQUENCE_BEHIND.search(first_line(error))


def code(error: BaseException) -> int | str | None:
    """Return the error number (MySQL, SQLite) or SQLSTATE (PostgreSQL) of a driver error."""
    driver = _driver_error(error)
    if driver.args and isinstance(driver.args[0], int):
        return driver.args[0]  # PyMySQL also has a SQLSTATE, which is less specific
    state = getattr(driver, "sqlstate", None) or getattr(driver, "pgcode", None)
    if state is not None:
        return str(state)
    number = getattr(driver, "sqlite_errorcode", None)
    return None if number is None else int(number) & 0xFF  # without the extension


def _driver_error(error: BaseException) -> BaseException:
    """Return the error of the driver that SQLAlchemy wraps."""
    inner = getattr(error, "orig", None)
    return error if inner is None or inner is error else _driver_error(inner)


def first_line(error: BaseException) -> str:
    """Return the message of the driver, without statement and links."""
    return str(_driver_error(error)).partition("\n")[0]


_ACCESS_DENIED = frozenset({1044, 1045, 1698, "28000", "28P01"})
# libpq reports errors of the connection attempt without a SQLSTATE
_ACCESS_DENIED_TEXTS = (
    "authentication failed",
    "no pg_hba.conf entry",
    "no password supplied",
    "requires a valid client certificate",
)


def is_access_denied(error: BaseException | None) -> bool:
    """Return whether the error, or one of its causes, is that the database refused the login."""
    while error is not None:
        text = str(error)
        if code(error) in _ACCESS_DENIED or any(part in text for part in _ACCESS_DENIED_TEXTS):
            return True
        error = error.__cause__
    return False
