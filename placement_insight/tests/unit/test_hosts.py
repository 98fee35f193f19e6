"""What a host is."""

from placement.tests.support.queries import snapshot_of
from placement_insight.hosts import hosts_of

HOSTS = """
cn1      VCPU=8             +COMPUTE_NODE
cn2                         +MISC_SHARES_VIA_AGGREGATE
  numa0  VCPU=4(used=1)
cn3      VCPU=8             +CUSTOM_COMPUTE
pool     DISK_GB=9(used=1)  +MISC_SHARES_VIA_AGGREGATE
segment  IPV4_ADDRESS=254   @net1
agent
  eth0   NET_BW_EGR_KILOBIT_PER_SEC=1000
"""


def test_hosts_have_the_trait_or_are_in_use():
    snapshot = snapshot_of(HOSTS)
    states = [snapshot.entries.state(row) for row in hosts_of(snapshot).nonzero()[0]]
    assert [state.provider.name for state in states] == ["cn1", "cn2"]


def test_hosts_in_use_need_no_trait():
    snapshot = snapshot_of("cn1 VCPU=8(used=1)\ncn2 VCPU=8")
    assert hosts_of(snapshot).tolist() == [True, False]
