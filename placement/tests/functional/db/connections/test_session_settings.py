"""Servers, databases and roles with other defaults for the settings of a session."""

import os
import re
from pathlib import Path

import pytest

import placement
from placement import exception
from placement.db import suitability
from placement.db.connections import session_settings
from placement.db.schema import migration, seed
from placement.db.settings import DatabaseSettings
from placement.objects import provider
from placement.tests.functional.db.connections.exactness import check_exact, opened
from placement.tests.support import servers
from placement.tests.support.factories import uuid

# one process: the settings are those of a whole server, and of databases with these names
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("session settings")]

NAME = f"placement_sessions_{os.getpid()}"
EMPTY = f"{NAME}_empty"
DOCUMENT = Path(placement.__file__).parent.parent / "doc" / "source" / "install" / "databases.rst"
EMOJI = "host \N{GRINNING FACE}"

# Values of global variables, or of settings of a database.
HOSTILE = {
    "mariadb": (
        "autocommit = 0",
        "completion_type = 'CHAIN'",
        "completion_type = 'RELEASE'",
        "default_storage_engine = 'MyISAM'",
        "foreign_key_checks = 0",
        "group_concat_max_len = 4",
        "innodb_lock_wait_timeout = 1",
        "lc_messages = 'de_DE'",
        "max_join_size = 1",
        "max_sort_length = 64",
        "sql_auto_is_null = 1",
        "sql_quote_show_create = 0",
        "sql_safe_updates = 1",
        "sql_select_limit = 0",
        "sql_select_limit = 1",
        "time_zone = '+13:00'",
        "tx_isolation = 'READ-UNCOMMITTED'",
        "tx_isolation = 'SERIALIZABLE'",
        "tx_read_only = 1",
        "unique_checks = 0",
        "init_connect = 'START TRANSACTION READ ONLY'",
        "init_connect = 'SET NAMES latin1, autocommit = 0'",
    ),
    "postgresql": (
        "DateStyle = 'SQL, DMY'",
        "TimeZone = 'Asia/Tokyo'",
        "client_encoding = LATIN1",
        "default_transaction_isolation = serializable",
        "extra_float_digits = '-15'",
        "lock_timeout = '1s'",
        "quote_all_identifiers = on",
        "transform_null_equals = on",
    ),
}
# Settings that the service does not set: its results do not depend on them.
WITHOUT_EFFECT = {
    "mariadb": (
        "auto_increment_increment = 7",
        "div_precision_increment = 0",
        "explicit_defaults_for_timestamp = 0",
        "max_recursive_iterations = 0",
        "old_mode = ''",
        "query_cache_type = 'ON'",
        "sql_buffer_result = 1",
    ),
    "postgresql": (
        "IntervalStyle = sql_standard",
        "array_nulls = off",
        "backslash_quote = on",
        "bytea_output = escape",
        "default_transaction_deferrable = on",
        "plan_cache_mode = force_generic_plan",
        "search_path = public, pg_catalog",
        "standard_conforming_strings = off",
    ),
}


@pytest.fixture(scope="module")
def mariadb():
    """A server for these tests alone: its global variables are changed."""
    with servers.private("mariadb", durable=False) as server:
        server.stop()
        server.settings = ("--query-cache-type=1", "--query-cache-size=1M")
        server.start()
        # init_connect is not executed for administrators
        server.execute("CREATE USER common@'127.0.0.1'")
        for database in (NAME, EMPTY):
            server.create(database)
            server.execute(f"GRANT ALL ON {database}.* TO common@'127.0.0.1'")
        _prepare(server.tcp_url(NAME))
        yield server


@pytest.fixture(scope="module")
def postgresql(server):
    """The server of the run: the settings are those of a database."""
    shared = server("postgresql")
    for database in (NAME, EMPTY):
        shared.create(database)
    _prepare(shared.tcp_url(NAME))
    yield shared
    for database in (NAME, EMPTY):
        shared.drop(database)


def _prepare(url):
    with opened(DatabaseSettings(connection=url, max_retries=0)) as store:
        migration.upgrade(store)
        seed.sync(store)


@pytest.fixture
def mariadb_with(mariadb):
    """Return a function that sets global variables, and returns the URL of a common user."""
    changed = {}

    def url(*assignments, driver=None):
        for name in {each.partition(" = ")[0] for each in assignments}:
            changed[name] = mariadb.execute(f"SELECT @@GLOBAL.{name}")[0][0]
        for assignment in assignments:
            mariadb.execute(f"SET GLOBAL {assignment}")
        return mariadb.tcp_url(NAME, driver).replace("root@", "common@")

    yield url
    for name, value in changed.items():
        mariadb.execute(f"SET GLOBAL {name} = {value!r}")


@pytest.fixture
def postgresql_with(postgresql):
    """Return a function that sets the defaults of the database, and returns its URL."""

    def url(*assignments, driver=None):
        for assignment in assignments:
            for database in (NAME, EMPTY):
                postgresql.execute(f"ALTER DATABASE {database} SET {assignment}")
        return postgresql.tcp_url(NAME, driver)

    yield url
    for database in (NAME, EMPTY):
        postgresql.execute(f"ALTER DATABASE {database} RESET ALL")


@pytest.fixture
def url_with(request, driver):
    """Return a function that applies settings for a driver, and returns a URL."""
    apply = request.getfixturevalue(f"{servers.DRIVERS[driver]}_with")
    return lambda *assignments: apply(*assignments, driver=driver)


@pytest.mark.parametrize("hostile", HOSTILE["mariadb"])
def test_results_with_another_variable_of_mariadb(mariadb_with, hostile):
    check_exact(_settings(mariadb_with(hostile)))


@pytest.mark.parametrize("hostile", HOSTILE["postgresql"])
def test_results_with_another_default_of_postgresql(postgresql_with, hostile):
    check_exact(_settings(postgresql_with(hostile)))


def _settings(url, **options):
    return DatabaseSettings(connection=url, max_retries=0, **options)


TOGETHER = {kind: HOSTILE[kind] + WITHOUT_EFFECT[kind] for kind in servers.KINDS}


@pytest.mark.parametrize("driver", sorted(servers.DRIVERS), indirect=True)
def test_the_session_has_the_listed_settings(url_with, driver):
    url = url_with(*TOGETHER[servers.DRIVERS[driver]])
    with opened(_settings(url)) as store:
        with store.read() as tx:
            _assert_set(tx.connection, is_reader=True)
        store.write(lambda tx: _assert_set(tx.connection, is_reader=False))
    check_exact(_settings(url))


WRITES = {
    "mysql": session_settings.MARIADB_WRITES,
    "mariadb": session_settings.MARIADB_WRITES,
    "postgresql": session_settings.POSTGRESQL_WRITES,
}


def _assert_set(connection, *, is_reader):
    is_mysql = connection.dialect.name in {"mysql", "mariadb"}
    expected = session_settings.MYSQL if is_mysql else session_settings.POSTGRESQL
    if is_mysql:
        expected = {**expected, "autocommit": int(is_reader)}
    if not is_reader:
        first = session_settings.MYSQL_FIRST if is_mysql else session_settings.POSTGRESQL_FIRST
        expected = {**expected, **WRITES[connection.dialect.name], **first}
    query = "SELECT @@SESSION.{}" if is_mysql else "SHOW {}"
    for name, value in expected.items():
        stored = connection.exec_driver_sql(query.format(name)).scalar_one()
        assert (name, str(stored)) == (name, str(value))
    if is_mysql:
        isolation = connection.exec_driver_sql("SELECT @@SESSION.tx_isolation").scalar_one()
        assert isolation == ("REPEATABLE-READ" if is_reader else "READ-COMMITTED")
        assert not connection.exec_driver_sql("SELECT @@SESSION.tx_read_only").scalar_one()


@pytest.mark.parametrize("kind", sorted(servers.KINDS))
def test_an_empty_database_is_migrated_in_such_sessions(request, kind):
    url = request.getfixturevalue(f"{kind}_with")(*TOGETHER[kind]).replace(NAME, EMPTY)
    _prepare(url)
    check_exact(_settings(url))
    if kind == "mariadb":
        tables = "FROM information_schema.tables WHERE table_schema = "
        with opened(_settings(url)) as store, store.read() as tx:
            engines = tx.connection.exec_driver_sql(f"SELECT DISTINCT engine {tables}'{EMPTY}'")
            assert engines.scalars().all() == ["InnoDB"]


@pytest.mark.parametrize("mode", ["", "ANSI"])
def test_a_mode_that_is_not_strict_becomes_strict(mariadb_with, mode):
    """Otherwise the server stores question marks."""
    url = mariadb_with("sql_mode = ''")
    with opened(_settings(url, mysql_sql_mode=mode)) as store:
        with pytest.raises(exception.BadRequest, match="cannot store"):
            provider.create(store, uuid(), EMOJI, None)
        with store.read() as tx:
            modes = tx.connection.exec_driver_sql("SELECT @@sql_mode").scalar_one().split(",")
    assert set(modes) >= {*session_settings.REQUIRED_SQL_MODES.split(","), *filter(None, [mode])}


@pytest.mark.parametrize("driver", sorted(servers.DRIVERS), indirect=True)
@pytest.mark.parametrize("character_set", ["latin1", "gbk", "sjis"])
def test_a_character_set_that_lacks_characters_is_refused(url_with, driver, character_set):
    is_mysql = servers.DRIVERS[driver] == "mariadb"
    parameters = f"{'charset' if is_mysql else 'client_encoding'}={character_set}"
    with (
        opened(_settings(url_with(), connection_parameters=parameters)) as store,
        pytest.raises(suitability.UnsuitableServer, match=f"(?i)set {character_set}, which"),
    ):
        suitability.check(store)


def test_the_documented_settings_are_those_of_the_code():
    documented = dict(
        re.findall(r"^   \* - ``(\w+)``\n     - (.+)$", DOCUMENT.read_text(), re.MULTILINE)
    )
    in_both = session_settings.MYSQL | session_settings.GALERA | session_settings.POSTGRESQL
    writes = session_settings.MARIADB_WRITES | session_settings.POSTGRESQL_WRITES
    first = session_settings.MYSQL_FIRST | session_settings.POSTGRESQL_FIRST
    assert documented == {
        "sql_mode": f"adds ``{session_settings.REQUIRED_SQL_MODES}``",
        "autocommit": "``0`` (writes), ``1`` (reads)",
        "TRANSACTION": "``ISOLATION LEVEL READ COMMITTED, READ WRITE`` (writes), "
        "``ISOLATION LEVEL REPEATABLE READ, READ WRITE`` (reads)",
        **{name: f"``{value}``" for name, value in in_both.items()},
        **{name: f"``{value}`` (writes), not set (reads)" for name, value in writes.items()},
        **{
            name: f"``{in_both[name]}``, of the first attempt of a write ``{value}``"
            for name, value in first.items()
        },
    }
