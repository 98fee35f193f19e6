"""Limits and modes of a server, and connection poolers."""

import shutil
import socket
import subprocess
from contextlib import ExitStack, contextmanager

import pytest
import sqlalchemy as sa

from placement import exception
from placement.db import suitability
from placement.db.schema import migration, seed
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.db.tables import projects
from placement.tests.support import servers
from placement.tests.support.factories import claim, new_provider, uuid
from placement.tests.support.processes import IS_ROOT
from placement.tests.support.snapshots import loaded
from placement.tests.support.waiting import wait_until

LIMITS = {
    "mariadb": ("SET SESSION max_statement_time = 0.2", "SELECT SLEEP(60)"),
    "postgresql": ("SET statement_timeout = '200ms'", "SELECT pg_sleep(60)"),
}


@pytest.mark.parametrize("backend", sorted(LIMITS))
def test_statement_timeout_is_unavailable_and_nothing_is_written(store, backend):
    def work(tx):
        tx.connection.execute(projects.insert(), {"external_id": "half"})
        for statement in LIMITS[backend]:
            tx.connection.exec_driver_sql(statement)

    with pytest.raises(exception.DatabaseUnavailable):
        store.write(work)
    store.dispose()
    with store.read() as tx:
        assert tx.connection.execute(sa.select(projects)).all() == []


def test_default_server_settings_are_accepted(store):
    suitability.check(store)


def test_a_binary_log_of_statements_is_refused():
    with servers.private("mariadb", durable=False) as server:
        server.stop()
        server.settings = ("--log-bin=binary-log", "--binlog-format=STATEMENT")
        server.start()
        server.create("placement")
        store = Store(DatabaseSettings(connection=server.tcp_url("placement"), max_retries=0))
        with pytest.raises(suitability.UnsuitableServer, match="binlog_format = STATEMENT"):
            suitability.check(store)
        store.dispose()


@pytest.mark.parametrize("sql_mode", ["TRADITIONAL", "ANSI", None])
def test_the_sql_mode_of_the_server_may_have_other_quotes(sql_mode):
    with servers.private("mariadb", durable=False) as server:
        server.execute("SET GLOBAL sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES'")
        server.create("placement")
        url = server.url("placement")
        store = Store(DatabaseSettings(connection=url, max_retries=0, mysql_sql_mode=sql_mode))
        migration.sync(store)
        seed.sync(store)
        host = new_provider(store, "it\\'s", VCPU=8)
        claim(store, uuid(), {host: {"VCPU": 1}})
        with store.read() as tx:
            (state,) = loaded(tx).values()
        store.dispose()
    assert (state.provider.name, state.used) == ("it\\'s", {"VCPU": 1})


def is_listening(port):
    with socket.socket() as link:
        return link.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def pgbouncer(server, database, settings, folder):
    port = servers.free_port()
    (folder / "users").write_text(f'"{servers.USER}" ""\n')
    configuration = folder / "pgbouncer.ini"
    configuration.write_text(
        f"[databases]\n{database} = host=127.0.0.1 port={server.port} user={servers.USER}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = any\n{settings}\n"
    )
    folder.chmod(0o755)
    as_user = ["--user", "nobody"] if IS_ROOT else []
    process = subprocess.Popen(["pgbouncer", "-q", *as_user, str(configuration)])
    try:
        wait_until(lambda: is_listening(port))
        yield port
    finally:
        process.kill()
        process.wait()


def open_server_connections(url):
    """Make a pooler open several connections to the server, by transactions at the same time."""
    engine = sa.create_engine(url)
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(engine.connect()).exec_driver_sql("SELECT 1")
    engine.dispose()


@pytest.mark.skipif(shutil.which("pgbouncer") is None, reason="pgbouncer is not installed")
@pytest.mark.parametrize("backend", ["postgresql"])
@pytest.mark.parametrize(
    ("settings", "is_refused"),
    [
        ("pool_mode = transaction", True),
        ("pool_mode = transaction\nserver_round_robin = 1", True),
        ("pool_mode = session", False),
    ],
)
def test_a_pooler_in_transaction_mode_is_refused(
    request, backend, database_url, settings, is_refused
):
    """Also if each statement of a connection has another one of several server connections."""
    server = request.getfixturevalue("server")
    tmp_path_factory = request.getfixturevalue("tmp_path_factory")
    database = sa.make_url(database_url).database
    folder = tmp_path_factory.mktemp("pgbouncer")
    for each in (folder, folder.parent):
        each.chmod(0o755)
    with pgbouncer(server(backend), database, settings, folder) as port:
        url = server(backend).tcp_url(database, port=port)
        open_server_connections(url)
        store = Store(DatabaseSettings(connection=url, max_retries=0))
        try:
            if is_refused:
                with pytest.raises(suitability.UnsuitableServer, match="pool_mode = session"):
                    suitability.check(store)
            else:
                suitability.check(store)
        finally:
            store.dispose()
