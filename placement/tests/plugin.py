"""Fixtures of all tests: databases of each kind, stores, and the service.

A test that requests ``store``, ``conf``, ``application`` or ``database_url``
runs once on each of SQLite, MariaDB and PostgreSQL. ``make test`` runs all of them on SQLite, and
the tests of rows, in ``functional/db``, on MariaDB, too; ``make test-long`` the rest.
"""

import gc
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from oslo_config import cfg

from placement import conf as placement_conf
from placement import db_api
from placement.core.model import CUSTOM_PREFIX, FIRST_CUSTOM_CLASS_ID
from placement.db import tables
from placement.db.schema import migration, seed
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.tests.support import compiled, environment, loggers, preloaded, servers
from placement.tests.support.stores import replaced_store

SERVERS = ("mariadb", "postgresql")
BACKENDS = ("sqlite", *SERVERS)
DB = Path(__file__).parent / "functional" / "db"
NOT_LONG = "not long"
LEFT_OUT = "left-out"  # a file


def pytest_configure(config: pytest.Config) -> None:
    """Make this run independent of the caller; create one folder for all of its processes."""
    gc.disable()  # until the tests are collected
    environment.normalize(os.environ)
    tempfile.tempdir = None  # pytest has read TMPDIR
    os.umask(0o022)  # servers run as other users, which read files of the tests
    if not hasattr(config, "workerinput"):
        config.run_folder = tempfile.mkdtemp(prefix="placement-run-")
        config.run_pid = os.getpid()
    folder = Path(_run_values(config)["run_folder"])
    servers.share_templates(folder)
    preloaded.share(folder, _run_values(config)["run_pid"])


def _run_values(config: pytest.Config) -> dict[str, Any]:
    """Return what the processes of a run have in common: its folder and its first process."""
    return getattr(config, "workerinput", vars(config))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:
    """Pass the folder from the controller of xdist to a worker."""
    node.workerinput["run_folder"] = node.config.run_folder
    node.workerinput["run_pid"] = node.config.run_pid


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder; the supervisors of servers detect the end of the run."""
    if not hasattr(config, "workerinput"):
        shutil.rmtree(config.run_folder, ignore_errors=True)


@pytest.hookimpl(trylast=True)  # after pytest-randomly, and before the selection by markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with long tests, so that no process waits at the end for one that began late.

    Groups begin first in any case: xdist sorts them by their number of tests.
    """
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test on a database server; as long, unless it changes rows on MariaDB.

    Its ``backend`` or ``driver`` is a parameter of a fixture or of the test.
    """
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    kind = servers.DRIVERS.get(parameters.get("driver"), parameters.get("backend"))
    if kind in SERVERS:
        item.add_marker("server")
        if kind != "mariadb" or not _is_of_rows(item.path):
            item.add_marker("long")


@cache
def _is_of_rows(path: Path) -> bool:
    return path.is_relative_to(DB) and not path.is_relative_to(DB / "schema")


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Write the number of long tests that this run leaves out: all of its processes agree."""
    config = items[0].config
    if config.getoption("-m") == NOT_LONG:
        count = sum(item.get_closest_marker("long") is not None for item in items)
        (Path(_run_values(config)["run_folder"]) / LEFT_OUT).write_text(str(count))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the number, and the command that runs these tests."""
    note = Path(_run_values(config)["run_folder"]) / LEFT_OUT
    if note.exists():
        terminalreporter.write_sep("=", "left out", yellow=True, bold=True)
        terminalreporter.write_line(
            f"{note.read_text()} long tests were not run: outages, races, web servers, dashboard,"
            " most tests on MariaDB and PostgreSQL. To run them: make test-long"
        )


def pytest_collection_finish() -> None:
    """Search garbage seldom, and none in what lives as long as the run: a tenth of its time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Restore the loggers after each test, also those that a fixture of its module changes."""
    with loggers.restored():
        return (yield)


@pytest.fixture(scope="session", autouse=True)
def shared_statements() -> Iterator[None]:
    """Compile each SQL statement once in this process."""
    with pytest.MonkeyPatch.context() as patch:
        compiled.share(patch.setattr)
        yield


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Callable[[str], servers.Server]:
    """Return a function that returns the run's server of a kind, started at the first call."""
    run_values = _run_values(request.config)

    def of(kind: str) -> servers.Server:
        try:
            return servers.shared(kind, Path(run_values["run_folder"]), run_values["run_pid"])
        except servers.Missing as missing:
            if os.environ.get("CI") == "true":
                raise
            pytest.skip(str(missing))

    return of


@pytest.fixture(scope="session")
def kept_databases(
    server: Callable[[str], servers.Server],
    worker: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], str]]:
    """Return a function that returns the URL of this process's database of a kind.

    It has the newest schema and the standard names. That of SQLite is a file to copy.
    """
    urls: dict[str, str] = {}

    def of(backend: str) -> str:
        if backend not in urls:
            urls[backend] = new(backend)
            store = Store(DatabaseSettings(connection=urls[backend], sqlite_synchronous=False))
            migration.upgrade(store)
            seed.sync(store)
            store.dispose()
        return urls[backend]

    def new(backend: str) -> str:
        if backend == "sqlite":
            return f"sqlite:///{tmp_path_factory.mktemp('sqlite') / 'template'}"
        name = f"placement_{worker}"
        server(backend).create(name)
        return server(backend).url(name)

    yield of
    for url in urls.values():
        _emptying_engine(url).dispose()


@pytest.fixture(scope="session")
def worker() -> str:
    """Return the name of this process among those of the run."""
    return os.environ.get("PYTEST_XDIST_WORKER", "alone")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """The kind of database that the test runs on."""
    return request.param


@pytest.fixture
def database_url(
    backend: str,
    kept_databases: Callable[[str], str],
    tmp_path: Path,
) -> Iterator[str]:
    """The URL of a database with the newest schema and the standard names, nothing else."""
    url = kept_databases(backend)
    if backend == "sqlite":
        template = sa.make_url(url).database
        shutil.copy(template, tmp_path / "placement.sqlite")
        yield f"sqlite:///{tmp_path / 'placement.sqlite'}"
        return
    yield url
    _disconnect_others(url)
    empty(url)


@pytest.fixture
def empty_database_url(
    backend: str, server: Callable[[str], servers.Server], worker: str, tmp_path: Path
) -> Iterator[str]:
    """The URL of a database with no tables."""
    if backend == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.sqlite'}"
        return
    name = f"placement_empty_{worker}"
    server(backend).create(name)
    yield server(backend).url(name)
    server(backend).drop(name)


@pytest.fixture
def settings(database_url: str) -> DatabaseSettings:
    """The connection settings of the database of the test."""
    return DatabaseSettings(connection=database_url, sqlite_synchronous=False, max_retries=0)


@pytest.fixture
def store(settings: DatabaseSettings) -> Iterator[Store]:
    """A store on an empty database."""
    store = Store(settings)
    yield store
    store.dispose()


@pytest.fixture
def conf(database_url: str) -> cfg.ConfigOpts:
    """The options of a service on an empty database, with noauth2."""
    return service_options(database_url)


def service_options(database_url: str) -> cfg.ConfigOpts:
    """Return the options of a service on a database, with noauth2."""
    options = cfg.ConfigOpts()
    placement_conf.register_opts(options)
    options.set_override("connection", database_url, "placement_database")
    options.set_override("sqlite_synchronous", False, "placement_database")
    options.set_override("max_retries", 0, "placement_database")
    options.set_override("auth_strategy", "noauth2", "api")
    options([], project="placement", default_config_files=[])
    return options


@pytest.fixture
def application(conf: cfg.ConfigOpts):
    """The service as a WSGI application."""
    from placement import deploy  # noqa: PLC0415  the import takes a second

    store = Store(db_api.settings(conf))
    store.is_ready = True  # functional/test_deploy.py tests the checks of the start
    with replaced_store(store):
        yield deploy.loadapp(conf)
    store.dispose()


# --- emptying a database: faster than creating one ---------------------------------------


def empty(url: str) -> None:
    """Delete all rows but the standard names and the clocks."""
    with _emptying_engine(url).begin() as connection:
        if connection.dialect.name == "mysql":
            connection.exec_driver_sql("SET SESSION foreign_key_checks = 0")
        for has_rows, delete in zip(connection.execute(_HAVE_ROWS).one(), _DELETES, strict=True):
            if has_rows:
                connection.execute(delete)


def _disconnect_others(url: str) -> None:
    """End the connections to a database that a test has left."""
    with _emptying_engine(url).connect() as connection:
        select, end = _OTHER_CONNECTIONS[connection.dialect.name]
        for number in connection.exec_driver_sql(select).scalars().all():
            with suppress(sa.exc.OperationalError):  # it has ended meanwhile
                connection.exec_driver_sql(end.format(number))


_OTHER_CONNECTIONS = {
    "mysql": (
        "SELECT id FROM information_schema.processlist"
        " WHERE db = DATABASE() AND id <> CONNECTION_ID()",
        "KILL {}",
    ),
    "postgresql": (
        "SELECT pid FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()",
        "SELECT pg_terminate_backend({})",
    ),
}


@cache
def _emptying_engine(url: str) -> sa.Engine:
    """Return an engine that keeps its connection and its compiled statements for the next test.

    A new connection to PostgreSQL takes ten times as long as the query. A test that disconnects
    all from the database ends this connection too.
    """
    return sa.create_engine(url, pool_size=1, pool_pre_ping=True)


def _is_no_standard(table: sa.Table) -> sa.ColumnElement[bool]:
    if table is tables.clocks:
        return sa.false()
    if table is tables.resource_classes:
        return table.c.id >= FIRST_CUSTOM_CLASS_ID
    if table is tables.traits:
        return table.c.name.startswith(CUSTOM_PREFIX, autoescape=True)
    return sa.true()


# those that refer to others first
_EMPTIED = tuple(reversed(tables.metadata.sorted_tables))
_HAVE_ROWS = sa.select(
    *(
        sa.exists().where(_is_no_standard(table)).select_from(table).label(table.name)
        for table in _EMPTIED
    )
)
_DELETES = tuple(table.delete().where(_is_no_standard(table)) for table in _EMPTIED)
