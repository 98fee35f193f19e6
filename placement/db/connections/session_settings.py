"""Settings of a database session that the results of the service depend on.

The server, the database or the role may have other defaults, so they are set on each new
connection. The documentation has the same list with the reasons (``install/databases``). Some
settings are left to the operator: ``default_transaction_read_only`` of PostgreSQL, by which a
former primary refuses writes, the time limits for statements and idle sessions, and
``search_path``.

``standard_conforming_strings`` must not be set: psycopg2 reads it once, when it connects, and
would then quote texts in a way that the session does not understand.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from placement.db.settings import DatabaseSettings

# A lock that is held for longer belongs to a transaction that does not end.
LOCK_TIMEOUT_SECONDS = 10
# A transaction that executes no statement for longer has lost its client. The locks of a client on
# an unresponsive host would otherwise remain for hours.
IDLE_TIMEOUT_SECONDS = 15
# The maximum length of the joined values of many rows; MySQL truncates longer texts.
MAX_JOINED_LENGTH = 2**20

# Added to the SQL mode: a text that a column cannot store is refused, and a row can have the id 0.
REQUIRED_SQL_MODES = "STRICT_TRANS_TABLES,NO_AUTO_VALUE_ON_ZERO"

_Value = int | str


class Setting(NamedTuple):
    """A setting, and its value in the pools for writes and for reads; None if it is not set."""

    name: str
    writes: _Value | None
    reads: _Value | None

    def value(self, *, is_reader: bool) -> _Value | None:
        """Return the value in one of the pools."""
        return self.reads if is_reader else self.writes


def _in_both(name: str, value: _Value) -> Setting:
    return Setting(name, value, value)


MYSQL: Sequence[Setting] = (
    Setting("autocommit", 0, 1),
    _in_both("completion_type", "NO_CHAIN"),
    _in_both("default_storage_engine", "InnoDB"),
    _in_both("foreign_key_checks", 1),
    _in_both("group_concat_max_len", MAX_JOINED_LENGTH),
    _in_both("innodb_lock_wait_timeout", LOCK_TIMEOUT_SECONDS),
    _in_both("lc_messages", "en_US"),
    _in_both("lock_wait_timeout", LOCK_TIMEOUT_SECONDS),
    _in_both("max_sort_length", 1024),
    _in_both("sql_auto_is_null", 0),
    _in_both("sql_big_selects", 1),
    _in_both("sql_quote_show_create", 1),
    _in_both("sql_safe_updates", 0),
    _in_both("sql_select_limit", 2**64 - 1),
    _in_both("time_zone", "+00:00"),
    _in_both("unique_checks", 1),
)
# A separate statement, because the names of these variables differ between servers.
MYSQL_TRANSACTION = Setting(
    "TRANSACTION",
    "ISOLATION LEVEL READ COMMITTED, READ WRITE",
    "ISOLATION LEVEL REPEATABLE READ, READ WRITE",
)
# Set after the other variables, on servers that have these: MySQL does not.
MARIADB: Sequence[Setting] = (Setting("idle_transaction_timeout", IDLE_TIMEOUT_SECONDS, None),)
# Set after the other variables on the nodes of a Galera cluster. Each transaction
# begins with everything that any node acknowledged before.
GALERA: Sequence[Setting] = (
    _in_both("wsrep_dirty_reads", 0),
    _in_both("wsrep_sync_wait", 7),
)
POSTGRESQL: Sequence[Setting] = (
    _in_both("DateStyle", "ISO, MDY"),
    _in_both("TimeZone", "UTC"),
    _in_both("default_transaction_isolation", "read committed"),
    _in_both("extra_float_digits", 3),
    Setting("idle_in_transaction_session_timeout", f"{IDLE_TIMEOUT_SECONDS}s", None),
    _in_both("lock_timeout", f"{LOCK_TIMEOUT_SECONDS}s"),
    _in_both("quote_all_identifiers", "off"),
    _in_both("transform_null_equals", "off"),
)


def listener(settings: DatabaseSettings, *, is_reader: bool) -> Callable[[Any, object], None]:
    """Return a listener for SQLAlchemy's event ``connect`` that sets up a session.

    It must be the first one to execute statements: SQLAlchemy reads from the session how to quote
    names and texts.
    """
    if settings.backend == "mysql":
        statements = _of_mysql(settings.mysql_sql_mode, is_reader=is_reader)
    else:
        statements = _of_postgresql(is_reader=is_reader)

    def set_session(connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            for statement, parameters in statements:
                cursor.execute(statement, parameters)
        connection.commit()

    return set_session


_Statements = Sequence[tuple[str, Sequence[object]]]


def _of_mysql(sql_mode: str | None, *, is_reader: bool) -> _Statements:
    """Return two statements; without an SQL mode, the mode of the server applies."""
    mode, parameters = ("%s", [sql_mode]) if sql_mode else ("@@sql_mode", [])
    modes = f"SESSION sql_mode = CONCAT_WS(',', {mode}, '{REQUIRED_SQL_MODES}')"
    variables = assignments(MYSQL, is_reader=is_reader)
    transaction = f"SET SESSION TRANSACTION {MYSQL_TRANSACTION.value(is_reader=is_reader)}"
    return (f"SET {modes}, {variables}", parameters), (transaction, ())


def assignments(settings: Iterable[Setting], *, is_reader: bool = False) -> str:
    """Return assignments for MySQL's SET statement.

    >>> assignments([Setting("a", 1, 2), Setting("b", "x", None)])
    "SESSION a = 1, SESSION b = 'x'"
    >>> assignments([Setting("a", 1, 2), Setting("b", "x", None)], is_reader=True)
    'SESSION a = 2'
    """
    values = ((setting.name, setting.value(is_reader=is_reader)) for setting in settings)
    return ", ".join(f"SESSION {name} = {value!r}" for name, value in values if value is not None)


def _of_postgresql(*, is_reader: bool) -> _Statements:
    values = {setting.name: setting.value(is_reader=is_reader) for setting in POSTGRESQL}
    calls = [
        f"set_config('{name}', '{value}', false)"
        for name, value in values.items()
        if value is not None
    ]
    return ((f"SELECT {', '.join(calls)}", ()),)
