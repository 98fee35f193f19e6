"""The log lines of a request for candidates."""

import json
import logging
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
import webob

from placement.core.request import SearchSettings
from placement.core.search.deadline import Deadline
from placement.core.snapshot.snapshot import Snapshot
from placement.db.snapshot.changes import NameTables
from placement.engine.engine import View
from placement.engine.shared import SharedRuns
from placement.events import CANDIDATES, ROOTS_LEFT_OUT, Metric, Observer
from placement.handler import PlacementHandler
from placement.http.middleware import AfterResponse
from placement.http.request import REQUEST_ID
from placement.microversion import MAX_VERSION
from placement.tests.support.loggers import messages
from placement.tests.support.provider_tables import snapshot_of_states
from placement.tests.support.worlds import world
from placement_insight.explain import explain
from placement_insight.explain.records import reports
from placement_insight.explain.records.model import RecordedRequest
from placement_insight.explain.records.recorder import RecorderSettings

SNAPSHOT = snapshot_of_states(
    world("""
        host1  VCPU=8  +CUSTOM_OLD
        host2  VCPU=4
    """)
)
CALLER = {
    "openstack.global_request_id": "req-of-nova",
    "HTTP_X_PROJECT_ID": "service",
    "HTTP_X_USER_ID": "nova",
}
EVERYTHING_IS_ALLOWED = SimpleNamespace(
    decisions=lambda: SimpleNamespace(authorize=lambda *_rule: None)
)


@dataclass(frozen=True)
class Still:
    """An engine of a database that never changes."""

    snapshot: Snapshot

    def current(self) -> Snapshot:
        return self.snapshot

    def view(self) -> View:
        return View(self.snapshot, {}, NameTables({}, {}), 0)


@dataclass
class Kept:
    """A recorder that keeps records in memory."""

    admitted: int = 1000
    is_enabled: bool = True
    records_users: bool = True
    settings: RecorderSettings = field(default_factory=RecorderSettings)
    records: list[RecordedRequest] = field(default_factory=list)
    superseding: list[str] = field(default_factory=list)

    def admits(self, kind: str) -> bool:
        self.admitted -= 1
        return self.admitted >= 0

    @contextmanager
    def explanation(self, kind):
        yield self.admits(kind)

    def read(self, _read, without):
        return without

    def awaited(self, report):
        return report

    def found(self, global_request_id: str, **_at: object) -> None:
        self.superseding.append(global_request_id)

    def record(self, record: RecordedRequest) -> None:
        if self.is_enabled:
            self.records.append(record)


@pytest.fixture
def recorder():
    return Kept()


class Counts(Observer):
    """An observer that keeps the numbers of candidates, and of the roots left out."""

    def __init__(self) -> None:
        self.candidates: list[float] = []
        self.left_out: list[int] = []

    def observe(self, metric: Metric, value: float, *labels: str) -> None:
        assert metric is CANDIDATES
        self.candidates.append(value)

    def count(self, metric: Metric, *labels: str, amount: int = 1) -> None:
        if metric is ROOTS_LEFT_OUT:
            self.left_out.append(amount)


@pytest.fixture
def observer():
    return Counts()


@pytest.fixture
def send(caplog, recorder, observer):
    """Return a function from a query to the parts of the response; the log is at INFO."""
    caplog.set_level(logging.INFO, logger=reports.LOG.name)
    services = SimpleNamespace(
        shared=SharedRuns(),
        engine=Still(SNAPSHOT),
        policy=EVERYTHING_IS_ALLOWED,
        search=SearchSettings(),
        search_deadline=lambda advice: Deadline(5, time.monotonic, advice=advice),
        observer=observer,
        reports=reports.OperatorReports(recorder),
        max_body_bytes=2**20,
    )
    application = AfterResponse(PlacementHandler(services))

    def get(query: str, version: str = "latest") -> object:
        request = webob.Request.blank(f"/allocation_candidates?{query}")
        request.headers["openstack-api-version"] = f"placement {version}"
        request.environ |= {**CALLER, REQUEST_ID: "req-1"}
        return application(request.environ, lambda status, headers, error=None: None)

    return get


@pytest.fixture
def ask(send):
    """Return a function from a query to the document of the response, which is closed."""

    def get(query: str) -> dict[str, object]:
        parts = send(query)
        body = b"".join(parts)
        getattr(parts, "close", lambda: None)()
        return json.loads(body)

    return get


def test_no_candidates_are_explained_in_one_line(ask, caplog):
    assert ask("resources=VCPU:6&required=!CUSTOM_OLD")["allocation_requests"] == []
    (line,) = messages(caplog, reports.LOG)
    assert line == (
        "No allocation candidates for req-1: fewer than 6 VCPU free (best: host2 has 4 free): "
        "the last 1 of 2; before: 1 trait CUSTOM_OLD; "
        "closest: host2 (VCPU 4 of 6), host1 (trait CUSTOM_OLD; everything else fits)"
    )


def test_nothing_is_explained_before_the_response_is_sent(send, caplog, recorder):
    parts = send("resources=VCPU:60")
    assert list(parts)
    assert (messages(caplog, reports.LOG), recorder.records) == ([], [])
    parts.close()
    parts.close()
    assert (len(messages(caplog, reports.LOG)), len(recorder.records)) == (1, 1)


def test_no_candidates_are_recorded_with_the_request_and_the_reason(ask, recorder):
    ask("resources=VCPU:6&root_required=!CUSTOM_OLD")
    (record,) = recorder.records
    assert (record.kind, record.reason) == ("no_candidates", "capacity")
    assert record.query == "resources=VCPU:6&root_required=!CUSTOM_OLD"
    assert (record.request_id, record.global_request_id) == ("req-1", "req-of-nova")
    assert (record.project_id, record.user_id, record.claim) == ("service", "nova", None)
    assert record.microversion == str(MAX_VERSION)
    explanation = json.loads(record.explanation)
    assert (explanation["roots"], explanation["fits"]) == (2, 0)
    assert sum(row["lost"] for row in explanation["funnel"]) == 2


def test_candidates_are_not_explained(ask, caplog, recorder):
    assert len(ask("resources=VCPU:6")["allocation_requests"]) == 1
    assert recorder.superseding == ["req-of-nova"]
    assert (messages(caplog, reports.LOG), recorder.records) == ([], [])


def test_the_roots_that_a_limit_leaves_out_are_reported(ask, observer):
    for query in ("resources=VCPU:1&limit=1", "resources=VCPU:1&limit=2", "resources=VCPU:60"):
        ask(query)
    assert observer.candidates == [1, 2, 0]
    assert observer.left_out == [1]


def test_nothing_is_explained_that_nobody_reads(ask, caplog, recorder):
    caplog.set_level(logging.WARNING, logger=reports.LOG.name)
    recorder.is_enabled = False
    assert ask("resources=VCPU:60")["allocation_requests"] == []
    assert (messages(caplog, reports.LOG), recorder.records, recorder.admitted) == ([], [], 1000)


def test_what_is_beyond_the_rate_is_logged_without_an_explanation(ask, caplog, recorder):
    recorder.admitted = 1
    ask("resources=VCPU:60")
    ask("resources=VCPU:61")
    assert [record.reason for record in recorder.records] == ["capacity", "not_explained"]
    assert recorder.records[1].query == "resources=VCPU:61"
    assert messages(caplog, reports.LOG)[1] == (
        "No allocation candidates for req-1: not explained: too many, or explanations "
        "that take too long"
    )


def test_equal_requests_are_explained_once_for_a_snapshot(ask, caplog, recorder):
    recorder.admitted = 1
    for _ in range(3):
        ask("resources=VCPU:60")
    assert [record.reason for record in recorder.records] == ["capacity"] * 3
    assert len({record.equal_key for record in recorder.records}) == 1
    assert len(set(messages(caplog, reports.LOG))) == 1


def test_an_explanation_that_takes_too_long_is_given_up_in_the_same_line(
    ask, caplog, recorder, monkeypatch
):
    monkeypatch.setattr(explain, "BUDGET_SECONDS", 0)
    response = ask("resources=VCPU:60")
    assert response == {"allocation_requests": [], "provider_summaries": {}}
    (line,) = messages(caplog, reports.LOG)
    assert line == "No allocation candidates for req-1: not explained within the time limit"
    assert [record.reason for record in recorder.records] == ["undetermined"]


def test_a_record_fits_a_column_of_every_database(ask, recorder):
    members = ",".join(f"aaaaaaaa-0000-4000-8000-{number:012}" for number in range(1700))
    ask(f"resources=VCPU:60&member_of=in:{members}")
    (record,) = recorder.records
    assert len(record.query) <= 16_000
    assert len(record.explanation) <= 60_000
    assert json.loads(record.explanation)["truncated"] is True
