"""Snapshots after claims that were not made."""

from placement.tests.support.queries import snapshot_of
from placement_insight.plan.hypothetical import claimed


def test_amounts_of_what_has_no_inventory_are_left_out():
    snapshot = snapshot_of("h1 VCPU=8\nh2 MEMORY_MB=8")
    amounts = {("VCPU", 0): 3, ("VCPU", 1): 2, ("MEMORY_MB", 0): 1, ("DISK_GB", 1): 1}
    after = claimed(snapshot, amounts)
    free = {name: column.free.tolist() for name, column in after.columns.items()}
    assert free == {"VCPU": [5], "MEMORY_MB": [8]}
