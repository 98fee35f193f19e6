"""Processes that come of one that has already served, and the connections of many threads."""

import multiprocessing
import threading
import uuid
from typing import NamedTuple

import pytest
import sqlalchemy as sa
import webtest

from placement.tests.support.processes import LATEST
from placement.tests.support.waiting import wait_until

pytestmark = pytest.mark.long

FORK = multiprocessing.get_context("fork")
CHILDREN = 3
THREADS = 6
WAITING = THREADS  # each write has its turn, also on a busy machine


class Service:
    """The application of this process, or of the one that this is forked from."""

    def __init__(self, application):
        self._http = webtest.TestApp(application)

    def make_host(self, vcpus=1000):
        body = {"name": "host1", "uuid": str(uuid.uuid4())}
        provider = self._http.post_json("/resource_providers", body, headers=LATEST).json["uuid"]
        body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": vcpus}}}
        path = f"/resource_providers/{provider}/inventories"
        self._http.put_json(path, body, headers=LATEST)
        return provider

    def claim(self, provider):
        body = {
            "allocations": {provider: {"resources": {"VCPU": 1}}},
            "project_id": "p",
            "user_id": "u",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        self._http.put_json(f"/allocations/{uuid.uuid4()}", body, headers=LATEST)

    def used(self, provider):
        """Return what the snapshot of this process says."""
        candidates = self._http.get("/allocation_candidates?resources=VCPU:1", headers=LATEST).json
        return candidates["provider_summaries"][provider]["resources"]["VCPU"]["used"]


def test_parent_and_children_go_on_each_for_itself(application):
    service = Service(application)
    provider = service.make_host()
    service.claim(provider)
    assert service.used(provider) == 1
    seen = FORK.SimpleQueue()

    def child():
        for _ in range(5):
            before = service.used(provider)
            service.claim(provider)
            seen.put(service.used(provider) > before)

    children = [FORK.Process(target=child) for _ in range(CHILDREN)]
    for process in children:
        process.start()
    for _ in range(5):
        service.claim(provider)
        service.used(provider)
    for process in children:
        process.join(60)
    assert [process.exitcode for process in children] == [0] * CHILDREN
    assert all(seen.get() for _ in range(5 * CHILDREN))
    assert service.used(provider) == 1 + 5 + 5 * CHILDREN


class Pools(NamedTuple):
    """Sizes of the pools of a process, and how many connections each may then open, and keep."""

    size: int | None
    overflow: int | None
    most: int
    kept: int


@pytest.fixture(
    params=[
        pytest.param(Pools(2, 1, most=3, kept=2), id="smaller-than-threads"),
        pytest.param(Pools(None, None, most=THREADS, kept=THREADS), id="as-by-default"),
        pytest.param(Pools(0, None, most=THREADS, kept=THREADS), id="without-limit"),
    ],
)
def pools(conf, request):
    conf.set_override("max_pool_size", request.param.size, "placement_database")
    conf.set_override("max_overflow", request.param.overflow, "placement_database")
    conf.set_override("max_waiting_writes", WAITING, "placement_database")
    return request.param


@pytest.mark.parametrize("backend", ["mariadb", "postgresql"])
def test_many_processes_and_threads_use_as_many_connections_as_is_documented(
    pools, application, server, backend, database_url
):
    """As many as ``processes * (2 * min(threads, max_pool_size + max_overflow) + waiting)``.

    Each write is served. On a busy machine, some wait for longer than a second.
    """
    service = Service(application)
    provider = service.make_host()
    hold, done = FORK.Barrier(CHILDREN + 1), FORK.Barrier(CHILDREN + 1)

    def child():
        def work():
            for _ in range(5):
                service.claim(provider)
                service.used(provider)

        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        hold.wait(60)
        done.wait(60)

    children = [FORK.Process(target=child) for _ in range(CHILDREN)]
    for process in children:
        process.start()
    most = 0
    while hold.n_waiting < CHILDREN and all(process.is_alive() for process in children):
        most = max(most, connections(server(backend), backend, database_url))
    hold.wait(60)
    own = 3  # of this process, which served before with one thread, and empties the database

    def are_kept():
        count = connections(server(backend), backend, database_url)
        return 0 < count <= own + CHILDREN * (2 * pools.kept + WAITING)

    wait_until(are_kept)  # the server lists a connection for a moment after the client closed it
    done.wait(60)
    for process in children:
        process.join(60)
    assert most <= own + CHILDREN * (2 * pools.most + WAITING)
    assert service.used(provider) == CHILDREN * THREADS * 5


def connections(server, backend, url):
    database = sa.make_url(url).database
    table, column = {
        "mariadb": ("information_schema.processlist", "db"),
        "postgresql": ("pg_stat_activity", "datname"),
    }[backend]
    ((count,),) = server.execute(f"SELECT COUNT(*) FROM {table} WHERE {column} = '{database}'")
    return count
