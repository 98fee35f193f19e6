"""``placement-manage explain``, as an operator runs it on the API host."""

import json
from dataclasses import replace

import pytest
import webtest

from placement.cmd import manage
from placement.microversion import MAX_VERSION
from placement_insight.explain.records import sql
from placement_insight.tests.support.records import record

HOST = "aaaaaaaa-0000-4000-8000-000000000001"
CONSUMER = "cccccccc-0000-4000-8000-000000000001"
GLOBAL_ID = "req-8c1f0a2b-1b3d-4e5f-9a7b-0c1d2e3f4a5b"
HEADERS = {
    "X-Auth-Token": "nova:service",
    "X-Roles": "admin,service",
    "OpenStack-API-Version": "placement latest",
    "X-Openstack-Request-Id": GLOBAL_ID,
}

ON_SQLITE = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)


@pytest.fixture
def http(application):
    http = webtest.TestApp(application)
    http.post_json("/resource_providers", {"name": "host1", "uuid": HOST}, headers=HEADERS)
    body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}
    http.put_json(f"/resource_providers/{HOST}/inventories", body, headers=HEADERS)
    return http


@pytest.fixture
def explain(http, database_url, monkeypatch, capsys):
    """Return a function that runs the command, and returns its exit status and what it printed."""
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", database_url)

    def run(*arguments):
        code = manage.main(["explain", *arguments])
        return code, capsys.readouterr()

    return run


def test_a_query_is_explained_as_text(explain):
    code, printed = explain("resources=VCPU:12&required=!HW_CPU_X86_VMX", "--remedies")
    assert code == 0
    assert printed.out.splitlines() == [
        "No host for resources=VCPU:12&required=!HW_CPU_X86_VMX",
        "1 root",
        "  1  fewer than 12 VCPU free  0 left   best: host1 has 8 free",
        "Closest: host1 (VCPU 8 of 12)",
        "Would fit: 1 host at VCPU:8",
    ]


def test_a_query_is_explained_as_json(explain):
    code, printed = explain("/allocation_candidates?resources=VCPU:4", "--json")
    document = json.loads(printed.out)
    assert (code, document["fits"], document["query"]) == (0, 1, "resources=VCPU:4")


@ON_SQLITE
def test_unknown_names_are_refused_with_similar_names(http, explain):
    query = "resources=VCPUS:1&required=HW_CPU_X86_AVX3"
    code, printed = explain(query)
    error = printed.err.removeprefix("placement-manage: ").strip()
    sentences = error.split("; HW_")
    assert (code, sentences[0]) == (1, "VCPUS does not exist; similar: VCPU, VGPU, PCPU")
    assert sentences[1].startswith("CPU_X86_AVX3 does not exist; similar: HW_CPU_X86_AVX")
    response = http.get(f"/insight/explanation?{query}", headers=HEADERS, status=400)
    assert error in response.json["errors"][0]["detail"]


@ON_SQLITE
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), 'Give a query, such as "resources=VCPU:4", or --request-id.'),
        (
            ("resources=VCPU:1", "--microversion", "9"),
            f"--microversion 9: use a number from 1.10 to {MAX_VERSION}, or latest.",
        ),
        (("resources=VCPU:1", "--host", ""), "No provider has the name"),
    ],
)
def test_what_to_do_is_said(explain, arguments, sentence):
    code, printed = explain(*arguments)
    assert (code, printed.out) == (1, "")
    assert sentence in printed.err


@ON_SQLITE
def test_the_query_is_read_at_the_microversion(explain):
    assert explain("resources=VCPU:4", "--microversion", "latest")[0] == 0
    code, printed = explain("resources=VCPU:4&in_tree=" + HOST, "--microversion", "1.30")
    assert code == 1
    assert "in_tree" in printed.err
    assert explain("resources=VCPU:4&in_tree=" + HOST, "--microversion", "1.31")[0] == 0


@ON_SQLITE
@pytest.mark.parametrize("arguments", [(), ("resources=CUSTOM_NO:1",), ("resources=VCPU",)])
def test_what_cannot_be_read_is_said(explain, arguments):
    code, printed = explain(*arguments)
    assert (code, printed.out) == (1, "")
    assert printed.err


def test_recorded_requests_are_found_by_the_global_id(http, explain):
    http.get("/allocation_candidates?resources=VCPU:9", headers=HEADERS)
    claim = {
        "allocations": {HOST: {"resources": {"VCPU": 9}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    http.put_json(f"/allocations/{CONSUMER}", claim, headers=HEADERS, status=409)
    code, printed = explain("--request-id", GLOBAL_ID)
    assert code == 0
    assert "No host for resources=VCPU:9 (requested at " in printed.out
    assert GLOBAL_ID in printed.out
    sentence = f"host1 has 8 of 8 VCPU free, 9 were claimed by server {CONSUMER}"
    assert f"Claim refused: {sentence} (requested at " in printed.out
    assert f"  provider: host1 ({HOST})\n" in printed.out
    assert "needed: 9" in printed.out
    code, printed = explain("--request-id", GLOBAL_ID, "--json")
    assert len(json.loads(printed.out)["requests"]) == 2


def test_an_explanation_that_was_too_long_to_record_has_its_reason(store, explain):
    store.write(sql.add, [replace(record(), explanation='{"truncated": true, "length": 9}')])
    code, printed = explain("--request-id", "req-0")
    assert code == 0
    assert printed.out.startswith("No host for resources=VCPU:1 (requested at ")
    assert printed.out.endswith(": capacity\n")


@ON_SQLITE
def test_an_invalid_request_is_found_with_similar_names(http, explain):
    query = "resources=VCPU:1&required=HW_CPU_X86_AVX3"
    http.get(f"/allocation_candidates?{query}", headers=HEADERS, status=400)
    code, printed = explain("--request-id", GLOBAL_ID)
    assert code == 0
    assert printed.out.startswith(f"Invalid request {query} (requested at ")
    assert "): HW_CPU_X86_AVX3 does not exist; similar: HW_CPU_X86_AVX" in printed.out


def test_one_host_is_explained_by_its_name(explain):
    code, printed = explain("resources=VCPU:12&required=HW_CPU_X86_VMX", "--host", "HOST1.example")
    assert code == 0
    assert printed.out.splitlines() == [
        "host1 does not fit resources=VCPU:12&required=HW_CPU_X86_VMX",
        "  no trait HW_CPU_X86_VMX",
        "  VCPU 8 of 12",
        "Everything else fits.",
    ]


def test_one_host_that_fits(explain):
    for host in ("host1", HOST):
        code, printed = explain("resources=VCPU:8", "--host", host)
        assert code == 0
        first, second, limit, decision = printed.out.splitlines()
        assert (first, second) == ("host1 fits resources=VCPU:8", "1 of 1 roots fit.")
        assert "[scheduler]max_placement_results" in limit
        assert "[placement]rotate_limited_candidates" in limit
        assert "nova-scheduler" in decision
    code, printed = explain("resources=VCPU:8&limit=3", "--host", "host1")
    assert "The limit is 3: " in printed.out


@ON_SQLITE
def test_a_host_that_does_not_exist_is_said_with_similar_names(explain):
    code, printed = explain("resources=VCPU:8", "--host", "host2")
    assert (code, printed.out) == (1, "")
    sentence = "No provider has the name host2. Similar names: host1."
    assert printed.err == f"placement-manage: {sentence}\n"


def test_a_root_of_the_route_is_explained(http):
    path = f"/insight/explanation?resources=VCPU:9&root={HOST.upper()}"
    document = http.get(path, headers=HEADERS).json
    assert document["root"] == {"uuid": HOST, "name": "host1", "fits": False}
    assert [miss["uuid"] for miss in document["near_misses"]] == [HOST]
    missing = http.get(path[:-1] + "f", headers=HEADERS, status=400)
    assert "root: No resource provider with uuid" in missing.text


def test_an_id_without_records_is_said(explain):
    code, printed = explain("--request-id", "req-nothing")
    assert code == 1
    assert "req-nothing" in printed.err
    assert "Placement may have returned candidates, which Nova then filtered" in printed.err
    assert "nova-scheduler" in printed.err
