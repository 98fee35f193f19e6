"""The requests that nova sends for flavors."""

import json
from types import SimpleNamespace

import pytest
from osc_lib.exceptions import CommandError

from placement_insight.plan.capacity.flavors import not_counted, request_of, requests_of
from placement_insight.tests.support.nova_documents import flavor

ENABLED = ("root_required", "!COMPUTE_STATUS_DISABLED")
TINY = ("resources", "VCPU:1,MEMORY_MB:512,DISK_GB:1")


def request(**changes):
    return request_of(flavor() | {"extra_specs": {}} | changes)


def test_a_flavor_requests_what_it_gives_to_a_server():
    assert request() == [TINY, ENABLED]
    amounts = {"vcpus": 4, "ram": 8192, "disk": 20, "swap": 1500, "OS-FLV-EXT-DATA:ephemeral": 30}
    assert request(**amounts) == [("resources", "VCPU:4,MEMORY_MB:8192,DISK_GB:52"), ENABLED]


def test_a_flavor_without_disk_requests_none():
    assert request(disk=0) == [("resources", "VCPU:1,MEMORY_MB:512"), ENABLED]


@pytest.mark.parametrize(
    ("specs", "pairs"),
    [
        ({"hw:cpu_policy": "dedicated"}, [("resources", "PCPU:1,MEMORY_MB:512,DISK_GB:1")]),
        (
            {"resources:VCPU": "0", "resources:CUSTOM_BAREMETAL": "1"},
            [("resources", "MEMORY_MB:512,DISK_GB:1,CUSTOM_BAREMETAL:1")],
        ),
        (
            {"trait:HW_CPU_X86_AVX2": "required", "trait:CUSTOM_OLD": "forbidden"},
            [TINY, ("required", "HW_CPU_X86_AVX2,!CUSTOM_OLD")],
        ),
        (
            {"resources1:CUSTOM_GPU": "1", "trait1:CUSTOM_A100": "required"},
            [
                *(TINY, ("resources1", "CUSTOM_GPU:1"), ("required1", "CUSTOM_A100")),
                ("group_policy", "none"),
            ],
        ),
        (
            {"resources_A:VGPU": "1", "resources_B:VGPU": "1", "group_policy": "isolate"},
            [
                *(TINY, ("resources_A", "VGPU:1"), ("resources_B", "VGPU:1")),
                ("group_policy", "isolate"),
            ],
        ),
        ({"resources:VCPU": "many", "trait:CUSTOM_A": "wanted", "hw:numa_nodes": "1"}, [TINY]),
    ],
    ids=["dedicated", "replaced", "traits", "group", "isolated groups", "not understood"],
)
def test_extra_specs_change_the_request(specs, pairs):
    assert request(extra_specs=specs) == [*pairs, ENABLED]


def test_what_a_request_does_not_count():
    asked = {
        "pci_passthrough:alias": "nic:1",
        "accel:device_profile": "fpga",
        "hw:numa_nodes": "2",
        "resources:VCPU": "many",
    }
    counted = {
        "resources1:VCPU": "2",
        "trait:CUSTOM_A": "required",
        "group_policy": "none",
        "hw:cpu_policy": "dedicated",
        "quota:cpu_shares": "9",
    }
    assert not_counted({"extra_specs": asked | counted}) == [f"{n}={v}" for n, v in asked.items()]


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"flavors": {}},
        {"flavors": [{"id": "1"}]},
        {"flavors": [flavor() | {"extra_specs": None}]},
        {"flavors": [flavor() | {"swap": {}, "extra_specs": {}}]},
        {"flavors": [flavor() | {"extra_specs": {}}]},  # the same page without an end
    ],
)
def test_flavors_that_are_not_of_the_api_are_an_error(document):
    response = SimpleNamespace(
        status_code=200, text=json.dumps(document), json=lambda: document, headers={}
    )
    compute = SimpleNamespace(get=lambda *_, **__: response)
    with pytest.raises(CommandError):
        requests_of(SimpleNamespace(compute=compute))
