"""Fixtures for tests of the database layer."""

import pytest
import sqlalchemy as sa

from placement.db.connections import timeouts
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.tests.conftest import service_options
from placement.tests.functional.db.connect_timeouts import ConnectTimeouts
from placement.tests.functional.db.races import paused_at
from placement.tests.functional.db.unreachable_host import PORT, unreachable_host
from placement.tests.servers import DRIVERS

MODULES = {"mysqldb": "MySQLdb"}


@pytest.fixture
def empty_store(empty_database_url):
    """A store on a database without tables."""
    store = Store(DatabaseSettings(connection=empty_database_url, max_retries=0))
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


@pytest.fixture(params=sorted(DRIVERS))
def driver(request):
    """A driver that is installed."""
    pytest.importorskip(
        MODULES.get(request.param, request.param),
        reason=f"{request.param} is not installed; mysqlclient needs gcc and libmariadb-dev",
    )
    return request.param


@pytest.fixture
def stopped_at(store):
    """Return a function that runs two operations, one paused before a statement."""

    def run(text, stopped, other):
        with paused_at(store, text) as both:
            return both(stopped, other)

    return run


@pytest.fixture
def database_host(backend, server):
    """A host with the test's database server, which can stop responding."""
    with unreachable_host(server(backend).socket) as host:
        yield host


@pytest.fixture
def connect_timeouts(database_host, monkeypatch):
    """Timeouts of new connections that are short only while the host does not respond."""
    replacement = ConnectTimeouts(database_host)
    monkeypatch.setattr(timeouts, "connect", replacement.connect)
    return replacement


@pytest.fixture
def far_url(database_host, backend, driver, database_url, server):
    """The URL of the test's database, through the host that can stop responding."""
    near = server(backend).tcp_url(sa.make_url(database_url).database, driver)
    url = sa.make_url(near).set(host=database_host.address, port=PORT)
    return url.render_as_string(hide_password=False)


@pytest.fixture
def store_through_proxy(database_url, server, backend, driver, proxy):
    """A store whose connections go through the test's ``proxy``."""
    name = sa.make_url(database_url).database
    url = server(backend).tcp_url(name, driver, proxy.port)
    opened = Store(DatabaseSettings(connection=url, max_retries=0))
    yield opened
    opened.dispose()
