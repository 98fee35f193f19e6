"""``GET /insight/explanation``, for names that do not exist and for one host."""

import pytest
import webtest

HOST = "aaaaaaaa-0000-4000-8000-000000000001"
HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest"}


@pytest.fixture
def http(application):
    http = webtest.TestApp(application)
    http.post_json("/resource_providers", {"name": "host1", "uuid": HOST}, headers=HEADERS)
    body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}
    http.put_json(f"/resource_providers/{HOST}/inventories", body, headers=HEADERS)
    return http


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_unknown_names_are_refused_with_similar_names(http):
    query = "resources=VCPUS:1&required=HW_CPU_X86_AVX3"
    response = http.get(f"/insight/explanation?{query}", headers=HEADERS, status=400)
    detail = response.json["errors"][0]["detail"]
    assert "VCPUS does not exist; similar: VCPU, VGPU, PCPU; HW_CPU_X86_AVX3" in detail
    assert "HW_CPU_X86_AVX3 does not exist; similar: HW_CPU_X86_AVX" in detail


def test_a_root_is_explained(http):
    path = f"/insight/explanation?resources=VCPU:9&root={HOST.upper()}"
    document = http.get(path, headers=HEADERS).json
    assert document["root"] == {"uuid": HOST, "name": "host1", "fits": False}
    assert [miss["uuid"] for miss in document["near_misses"]] == [HOST]
    missing = http.get(path[:-1] + "f", headers=HEADERS, status=400)
    assert "root: No resource provider with uuid" in missing.text
    fitting = http.get(path.replace("VCPU:9", "VCPU:8"), headers=HEADERS).json
    assert fitting["root"]["fits"]
