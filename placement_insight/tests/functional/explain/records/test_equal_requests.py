"""Equal requests are one record with a number; a request with candidates supersedes others."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import webtest

from placement.tests.support.waiting import SECONDS_TO_WAIT, wait_until
from placement_insight.explain.records.model import (
    MOST_LATEST,
    Occurrence,
    RecordedFilter,
    equal_key,
    new_id,
)
from placement_insight.explain.records.recorder import Recorder, RecorderSettings, start_timer
from placement_insight.explain.records.sql import add, find, hourly, of_request, supersede
from placement_insight.tests.support.records import record

HOST = "aaaaaaaa-0000-4000-8000-000000000001"
SERVER = "cccccccc-0000-4000-8000-{:012}"
GLOBAL_ID = "req-8c1f0a2b-1b3d-4e5f-9a7b-{:012}"
HEADERS = {
    "X-Auth-Token": "nova:service",
    "X-Roles": "admin,service",
    "OpenStack-API-Version": "placement latest",
}


@pytest.fixture
def http(application):
    http = webtest.TestApp(application)
    http.post_json("/resource_providers", {"name": "host", "uuid": HOST}, headers=HEADERS)
    body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}
    http.put_json(f"/resource_providers/{HOST}/inventories", body, headers=HEADERS)
    return http


def candidates(http, query, number=0):
    headers = HEADERS | {"X-Openstack-Request-Id": GLOBAL_ID.format(number)}
    return http.get(f"/allocation_candidates?{query}", headers=headers)


def claim(http, number, amount, project="p", status=409):
    body = {
        "allocations": {HOST: {"resources": {"VCPU": amount}}},
        "project_id": project,
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    headers = HEADERS | {"X-Openstack-Request-Id": GLOBAL_ID.format(number)}
    path = f"/allocations/{SERVER.format(number)}"
    return http.put_json(path, body, headers=headers, status=status)


def requests(http, path=""):
    return http.get(f"/insight/requests{path}", headers=HEADERS).json["requests"]


def summary(http):
    return http.get("/insight/requests/summary", headers=HEADERS).json


def test_two_hundred_refusals_in_a_second_are_one_record_with_their_number(http):
    """In an incident, more requests are refused than are explained and written in a second."""
    for number in range(200):
        candidates(http, "resources=VCPU:9", number)
    (request,) = requests(http)
    assert (request["count"], request["superseded"], request["reason"]) == (200, 0, "capacity")
    assert request["explanation"]["near_misses"][0]["name"] == "host"
    assert request["first_at"] == request["at"] <= request["last_at"]
    assert request["global_request_id"] == GLOBAL_ID.format(0)
    assert [each["global_request_id"] for each in request["latest"]] == [
        GLOBAL_ID.format(number) for number in range(199, 189, -1)
    ]
    assert summary(http)["requests"] == 200
    assert [row["requests"] for row in summary(http)["reasons"]] == [200]
    (found,) = requests(http, f"/{GLOBAL_ID.format(150)}")
    assert found["global_request_id"] == GLOBAL_ID.format(150)
    assert found["request_id"] != request["request_id"]
    assert found["explanation"] == request["explanation"]


def test_groups_that_nova_names_anew_are_equal(http):
    """Nova sorts the parameters by the suffix, so that the order of the groups differs as well."""
    for first, second in (("0", "1"), ("1", "0"), ("2", "3")):
        large, small = (f"_{digit * 8}-0000-4000-8000-000000000000-0" for digit in (first, second))
        groups = {large: "VCPU:7", small: "VCPU:6"}
        query = "&".join(f"resources{suffix}={groups[suffix]}" for suffix in sorted(groups))
        candidates(http, f"{query}&group_policy=none")
    (request,) = requests(http)
    assert request["count"] == 3
    first = request["explanation"]["groups"][0]["text"]
    assert first == "group 1: resources=VCPU:7, suffix _00000000-0000-4000-8000-000000000000-0"


@pytest.fixture
def lowest_rate(conf):
    """Ten records at once, and one in each second that the test takes."""
    conf.set_override("record_per_second", 1, "insight")


def test_different_requests_beyond_the_rate_are_counted_together(lowest_rate, http):
    """Every request is counted, and no more than the admitted ones have a row of their own."""
    for amount in range(100, 220):
        candidates(http, f"resources=VCPU:{amount}")
    listed = requests(http)
    assert sum(request["count"] for request in listed) == summary(http)["requests"] == 120
    assert len(listed) < 100
    assert {request["reason"] for request in listed} == {"capacity", "not_explained"}
    together = [request for request in listed if request["query"] is None]
    assert len(together) == len({request["reason"] for request in together})
    (rest,) = (request for request in together if request["reason"] == "not_explained")
    assert rest["count"] > 10
    assert "more than [insight]record_per_second records" in rest["explanation"]["sentence"]


def test_another_reason_is_another_record(http):
    candidates(http, "resources=VCPU:6")
    claim(http, 1, 4, status=204)
    for _ in range(2):
        candidates(http, "resources=VCPU:6")
    http.put_json(f"/resource_providers/{HOST}/traits", TRAITS, headers=HEADERS)
    candidates(http, "resources=VCPU:6&required=!HW_CPU_X86_VMX")
    assert [(each["reason"], each["count"]) for each in requests(http)] == [
        ("forbidden_trait", 1),
        ("capacity", 2),
    ]


TRAITS = {"resource_provider_generation": 2, "traits": ["HW_CPU_X86_VMX"]}


def test_refused_claims_of_a_project_on_a_provider_are_one_record(http):
    for number in range(1, 5):
        claim(http, number, 9 + number)
    claim(http, 5, 9, project="other")
    assert [(each["project_id"], each["count"]) for each in requests(http)] == [
        ("other", 1),
        ("p", 4),
    ]
    (found,) = requests(http, f"/{GLOBAL_ID.format(3)}")
    assert found["count"] == 4
    assert found["claim"]["consumer_uuid"] == SERVER.format(1)  # of the first
    assert {row["name"] for row in summary(http)["projects"]} == {"other", "p"}


def test_a_request_that_nova_repeats_with_other_classes_is_superseded(http):
    """Nova asks for PCPU, then for VCPU, with the same global request id."""
    candidates(http, "resources=PCPU:1", 1)
    candidates(http, "resources=PCPU:1", 2)
    assert candidates(http, "resources=VCPU:1", 1).json["allocation_requests"]
    assert summary(http)["requests"] == 1
    (request,) = requests(http)
    assert (request["count"], request["superseded"]) == (2, 1)
    assert not request["is_superseded"]
    assert [each["is_superseded"] for each in request["latest"]] == [False, True]
    (superseded,) = requests(http, f"/{GLOBAL_ID.format(1)}")
    (refused,) = requests(http, f"/{GLOBAL_ID.format(2)}")
    assert (superseded["is_superseded"], refused["is_superseded"]) == (True, False)


def test_earlier_candidates_supersede_nothing(http):
    candidates(http, "resources=VCPU:1", 1)
    candidates(http, "resources=VCPU:9", 1)
    assert not requests(http)[0]["is_superseded"]


def test_the_decisive_one_of_several_records_is_first(http):
    """Also if all are of one second, and equal ones were refused before."""
    candidates(http, "resources=VCPU:9")  # an older record of the last request
    candidates(http, "resources=PCPU:1", 1)
    candidates(http, "resources=VCPU:1", 1)
    claim(http, 1, 10)
    candidates(http, "resources=VCPU:9", 1)
    found = requests(http, f"/{GLOBAL_ID.format(1)}")
    assert [each.get("query", "claim") for each in found] == [
        *("resources=VCPU:9", "claim", "resources=PCPU:1")
    ]
    assert [each["is_superseded"] for each in found] == [False, False, True]


def test_since_finds_a_record_whose_last_request_is_newer(store):
    """By the last request; by the first one, a page that polls would not see the number grow."""
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    first, last, other = (hour + timedelta(minutes=minutes) for minutes in (1, 50, 20))
    store.write(add, [equal(first, 0), equal(other, 1, "b")])
    store.write(add, [equal(last, 2)])
    (found,) = find(store, RecordedFilter(since=hour + timedelta(minutes=30)))
    assert (found.request_id, found.requests) == ("req-0", 2)


# --- several processes ------------------------------------------------------------------------


def equal(at, number, key="a"):
    time_of = at.replace(tzinfo=None)
    return replace(
        record(number),
        id=new_id(at),
        created_at=time_of.replace(microsecond=0),
        last_at=time_of.replace(microsecond=0),
        equal_key=equal_key(at, key),
        latest=(Occurrence(time_of, f"req-{number}", f"global-{number}"),),
    )


def test_processes_count_equal_requests_in_one_record(store, other_store):
    """Each has its own recorder; they write at the same time."""
    at = datetime.now(UTC)
    recorders = [
        Recorder(each, RecorderSettings(record_per_second=100)) for each in (store, other_store)
    ]

    def run(process):
        for number in range(60):
            recorders[process].record(equal(at, 100 * process + number))
            time.sleep(0.002)
        recorders[process].flush()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, range(2)))
    (found,) = find(store, RecordedFilter())
    assert (found.requests, len(found.latest)) == (120, 120)
    assert [recorder.dropped for recorder in recorders] == [0, 0]
    assert of_request(other_store, "global-159") == of_request(store, "req-159") == [found]


def test_candidates_of_another_process_supersede_a_record(store, other_store):
    at = datetime.now(UTC)
    store.write(add, [equal(at, 1)])
    store.write(add, [equal(at, 2)])
    recorder = Recorder(other_store, RecorderSettings())
    recorder.found("global-1", at=datetime.now(UTC))
    recorder.flush()
    (found,) = find(store, RecordedFilter())
    assert (found.requests, found.superseded) == (2, 1)
    recorder.flush()  # the same ids again: other processes may have written since
    assert find(store, RecordedFilter()) == [found]
    assert [each.requests for each in hourly(store, RecordedFilter())] == [1]


def test_the_ids_of_a_record_are_bounded(store):
    at = datetime.now(UTC)
    for number in range(MOST_LATEST + 10):
        store.write(add, [equal(at + timedelta(milliseconds=number), number)])
    (found,) = find(store, RecordedFilter())
    assert (found.requests, len(found.latest)) == (MOST_LATEST + 10, MOST_LATEST)
    assert found.latest[0].request_id == f"req-{MOST_LATEST + 9}"
    supersede(store, {f"global-{MOST_LATEST}": at.replace(tzinfo=None) + timedelta(minutes=1)})
    assert find(store, RecordedFilter())[0].superseded == 1


def test_counts_are_written_a_moment_later_without_another_request(store):
    recorder = Recorder(store, RecorderSettings(record_per_second=5), call_after=start_timer)
    at = datetime.now(UTC)
    for number in range(50):
        recorder.record(equal(at, number))
    wait_until(lambda: [each.requests for each in find(store, RecordedFilter())] == [50])
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join(SECONDS_TO_WAIT)


def test_a_process_reads_what_it_counted(application):
    http = webtest.TestApp(application)
    for _ in range(20):
        candidates(http, "resources=VCPU:1")
    assert summary(http)["requests"] == 20
