"""Fixtures of the functional tests."""

import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.tests.plugin import service_options
from placement.tests.support import preloaded
from placement.tests.support.processes import BIN, Deployment, environment
from placement.tests.support.waiting import SECONDS_OF_COMMANDS


@pytest.fixture
def empty_store(empty_database_url):
    """A store on a database without tables."""
    store = Store(
        DatabaseSettings(connection=empty_database_url, sqlite_synchronous=False, max_retries=0)
    )
    yield store
    store.dispose()


@pytest.fixture
def conf_of_empty(empty_database_url):
    """The options of a service on the database without tables."""
    return service_options(empty_database_url)


@pytest.fixture
def other_store(settings):
    """A second store on the same database, like that of another process."""
    store = Store(settings)
    yield store
    store.dispose()


@pytest.fixture
def run_command(tmp_path):
    """Return a function that runs a command in an empty directory."""

    def run_command(program, *arguments, timeout_seconds=SECONDS_OF_COMMANDS, **variables):
        return preloaded.of_placement().run(
            [str(BIN / program), *arguments],
            folder=tmp_path,
            environ=environment(HOME=str(tmp_path), **variables),
            timeout_seconds=timeout_seconds,
        )

    return run_command


@pytest.fixture
def deployment(database_url, server, backend):
    """A configured deployment that the test starts; it is stopped at the end."""
    if backend != "sqlite":
        database_url = server(backend).tcp_url(sa.make_url(database_url).database)
    with configured_deployment(database_url) as deployment:
        yield deployment


@contextmanager
def configured_deployment(database_url):
    """A deployment on a database, which is stopped at the end of the block."""
    folder = Path(tempfile.mkdtemp(prefix="placement-wsgi-"))
    folder.chmod(0o755)  # servers may run as another user
    (folder / "placement.conf").write_text(
        f"[placement_database]\nconnection = {database_url}\n"
        "max_pool_size = 4\n"
        "[api]\nauth_strategy = noauth2\n"
    )
    deployment = Deployment(folder, {"OS_PLACEMENT_CONFIG_DIR": str(folder)})
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        stack.callback(deployment.stop)
        yield deployment
