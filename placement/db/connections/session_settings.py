"""Settings of a database session that the results of the service depend on.

The server, the database or the role may have other defaults, so they are set on each new
connection. The documentation has the same list with the reasons (``install/databases``). Some
settings are left to the operator: ``default_transaction_read_only`` of PostgreSQL, by which a
former primary refuses writes, the time limits for statements and idle sessions, and
``search_path``.

``standard_conforming_strings`` must not be set: psycopg2 reads it once, when it connects, and
would then quote texts in a way that the session does not understand.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Any

from placement.db.settings import DatabaseSettings


class Role(Enum):
    """The use of a pool; waiting writes have waited for a lock already, see ``bulkhead``."""

    WRITES = auto()
    WAITING_WRITES = auto()
    READS = auto()


# A lock that is held for longer belongs to a transaction that does not end.
LOCK_TIMEOUT_SECONDS = 10
# A transaction that executes no statement for longer has lost its client. The locks of a client on
# an unresponsive host would otherwise remain for hours.
IDLE_TIMEOUT_SECONDS = 15
# The maximum length of the joined values of many rows; MySQL truncates longer texts.
MAX_JOINED_LENGTH = 2**20

# Added to the SQL mode: a text that a column cannot store is refused, and a row can have the id 0.
REQUIRED_SQL_MODES = "STRICT_TRANS_TABLES,NO_AUTO_VALUE_ON_ZERO"

# The values of settings by name, in the order of their names
Settings = Mapping[str, int | str]

# In both pools
MYSQL: Settings = {
    "completion_type": "NO_CHAIN",
    "default_storage_engine": "InnoDB",
    "foreign_key_checks": 1,
    "group_concat_max_len": MAX_JOINED_LENGTH,
    "innodb_lock_wait_timeout": LOCK_TIMEOUT_SECONDS,
    "lc_messages": "en_US",
    "lock_wait_timeout": LOCK_TIMEOUT_SECONDS,
    "max_sort_length": 1024,
    "sql_auto_is_null": 0,
    "sql_big_selects": 1,
    "sql_quote_show_create": 1,
    "sql_safe_updates": 0,
    "sql_select_limit": 2**64 - 1,
    "time_zone": "+00:00",
    "unique_checks": 1,
}
# Set after the other variables on the nodes of a Galera cluster. Each transaction
# begins with everything that any node acknowledged before.
GALERA: Settings = {"wsrep_dirty_reads": 0, "wsrep_sync_wait": 7}
POSTGRESQL: Settings = {
    "DateStyle": "ISO, MDY",
    "TimeZone": "UTC",
    "default_transaction_isolation": "read committed",
    "extra_float_digits": 3,
    "lock_timeout": f"{LOCK_TIMEOUT_SECONDS}s",
    "quote_all_identifiers": "off",
    "transform_null_equals": "off",
}
# In the pool for the first attempt of a write
MYSQL_FIRST: Settings = {"innodb_lock_wait_timeout": 1, "lock_wait_timeout": 1}
POSTGRESQL_FIRST: Settings = {"lock_timeout": "1s"}
# In the pools for writes. Those of MariaDB are set after the other variables, on servers that have
# these: MySQL does not.
MARIADB_WRITES: Settings = {"idle_transaction_timeout": IDLE_TIMEOUT_SECONDS}
POSTGRESQL_WRITES: Settings = {"idle_in_transaction_session_timeout": f"{IDLE_TIMEOUT_SECONDS}s"}


def listener(settings: DatabaseSettings, role: Role) -> Callable[[Any, object], None]:
    """Return a listener for SQLAlchemy's event ``connect`` that sets up a session.

    It must be the first one to execute statements: SQLAlchemy reads from the session how to quote
    names and texts.
    """
    if settings.backend == "mysql":
        statements = _of_mysql(settings.mysql_sql_mode, role)
    else:
        statements = _of_postgresql(role)

    def set_session(connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            for statement, parameters in statements:
                cursor.execute(statement, parameters)
        connection.commit()

    return set_session


_Statements = Sequence[tuple[str, Sequence[object]]]


def _of_mysql(sql_mode: str | None, role: Role) -> _Statements:
    """Return two statements; without an SQL mode, the mode of the server applies."""
    mode, parameters = ("%s", [sql_mode]) if sql_mode else ("@@sql_mode", [])
    modes = f"SESSION sql_mode = CONCAT_WS(',', {mode}, '{REQUIRED_SQL_MODES}')"
    is_reader = role is Role.READS
    first = MYSQL_FIRST if role is Role.WRITES else {}
    variables = assignments({"autocommit": int(is_reader), **MYSQL, **first})
    level = "REPEATABLE READ" if is_reader else "READ COMMITTED"
    # a separate statement, because the names of these variables differ between servers
    transaction = f"SET SESSION TRANSACTION ISOLATION LEVEL {level}, READ WRITE"
    return (f"SET {modes}, {variables}", parameters), (transaction, ())


def assignments(settings: Settings) -> str:
    """Return assignments for MySQL's SET statement.

    >>> assignments({"a": 1, "b": "x"})
    "SESSION a = 1, SESSION b = 'x'"
    """
    return ", ".join(f"SESSION {name} = {value!r}" for name, value in settings.items())


def _of_postgresql(role: Role) -> _Statements:
    settings = POSTGRESQL if role is Role.READS else {**POSTGRESQL, **POSTGRESQL_WRITES}
    if role is Role.WRITES:
        settings = {**settings, **POSTGRESQL_FIRST}
    calls = [f"set_config('{name}', '{value}', false)" for name, value in settings.items()]
    return ((f"SELECT {', '.join(calls)}", ()),)
