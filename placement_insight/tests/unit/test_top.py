"""The states of hosts, which ``GET /insight/top`` counts and selects."""

from placement.tests.support.queries import snapshot_of
from placement_insight.top import hosts_with_inventories


def hosts(text):
    return list(hosts_with_inventories(snapshot_of(text)))


def states(text, name=None):
    (host,) = hosts(f"cn1 +COMPUTE_NODE {text}")
    return set(host.states(name or host.fullest))


def test_the_amounts_of_a_tree_are_added():
    (host,) = hosts("""
        cn1     VCPU=8 DISK_GB=20
          numa0 VCPU=8(used=4) MEMORY_MB=64
    """)
    assert (host.root.provider.name, host.fullest) == ("cn1", "VCPU")
    assert (host.amounts["VCPU"].used, host.amounts["VCPU"].free) == (4, 12)
    assert host.states("VCPU") == []


def test_full_and_fragmented():
    full = "VCPU=100(used=100)"
    assert states(f"{full} MEMORY_MB=100(used=60)") == {"full"}
    assert states(f"{full} MEMORY_MB=100(used=50)") == {"full", "fragmented"}
    assert states(f"{full} MEMORY_MB=100(used=60)", "MEMORY_MB") == set()
    assert states("VCPU=100(used=95) MEMORY_MB=100") == set()
    assert states(f"{full} PCPU=100") == {"full"}  # its dedicated CPUs are free
    assert states("CUSTOM_GPU=1(used=1) VCPU=100") == {"full"}


def test_reserved_disabled_and_over_capacity():
    assert states("VCPU=8(reserved=8,used=2)") == {"full", "reserved"}
    maintenance = "VCPU=8(reserved=8) +COMPUTE_STATUS_DISABLED"
    assert states(maintenance) == {"empty", "disabled", "reserved"}
    assert states("VCPU=8(used=9)") == {"full", "over_capacity"}


def test_pools_and_segments_are_no_hosts():
    others = """
        cn1     VCPU=8 +COMPUTE_NODE
        cn2     VCPU=8(used=1)
        pool    DISK_GB=9(used=1) +MISC_SHARES_VIA_AGGREGATE
        segment IPV4_ADDRESS=9
        empty   +COMPUTE_NODE
    """
    found = hosts(others)
    assert [host.root.provider.name for host in found] == ["cn1", "cn2"]


def test_without_compute_nodes_roots_that_are_not_in_use_are_hosts():
    (host,) = hosts("host1 VCPU=16\npool DISK_GB=9 +MISC_SHARES_VIA_AGGREGATE")
    assert (host.root.provider.name, host.states("VCPU")) == ("host1", ["empty"])
