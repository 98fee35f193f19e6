"""What the operator is told of a request for candidates."""

import logging
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import webob

from placement.core.request import SearchSettings
from placement.core.snapshot.snapshot import Snapshot
from placement.handler import PlacementHandler
from placement.observability import empty_results
from placement.observability.events import ignore
from placement.tests.worlds import world
from placement.wsgi_wrapper import CONTEXT, REQUEST_ID

SNAPSHOT = Snapshot.of(
    world("""
        host1  VCPU=8  +CUSTOM_OLD
        host2  VCPU=4
    """)
)


@dataclass(frozen=True)
class Still:
    """An engine of a database that never changes."""

    snapshot: Snapshot

    def current(self) -> Snapshot:
        return self.snapshot


@pytest.fixture
def ask(caplog):
    """Return a function from a query to the answer; the log is at INFO."""
    caplog.set_level(logging.INFO, logger=empty_results.LOG.name)
    handler = PlacementHandler(
        SimpleNamespace(engine=Still(SNAPSHOT), search=SearchSettings(), observe=ignore)
    )
    everything = SimpleNamespace(can=lambda rule: None)

    def get(query: str) -> webob.Response:
        request = webob.Request.blank(f"/allocation_candidates?{query}")
        request.headers["openstack-api-version"] = "placement latest"
        request.environ |= {CONTEXT: everything, REQUEST_ID: "req-1"}
        return request.get_response(handler)

    return get


def test_no_candidates_are_explained_in_one_line(ask, caplog):
    assert ask("resources=VCPU:6&required=!CUSTOM_OLD").json["allocation_requests"] == []
    (line,) = [record.getMessage() for record in caplog.records]
    assert line == (
        "No allocation candidates for req-1: fewer than 6 VCPU free (best: host2 has 4 free): "
        "the last 1 of 2; before: 1 trait CUSTOM_OLD"
    )


def test_candidates_are_not_explained(ask, caplog):
    assert len(ask("resources=VCPU:6").json["allocation_requests"]) == 1
    assert caplog.records == []


def test_nothing_is_explained_that_nobody_reads(ask, caplog):
    caplog.set_level(logging.WARNING, logger=empty_results.LOG.name)
    assert ask("resources=VCPU:60").json["allocation_requests"] == []
    assert caplog.records == []


def test_an_explanation_that_takes_too_long_is_given_up_in_the_same_line(ask, caplog, monkeypatch):
    monkeypatch.setattr(empty_results, "BUDGET_SECONDS", 0)
    answer = ask("resources=VCPU:60")
    assert answer.json == {"allocation_requests": [], "provider_summaries": {}}
    (line,) = [record.getMessage() for record in caplog.records]
    assert line == "No allocation candidates for req-1: not explained within 0 s"
