"""Requests while a backup has locked all tables (``FLUSH TABLES WITH READ LOCK``)."""

import uuid
from contextlib import closing, contextmanager

import pymysql
import pytest
import webtest

from placement.db import store
from placement.db.connections import session_settings
from placement.db.schema import migration, seed
from placement.tests.support import servers
from placement.tests.support.factories import new_provider, used
from placement.tests.support.lock_waits import LOCK_TIMEOUTS, set_timeouts
from placement.tests.support.waiting import at_most

DOCUMENTED_SECONDS = 45  # on the page on high availability
HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest"}


@pytest.fixture
def database():
    """A server of its own: the lock is for the whole server."""
    try:
        with servers.private("mariadb", durable=False) as server:
            server.create("placement")
            yield server
    except servers.Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def database_url(database):
    return database.tcp_url("placement")


@contextmanager
def locked_tables(database):
    """Another connection has the lock during the block."""
    backup = pymysql.connect(host="127.0.0.1", port=database.port, user="root")
    with closing(backup), backup.cursor() as cursor:
        cursor.execute("FLUSH TABLES WITH READ LOCK")
        yield


@pytest.fixture
def short_limits(monkeypatch):
    """Shorten the times: 30 seconds for attempts, and 10 for the last lock."""
    assert store.RETRY_SECONDS + session_settings.LOCK_TIMEOUT_SECONDS < DOCUMENTED_SECONDS
    monkeypatch.setattr(store, "RETRY_SECONDS", 1)
    set_timeouts(monkeypatch, LOCK_TIMEOUTS, seconds=1)
    return 2 + 20  # the sum, and the time of a busy machine; without them it is 40


@pytest.mark.long
def test_reads_are_served_and_writes_end_by_503(request, database, short_limits, store):
    migration.upgrade(store)
    seed.sync(store)
    host, consumer = new_provider(store, VCPU=8), f"/allocations/{uuid.uuid4()}"
    http = webtest.TestApp(request.getfixturevalue("application"))
    reads = [
        "/resource_providers",
        f"/resource_providers/{host}/inventories",
        f"/resource_providers/{host}/usages",
        "/allocation_candidates?resources=VCPU:1",
        "/traits",
        consumer,
    ]
    writes = [
        ("POST", "/resource_providers", {"name": "new"}),
        ("PUT", "/traits/CUSTOM_NEW", None),
        ("PUT", consumer, claim_of(host)),
    ]
    with locked_tables(database):
        for method, path, body in writes:
            with at_most(short_limits):
                response = send(http, method, path, body)
            assert (response.status_int, response.headers.get("Retry-After")) == (503, "1")
            for read in reads:
                assert send(http, "GET", read).status_int == 200, read
    assert used(store, host) == {}
    assert [send(http, *write).status_int for write in writes] == [200, 201, 204]
    assert used(store, host) == {"VCPU": 1}


def claim_of(host):
    return {
        "allocations": {host: {"resources": {"VCPU": 1}}},
        "project_id": "project",
        "user_id": "user",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }


def send(http, method, path, body=None):
    if body is None:
        return http.request(path, method=method, headers=HEADERS, expect_errors=True)
    send_json = http.post_json if method == "POST" else http.put_json
    return send_json(path, body, headers=HEADERS, expect_errors=True)
