"""The states of hosts, which ``openstack placement top`` counts and selects."""

from uuid import UUID

from placement_insight.cli.top import hosts_of


def provider(number, *traits, root=None, used=None, **inventories):
    uuid = str(UUID(int=number))
    return {
        "uuid": uuid,
        "name": f"cn{number}",
        "root_provider_uuid": str(UUID(int=root or number)),
        "traits": list(traits),
        "aggregates": [],
        "inventories": {
            name: {"total": total, "reserved": 0, "allocation_ratio": 1.0, "used": 0}
            | (used or {}).get(name, {})
            for name, total in inventories.items()
        },
    }


def only(*providers):
    (host,) = hosts_of(providers)
    return host


def states(host):
    names = ("full", "empty", "fragmented", "disabled", "reserved", "over_capacity")
    return {name for name in names if getattr(host, name)}


def test_the_amounts_of_a_tree_are_added():
    numa = provider(2, root=1, used={"VCPU": {"used": 4}}, VCPU=8, MEMORY_MB=64)
    host = only(provider(1, VCPU=8, DISK_GB=20), numa)
    assert (host.name, host.fullest) == ("cn1", "VCPU")
    assert (host.amounts["VCPU"].used, host.amounts["VCPU"].free) == (4, 12)
    assert states(host) == set()


def test_full_and_fragmented():
    full = {"VCPU": {"used": 100}, "MEMORY_MB": {"used": 60}}
    assert states(only(provider(1, used=full, VCPU=100, MEMORY_MB=100))) == {"full"}
    half = {**full, "MEMORY_MB": {"used": 50}}
    assert states(only(provider(1, used=half, VCPU=100, MEMORY_MB=100))) == {"full", "fragmented"}
    nearly = {"VCPU": {"used": 95}}
    assert states(only(provider(1, used=nearly, VCPU=100, MEMORY_MB=100))) == set()
    pinned = provider(1, used=half, VCPU=100, PCPU=100)  # its dedicated CPUs are free
    assert states(only(pinned)) == {"full"}
    device = provider(1, used={"CUSTOM_GPU": {"used": 1}}, VCPU=100, CUSTOM_GPU=1)
    assert states(only(device)) == {"full"}


def test_reserved_disabled_and_over_capacity():
    everything = {"VCPU": {"reserved": 8, "used": 2}}
    assert states(only(provider(1, used=everything, VCPU=8))) == {"full", "reserved"}
    maintenance = provider(1, "COMPUTE_STATUS_DISABLED", used={"VCPU": {"reserved": 8}}, VCPU=8)
    assert states(only(maintenance)) == {"empty", "disabled", "reserved"}
    assert only(maintenance).states() == ["disabled", "reserved"]
    over = only(provider(1, used={"VCPU": {"used": 9}}, VCPU=8))
    assert states(over) == {"full", "over_capacity"}


def test_pools_and_segments_are_no_hosts():
    pool = provider(9, "MISC_SHARES_VIA_AGGREGATE", used={"DISK_GB": {"used": 1}}, DISK_GB=9)
    segment = provider(8, IPV4_ADDRESS=9)
    compute, used = (
        provider(1, "COMPUTE_NODE", VCPU=8),
        provider(2, used={"VCPU": {"used": 1}}, VCPU=8),
    )
    empty = provider(7)
    assert [host.name for host in hosts_of([compute, used, pool, segment, empty])] == [
        "cn1",
        "cn2",
    ]
    assert [host.name for host in hosts_of([used, segment])] == ["cn2", "cn8"]
