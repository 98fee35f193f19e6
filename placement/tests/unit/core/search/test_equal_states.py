"""States of a search that look alike but differ in what the choices still to be made depend on."""

from placement.tests.support.queries import offered, served, snapshot_of


def test_an_isolated_device_is_not_a_device_of_the_unsuffixed_group():
    snapshot = snapshot_of("""
        cn   DISK_GB=9
          a  VCPU=1 MEMORY_MB=1 VGPU=2
          b  VCPU=1 MEMORY_MB=1
          c  VGPU=4
          d  VGPU=2 +CUSTOM_D
          e  MEMORY_MB=1
    """)
    query = (
        "resources=VGPU:3,MEMORY_MB:1&resources_A=VCPU:1&resources_B=VGPU:2"
        "&resources_C=VGPU:1&required_C=CUSTOM_D&group_policy=isolate"
    )
    assert served(snapshot, query) == [
        {"": f"{memory} c", "_A": "b", "_B": "a", "_C": "d"} for memory in "ab"
    ] + [{"": "c e", "_A": "b", "_B": "a", "_C": "d"}]


def test_devices_with_other_traits_are_not_alike():
    snapshot = snapshot_of("""
        cn   DISK_GB=9
          a  VGPU=2 +CUSTOM_G +CUSTOM_L
          b  VGPU=2 +CUSTOM_G
          c  VGPU=2
    """)
    query = (
        "resources=VGPU:2,DISK_GB:1&required=CUSTOM_L"
        "&resources_A=VGPU:1&required_A=CUSTOM_G&group_policy=none"
    )
    assert served(snapshot, query) == [{"": "a cn", "_A": "b"}]


def test_a_state_that_failed_later_is_another_one_with_more_choices_left():
    snapshot = snapshot_of("""
        cn   DISK_GB=9
          a  VGPU=2 +CUSTOM_G +CUSTOM_L
          b  VGPU=2
          c  VGPU=2
          d  VCPU=1 MEMORY_MB=1
          e  VCPU=1 MEMORY_MB=1
          f  MEMORY_MB=1 +CUSTOM_L
    """)
    query = (
        "resources=MEMORY_MB:1,VGPU:2&required=CUSTOM_L"
        "&resources_A=VGPU:1&required_A=CUSTOM_G&resources_B=VCPU:1&group_policy=none"
    )
    assert served(snapshot, query) == [
        {"": f"{gpu} f", "_A": "a", "_B": cpu} for gpu in "bc" for cpu in "de"
    ]


def test_equal_remaining_amounts_of_providers_of_other_sizes():
    """With 3 and 1 of 7 and 4, or of 6 and 5, the same remains, but only of these."""
    snapshot = snapshot_of("""
        cn        DISK_GB=9
          seven   VCPU=7
          four    VCPU=4
          six     VCPU=6
          five    VCPU=5
    """)
    amounts = enumerate((3, 1, 4, 4, 4, 3, 3))
    query = "&".join(f"resources_{number}=VCPU:{amount}" for number, amount in amounts)
    candidates = served(snapshot, f"{query}&group_policy=none")
    assert ("six", "five") in {(each["_0"], each["_1"]) for each in candidates}


def test_providers_of_other_trees_are_not_alike_before_nested_candidates():
    snapshot = snapshot_of("""
        cn   VCPU=1 @x
          a  VGPU=1
          b  VGPU=1
        ss   VCPU=1 @x +MISC_SHARES_VIA_AGGREGATE
    """)
    query = "resources1=VCPU:1&resources2=VGPU:1&group_policy=none"
    assert offered(snapshot, query, (1, 28)) == [
        {name: {"VGPU": 1}, "ss": {"VCPU": 1}} for name in "ab"
    ]


def test_the_largest_provider_of_a_tree_counts_before_nested_candidates():
    snapshot = snapshot_of("""
        cn   DISK_GB=9
          a  VCPU=2
          b  VCPU=1
    """)
    query = "resources1=VCPU:1&resources2=VCPU:1&group_policy=none"
    assert offered(snapshot, query, (1, 28)) == [{"a": {"VCPU": 2}}]
