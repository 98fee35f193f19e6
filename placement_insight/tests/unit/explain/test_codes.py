"""Each reason code is reached on flat, nested and sharing worlds where it is the cause."""

import pytest

from placement.microversion import MAX_VERSION, Version
from placement_insight.explain.requirements import CODES
from placement_insight.tests.unit.explain.explanations import explained

# A host of every kind has 8 VCPU of which 6 are used, at most 4 in one piece; it is in @az, and
# in @old, and has the trait CUSTOM_OFF. The disk is its own, a child's, or a shared one.
FLAT = """
    host  VCPU=8(used=6, max=4)  MEMORY_MB=64  DISK_GB=100(step=10)  +CUSTOM_OFF @az @old
"""
NESTED = """
    host  MEMORY_MB=64                          +CUSTOM_OFF @az @old
      cpu   VCPU=8(used=6, max=4)               +CUSTOM_OFF @az @old
      disk  DISK_GB=100(step=10)
      gpu0  CUSTOM_GPU=1
      gpu1  CUSTOM_GPU=1(used=1)
      gpu2  CUSTOM_GPU=2
"""
SHARING = """
    host  VCPU=8(used=6, max=4)  MEMORY_MB=64   +CUSTOM_OFF @az @old
    pool  DISK_GB=100(step=10)  +CUSTOM_OFF @az @old +MISC_SHARES_VIA_AGGREGATE
"""
EVERYWHERE = {
    "root_trait": "resources=VCPU:1&root_required=CUSTOM_NOBODY",
    "forbidden_aggregate": "resources=VCPU:1&member_of=!@old",
    "aggregate": "resources=VCPU:1&member_of=@az2",
    "in_tree": "resources=VCPU:1&in_tree=$nobody",
    "trait": "resources=VCPU:1&required=CUSTOM_NOBODY",
    "forbidden_trait": "resources=VCPU:1&required=!CUSTOM_OFF",
    "no_inventory": "resources=VCPU:1,CUSTOM_FPGA:1",
    "unit": "resources=VCPU:5",
    "capacity": "resources=VCPU:3",
    "combined": "resources1=VCPU:2&resources2=VCPU:2&group_policy=none",
}
NEEDS_PROVIDERS = {
    "isolate": "resources1=VCPU:1&resources2=VCPU:1&group_policy=isolate",
    "same_subtree": "resources1=VCPU:1&resources2=DISK_GB:10&same_subtree=1,2&group_policy=none",
    "one_provider": "resources1=VCPU:1,DISK_GB:10",
}
REACHED = [
    *((world, code, query) for code, query in EVERYWHERE.items() for world in "FNS"),
    ("F", "isolate", NEEDS_PROVIDERS["isolate"]),
    ("N", "isolate", NEEDS_PROVIDERS["isolate"]),
    ("S", "isolate", NEEDS_PROVIDERS["isolate"]),
    (
        "N",
        "same_subtree",
        NEEDS_PROVIDERS["same_subtree"].replace("resources", "resources_").replace("1,2", "_1,_2"),
    ),
    (
        "S",
        "same_subtree",
        NEEDS_PROVIDERS["same_subtree"].replace("resources", "resources_").replace("1,2", "_1,_2"),
    ),
    ("N", "one_provider", NEEDS_PROVIDERS["one_provider"]),
    ("S", "one_provider", NEEDS_PROVIDERS["one_provider"]),
]
WORLDS = {"F": FLAT, "N": NESTED, "S": SHARING}
OLD = Version(1, 28)


def code_of_host(picture, query, version=MAX_VERSION):
    """Return the code of the row at which the last root was lost; the host is the last."""
    explanation = explained(picture, query, version)
    assert explanation.fits == 0
    assert sum(row.lost for row in explanation.funnel) == explanation.roots
    return explanation.funnel[-1].requirement.code


@pytest.mark.parametrize(("world", "code", "query"), REACHED)
def test_the_code_is_that_of_the_cause(world, code, query):
    assert code_of_host(WORLDS[world], query) == code


@pytest.mark.parametrize("world", "NS")
def test_below_1_29_two_providers_of_a_tree(world):
    query = "resources=VCPU:1,DISK_GB:10"
    if world == "N":
        assert code_of_host(NESTED, query, OLD) == "one_provider_per_tree"
    else:
        assert explained(SHARING, query, OLD).fits == 1


def test_every_code_is_reached():
    assert {code for _, code, _ in REACHED} | {"one_provider_per_tree"} == set(CODES)


def test_a_shared_disk_in_another_step():
    assert code_of_host(SHARING, "resources=VCPU:1,DISK_GB:15") == "unit"
    assert code_of_host(SHARING, "resources=VCPU:1,DISK_GB:110") == "capacity"


def test_the_trait_of_the_full_device_is_not_the_cause():
    """The fast GPU is in use: it is the amount that is missing, not the trait."""
    world = """
        host  VCPU=8
          gpu0  CUSTOM_GPU=1(used=1)  +CUSTOM_OFF
          gpu1  CUSTOM_GPU=1
    """
    assert code_of_host(world, "resources_G=CUSTOM_GPU:1&required_G=CUSTOM_OFF") == "capacity"


def test_a_trait_of_a_child_without_the_class_does_not_count():
    world = """
        host  VCPU=8
          gpu0  CUSTOM_GPU=1  +CUSTOM_OFF
    """
    assert code_of_host(world, "resources=VCPU:1&required=CUSTOM_OFF") == "trait"


def test_devices_of_several_hosts_are_not_added_up():
    world = """
        h1
          a CUSTOM_GPU=1
          b CUSTOM_GPU=1
        h2
          c CUSTOM_GPU=1
          d CUSTOM_GPU=1
    """
    three = "&".join(f"resources{n}=CUSTOM_GPU:1" for n in range(1, 4))
    explanation = explained(world, f"{three}&group_policy=isolate")
    assert [(row.requirement.code, row.lost) for row in explanation.funnel] == [("combined", 2)]
    assert explanation.funnel[0].facts.free == 2


def test_traits_that_the_parts_have_together():
    world = """
        host  MEMORY_MB=64  +CUSTOM_OFF
          cpu  VCPU=8(used=8)  +CUSTOM_NOBODY
          cpu2 VCPU=8
    """
    query = "resources=VCPU:4,MEMORY_MB:8&required=CUSTOM_OFF,CUSTOM_NOBODY"
    assert code_of_host(world, query) == "combined"


def test_aggregates_of_the_root_count_for_its_tree_only_if_all_do():
    world = """
        host  @az
          cpu VCPU=8 @old
    """
    assert explained(world, "resources=VCPU:1&member_of=@az").fits == 1
    explanation = explained(world, "resources=VCPU:1&member_of=@az&member_of=@old")
    (row,) = explanation.funnel
    assert row.requirement.code == "aggregate"
    assert row.requirement.spelled().count("member_of=") == 2


def test_no_providers_at_all():
    explanation = explained("", "resources=VCPU:1")
    assert (explanation.roots, explanation.fits, explanation.funnel) == (0, 0, ())
