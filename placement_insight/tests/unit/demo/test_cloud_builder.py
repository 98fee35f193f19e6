"""The clouds that tests and people try the service on are what they say they are."""

from collections import Counter

import pytest

from placement.core import capacity
from placement.core.model import SHARING_TRAIT
from placement.tests.support.worlds import aggregate_uuid
from placement_insight.demo.cloud import DOMAIN, MODELS, TENANTS, cloud
from placement_insight.hosts import DISABLED


@pytest.fixture(scope="module")
def small():
    return cloud()


def of_host(built, prefix):
    """Return the roots of the models with this prefix; of all hosts if it is empty."""
    prefixes = tuple(f"{model.prefix}-" for model in MODELS if prefix in ("", model.prefix))
    return [
        state
        for state in built.states
        if state.provider.parent_uuid is None and state.provider.name.startswith(prefixes)
    ]


def orphans(built):
    """Return the consumers that nova does not list."""
    return {consumer.uuid for consumer in built.consumers} - built.servers.keys()


def renamed(built):
    """Return the hosts that have a provider of the short name, too."""
    return [host for host in of_host(built, "") if host.provider.name.endswith(DOMAIN)]


def test_a_cloud_follows_from_its_size_and_seed(small):
    assert cloud() == small
    assert cloud(seed=2) != small


def test_the_hosts_are_unequal(small):
    hosts = of_host(small, "")
    assert len(hosts) == 300 + len(renamed(small))
    shapes = {(*host.inventories.items(), *sorted(host.traits)) for host in hosts}
    assert len(shapes) > 5
    ratios = {
        inventory.allocation_ratio for host in hosts for inventory in host.inventories.values()
    }
    assert ratios == {1.0, 2.0, 4.0}


def test_forty_hosts_have_devices_below_numa_nodes(small):
    assert len(of_host(small, "gpu")) == len(of_host(small, "vgpu")) == 20
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
        for host in of_host(small, "")
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
    for host in (*of_host(small, "new"), *of_host(small, "mem")):
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
    misplaced = [
        consumer
        for consumer in small.consumers
        if consumer.uuid in small.servers
        and {names[provider].split("_")[0] for provider in consumer.allocations}
        - {name for name in names.values() if name.startswith("ceph-")}
        != {small.servers[consumer.uuid]}
    ]
    assert len(orphans(small)) == 10
    assert len(misplaced) == 6


def test_renamed_hosts_are_two_providers(small):
    names = {state.provider.name for state in small.states}
    assert len(renamed(small)) == 4
    assert names >= {host.provider.name.removesuffix(DOMAIN) for host in renamed(small)}


def test_a_cloud_of_another_size_is_built_in_the_same_way(small):
    large = cloud(1500)
    assert len(of_host(large, "gpu")) == 5 * len(of_host(small, "gpu"))
    assert len(orphans(large)) == 5 * len(orphans(small))
