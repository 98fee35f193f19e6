"""The random comparison, with fake services."""

import json
from itertools import islice

import pytest

from bench import random_comparison
from bench.client import Get, Response, Send
from bench.harness import PLACEMENT, UPSTREAM
from bench.random_comparison import Comparison, Difference
from bench.random_requests import RandomRequests

EMPTY = {"resource_providers": [], "usages": {}, "allocations": {}}


class FakeConnection:
    """Returns responses by the request line, and an empty document to all others."""

    def __init__(self, **responses):
        self.responses = responses

    def send(self, request):
        return self.responses.get(request.line.split()[0], response(EMPTY))

    def close(self):
        pass


def response(content, status=200):
    return Response(status, json.dumps(content).encode())


def comparison(upstream):
    return Comparison({PLACEMENT: FakeConnection(), UPSTREAM: upstream})


def test_the_order_of_lists_and_links_are_not_compared():
    ours = FakeConnection(GET=response({"traits": ["A", "B"], "links": [1]}))
    theirs = FakeConnection(GET=response({"traits": ["B", "A"], "links": [2]}))
    both = Comparison({PLACEMENT: ours, UPSTREAM: theirs})
    both.send(Get("/traits"))
    assert both.statuses == {"GET 200": 1}


def test_the_text_of_errors_is_not_compared():
    ours, theirs = (
        FakeConnection(GET=response({"errors": [{"code": "x", "detail": detail}]}, 404))
        for detail in ("one", "two")
    )
    Comparison({PLACEMENT: ours, UPSTREAM: theirs}).send(Get("/traits/A"))


@pytest.mark.parametrize(
    "other", [response(EMPTY, 201), response({}), response({"errors": [{"code": "x"}]}, 404)]
)
def test_another_status_or_body_is_a_difference(other):
    with pytest.raises(Difference, match="GET /traits"):
        comparison(FakeConnection(GET=other)).send(Get("/traits"))


def test_after_a_write_what_is_stored_is_compared():
    both = comparison(FakeConnection(GET=response({"resource_providers": [1]})))
    with pytest.raises(Difference, match="GET /resource_providers"):
        both.send(Send("DELETE", "/resource_providers/x", None, {}))


class SilentConnection(FakeConnection):
    """Does not respond in time."""

    def send(self, request):
        raise TimeoutError("timed out")


def test_a_service_that_does_not_respond_is_a_difference():
    with pytest.raises(Difference, match="GET /traits\nupstream: no response: timed"):
        comparison(SilentConnection()).send(Get("/traits"))


def test_a_run_ends_after_its_seconds_and_reports_its_progress(monkeypatch, capsys):
    times = iter(range(0, 1000, 10))
    monkeypatch.setattr(random_comparison.time, "monotonic", lambda: next(times))
    both = comparison(FakeConnection())
    random_comparison.compare(both, seed=1, seconds=100)
    assert both.statuses.total() == 10
    assert capsys.readouterr().err == ("40 of 100 s: 3 requests\n80 of 100 s: 7 requests\n")


def test_a_seed_determines_the_requests():
    def wires(seed):
        requests = RandomRequests(seed, lambda path: EMPTY)
        return [request.wire for request in islice(requests, 100)]

    assert wires(1) == wires(1) != wires(2)


def test_all_routes_are_requested():
    requests = islice(RandomRequests(1, lambda path: EMPTY), 1000)
    lines = {request.line.split("?")[0].rpartition("/")[2] for request in requests}
    parts = {"inventories", "traits", "aggregates", "allocations", "reshaper", "usages"}
    assert lines > parts | {"resource_providers", "allocation_candidates"}
