"""Consumers that are written with and without their generation are reported once."""

import logging
import tracemalloc

import pytest

from placement.core.model import ConsumerClaim
from placement.tests.support.loggers import messages
from placement_insight.explain.records import mixed_consumers
from placement_insight.explain.records.mixed_consumers import RecentWrites

OLD, NEW = ("python-requests/2.32", "1.12"), ("nova-compute keystoneauth1/5.9", "1.36")


@pytest.fixture
def writes():
    return RecentWrites(most_consumers=2)


def write(writes, client, *consumers):
    user_agent, version = client
    compares = version >= "1.28"
    claims = [ConsumerClaim(name, {}, "p", "u", check_generation=compares) for name in consumers]
    return writes.add(claims, user_agent, version)


@pytest.mark.parametrize(("first", "second"), [(OLD, NEW), (NEW, OLD)])
def test_the_clients_are_named_by_how_they_write(writes, first, second, caplog):
    caplog.set_level(logging.WARNING, logger=mixed_consumers.LOG.name)
    assert write(writes, first, "server") == []
    assert write(writes, second, "server") == [(NEW[0], OLD[0])]
    assert messages(caplog, mixed_consumers.LOG) == [
        "Consumer server is written with its generation (nova-compute keystoneauth1/5.9 at 1.36) "
        "and without (python-requests/2.32 at 1.12). Writes below 1.28 replace concurrent writes "
        "without an error: upgrade the client that sends them."
    ]


def test_a_consumer_is_reported_once(writes):
    for client in (OLD, NEW):
        write(writes, client, "server")
    assert [write(writes, client, "server") for client in (OLD, NEW)] == [[], []]


@pytest.mark.parametrize("client", [OLD, NEW])
def test_a_consumer_that_is_always_written_in_one_way_is_not_reported(writes, client):
    assert [write(writes, client, "server") for _ in range(3)] == [[], [], []]


def test_each_consumer_of_a_request_is_compared_with_its_earlier_writes(writes):
    write(writes, OLD, "server")
    write(writes, NEW, "migration")
    assert len(write(writes, NEW, "server", "migration")) == 1


def test_only_consumers_that_were_written_last_are_compared(writes):
    write(writes, OLD, "first", "second")
    write(writes, OLD, "first")
    write(writes, OLD, "third")
    assert write(writes, NEW, "second") == []
    assert len(write(writes, NEW, "third")) == 1


def test_a_client_cannot_write_lines_of_the_log(writes, caplog):
    write(writes, ("x\nERROR", "1.12"), "server")
    write(writes, ("", "1.36"), "server")
    (line,) = messages(caplog, mixed_consumers.LOG)
    assert "(a client without name at 1.36) and without (x\\nERROR at 1.12)" in line


def test_the_memory_for_user_agents_is_bounded():
    writes = RecentWrites(most_consumers=100)
    tracemalloc.start()
    try:
        for number in range(100):
            write(writes, (f"{number}" + "x" * 60_000, "1.12"), f"server {number}")
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()
