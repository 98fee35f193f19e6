"""Fixtures for tests of the database layer."""

import pytest
import sqlalchemy as sa

from placement.db.connections import timeouts
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.tests.functional.db.connections.connect_timeouts import ConnectTimeouts
from placement.tests.support.races import paused_at
from placement.tests.support.servers import DRIVERS
from placement.tests.support.unreachable_host import PORT, unreachable_host

MODULES = {"mysqldb": "MySQLdb"}


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
