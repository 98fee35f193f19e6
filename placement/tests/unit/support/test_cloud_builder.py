"""The clouds that tests and people try the service on are what they say they are."""

from collections import Counter

import pytest

from placement.core import capacity
from placement.core.model import SHARING_TRAIT
from placement.demo.cloud import DISABLED, TENANTS, cloud
from placement.tests.support.worlds import aggregate_uuid


@pytest.fixture(scope="module")
def small():
    return cloud()


def test_a_cloud_follows_from_its_size_and_seed(small):
    assert cloud() == small
    assert cloud(seed=2) != small


def test_the_hosts_are_unequal(small):
    hosts = small.of_host("")
    assert len(hosts) == 300 + len(small.renamed)
    shapes = {(*host.inventories.items(), *sorted(host.traits)) for host in hosts}
    assert len(shapes) > 5
    ratios = {
        inventory.allocation_ratio for host in hosts for inventory in host.inventories.values()
    }
    assert ratios == {1.0, 2.0, 4.0}


def test_forty_hosts_have_devices_below_numa_nodes(small):
    assert len(small.of_host("gpu")) == len(small.of_host("vgpu")) == 20
    by_uuid = {state.provider.uuid: state for state in small.states}
    devices = [
        state for state in small.states if state.inventories.keys() & {"CUSTOM_GPU", "VGPU"}
    ]
    assert len(devices) == 20 * 4 + 20 * 2
    parents = [by_uuid[device.provider.parent_uuid] for device in devices]
    assert all("HW_NUMA_ROOT" in parent.traits for parent in parents)
    assert all(device.provider.root_uuid != device.provider.parent_uuid for device in devices)


def test_hosts_are_unevenly_full(small):
    fractions = [
        state.used.get("MEMORY_MB", 0) / limit
        for state in small.states
        if "MEMORY_MB" in state.inventories
        and (limit := capacity.capacity(state.inventories["MEMORY_MB"])) > 0
    ]
    assert sum(fraction < 0.3 for fraction in fractions) > len(fractions) / 10
    assert sum(fraction > 0.8 for fraction in fractions) > len(fractions) / 4
    assert max(fractions) <= 1


def test_usage_is_what_the_consumers_have(small):
    used = Counter()
    for consumer in small.consumers:
        for provider, amounts in consumer.allocations.items():
            used.update({(provider, name): amount for name, amount in amounts.items()})
    assert used == {
        (state.provider.uuid, name): amount
        for state in small.states
        for name, amount in state.used.items()
    }


def test_some_hosts_are_disabled_or_reserved(small):
    assert len([host for host in small.states if DISABLED in host.traits]) == 20
    reserved = [
        host
        for host in small.of_host("")
        if all(each.reserved == each.total for each in host.inventories.values())
    ]
    assert len(reserved) == 6


def test_pools_share_disks_with_hosts_that_have_none(small):
    pools = [state for state in small.states if SHARING_TRAIT in state.traits]
    assert [pool.provider.name for pool in pools] == [
        "ceph-az1",
        "ceph-az2",
        "ceph-az3",
        "nvme-r02",
    ]
    shared = frozenset().union(*(pool.aggregates for pool in pools))
    for host in (*small.of_host("new"), *small.of_host("mem")):
        assert "DISK_GB" not in host.inventories
        assert host.aggregates & shared


def test_tenants_have_aggregates(small):
    members = {
        name: sum(aggregate_uuid(name) in state.aggregates for state in small.states)
        for name in TENANTS
    }
    assert members == pytest.approx(TENANTS, abs=1)  # a renamed host is two providers


def test_nova_does_not_agree_with_all_allocations(small):
    names = {state.provider.uuid: state.provider.name for state in small.states}
    consumers = {consumer.uuid: consumer for consumer in small.consumers}
    assert consumers.keys() - small.servers.keys() == set(small.orphans)
    assert len(small.orphans) == 10
    assert len(small.misplaced) == 6
    for uuid in small.misplaced:
        hosts = [names[provider].split("_")[0] for provider in consumers[uuid].allocations]
        assert set(hosts) != {small.servers[uuid]}
    assert {host.removesuffix(".dc1.example.org") for host in small.renamed} == set(
        small.renamed.values()
    )


def test_a_cloud_of_another_size_is_built_in_the_same_way(small):
    large = cloud(1500)
    assert len(large.of_host("gpu")) == 5 * len(small.of_host("gpu"))
    assert len(large.orphans) == 5 * len(small.orphans)
    assert large.aggregates == small.aggregates
