"""Pgpool-II, which routes the statements of a connection by their text and functions."""

import pytest

from placement import exception
from placement.db import suitability
from placement.engine.engine import Engine
from placement.tests.functional.db.connections.pgpool import pgpool
from placement.tests.functional.db.connections.test_lineage import (
    HOST,
    NAME,
    opened,
    primary,
    standby_of,
    used,
)
from placement.tests.support import factories
from placement.tests.support.factories import claim, uuid
from placement.tests.support.servers import Missing

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def pair():
    """A primary and a standby that has stopped to apply commits."""
    with primary("postgresql") as (first, store), standby_of(first) as second:
        second.execute("SELECT pg_wal_replay_pause()")
        yield first, second, store


@pytest.fixture
def routed(pair, tmp_path):
    """Return a function that returns the URL of a Pgpool-II with these settings."""
    first, second, _ = pair
    contexts = []

    def url(**settings):
        try:
            context = pgpool(tmp_path, first.port, second.port, **settings)
            contexts.append(context)
            return first.tcp_url(NAME, port=context.__enter__())
        except Missing:
            contexts.clear()
            pytest.skip("pgpool2 is not installed: apt-get install pgpool2")

    yield url
    for context in contexts:
        context.__exit__(None, None, None)


@pytest.mark.xdist_group("standby")
@pytest.mark.parametrize("by_statement", ["off", "on"])
def test_a_pgpool_that_balances_reads_is_refused(pair, routed, by_statement):
    url = routed(statement_level_load_balance=by_statement)
    claim(pair[2], uuid(), {HOST: {"VCPU": 1}})
    with opened(url) as store:
        with pytest.raises(suitability.UnsuitableServer, match="several servers"):
            suitability.check(store)
        for read in (store.probe, lambda: factories.used(store, HOST)):
            with pytest.raises(exception.DatabaseUnavailable) as caught:
                read()
            assert "several servers" in caught.value.reason


@pytest.mark.xdist_group("standby")
def test_a_pgpool_without_balancing_is_exact(pair, routed):
    with opened(routed(load_balance_mode="off")) as store:
        suitability.check(store)
        engine, before = Engine(store), factories.used(pair[2], HOST).get("VCPU", 0)
        assert used(engine).get("VCPU", 0) == before
        claim(pair[2], uuid(), {HOST: {"VCPU": 1}})
        assert used(engine) == factories.used(store, HOST) == {"VCPU": before + 1}
        claim(store, uuid(), {HOST: {"VCPU": 1}})
        assert factories.used(pair[2], HOST) == {"VCPU": before + 2}
