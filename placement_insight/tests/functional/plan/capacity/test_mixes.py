"""Mixes of shapes, and hosts that do not exist, over HTTP: against hosts that are created."""

from urllib.parse import urlencode

import pytest

from placement_insight.tests.functional.plan.capacity.test_capacity import (
    HEADERS,
    backend,
    http,
    provider,
)

__all__ = ["backend", "http"]

STORAGE = "11111111-0000-4000-8000-000000000001"
UNKNOWN = "aaaaaaaa-0000-4000-8000-00000000000f"
QUERY = "resources=VCPU:2,MEMORY_MB:512"
MIX = [("shape", QUERY), ("share", "3"), ("shape", f"{QUERY},DISK_GB:5"), ("share", "2")]
GPU_MIX = [("shape", QUERY), ("share", "1"), ("shape", f"{QUERY}&resources1=VGPU:1"), ("share", 1)]
CAPACITY = ("claims", "at_most", "exact", "roots", "free", "stranded", "largest", "limited_by")


def capacity(http, *pairs):
    path = f"/insight/capacity?{urlencode(pairs)}"
    document = http.get(path, headers=HEADERS).json
    return {name: document[name] for name in CAPACITY}


def host(http, name):
    """Create a host with two GPUs, and the disks of a storage; return its providers."""
    root = provider(http, name, {"VCPU": 8, "MEMORY_MB": 4096}, aggregates=[STORAGE])
    children = [provider(http, f"{name}-gpu{number}", {"VGPU": 1}, root) for number in range(2)]
    return [root, *children]


@pytest.fixture
def cloud(http):
    sharing = ["MISC_SHARES_VIA_AGGREGATE"]
    provider(http, "storage", {"DISK_GB": 100}, traits=sharing, aggregates=[STORAGE])
    return [host(http, f"cn{number}") for number in range(3)]


@pytest.mark.parametrize("pairs", [[("resources", "VCPU:3")], MIX, GPU_MIX])
def test_more_hosts_count_like_hosts_that_are_created(http, cloud, pairs):
    claim = {
        "allocations": {cloud[0][0]: {"resources": {"VCPU": 5}}},
        "project_id": "project",
        "user_id": "user",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    http.put_json(f"/allocations/{UNKNOWN}", claim, headers=HEADERS)
    now = capacity(http, *pairs)
    expected = capacity(http, *pairs, ("like", f"{cloud[0][0]}:1"), ("like", f"{cloud[1][0]}:1"))
    assert expected == capacity(http, *pairs, ("like", f"{cloud[0][0].upper()}:2"))
    assert capacity(http, *pairs) == now
    host(http, "new1")
    host(http, "new2")
    assert capacity(http, *pairs) == expected
    assert expected["claims"] > now["claims"]


@pytest.mark.parametrize("pairs", [[("resources", "VCPU:3")], MIX, GPU_MIX])
@pytest.mark.parametrize("only_a_gpu", [False, True])
def test_removed_providers_count_like_providers_that_are_deleted(http, cloud, pairs, only_a_gpu):
    removed = cloud[1][1:2] if only_a_gpu else cloud[1]
    now = capacity(http, *pairs)
    expected = capacity(http, *pairs, ("without", removed[0]))
    assert capacity(http, *pairs) == now
    for uuid in reversed(removed):
        http.delete(f"/resource_providers/{uuid}", headers=HEADERS)
    assert capacity(http, *pairs) == expected


def test_a_mix_of_one_shape_is_the_shape(http, cloud):
    pairs = [("resources", "VCPU:3,DISK_GB:7")]
    mix = capacity(http, ("shape", urlencode(pairs)), ("share", 1))
    assert mix == capacity(http, *pairs)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("share", "1")], "there are 0 shapes and 1 shares"),
        ([("shape", QUERY)], "there are 1 shapes and 0 shares"),
        (
            [("shape", QUERY), ("share", "0")],
            "share is '0', which is not a number from 1 to 999999",
        ),
        ([("shape", QUERY), ("share", "1000000")], "not a number from 1 to 999999"),
        ([("shape", QUERY), ("share", "-1")], "not a number from 1 to 999999"),
        ([("shape", ""), ("share", "1")], ""),
        ([("shape", "VCPU:1"), ("share", "1")], ""),
        ([("shape", "resources=VCPU"), ("share", "1")], "resources"),
        ([("shape", "resources=CUSTOM_NO:1"), ("share", "1")], "CUSTOM_NO"),
        ([("shape", QUERY + "&required=CUSTOM_NO"), ("share", "1")], "CUSTOM_NO"),
        ([("shape", QUERY + "&by=root"), ("share", "1")], "there is no parameter 'by'. Param"),
        ([("resources", "VCPU:1"), ("foo", "1")], "there is no parameter 'foo'. Parameters: "),
        ([("shape", QUERY), ("share", "1"), ("by", "root")], "by cannot be used beside shape"),
        ([("shape", QUERY), ("share", "1"), ("resources", "VCPU:1")], "resources cannot be used"),
        ([("shape", QUERY), ("share", "1")] * 9, "there are 9 shapes; a mix has at most 8"),
        ([("resources", "VCPU:1"), ("like", UNKNOWN)], "UUID:N, the root of a host and a number"),
        ([("resources", "VCPU:1"), ("like", f"{UNKNOWN}:0")], "UUID:N"),
        ([("resources", "VCPU:1"), ("like", f"{UNKNOWN}:1")], f"no resource provider {UNKNOWN}"),
        ([("resources", "VCPU:1"), ("without", UNKNOWN)], f"no resource provider {UNKNOWN}"),
        ([("resources", "VCPU:1"), ("without", "cn1")], "without"),
        ([("like", f"{UNKNOWN}:1")], ""),
    ],
)
def test_invalid_mixes_and_hosts_are_refused(http, cloud, pairs, message):
    response = http.get(f"/insight/capacity?{urlencode(pairs)}", headers=HEADERS, status=400)
    assert message in response.json["errors"][0]["detail"]


def test_only_roots_are_copied_and_not_too_often(http, cloud):
    root, gpu, _ = cloud[0]
    for like, message in (
        (f"{gpu}:1", f"Name the root of its tree: {root} (cn0)"),
        (f"{root}:9999", "like adds 29997 providers"),
    ):
        path = f"/insight/capacity?resources=VCPU:1&like={like}"
        response = http.get(path, headers=HEADERS, status=400)
        assert message in response.json["errors"][0]["detail"]
