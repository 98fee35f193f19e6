"""What is recorded over HTTP on each database, and how operators find it."""

import logging
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import requests
import sqlalchemy as sa
import webtest

from placement import db_api, deploy, exception
from placement.db import tables
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.microversion import MAX_VERSION
from placement.objects import allocation, inventory
from placement.tests.support import loggers
from placement.tests.support.processes import STOP_TIMEOUT_SECONDS, ApiProcess
from placement.tests.support.stores import replaced_store
from placement.tests.support.waiting import wait_until
from placement_insight.audit.identity.sql import identify
from placement_insight.explain.records import recorder as recorders
from placement_insight.explain.records import reports, summary
from placement_insight.explain.records.http import REASONS
from placement_insight.explain.records.model import RecordedFilter, first_id
from placement_insight.explain.records.recorder import Recorder, RecorderSettings
from placement_insight.explain.records.sql import add, find, hourly
from placement_insight.tests.support.records import record

HOST = "aaaaaaaa-0000-4000-8000-000000000001"
CONSUMER = "cccccccc-0000-4000-8000-000000000001"
GLOBAL_ID = "req-8c1f0a2b-1b3d-4e5f-9a7b-0c1d2e3f4a5b"
HEADERS = {"X-Auth-Token": "nova:service", "X-Roles": "admin,service"}
LATEST = HEADERS | {"OpenStack-API-Version": "placement latest"}
OF_NOVA = LATEST | {"X-Openstack-Request-Id": GLOBAL_ID}


@pytest.fixture
def http(application):
    http = webtest.TestApp(application)
    http.post_json("/resource_providers", {"name": "host", "uuid": HOST}, headers=LATEST)
    body = {
        "resource_provider_generation": 0,
        "inventories": {"VCPU": {"total": 8, "reserved": 2, "max_unit": 6}},
    }
    http.put_json(f"/resource_providers/{HOST}/inventories", body, headers=LATEST)
    return http


def claim(amount=1, resource_class="VCPU", generation=None):
    return {
        "allocations": {HOST: {"resources": {resource_class: amount}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": generation,
        "consumer_type": "INSTANCE",
    }


def put(http, body, status, consumer=CONSUMER):
    return http.put_json(f"/allocations/{consumer}", body, headers=OF_NOVA, status=status)


def recorded(http, query=""):
    return http.get(f"/insight/requests{query}", headers=HEADERS).json["requests"]


def test_an_empty_response_is_found_by_both_of_its_ids(http):
    response = http.get("/allocation_candidates?resources=VCPU:7", headers=OF_NOVA)
    assert response.json["allocation_requests"] == []
    (request,) = recorded(http)
    own_id = response.headers["x-openstack-request-id"]
    assert (request["request_id"], request["global_request_id"]) == (own_id, GLOBAL_ID)
    assert (request["project_id"], request["user_id"]) == ("service", "nova")
    assert OF_NOVA["X-Auth-Token"] not in str(request)
    assert (request["kind"], request["query"]) == ("no_candidates", "resources=VCPU:7")
    assert request["microversion"] == str(MAX_VERSION)
    assert request["explanation"]["roots"] == 1
    assert "claim" not in request
    age = datetime.now(UTC) - datetime.fromisoformat(request["at"])
    assert timedelta(0) <= age < timedelta(minutes=1)
    for request_id in (own_id, GLOBAL_ID):
        assert http.get(f"/insight/requests/{request_id}", headers=HEADERS).json == {
            "version": 1,
            "requests": [request],
            "next": None,
        }


def test_an_unknown_name_is_found_by_both_ids_with_the_most_similar_names(http, caplog):
    caplog.set_level(logging.INFO, "placement_insight")
    http.put("/traits/CUSTOM_TYPE", headers=OF_NOVA)
    query = "resources=VCPU:1&required=CUSTOM_TYPO"
    response = http.get(f"/allocation_candidates?{query}", headers=OF_NOVA, status=400)
    (request,) = recorded(http)
    assert (request["kind"], request["reason"]) == ("invalid_request", "unknown_trait")
    assert (request["query"], request["global_request_id"]) == (query, GLOBAL_ID)
    sentence = "CUSTOM_TYPO does not exist; similar: CUSTOM_TYPE"
    assert request["explanation"] == {
        "version": 1,
        "code": "unknown_trait",
        "error": "No such trait(s): CUSTOM_TYPO.",
        "names": [{"name": "CUSTOM_TYPO", "similar": ["CUSTOM_TYPE"]}],
        "sentence": sentence,
    }
    own_id = response.headers["x-openstack-request-id"]
    for request_id in (own_id, GLOBAL_ID):
        assert http.get(f"/insight/requests/{request_id}", headers=HEADERS).json["requests"] == [
            request
        ]
    (line,) = loggers.messages(caplog, reports.LOG, level=logging.INFO)
    assert line == f"Invalid request for candidates {own_id}: {sentence}"


def test_an_unknown_class_is_recorded(http):
    query = "resources=VCPUS:1,VCPU:1&root_required=HW_CPU_X86_AVX3"
    http.get(f"/allocation_candidates?{query}", headers=OF_NOVA, status=400)
    (request,) = recorded(http)
    assert (request["kind"], request["reason"]) == ("invalid_request", "unknown_trait")
    assert [each["name"] for each in request["explanation"]["names"]] == [
        *("VCPUS", "HW_CPU_X86_AVX3")
    ]
    assert "VCPU" in request["explanation"]["names"][0]["similar"]


@pytest.fixture
def without_users(conf):
    conf.set_override("record_users", False, "insight")


@pytest.mark.usefixtures("without_users")
def test_ids_of_users_can_be_left_out(http):
    http.get("/allocation_candidates?resources=VCPU:7", headers=OF_NOVA)
    put(http, claim(5) | {"user_id": "user-of-claim"}, 204)
    put(http, claim(5) | {"user_id": "user-of-claim"}, 409, consumer=HOST)
    requests = recorded(http)
    assert [request["user_id"] for request in requests] == [None, None]
    assert [request["project_id"] for request in requests] == ["p", "service"]
    assert "user-of-claim" not in str(requests)


def test_a_record_has_the_project_of_the_refused_claim_and_of_the_caller_of_a_search(http):
    """Nova is the caller of both: a search does not contain the project of the server."""
    of_projects = {
        consumer: claim(amount) | {"project_id": project, "user_id": f"user of {project}"}
        for consumer, amount, project in ((CONSUMER, 1, "p1"), (HOST, 6, "p2"))
    }
    http.post_json("/allocations", of_projects, headers=OF_NOVA, status=409)
    inventories = {"VCPU": {"total": 4}}
    body = {
        "inventories": {HOST: {"resource_provider_generation": 1, "inventories": inventories}},
        "allocations": {CONSUMER: of_projects[HOST] | {"project_id": "p3"}},
    }
    http.post_json("/reshaper", body, headers=OF_NOVA, status=409)
    http.get("/allocation_candidates?resources=VCPU:7", headers=OF_NOVA)
    owners = {(each["project_id"], each["user_id"]) for each in recorded(http)}
    assert owners == {("p2", "user of p2"), ("p3", "user of p2"), ("service", "nova")}


def test_a_refused_claim_is_recorded_and_logged_with_its_numbers(http, caplog):
    put(http, claim(4), 204)
    put(http, claim(5), 409, consumer=HOST)
    (line,) = loggers.messages(caplog, reports.LOG, level=logging.WARNING)
    assert line.startswith("Claim refused, req-")
    sentence = f"host has 2 of 6 VCPU free, 5 were claimed by server {HOST}"
    assert line.endswith(
        f": {sentence} (capacity: provider {HOST}, resource_class VCPU, needed 5, used 4, own 0, "
        f"reserved 2, capacity 6, consumer {HOST})"
    )
    (request,) = recorded(http)
    assert (request["kind"], request["reason"]) == ("refused_claim", "capacity")
    assert request["global_request_id"] == GLOBAL_ID
    assert request["claim"]["allocations"] == {HOST: {"resources": {"VCPU": 5}}}
    assert request["claim"]["project_id"] == "p"
    assert (request["project_id"], request["user_id"]) == ("p", "u")  # not of the caller, nova
    assert request["claim"]["providers"] == {HOST: "host"}
    assert request["explanation"]["provider"] == {"uuid": HOST, "name": "host"}
    assert request["explanation"]["sentence"] == sentence
    assert "query" not in request


GONE = claim() | {"allocations": {CONSUMER: {"resources": {"VCPU": 1}}}}


@pytest.mark.parametrize(
    ("body", "status", "kind", "reason"),
    [
        (claim(7), 409, "refused_claim", "unit"),
        (claim(1, "DISK_GB"), 409, "refused_claim", "no_inventory"),
        (GONE, 400, "refused_claim", "no_provider"),
        (claim(1, "CUSTOM_NO"), 400, "refused_claim", "unknown_class"),
        (claim(1, generation=7), 409, "lost_race", "consumer_generation"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_refusal_has_its_code(http, body, status, kind, reason):
    response = put(http, body, status)
    (request,) = recorded(http, f"/{response.headers['x-openstack-request-id']}")
    assert (request["kind"], request["reason"]) == (kind, reason)
    assert CONSUMER in request["explanation"]["sentence"]


def test_the_change_is_read_once_for_equal_refusals(http, monkeypatch):
    read = []
    monkeypatch.setattr(
        reports, "change_of_refusal", lambda _, refusal: read.append(refusal) or ""
    )
    for body in (claim(100), claim(100), claim(1, "DISK_GB")):
        put(http, body, 409)
    assert [refusal.code for refusal in read] == ["unit", "no_inventory"]


def test_refused_writes_of_what_is_in_use_are_recorded(http, caplog):
    put(http, claim(1), 204)
    path = f"/resource_providers/{HOST}"
    body = {"resource_provider_generation": 2, "inventories": {}}
    http.put_json(f"{path}/inventories", body, headers=LATEST, status=409)
    http.delete(f"{path}/inventories", headers=LATEST, status=409)
    http.delete(f"{path}/inventories/VCPU", headers=LATEST, status=409)
    http.delete(path, headers=LATEST, status=409)
    of_provider, of_inventory = recorded(http)
    assert {request["kind"] for request in (of_provider, of_inventory)} == {"refused_write"}
    assert (of_provider["count"], of_inventory["count"]) == (1, 3)
    holders = f"because consumers use it: 1 in all, among them {CONSUMER}"
    assert of_provider["explanation"]["sentence"] == f"host was not deleted, {holders}"
    sentence = of_inventory["explanation"]["sentence"]
    assert sentence == f"the inventory of VCPU on host was not deleted, {holders}"
    assert sum(holders in line for line in loggers.messages(caplog, reports.LOG)) == 4


def test_the_refused_deletion_of_a_parent_is_recorded(http):
    body = {"name": "numa0", "parent_provider_uuid": HOST}
    child = http.post_json("/resource_providers", body, headers=LATEST).json["uuid"]
    http.delete(f"/resource_providers/{HOST}", headers=LATEST, status=409)
    (request,) = recorded(http)
    assert (request["kind"], request["reason"]) == ("refused_write", "has_children")
    sentence = request["explanation"]["sentence"]
    assert sentence.startswith("host was not deleted, because it has child providers: ")
    assert child in sentence


def test_an_inventory_that_reserves_too_much_or_exists_is_recorded(http):
    path = f"/resource_providers/{HOST}/inventories"
    inventory = {"total": 8, "reserved": 9}
    body = {"resource_provider_generation": 1, "inventories": {"VCPU": inventory}}
    http.put_json(path, body, headers=LATEST, status=400)
    http.post_json(path, {"resource_class": "VCPU", "total": 8}, headers=LATEST, status=409)
    exists, reserves = recorded(http)
    assert {exists["kind"], reserves["kind"]} == {"refused_write"}
    assert (exists["reason"], reserves["reason"]) == ("inventory_exists", "invalid_inventory")
    sentence = "the inventory of VCPU on host was not written, because "
    assert exists["explanation"]["sentence"] == f"{sentence}it exists"
    reason = "the reserved value is greater than total"
    assert reserves["explanation"]["sentence"] == f"{sentence}{reason}"


def test_a_stale_generation_of_traits_and_aggregates_is_a_lost_race(http):
    path = f"/resource_providers/{HOST}"
    for generation, status in ((7, 409), (1, 200)):
        for name in ("traits", "aggregates"):
            body = {"resource_provider_generation": generation, name: []}
            http.put_json(f"{path}/{name}", body, headers=LATEST, status=status)
        (request,) = recorded(http)
        assert (request["kind"], request["reason"]) == ("lost_race", "provider_generation")
        assert (request["count"], request["is_superseded"]) == (2, status == 200)


def change_inventory(http, generation, status):
    body = {"resource_provider_generation": generation, "total": 8}
    http.put_json(
        f"/resource_providers/{HOST}/inventories/VCPU", body, headers=LATEST, status=status
    )


def test_a_lost_race_is_superseded_by_the_next_accepted_write(http):
    """Also one about a provider; another consumer makes no difference."""
    put(http, claim(1, generation=7), 409)
    put(http, claim(1), 204, consumer=HOST)
    change_inventory(http, 1, 409)
    assert [request["is_superseded"] for request in recorded(http)] == [False, False]
    document = http.get("/insight/requests/summary", headers=HEADERS).json
    assert (document["requests"], document["reasons"]) == (0, [])
    assert names(document)["races"] == {"consumer_generation": 1, "provider_generation": 1}
    put(http, claim(1), 204)
    change_inventory(http, 3, 200)
    assert [request["is_superseded"] for request in recorded(http)] == [True, True]
    assert http.get("/insight/requests/summary", headers=HEADERS).json["races"] == []


def test_a_release_supersedes_a_lost_race(http):
    put(http, claim(1), 204)
    put(http, claim(2, generation=7), 409)
    http.delete(f"/allocations/{CONSUMER}", headers=LATEST)
    assert [request["is_superseded"] for request in recorded(http)] == [True]


def test_a_reshape_supersedes_the_lost_races_of_its_providers(http):
    """A reshape that lost is about the provider, although it has a claim."""

    def reshape(generation, status):
        inventories = {"resource_provider_generation": generation, "inventories": {}}
        released = claim() | {"allocations": {}}
        body = {"inventories": {HOST: inventories}, "allocations": {CONSUMER: released}}
        http.post_json("/reshaper", body, headers=LATEST, status=status)

    reshape(7, 409)
    http.post_json("/allocations", {CONSUMER: claim()}, headers=LATEST)
    assert [request["is_superseded"] for request in recorded(http)] == [False]
    http.delete(f"/allocations/{CONSUMER}", headers=LATEST)
    generation = http.get(f"/resource_providers/{HOST}", headers=LATEST).json["generation"]
    reshape(generation, 204)
    assert [request["is_superseded"] for request in recorded(http)] == [True]


def test_the_write_that_won_a_race_does_not_supersede_it(http, monkeypatch):
    """It ends after the one that lost, but it began before: the client did not repeat it."""
    replace_allocations = allocation.replace

    def replace_slowly(*arguments):
        monkeypatch.setattr(allocation, "replace", replace_allocations)
        replace_allocations(*arguments)
        put(http, claim(2), 409)

    monkeypatch.setattr(allocation, "replace", replace_slowly)
    put(http, claim(1), 204)
    assert [request["is_superseded"] for request in recorded(http)] == [False]
    put(http, claim(2, generation=1), 204)
    assert [request["is_superseded"] for request in recorded(http)] == [True]


def test_a_write_that_meets_concurrent_writes_is_superseded_by_the_next(http, monkeypatch):
    def conflict(*_arguments):
        raise exception.Conflict

    with monkeypatch.context() as context:
        context.setattr(inventory, "update", conflict)
        change_inventory(http, 1, 409)
    assert [request["is_superseded"] for request in recorded(http)] == [False]
    change_inventory(http, 1, 200)
    assert [request["is_superseded"] for request in recorded(http)] == [True]


def test_claims_for_several_are_recorded_once(http):
    body = {CONSUMER: claim(1), HOST: claim(6)}
    http.post_json("/allocations", body, headers=OF_NOVA, status=409)
    (request,) = recorded(http)
    assert (request["claim"]["consumer_uuid"], request["claim"]["consumers"]) == (HOST, 2)


def test_a_claim_that_is_too_long_to_record_has_a_sentence(http):
    classes = [f"CUSTOM_{number:0248}" for number in range(250)]
    for name in classes:
        http.put(f"/resource_classes/{name}", headers=LATEST)
    inventories = {name: {"total": 1} for name in classes}
    body = {"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 6}} | inventories}
    http.put_json(f"/resource_providers/{HOST}/inventories", body, headers=LATEST)
    body = claim(5)
    body["allocations"][HOST]["resources"] |= dict.fromkeys(classes, 1)
    put(http, claim(4), 204, consumer=HOST)
    put(http, body, 409)
    (request,) = recorded(http)
    assert request["claim"]["truncated"]
    sentence = f"host has 2 of 6 VCPU free, 5 were claimed by consumer {CONSUMER}"
    assert request["explanation"]["sentence"] == sentence


def test_a_reshape_that_claims_too_much_is_recorded(http):
    own = {"VCPU": {"total": 2}}
    body = {
        "inventories": {HOST: {"resource_provider_generation": 1, "inventories": own}},
        "allocations": {CONSUMER: claim(6)},
    }
    http.post_json("/reshaper", body, headers=OF_NOVA, status=409)
    (request,) = recorded(http)
    assert (request["reason"], request["claim"]["consumer_uuid"]) == ("capacity", CONSUMER)


@pytest.mark.parametrize("path", ["", "/VCPU"])
def test_an_inventory_that_gets_smaller_than_what_is_used_is_logged(http, caplog, path):
    put(http, claim(6), 204)

    def change(generation, **inventory):
        body = inventory if path else {"inventories": {"VCPU": inventory}}
        body |= {"resource_provider_generation": generation}
        http.put_json(f"/resource_providers/{HOST}/inventories{path}", body, headers=LATEST)

    change(2, total=6)
    assert loggers.messages(caplog, inventory.LOG) == []
    change(3, total=8, reserved=3)
    (line,) = loggers.messages(caplog, inventory.LOG)
    assert line == (
        f"Inventory change leaves less than is used: provider host ({HOST}), "
        "resource_class VCPU, used 6, reserved 3, capacity 5"
    )


def test_what_succeeds_is_not_recorded(http):
    put(http, claim(4), 204)
    http.get("/allocation_candidates?resources=VCPU:1", headers=LATEST)
    http.get("/allocation_candidates?resources=VCPU", headers=LATEST, status=400)
    assert recorded(http) == []


def test_pages_follow_each_other_from_new_to_old(http):
    for amount in range(100, 105):
        http.get(f"/allocation_candidates?resources=VCPU:{amount}", headers=LATEST)
    first = http.get("/insight/requests?limit=2", headers=HEADERS).json
    second = http.get(f"/insight/requests?limit=2&marker={first['next']}", headers=HEADERS).json
    last = http.get(f"/insight/requests?limit=2&marker={second['next']}", headers=HEADERS).json
    pages = [[each["query"] for each in page["requests"]] for page in (first, second, last)]
    queries = [f"resources=VCPU:{amount}" for amount in range(104, 99, -1)]
    assert pages == [queries[:2], queries[2:4], queries[4:]]
    assert last["next"] is None


def test_filters_hold_together(http):
    other = LATEST | {"X-Auth-Token": "admin:other"}
    http.get("/allocation_candidates?resources=VCPU:100", headers=other)
    http.get("/allocation_candidates?resources=VCPU:100", headers=LATEST)
    put(http, claim(1, "DISK_GB"), 409)
    assert len(recorded(http, "?project_id=service")) == 1
    assert len(recorded(http, "?project_id=p")) == 1  # of the claim
    assert len(recorded(http, "?project_id=p&reason=no_inventory")) == 1
    assert recorded(http, "?project_id=other&reason=no_inventory") == []
    hour = timedelta(hours=1)
    past, future = (f"{datetime.now(UTC) + way:%Y-%m-%dT%H:%M:%SZ}" for way in (-hour, hour / 2))
    assert len(recorded(http, f"?since={past}")) == 3
    assert recorded(http, f"?since={future}") == []
    assert len(recorded(http, "?since=0001-01-01")) == 3
    for since in ("1h", "2h30m", "yesterday", "2d", "P1D", "pt2h30m"):
        assert len(recorded(http, f"?since={since}")) == 3


def names(document):
    lists = summary.LISTS
    return {name: {row["name"]: row["requests"] for row in document[name]} for name in lists}


def test_a_summary_counts_by_what_was_lacking(http):
    other = LATEST | {"X-Auth-Token": "admin:other"}
    for query in ("resources=VCPU:100", f"resources=VCPU:1&member_of={CONSUMER}"):
        http.get(f"/allocation_candidates?{query}", headers=other)
    http.get("/allocation_candidates?resources=VCPU:1&required=HW_CPU_X86_VMX", headers=LATEST)
    put(http, claim(1, "DISK_GB"), 409)
    put(http, claim(1, generation=7), 409)
    document = http.get("/insight/requests/summary", headers=HEADERS).json
    assert (document["requests"], sum(document["per_hour"])) == (4, 4)
    assert len(document["per_hour"]) == 24
    assert names(document) == {
        "kinds": {"no_candidates": 3, "refused_claim": 1},
        "reasons": dict.fromkeys(("unit", "aggregate", "trait", "no_inventory"), 1),
        "resource_classes": {"VCPU": 1, "DISK_GB": 1},
        "traits": {"HW_CPU_X86_VMX": 1},
        "aggregates": {CONSUMER: 1},
        "projects": {"service": 1, "other": 2, "p": 1},
        "races": {"consumer_generation": 1},
    }
    of_other = http.get("/insight/requests/summary?project_id=other", headers=HEADERS).json
    assert names(of_other)["reasons"] == {"unit": 1, "aggregate": 1}
    future = f"{datetime.now(UTC) + timedelta(minutes=30):%Y-%m-%dT%H:%M:%SZ}"
    path = f"/insight/requests/summary?reason=trait&since={future}"
    assert len(http.get(path, headers=HEADERS).json["per_hour"]) == 1


@pytest.mark.parametrize(
    "query",
    [
        *("limit=0", "limit=1001", "limit=x", "marker=x", "marker=-1"),
        *(
            "since=recently",
            "since=",
            "since=1x",
            "since=9999999d",
            "since=999999w",
            "since=0001-01-01T00:00:00%2B14:00",
            "since=9999-12-31",
        ),
        *("reason=CAPACITY", "project_id=", "what=ever"),
    ],
)
@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_query_that_cannot_be_read_is_refused(http, query):
    response = http.get(f"/insight/requests?{query}", headers=HEADERS, status=400)
    detail = response.json["errors"][0]["detail"]
    assert query.partition("=")[0] in detail
    assert "schema" not in detail


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_an_unknown_reason_is_refused_with_the_reasons(http):
    response = http.get("/insight/requests?reason=nosuch", headers=HEADERS, status=400)
    detail = response.json["errors"][0]["detail"]
    assert "reason" in detail
    assert "'nosuch'" in detail
    assert {*REASONS} <= {*re.findall(r"\w+", detail)}
    for reason in REASONS:
        assert recorded(http, f"?reason={reason}") == []


def test_what_is_not_recorded_is_not_found(http):
    for request_id in (GLOBAL_ID, "nonsense", "%E2%98%83", "x" * 3000):
        http.get(f"/insight/requests/{request_id}", headers=HEADERS, status=404)
    assert recorded(http, f"?marker={2**63 - 1}") == []
    assert recorded(http, f"?marker={10**19 - 1}") == []


def test_names_of_any_script_are_recorded(http):
    """With noauth2 the caller chooses the names; a database may not store all characters."""
    odd = LATEST | {"X-Auth-Token": "n\xf8va:\xe9"}
    http.get("/allocation_candidates?resources=VCPU:100", headers=odd)
    assert len(recorded(http)) == 1


def test_it_can_be_turned_off(conf):
    conf.set_override("record", False, "insight")
    store = Store(db_api.settings(conf))
    with replaced_store(store):
        http = webtest.TestApp(deploy.loadapp(conf))
        http.get("/allocation_candidates?resources=VCPU:100", headers=LATEST)
        assert http.get("/insight", headers=HEADERS).json["enabled"]["record"] is False
        assert recorded(http) == []
    store.dispose()


# --- records that wait ----------------------------------------------------------------------


@pytest.fixture
def no_timers(monkeypatch):
    """No timer writes the records."""
    monkeypatch.setattr(recorders, "start_timer", lambda *_: None)


@pytest.mark.parametrize(
    ("path", "listed"),
    [
        ("/insight/requests", "requests"),
        (f"/insight/requests/{GLOBAL_ID}", "requests"),
        ("/insight/requests/summary", "reasons"),
        ("/insight/identity?name=host", "conflicts"),
    ],
)
def test_each_reader_of_a_process_writes_its_records_first(no_timers, http, store, path, listed):
    put(http, claim(7), 409)
    http.post_json("/resource_providers", {"name": "host"}, headers=OF_NOVA, status=409)
    assert count(store) == 0
    assert len(http.get(path, headers=HEADERS).json[listed]) == 1
    assert count(store) == 2


def refuse(service):
    """Have the service refuse to create a provider a second time."""
    service.get()
    for status in (200, 409):
        url = f"{service.url}/resource_providers"
        response = requests.post(url, json={"name": "host"}, headers=LATEST, timeout=60)
        assert response.status_code == status


def conflicts(folder):
    """Return the conflicts that this process reads in the database of ``--development``."""
    store = Store(DatabaseSettings(f"sqlite:///{folder}/placement.sqlite"))
    try:
        return identify(store, "host").conflicts
    finally:
        store.dispose()


SEVERAL_THREADS = ("--development", ".", "--port", "0")
DEVELOPMENT = (*SEVERAL_THREADS, "--threads", "1")


def test_a_client_reads_the_record_of_its_last_response_at_once(tmp_path):
    """The record is written after the response; another thread serves the reader."""
    with ApiProcess(tmp_path, *SEVERAL_THREADS) as service:
        service.get()
        for amount in range(1, 11):
            query = f"{service.url}/allocation_candidates?resources=VCPU:{amount}"
            empty = requests.get(query, headers=LATEST, timeout=60)
            request_id = empty.headers["x-openstack-request-id"]
            url = f"{service.url}/insight/requests/{request_id}"
            assert requests.get(url, headers=LATEST, timeout=60).status_code == 200


def test_another_process_reads_a_record_a_moment_later(tmp_path):
    with ApiProcess(tmp_path, *DEVELOPMENT) as service:
        refuse(service)
        wait_until(lambda: conflicts(tmp_path))


def test_a_process_that_is_stopped_writes_the_records_that_wait(tmp_path):
    later = {"OS_INSIGHT__RECORD_PER_SECOND": "1"}
    with ApiProcess(tmp_path, *DEVELOPMENT, **later) as service:
        refuse(service)
        service.get()  # in the same thread: the record waits
        service.process.terminate()
        service.process.wait(STOP_TIMEOUT_SECONDS)
    assert len(conflicts(tmp_path)) == 1


# --- failing, and several at once -----------------------------------------------------------


def test_without_its_table_nothing_is_slower_or_different(http, store, caplog):
    """As between a release and its migration, or where rights on the table are missing."""
    with store.engines().writer.begin() as connection:
        connection.execute(sa.text("ALTER TABLE insight_requests RENAME TO elsewhere"))
    try:
        for _ in range(3):
            response = http.get("/allocation_candidates?resources=VCPU:100", headers=LATEST)
            assert response.json["allocation_requests"] == []
            put(http, claim(1, "DISK_GB"), 409)
        lines = loggers.messages(caplog, recorders.LOG, level=logging.WARNING)
        assert sum(line.startswith("Requests cannot be recorded") for line in lines) == 1
    finally:
        with store.engines().writer.begin() as connection:
            connection.execute(sa.text("ALTER TABLE elsewhere RENAME TO insight_requests"))


def count(store):
    with store.read() as tx:
        return tx.connection.execute(
            sa.select(sa.func.count()).select_from(tables.insight_requests)
        ).scalar_one()


def test_several_hosts_keep_the_table_within_its_bounds(store, other_store):
    limits = RecorderSettings(record_max_rows=120, record_per_second=1000)
    hosts = [Recorder(each, limits) for each in (store, other_store)]
    for number in range(400):
        hosts[number % 2].record(record(number))
        if number % 20 == 0:
            assert count(store) <= 120 + 2 * recorders.PRUNE_AFTER_ROWS
    assert 120 <= count(store) <= 120 + 2 * recorders.PRUNE_AFTER_ROWS
    requests = find(store, RecordedFilter(limit=400))
    assert requests[0].request_id == "req-399"
    assert len({each.id for each in requests}) == len(requests)


def test_old_rows_are_removed_when_new_ones_come(store):
    store.write(add, [replace(record(number), id=number) for number in range(150)])
    recorder = Recorder(store, RecorderSettings())
    for number in range(150, 152):  # a write removes at most 100 rows
        recorder.record(record(number))
    assert count(store) == 2


def test_a_summary_has_the_hour_of_each_record(store):
    until = datetime(2026, 11, 21, 2, 14, 7, tzinfo=UTC)
    since = summary.beginning(None, until)
    ages = [timedelta(minutes=minutes) for minutes in (0, 14, 15, 74, 75, 2000)]
    records = [replace(record(n), id=first_id(until - age)) for n, age in enumerate(ages)]
    conflict = replace(record(len(ages)), id=first_id(until) + 1, kind="name_conflict")
    store.write(add, [*records, conflict])
    document = summary.summary(hourly(store, RecordedFilter(since=since)), since, until)
    assert document["per_hour"] == [*[0] * 21, 1, 2, 2]
    assert document["resource_classes"] == []


# --- texts that the database cannot store -------------------------------------------------


@pytest.mark.parametrize(
    "query", ["resources=%F0%9F%98%80:1", "resources=VCPU:1&required=%F0%9F%98%80"]
)
@pytest.mark.parametrize("version", ["1.10", "1.32", "latest"])
def test_names_with_characters_beyond_the_basic_plane_are_recorded(http, query, version):
    """MariaDB's utf8mb3 cannot store them; later requests are recorded, too."""
    headers = HEADERS | {"OpenStack-API-Version": f"placement {version}"}
    http.get(f"/allocation_candidates?{query}", headers=headers, status=400)
    is_unknown = version != "1.10" or "required" not in query  # added in 1.17
    http.get("/allocation_candidates?resources=VCPU:7", headers=OF_NOVA)
    kinds = [request["kind"] for request in recorded(http)]
    assert kinds == ["no_candidates", *["invalid_request"] * is_unknown]
    assert http.get("/insight/requests/summary", headers=HEADERS).json["requests"] == len(kinds)


@pytest.mark.parametrize("backend", ["mariadb", "postgresql"], indirect=True)
def test_a_record_that_the_database_refuses_is_dropped_alone(store):
    refused = replace(record(1), subject="x" * 300)
    recorder = Recorder(store, RecorderSettings())
    recorder._waiting |= {each.request_id: each for each in (record(0), refused)}  # of others
    for number in (2, 3):
        recorder.record(record(number))
    stored = {each.request_id for each in find(store, RecordedFilter())}
    assert stored == {"req-0", "req-2", "req-3"}
    assert recorder.dropped == 1
