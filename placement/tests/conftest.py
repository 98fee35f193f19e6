"""Fixtures: databases of every kind, and what runs on them.

A test that asks for ``store``, ``conf``, ``application`` or ``database_url``
runs once on each of SQLite, MariaDB and PostgreSQL.
"""

import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from oslo_config import cfg

from placement import conf as placement_conf
from placement import db_api
from placement.core.model import CUSTOM_PREFIX, FIRST_CUSTOM_CLASS_ID
from placement.db.sqlalchemy import migration, models, seed
from placement.db.sqlalchemy.engines import DatabaseSettings
from placement.db.sqlalchemy.store import SqlStore
from placement.tests import servers

BACKENDS = ("sqlite", "mariadb", "postgresql")


def pytest_configure(config: pytest.Config) -> None:
    """Give all processes of this run one folder, for what they share."""
    if not hasattr(config, "workerinput"):
        config.run_folder = tempfile.mkdtemp(prefix="placement-run-")
        config.run_pid = os.getpid()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:
    """Tell a worker of xdist, from its controller."""
    node.workerinput["run_folder"] = node.config.run_folder
    node.workerinput["run_pid"] = node.config.run_pid


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder; the keepers of servers see by themselves that the run is over."""
    if not hasattr(config, "workerinput"):
        shutil.rmtree(config.run_folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Leave no handler behind that a command set up: its stream ends with the test."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    for handler in set(root.handlers) - set(handlers):
        handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Callable[[str], servers.Server]:
    """Return a function that returns the run's server of a kind, started when first asked for."""
    shared_by = getattr(request.config, "workerinput", vars(request.config))

    def of(kind: str) -> servers.Server:
        try:
            return servers.shared(kind, Path(shared_by["run_folder"]), shared_by["run_pid"])
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
) -> Callable[[str], str]:
    """Return a function that returns the URL of this process's database of a kind.

    It is at the newest revision and has the standard names. SQLite's is a file to be copied.
    """
    urls: dict[str, str] = {}

    def of(backend: str) -> str:
        if backend not in urls:
            urls[backend] = new(backend)
            store = SqlStore(DatabaseSettings(connection=urls[backend], sqlite_synchronous=False))
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

    return of


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
    server: Callable[[str], servers.Server],
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
    server(backend).disconnect(sa.make_url(url).database)
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
    """How the test's database is reached."""
    return DatabaseSettings(connection=database_url, sqlite_synchronous=False, max_retries=0)


@pytest.fixture
def store(settings: DatabaseSettings) -> Iterator[SqlStore]:
    """A store on an empty database."""
    found = SqlStore(settings)
    yield found
    found.dispose()


@pytest.fixture
def conf(database_url: str) -> cfg.ConfigOpts:
    """The options of a service on an empty database, for whoever says to be an administrator."""
    found = cfg.ConfigOpts()
    placement_conf.register_opts(found)
    found.set_override("connection", database_url, "placement_database")
    found.set_override("sqlite_synchronous", False, "placement_database")
    found.set_override("max_retries", 0, "placement_database")
    found.set_override("auth_strategy", "noauth2", "api")
    found([], project="placement", default_config_files=[])
    return found


@pytest.fixture
def application(conf: cfg.ConfigOpts):
    """The service as a WSGI application."""
    from placement import deploy  # noqa: PLC0415  takes a second that other tests need not pay

    store = SqlStore(db_api.settings(conf))
    with db_api.placement_context_manager.replaced(store):
        yield deploy.loadapp(conf)
    store.dispose()


# --- emptying a database: quicker than making one ---------------------------------------


def empty(url: str) -> None:
    """Delete all rows but the standard names and the clocks."""
    store = SqlStore(DatabaseSettings(connection=url))
    with store.engines().writer.begin() as connection:
        if connection.dialect.name == "mysql":
            connection.exec_driver_sql("SET SESSION foreign_key_checks = 0")
        for table in _with_rows(connection):
            connection.execute(table.delete().where(_is_no_standard(table)))
    store.dispose()


def _with_rows(connection: sa.Connection) -> list[sa.Table]:
    """Return the tables that have rows to delete, those that refer to others first."""
    tables = list(reversed(models.metadata.sorted_tables))
    found = connection.execute(
        sa.select(
            *(
                sa.exists().where(_is_no_standard(table)).select_from(table).label(table.name)
                for table in tables
            )
        )
    ).one()
    return [table for table, has_rows in zip(tables, found, strict=True) if has_rows]


def _is_no_standard(table: sa.Table) -> sa.ColumnElement[bool]:
    if table is models.clocks:
        return sa.false()
    if table is models.resource_classes:
        return table.c.id >= FIRST_CUSTOM_CLASS_ID
    if table is models.traits:
        return table.c.name.startswith(CUSTOM_PREFIX, autoescape=True)
    return sa.true()
