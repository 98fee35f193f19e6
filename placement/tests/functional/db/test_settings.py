"""Effects of the options in [placement_database] that no other test covers."""

import logging
import re
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import webtest

from placement import db_api, deploy, exception, wsgi
from placement.db.connections import session_settings
from placement.db.store import Store
from placement.tests.support.processes import LATEST


@pytest.fixture
def ask(settings):
    """Return a function that runs a query in a read and in a write transaction."""

    def ask(question, **options):
        with opened(replace(settings, **options)) as store:
            with store.read() as tx:
                reading = tx.connection.exec_driver_sql(question).scalar()
            writing = store.write(lambda tx: tx.connection.exec_driver_sql(question).scalar())
        assert reading == writing
        return writing

    return ask


@contextmanager
def opened(settings):
    store = Store(settings)
    yield store
    store.dispose()


@pytest.mark.parametrize("backend", ["sqlite"])
@pytest.mark.parametrize(("waits", "level"), [(True, 2), (False, 0)])
def test_sqlite_synchronous_option(ask, waits, level):
    assert ask("PRAGMA synchronous", sqlite_synchronous=waits) == level


@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_new_sqlite_file_is_for_its_owner_only(settings, tmp_path):
    """`db sync` created it with mode 644: every local user could read and copy it."""
    new = replace(settings, connection=f"sqlite:///{tmp_path}/new.sqlite")
    with opened(new) as store:
        store.write(lambda tx: tx.connection.exec_driver_sql("CREATE TABLE t (id INT)"))
        files = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("new.sqlite*")}
    assert files == dict.fromkeys(["new.sqlite", "new.sqlite-wal", "new.sqlite-shm"], 0o600)


@pytest.mark.parametrize("backend", ["mariadb"])
class TestSqlMode:
    def test_session_has_the_configured_mode(self, ask):
        assert "TRADITIONAL" in ask("SELECT @@SESSION.sql_mode").split(",")
        assert "ANSI" in ask("SELECT @@SESSION.sql_mode", mysql_sql_mode="ANSI").split(",")

    def test_server_mode_is_the_default(self, ask):
        server = ask("SELECT @@GLOBAL.sql_mode", mysql_sql_mode="").split(",")
        required = session_settings.REQUIRED_SQL_MODES.split(",")
        session = ask("SELECT @@SESSION.sql_mode", mysql_sql_mode="").split(",")
        assert set(session) == {*server, *required}


@pytest.mark.parametrize(
    ("backend", "parameters", "question", "answer"),
    [
        (
            "mariadb",
            "init_command=SET%20SESSION%20net_write_timeout%3D77",
            "SELECT @@SESSION.net_write_timeout",
            77,
        ),
        ("postgresql", "application_name=here", "SHOW application_name", "here"),
    ],
)
def test_parameters_are_added_to_the_url(ask, backend, parameters, question, answer):
    assert ask(question, connection_parameters=parameters) == answer


IDENTITY = {
    "mariadb": "SELECT CONNECTION_ID()",
    "postgresql": "SELECT pg_backend_pid()",
}


@pytest.mark.parametrize("backend", sorted(IDENTITY))
@pytest.mark.parametrize(("seconds", "is_kept"), [(1, False), (3600, True)])
def test_old_connection_is_replaced(settings, backend, seconds, is_kept):
    def ask(tx):
        return tx.connection.exec_driver_sql(IDENTITY[backend]).scalar()

    with opened(replace(settings, connection_recycle_time=seconds)) as store:
        first = store.write(ask)
        time.sleep(1.1)
        assert (store.write(ask) == first) is is_kept


@pytest.mark.parametrize("backend", ["sqlite"])
@pytest.mark.parametrize(
    ("amount", "shows_statements", "shows_rows"),
    [(0, False, False), (50, True, False), (100, True, True)],
)
def test_statements_and_rows_are_logged_as_configured(
    ask, caplog, amount, shows_statements, shows_rows
):
    ask("SELECT 'a needle'", connection_debug=amount)
    assert ("SELECT 'a needle'" in caplog.text) is shows_statements
    assert ("Row ('a needle',)" in caplog.text) is shows_rows


@pytest.mark.parametrize("backend", ["mariadb"])
@pytest.mark.parametrize(("traces", "has_comment"), [(True, True), (False, False)])
def test_statement_may_have_a_comment_with_its_origin(settings, backend, traces, has_comment):
    itself = "SELECT info FROM information_schema.processlist WHERE id = CONNECTION_ID()"
    with opened(replace(settings, connection_trace=traces)) as store:
        sent = store.write(lambda tx: tx.connection.exec_driver_sql(itself).scalar())
    assert (f"{Path(__file__).name}:" in sent) is has_comment


@pytest.fixture
def manager(monkeypatch):
    """A new manager of the store of the process."""
    store_manager = db_api.StoreManager()
    monkeypatch.setattr(db_api, "placement_context_manager", store_manager)
    return store_manager


def test_unavailable_database_is_retried_as_configured(conf, manager, monkeypatch, caplog):
    conf.set_override("connection", "mysql+pymysql://root@127.0.0.1:1/x", "placement_database")
    conf.set_override("max_retries", 2, "placement_database")
    conf.set_override("retry_interval", 3, "placement_database")
    pauses = []
    monkeypatch.setattr(db_api, "time", SimpleNamespace(sleep=pauses.append))
    with pytest.raises(exception.DatabaseUnavailable):
        db_api.store(conf)
    assert pauses == [3, 3]
    assert caplog.text.count("attempts left") == 3


def test_replica_is_not_used(conf, manager):
    nowhere = "mysql+pymysql://root@127.0.0.1:1/x"
    conf.set_override("slave_connection", nowhere, "placement_database")
    http = webtest.TestApp(deploy.loadapp(conf))
    assert http.get("/resource_providers", headers=LATEST).json == {"resource_providers": []}
    db_api.store(conf).dispose()


# --- options of other groups ----------------------------------------------------------------


@pytest.mark.parametrize("backend", ["sqlite"])
class TestOptionsInTheLog:
    SECRET = "mysql+pymysql://placement:hidden@db/placement"

    @pytest.fixture
    def loaded(self, conf, manager, caplog, monkeypatch):
        """Return a function that loads the service as servers do, and returns what was logged."""
        monkeypatch.setattr(wsgi, "set_up_logging", lambda _conf: None)
        conf.set_override("slave_connection", self.SECRET, "placement_database")

        def load(**options):
            for name, value in options.items():
                conf.set_override(name, value)
            with caplog.at_level(logging.DEBUG):
                wsgi.load(conf)
            db_api.store(conf).dispose()
            return caplog.text

        return load

    def test_all_options_except_secrets_are_logged(self, loaded):
        text = loaded()
        assert re.search(r"placement\.max_allocation_candidates += -1", text)
        assert re.search(r"placement_database\.connection += \*", text)
        assert re.search(r"placement_database\.connection_parameters += \*", text)
        assert "hidden" not in text
        assert "sqlite:///" not in text

    def test_option_logging_can_be_disabled(self, loaded):
        assert "max_allocation_candidates" not in loaded(log_options=False)


@pytest.mark.parametrize("backend", ["sqlite"])
def test_default_owner_is_configured(conf, manager):
    conf.set_override("incomplete_consumer_project_id", "a project", "placement")
    conf.set_override("incomplete_consumer_user_id", "a user", "placement")
    http = webtest.TestApp(deploy.loadapp(conf))
    provider = http.post_json("/resource_providers", {"name": "host1"}, headers=LATEST).json
    path = f"/resource_providers/{provider['uuid']}/inventories"
    body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 1}}}
    http.put_json(path, body, headers=LATEST)
    consumer = f"/allocations/{provider['uuid']}"
    resources = {
        "allocations": [
            {"resource_provider": {"uuid": provider["uuid"]}, "resources": {"VCPU": 1}}
        ]
    }
    oldest = LATEST | {"OpenStack-API-Version": "placement 1.0"}
    http.put_json(consumer, resources, headers=oldest)
    response = http.get(consumer, headers=LATEST).json
    assert (response["project_id"], response["user_id"]) == ("a project", "a user")
    db_api.store(conf).dispose()
