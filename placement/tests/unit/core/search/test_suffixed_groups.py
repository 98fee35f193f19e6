"""Suffixed groups: one provider for each, and the conditions between groups."""

from placement.tests.support.queries import offered, served, snapshot_of

SOCKETS = snapshot_of("""
    host     MEMORY_MB=1024        +COMPUTE_NODE
      numa0  VCPU=4                +HW_NUMA_ROOT
        dev0 VGPU=1
      numa1  VCPU=4                +HW_NUMA_ROOT
        dev1 VGPU=1
    pool     DISK_GB=100  @racks   +MISC_SHARES_VIA_AGGREGATE
    other    VCPU=2       @racks
""")


def test_one_provider_serves_a_whole_group():
    assert served(SOCKETS, "resources_A=VCPU:1,MEMORY_MB:1") == []
    assert served(SOCKETS, "resources_A=VCPU:1&required_A=!HW_NUMA_ROOT") == [{"_A": "other"}]


def test_all_groups_are_served_around_one_root():
    assert served(SOCKETS, "resources_A=VGPU:1&resources_B=DISK_GB:1&group_policy=none") == []
    assert served(SOCKETS, "resources_A=VCPU:1&resources_B=DISK_GB:1&group_policy=none") == [
        {"_A": "other", "_B": "pool"}
    ]


def test_sums_count_where_groups_meet():
    query = "resources_A=VCPU:3&resources_B=VCPU:3&group_policy=none"
    assert served(SOCKETS, query) == [
        {"_A": "numa0", "_B": "numa1"},
        {"_A": "numa1", "_B": "numa0"},
    ]
    query = "resources_A=VCPU:1&resources_B=VCPU:1&group_policy=none&in_tree_A=$other"
    assert offered(SOCKETS, query) == [{"other": {"VCPU": 2}}]


def test_isolated_groups_have_providers_of_their_own():
    query = "resources_A=VGPU:1&resources_B=VGPU:1&group_policy=isolate"
    assert served(SOCKETS, query) == [
        {"_A": "dev0", "_B": "dev1"},
        {"_A": "dev1", "_B": "dev0"},
    ]


def test_isolation_leaves_the_unsuffixed_group_free():
    query = "resources=VCPU:1&resources_A=VCPU:1&resources_B=VCPU:1&group_policy=isolate"
    assert offered(SOCKETS, query).count({"numa0": {"VCPU": 2}, "numa1": {"VCPU": 1}}) == 2


def test_isolation_counts_groups_without_resources():
    query = (
        "resources_A=VCPU:1&required_B=HW_NUMA_ROOT&same_subtree=_B"
        "&same_subtree=_A,_B&group_policy="
    )
    assert {m["_A"] == m["_B"] for m in served(SOCKETS, query + "none")} == {True}
    assert served(SOCKETS, query + "isolate") == []


def test_same_subtree_wants_one_of_the_named_above_all_others():
    query = "resources_C=VCPU:1&resources_G=VGPU:1&same_subtree=_C,_G&group_policy=none"
    assert served(SOCKETS, query) == [
        {"_C": "numa0", "_G": "dev0"},
        {"_C": "numa1", "_G": "dev1"},
    ]


def test_siblings_need_a_group_for_their_parent():
    siblings = "resources_A=VCPU:4&resources_B=VCPU:4&group_policy=none&same_subtree=_A,_B"
    assert served(SOCKETS, siblings) == []
    parent = "&required_P=COMPUTE_NODE&same_subtree=_A,_B,_P"
    assert served(SOCKETS, siblings.replace("&same_subtree=_A,_B", parent)) == [
        {"_A": "numa0", "_B": "numa1", "_P": "host"},
        {"_A": "numa1", "_B": "numa0", "_P": "host"},
    ]


def test_providers_of_groups_without_resources_have_no_allocation():
    query = "resources_A=VGPU:1&required_B=HW_NUMA_ROOT&same_subtree=_A,_B&group_policy=none"
    assert offered(SOCKETS, query) == [{"dev0": {"VGPU": 1}}, {"dev1": {"VGPU": 1}}]


def test_a_suffixed_in_tree_says_where_the_provider_lives():
    query = "resources_A=VCPU:1&resources_B=DISK_GB:1&in_tree_B=$pool&group_policy=none"
    assert served(SOCKETS, query) == [{"_A": "other", "_B": "pool"}]


def test_used_resources_count_in_the_sum():
    snapshot = snapshot_of("cn VCPU=4(used=3)")
    query = "resources_A=VCPU:1&resources_B=VCPU:1&group_policy=none"
    assert offered(snapshot, query) == []


def test_portions_hold_for_each_group_and_max_unit_for_the_sum():
    snapshot = snapshot_of("cn VCPU=16(step=2, min=2, max=4)")
    both = "resources_A=VCPU:{}&resources_B=VCPU:{}&group_policy=none"
    assert offered(snapshot, both.format(2, 2)) == [{"cn": {"VCPU": 4}}]
    assert offered(snapshot, both.format(1, 3)) == []
    assert offered(snapshot, both.format(2, 4)) == []


def test_a_share_is_not_above_the_trees_it_shares_with():
    snapshot = snapshot_of("""
        pool  VCPU=1 @x +MISC_SHARES_VIA_AGGREGATE
        host  VCPU=1 @x +CUSTOM_HOST
    """)
    query = "resources_A=VCPU:1&required_B=CUSTOM_HOST&same_subtree=_A,_B&group_policy=none"
    assert served(snapshot, query) == [{"_A": "host", "_B": "host"}]


def test_forbidden_aggregates_of_a_suffixed_group_do_not_exclude_the_root():
    snapshot = snapshot_of("""
        cn    DISK_GB=1 @x
          n0  VCPU=4
    """)
    assert offered(snapshot, "resources_A=VCPU:1&member_of_A=!@x") == [{"n0": {"VCPU": 1}}]
    assert offered(snapshot, "resources=VCPU:1&member_of=!@x") == []


def test_a_full_provider_is_not_taken_for_one_that_other_groups_can_use():
    snapshot = snapshot_of("""
        cn    DISK_GB=1
          p1  VCPU=3 +CUSTOM_A +CUSTOM_C
          p2  VCPU=3 +CUSTOM_A
          q   VCPU=3 +CUSTOM_C +CUSTOM_E
    """)
    amounts = {"A": (2, "A"), "C": (2, "C"), "D": (1, "A"), "E": (2, "E"), "F": (1, "A")}
    groups = [
        f"resources_{suffix}=VCPU:{amount}&required_{suffix}=CUSTOM_{trait}"
        for suffix, (amount, trait) in amounts.items()
    ]
    assert served(snapshot, f"{'&'.join(groups)}&group_policy=none") == [
        {"_A": "p2", "_C": "p1", "_D": "p1", "_E": "q", "_F": "p2"},
        {"_A": "p2", "_C": "p1", "_D": "p2", "_E": "q", "_F": "p1"},
    ]


def test_assignments_below_several_possible_tops_are_returned_once():
    snapshot = snapshot_of("cn VCPU=2\n  n0 VCPU=2")
    query = "resources_A=VCPU:1&resources_B=VCPU:1&same_subtree=_A,_B&group_policy=none"
    candidates = served(snapshot, query)
    assert sorted((each["_A"], each["_B"]) for each in candidates) == [
        ("cn", "cn"),
        ("cn", "n0"),
        ("n0", "cn"),
        ("n0", "n0"),
    ]
