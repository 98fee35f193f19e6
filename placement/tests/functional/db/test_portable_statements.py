"""One set of statements for MariaDB and MySQL: nothing that only one of them understands.

MySQL is not to be had here. So all statements that a server of MariaDB receives are read from its
log, and compared with what MySQL 8.0 and 8.4 also understand. What only MySQL understands fails on
MariaDB in all other tests.
"""

import re
import unittest

import pytest
import sqlalchemy as sa

from placement import db_api, deploy
from placement.cmd import manage, status
from placement.db.maintenance import reconcile
from placement.db.schema import migration, seed
from placement.db.store import Store
from placement.tests.plugin import empty, service_options
from placement.tests.support import servers
from placement.tests.support.defects import DEFECTS, Host
from placement.tests.support.scenarios import scenarios, suite
from placement.tests.support.stores import replaced_store

SCENARIOS = ("allocation", "allocation-candidates", "inventory", "insight-cloud", "reshaper")
DATABASE = "placement"
# the tests share one server and what it received
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("portable statements")]

# Executed by MariaDB alone, or otherwise than by MySQL
ONLY_MARIADB = re.compile(
    r"/\*M?!|\b(BEGIN NOT ATOMIC|RETURNING|SET STATEMENT|EXECUTE IMMEDIATE|CREATE OR REPLACE"
    r"|(CREATE|ALTER|DROP) SEQUENCE|(NEXT|PREVIOUS) VALUE FOR|FOR SYSTEM_TIME|ROWS EXAMINED"
    r"|WAIT \d|MINUS|FETCH (FIRST|NEXT)|FOR PORTION OF"
    r"|(COLUMN|INDEX|KEY) IF (NOT )?EXISTS|LOCK IN SHARE MODE SKIP LOCKED)\b",
    re.IGNORECASE,
)
# SQLAlchemy adds RETURNING to it on servers whose version has that
OF_ALEMBIC = "INSERT INTO alembic_version"
# Functions that both have with the same result, and words before a parenthesis
FUNCTIONS = {
    *("AVG", "CAST", "COALESCE", "CONCAT", "CONCAT_WS", "COUNT", "DATABASE", "EXISTS", "FLOOR"),
    *("GET_LOCK", "GROUP_CONCAT", "IF", "LOWER", "MAX", "MIN", "ROW_NUMBER", "SUM", "VERSION"),
    *("CHAR_LENGTH", "LENGTH", "LEAST", "GREATEST", "NULLIF", "IFNULL", "MOD", "REPLACE"),
}
WORDS = {
    *("AND", "AS", "BINARY", "BY", "CASE", "CHAR", "CONSTRAINT", "ELSE", "FROM", "IN", "JOIN"),
    *("KEY", "NOT", "ON", "OR", "OVER", "SELECT", "SET", "THEN", "UNION", "ALL", "UNIQUE"),
    *("VALUES", "VARCHAR", "WHEN", "WHERE", "DEFAULT", "INTO"),
}
# System variables that both have
VARIABLES = {
    *("autocommit", "binlog_format", "character_set_client", "character_set_connection"),
    *("character_set_results", "completion_type", "default_storage_engine", "foreign_key_checks"),
    *("group_concat_max_len", "hostname", "innodb_lock_wait_timeout", "innodb_read_only"),
    *("lc_messages", "lock_wait_timeout", "log_bin", "lower_case_table_names", "max_sort_length"),
    *("port", "read_only", "server_id", "sql_auto_is_null", "sql_big_selects", "sql_mode"),
    *("sql_quote_show_create", "sql_safe_updates", "sql_select_limit", "time_zone"),
    *("transaction_isolation", "unique_checks"),
}
# Sent only to a server that has the variable, which was asked before
AFTER_A_CHECK = {
    "idle_transaction_timeout": "SHOW GLOBAL VARIABLES",
    # SQLAlchemy chooses this name, or transaction_isolation, by the version
    "tx_isolation": "SELECT VERSION()",
}

QUOTED = re.compile(r"'(?:[^'\\]|\\.|'')*'|`[^`]*`")
CALLED = re.compile(r"\b([A-Za-z_]+)\(")
NAMED = re.compile(r"@@(?:GLOBAL\.|SESSION\.)?(\w+)|\bSESSION (\w+) =", re.IGNORECASE)


@pytest.fixture(scope="module")
def mariadb():
    """A server of its own, which logs all statements."""
    try:
        with servers.private("mariadb", durable=False) as server:
            server.stop()
            server.settings = ("--general-log=1", "--log-output=TABLE")
            server.start()
            server.create(DATABASE)
            yield server
    except servers.Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module", params=["pymysql", "mysqldb"])
def received(request, mariadb, tmp_path_factory):
    """The statements that the server received, in order, in the sessions of a driver."""
    if request.param == "mysqldb":
        pytest.importorskip("MySQLdb")
    mariadb.execute("TRUNCATE mysql.general_log")
    mariadb.drop(DATABASE)
    mariadb.create(DATABASE)
    with pytest.MonkeyPatch.context() as patch:
        use(mariadb.tcp_url(DATABASE, request.param), patch, tmp_path_factory.mktemp("plans"))
    rows = mariadb.execute(
        "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log"
        " WHERE command_type IN ('Query', 'Prepare', 'Execute')"
        " AND argument NOT LIKE '%general_log%' ORDER BY event_time"
    )
    return [text for (text,) in rows]


def use(url, patch, folder):
    """Upgrade a database of openstack-placement, use it by the API, audit and repair it."""
    patch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", url)
    conf = service_options(url)
    store = Store(db_api.settings(conf))
    migration.upgrade(store, migration.COMMON_HEAD)
    assert manage.main(["db", "online_data_migrations"]) == 0
    assert manage.main(["db", "sync"]) == 0
    seed.sync(store)
    for path in scenarios():
        if path.stem in SCENARIOS:
            run_scenario(path, conf)
            empty(url)
    for name in DEFECTS:
        DEFECTS[name][1](Host(store))
    plan = str(folder / "plan")
    manage.main(["audit", "--plan", plan])
    manage.main(["audit", "--apply", plan])
    manage.main(["audit", "--apply", f"{plan}.undo"])
    reconcile.reconcile(store)
    status.main(["upgrade", "check"])
    store.dispose()


def run_scenario(path, conf):
    store = Store(db_api.settings(conf))
    with replaced_store(store):
        result = unittest.TestResult()
        suite(path, deploy.loadapp(conf)).run(result)
        assert result.wasSuccessful(), result.failures + result.errors
    store.dispose()


def test_no_statement_is_understood_by_mariadb_alone(received):
    assert any("FOR UPDATE" in statement for statement in received)
    assert any(statement.startswith("CREATE TABLE") for statement in received)
    assert any(statement.startswith("UPDATE clocks") for statement in received)
    unquoted = {QUOTED.sub("''", statement) for statement in received}
    found = [each for each in unquoted if ONLY_MARIADB.search(each)]
    assert [each for each in found if not each.startswith(OF_ALEMBIC)] == []


def test_all_functions_are_those_of_both(received):
    called = {
        name.upper()
        for statement in received
        for name in CALLED.findall(QUOTED.sub("''", statement))
    }
    assert called - FUNCTIONS - WORDS == set()


def test_all_variables_are_those_of_both_or_asked_for_before(received):
    named = {}
    for at, statement in enumerate(received):
        for match in NAMED.finditer(QUOTED.sub("''", statement)):
            named.setdefault((match[1] or match[2]).lower(), at)
    others = named.keys() - VARIABLES
    assert {name for name in others if not name.startswith("wsrep_")} <= AFTER_A_CHECK.keys()
    for name in others:
        before = received[: named[name]]
        assert any(each.startswith(AFTER_A_CHECK[name]) for each in before), name


@pytest.mark.parametrize(
    "statement",
    [
        "BEGIN NOT ATOMIC SELECT 1; END",
        "INSERT INTO traits (name) VALUES ('CUSTOM_A') RETURNING id",
        "SET SESSION sql_mode = '' /*M! , SESSION idle_transaction_timeout = 1 */",
        "SELECT id FROM clocks FOR UPDATE WAIT 5",
        "ALTER TABLE traits ADD COLUMN IF NOT EXISTS a INTEGER",
        "SET STATEMENT max_statement_time = 1 FOR SELECT 1",
    ],
)
def test_the_check_finds(statement):
    assert ONLY_MARIADB.search(QUOTED.sub("''", statement))


def test_a_quoted_text_is_no_statement():
    assert not ONLY_MARIADB.search(QUOTED.sub("''", sa.text("SELECT 'RETURNING'").text))
