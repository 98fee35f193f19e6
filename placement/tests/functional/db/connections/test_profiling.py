"""[profiler]trace_sqlalchemy: SQL statements in the traces of OSProfiler."""

from dataclasses import replace

import pytest
from osprofiler import notifier, profiler

from placement import db_api, profiling
from placement.db.store import Store
from placement.tests.support.factories import claim, new_provider, uuid


@pytest.fixture
def traces():
    """The events of the trace of this thread."""
    events = []
    before = notifier.get()
    notifier.set(events.append)
    profiler.init("key")
    yield events
    profiler.clean()
    notifier.set(before)


@pytest.fixture
def traced_store(conf, request):
    """A store of a service whose options are set; ``request.param`` is trace_sqlalchemy."""
    profiling.register_options(conf)
    conf.set_override("enabled", True, "profiler")
    conf.set_override("trace_sqlalchemy", request.param, "profiler")
    store = Store(replace(db_api.settings(conf), traces_sql=profiling.traces_sql(conf)))
    yield store
    store.dispose()


@pytest.mark.parametrize("traced_store", [True], indirect=True)
def test_statements_are_traced(traced_store, traces):
    host = new_provider(traced_store, VCPU=8)
    del traces[:]
    claim(traced_store, uuid(), {host: {"VCPU": 1}})
    starts = [event for event in traces if event["name"] == "db-start"]
    statements = [event["info"]["db"]["statement"] for event in starts]
    assert any("INSERT INTO allocations" in text for text in statements)
    assert len([event for event in traces if event["name"] == "db-stop"]) == len(starts)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("traced_store", [False], indirect=True)
def test_statements_are_not_traced_by_default(traced_store, traces):
    new_provider(traced_store, VCPU=8)
    assert traces == []
