"""Candidates over HTTP: equal requests have equal responses; long searches are ended."""

import pytest
import webtest

from placement.http import response as http_response
from placement.tests.support.waiting import wait_until

HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest"}
DEVICES = 12
BUDGET_SECONDS = 0.25


@pytest.fixture
def backend():
    """The search is the same on each database."""
    return "sqlite"


@pytest.fixture
def short_budget(conf):
    """A service that ends searches soon."""
    conf.set_override("candidate_search_budget_seconds", BUDGET_SECONDS, "placement")


@pytest.fixture
def http(conf, request):
    """A service with one host of many devices."""
    http = webtest.TestApp(request.getfixturevalue("application"))
    host = provider(http, name="host")
    for number in range(DEVICES):
        device = provider(http, name=f"device{number}", parent_provider_uuid=host["uuid"])
        stock = {"resource_provider_generation": 0, "inventories": {"VGPU": {"total": 1}}}
        path = f"/resource_providers/{device['uuid']}/inventories"
        http.put_json(path, stock, headers=HEADERS)
    return http


def provider(http, **parts):
    return http.post_json("/resource_providers", parts, headers=HEADERS).json


def candidates(http, query, version="latest", **options):
    headers = {**HEADERS, "OpenStack-API-Version": f"placement {version}"}
    return http.get(f"/allocation_candidates?{query}", headers=headers, **options)


def groups(count):
    query = "&".join(f"resources_{n}=VGPU:1" for n in range(count))
    return f"{query}&group_policy=isolate"


def test_a_search_without_end_is_given_up_with_a_sentence(short_budget, http):
    response = candidates(http, groups(DEVICES), status=503)
    (error,) = response.json["errors"]
    assert (error["status"], error["title"]) == (503, "Service Unavailable")
    advice = "Repeat the request with limit=1000 or fewer groups or more requirements."
    assert f"ended after 0.25 seconds. {advice}" in error["detail"]
    assert error["request_id"] == response.headers["X-OpenStack-Request-Id"]


def test_the_worker_answers_the_next_request(short_budget, http):
    candidates(http, groups(DEVICES), status=503)

    def some():  # a busy machine may need more than the budget
        response = candidates(http, groups(DEVICES) + "&limit=5", status="*")
        return len(response.json.get("allocation_requests", []))

    wait_until(lambda: some() == 5)


@pytest.mark.parametrize("version", ["1.10", "1.26", "1.29", "latest"])
@pytest.mark.parametrize("limit", ["", "&limit=7"])
def test_equal_requests_get_equal_bytes(http, version, limit):
    query = f"resources=VGPU:1{limit if version != '1.10' else ''}"
    assert candidates(http, query, version).body == candidates(http, query, version).body


def test_what_was_done_and_undone_leaves_no_mark_on_the_answer(http):
    query = groups(2) + "&limit=50"
    before = candidates(http, query)
    (first, *_) = before.json["allocation_requests"]
    path = "/allocations/cccccccc-0000-4000-8000-000000000001"
    claim = {
        **first,
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    http.put_json(path, claim, headers=HEADERS)
    assert candidates(http, query).body != before.body
    http.delete(path, headers=HEADERS)
    assert candidates(http, query).body == before.body


def test_a_response_in_pieces_equals_the_whole_response(http, monkeypatch):
    whole = candidates(http, groups(2))
    monkeypatch.setattr(http_response, "_LONGEST_IN_MEMORY_BYTES", 0)
    streamed = candidates(http, groups(2))
    assert streamed.body == whole.body
    names = ("Content-Length", "Content-Type", "Cache-Control", "OpenStack-API-Version")
    assert [streamed.headers[name] for name in names] == [whole.headers[name] for name in names]
