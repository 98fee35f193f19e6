"""Capacity in shapes is what a client can claim over HTTP until nothing is offered."""

import uuid

import pytest
import webtest

HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest"}


@pytest.fixture
def backend():
    """What is counted is the snapshot; it is the same on each database."""
    return "sqlite"


@pytest.fixture
def http(application):
    return webtest.TestApp(application)


def provider(http, name, stock, parent=None, *, traits=(), aggregates=()):
    created = http.post_json(
        "/resource_providers", {"name": name, "parent_provider_uuid": parent}, headers=HEADERS
    ).json
    path, generation = f"/resource_providers/{created['uuid']}", 0
    for noun, value in (
        ("inventories", {"inventories": {k: {"total": v} for k, v in stock.items()}}),
        ("traits", {"traits": list(traits)}),
        ("aggregates", {"aggregates": list(aggregates)}),
    ):
        body = {"resource_provider_generation": generation, **value}
        response = http.put_json(f"{path}/{noun}", body, headers=HEADERS).json
        generation = response["resource_provider_generation"]
    return created["uuid"]


def flat(http):
    for number in range(5):
        provider(http, f"host{number}", {"VCPU": 8 + number, "MEMORY_MB": 4096})


def nested(http):
    for number in range(3):
        host = provider(http, f"host{number}", {"MEMORY_MB": 4096, "DISK_GB": 50})
        for node in range(2):
            provider(http, f"host{number}-{node}", {"VCPU": 4 + node}, host)


def shared(http):
    rack = str(uuid.uuid4())
    sharing = ["MISC_SHARES_VIA_AGGREGATE"]
    provider(http, "storage", {"DISK_GB": 100}, traits=sharing, aggregates=[rack])
    for number in range(4):
        provider(http, f"host{number}", {"VCPU": 4}, aggregates=[rack])


def claim_all(http, query):
    """Claim the first candidate that is offered until there is none; return how often."""
    count = 0
    while True:
        path = f"/allocation_candidates?limit=1&{query}"
        offered = http.get(path, headers=HEADERS).json["allocation_requests"]
        if not offered:
            return count
        body = {
            "allocations": offered[0]["allocations"],
            "mappings": offered[0]["mappings"],
            "project_id": "project",
            "user_id": "user",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        http.put_json(f"/allocations/{uuid.uuid4()}", body, headers=HEADERS)
        count += 1


@pytest.mark.parametrize(
    ("cloud", "query", "claims"),
    [
        (flat, "resources=VCPU:3,MEMORY_MB:1000", 2 + 3 + 3 + 3 + 4),
        (flat, "resources1=VCPU:1&resources2=VCPU:2,MEMORY_MB:512&group_policy=none", 15),
        (nested, "resources=VCPU:2,MEMORY_MB:512,DISK_GB:5", 12),
        (nested, "resources=MEMORY_MB:64&resources1=VCPU:4", 6),
        (shared, "resources=VCPU:1,DISK_GB:9", 11),
        (shared, "resources=DISK_GB:30", 3),
    ],
)
def test_as_many_claims_are_accepted_as_the_capacity_says(http, cloud, query, claims):
    cloud(http)
    capacity = http.get(f"/insight/capacity?{query}", headers=HEADERS).json
    assert (capacity["claims"], capacity["exact"]) == (claims, True)
    assert claim_all(http, query) == claims
    after = http.get(f"/insight/capacity?{query}", headers=HEADERS).json
    assert (after["claims"], after["at_most"], after["roots"]) == (0, 0, 0)


def test_isolated_groups_of_trees_are_within_the_bound(http):
    host = provider(http, "host", {"DISK_GB": 50})
    for number, total in enumerate((12, 4)):
        provider(http, f"node{number}", {"VCPU": total}, host)
    query = "resources1=VCPU:4&resources2=VCPU:4&group_policy=isolate"
    capacity = http.get(f"/insight/capacity?{query}", headers=HEADERS).json
    assert not capacity["exact"]
    assert 0 < claim_all(http, query) <= capacity["at_most"]


def test_groups_add_up_to_the_whole(http):
    flat(http)
    capacity = http.get("/insight/capacity?resources=VCPU:3&by=root", headers=HEADERS).json
    assert [each["name"] for each in capacity["by"]] == [f"host{number}" for number in range(5)]
    for name in ("claims", "roots"):
        assert sum(each[name] for each in capacity["by"]) == capacity[name]
    assert sum(each["free"]["VCPU"] for each in capacity["by"]) == capacity["free"]["VCPU"]
