"""Each loss is charged to the requirement that caused it."""

import itertools

import pytest

from placement.core.model import SHARING_TRAIT
from placement.core.search.deadline import Deadline
from placement.microversion import MAX_VERSION
from placement.tests.support.queries import request_of, snapshot_of
from placement.tests.support.worlds import aggregate_uuid, provider_uuid
from placement_insight.explain.explain import Question, explain
from placement_insight.explain.facts import (
    MemberFacts,
    TreeFacts,
)
from placement_insight.tests.unit.explain.explanations import explained

FLAT = """
    h1  VCPU=64(max=64,used=60)  MEMORY_MB=1024  @az
    h2  VCPU=64(max=64,used=32)  MEMORY_MB=1024
    h3  VCPU=64(max=64)          MEMORY_MB=1024  +CUSTOM_OFF
"""
NESTED = """
    h1  MEMORY_MB=1024                            @az
      h1n0  VCPU=64(max=64,used=60)
      h1g0  CUSTOM_GPU=1
      h1g1  CUSTOM_GPU=1
      h1g2  CUSTOM_GPU=1
      h1g3  CUSTOM_GPU=1(used=1)
    h2  MEMORY_MB=1024
      h2n0  VCPU=64(max=64,used=32)
    h3  MEMORY_MB=1024
      h3n0  VCPU=64(max=64)                       +CUSTOM_OFF
"""
SHARING = """
    h1  VCPU=64(max=64,used=60)  MEMORY_MB=1024  @az @rack
    h2  VCPU=64(max=64,used=32)  MEMORY_MB=1024  @rack
    h3  VCPU=64(max=64)          MEMORY_MB=1024  @rack +CUSTOM_OFF
    ss  DISK_GB=1000(max=500)                    @rack +MISC_SHARES_VIA_AGGREGATE
"""
WORLDS = {"flat": FLAT, "nested": NESTED, "sharing": SHARING}


def losses(explanation):
    return [(row.requirement.code, row.lost) for row in explanation.funnel]


@pytest.fixture(params=sorted(WORLDS))
def picture(request):
    return WORLDS[request.param]


def test_an_aggregate_without_members(picture):
    explanation = explained(picture, "resources=VCPU:1&member_of=@empty")
    (row,) = explanation.funnel
    assert (row.requirement.code, row.lost, row.left) == ("aggregate", explanation.roots, 0)
    assert row.facts == MemberFacts(members=0)
    assert row.requirement.spelled().startswith("member_of=")
    assert explanation.document()["funnel"][0]["note"] == "the aggregate has no providers"


def test_a_tree_that_does_not_exist(picture):
    explanation = explained(picture, "resources=VCPU:1&in_tree=$nobody")
    (row,) = explanation.funnel
    assert (row.lost, row.facts) == (explanation.roots, TreeFacts(exists=False))
    assert explanation.document()["funnel"][0]["note"] == "no such provider"


def test_an_amount_above_max_unit(picture):
    explanation = explained(picture, "resources=VCPU:128")
    codes = [code for code, _ in losses(explanation)]
    assert codes in (["unit"], ["no_inventory", "unit"])  # the disk has no VCPU at all
    row = explanation.funnel[-1]
    assert (row.lost, row.left) == (3, 0)
    document = explanation.document()["funnel"][-1]
    assert document["text"] == "VCPU:128 above max_unit 64"
    assert document["note"] == ""


@pytest.mark.parametrize(
    ("world", "query", "text"),
    [
        ("a VCPU=8(max=4)\nb VCPU=8(max=2)", "VCPU:5", "VCPU:5 above max_unit 4"),
        ("a VCPU=8(min=4)\nb VCPU=8(min=2)", "VCPU:1", "VCPU:1 below min_unit 2"),
        (
            "a VCPU=8(step=3)\nb VCPU=8(step=2)",
            "VCPU:1",
            "VCPU:1 not a multiple of step_size 2 or 3",
        ),
        (
            "a VCPU=8(max=2)\nb VCPU=8(min=6)",
            "VCPU:4",
            "VCPU:4 outside min_unit, max_unit and step_size",
        ),
    ],
)
def test_the_limit_that_an_amount_exceeds_is_named(world, query, text):
    (row,) = explained(world, f"resources={query}").document()["funnel"]
    assert (row["code"], row["text"], row["note"]) == ("unit", text, "")


@pytest.mark.parametrize(
    ("limits", "is_uniform"),
    [("max=4, step=2", True), ("max=4, step=4", False), ("max=8, step=2", False)],
)
def test_whether_the_limits_of_all_hosts_are_equal(limits, is_uniform):
    world = f"a VCPU=8(max=4, step=2)\nb VCPU=8({limits})"
    (row,) = explained(world, "resources=VCPU:9").document()["funnel"]
    assert row["detail"]["uniform"] is is_uniform


def test_children_without_the_class_are_not_counted():
    explanation = explained(NESTED, "resources=VCPU:62")
    assert losses(explanation) == [("capacity", 2)]
    assert explanation.fits == 1
    assert explanation.funnel[0].facts.free == 32


def test_a_group_that_no_single_provider_meets_is_spelled_once():
    (row,) = explained("h VCPU=8\n  g CUSTOM_GPU=1", "resources1=VCPU:1,CUSTOM_GPU:1").funnel
    assert row.text({}) == "no single provider for resources1=VCPU:1,CUSTOM_GPU:1"


def test_more_devices_than_any_host_has():
    four = "&".join(f"resources{number}=CUSTOM_GPU:1" for number in range(1, 5))
    explanation = explained(NESTED, f"{four}&group_policy=isolate")
    assert losses(explanation) == [("no_inventory", 2), ("combined", 1)]
    document = explanation.document()["funnel"][-1]
    assert document["text"] == "4 x CUSTOM_GPU together"
    assert document["note"] == "best: h1 has 3 free"


def test_groups_that_the_sum_would_suffice_for_are_counted():
    """64 are free in all, but two of the three groups fit: a sum of amounts says nothing."""
    world = "h1\n  a VCPU=32\n  b VCPU=32\nh2\n  c VCPU=16\n  d VCPU=48(used=28)"
    groups = "&".join(f"resources{number}=VCPU:20" for number in (1, 2, 3))
    (row,) = explained(world, f"{groups}&group_policy=none").document()["funnel"]
    assert (row["code"], row["detail"]["free"], row["detail"]["needed"]) == ("combined", 64, 60)
    assert (row["text"], row["note"]) == (
        "3 x 20 VCPU together",
        "best: h1 fits 2 of 3 x 20 VCPU",
    )


def test_groups_are_counted_on_the_providers_that_meet_their_conditions():
    """Two ports of a network: the other bridge has enough free, and another network."""
    world = "h\n  a CUSTOM_EGR=10 +CUSTOM_A\n  b CUSTOM_EGR=40 +CUSTOM_B"
    ports = "&".join(f"resources{each}=CUSTOM_EGR:6&required{each}=CUSTOM_A" for each in (1, 2))
    (row,) = explained(world, f"{ports}&group_policy=none").document()["funnel"]
    assert (row["code"], row["note"]) == ("combined", "best: h fits 1 of 2 x 6 CUSTOM_EGR")


def test_the_named_tree_is_the_first_requirement():
    explanation = explained(FLAT, "resources=VCPU:1&in_tree=$h3&required=!CUSTOM_OFF")
    assert losses(explanation) == [("in_tree", 2), ("forbidden_trait", 1)]
    (row, _) = explanation.funnel
    assert row.left == 1


def test_devices_of_one_host_are_added_up_if_none_is_enough():
    explanation = explained(NESTED, "resources=CUSTOM_GPU:2")
    row = explanation.funnel[-1]
    assert row.requirement.code == "capacity"
    tree = row.facts.tree
    assert (tree.free, tree.providers, tree.largest) == (3, 3, 1)
    assert explanation.document()["funnel"][-1]["note"].endswith(
        "h1 has 3 CUSTOM_GPU free on 3 providers, at most 1 on one"
    )
    unlike = "h1\n  a CUSTOM_GPU=1\n  b CUSTOM_GPU=3\n  c CUSTOM_GPU=2"
    assert explained(unlike, "resources=CUSTOM_GPU:5").funnel[-1].facts.tree.largest == 3


@pytest.mark.parametrize(
    ("units", "most"),
    [
        ("step=4", 8),
        ("max=4", None),
        ("max=6", 6),
        ("max=6, step=4", None),
        ("max=7, step=6", 6),
        ("max=6, step=5", None),
        ("max=6, min=7", None),
    ],
)
def test_devices_are_added_up_in_their_units(units, most):
    """All of it is free, but one allocation has at most what the units of a provider admit."""
    world = f"h\n  a VGPU=8({units})\n  b VGPU=8({units})"
    (row,) = explained(world, "resources=VGPU:12").document()["funnel"]
    text = f"h has 16 VGPU free on 2 providers, at most {most} on one"
    assert row["note"].endswith(text) is bool(most)


def test_the_groups_are_at_least_as_many_as_the_free_amounts_need():
    world = "h1\n  a VCPU=6\n  b VCPU=1\n  c VCPU=1\n  d VCPU=1"
    (row,) = explained(world, "resources=VCPU:8").document()["funnel"]
    assert row["note"].endswith("h1 has 9 VCPU free on 4 providers, at most 6 on one")
    groups = "resources1=VCPU:6&resources2=VCPU:1&resources3=VCPU:1"
    assert explained(world, f"{groups}&group_policy=none").fits == 1


def test_an_amount_that_one_device_has_free_is_not_added_up():
    world = "h1\n  a VCPU=8(step=5)\n  b VCPU=8(step=5)"
    (row,) = explained(world, "resources=VCPU:8").document()["funnel"]
    assert row["code"] == "unit"
    assert "tree" not in row["detail"]


def test_a_sharing_provider_outside_the_aggregate_is_named():
    world = SHARING.replace("@rack +MISC", "@pool +MISC").replace("@rack", "@rack @pool")
    explanation = explained(world, "resources=VCPU:1,DISK_GB:1&member_of=@rack")
    row = next(row for row in explanation.funnel if row.requirement.code == "aggregate")
    outside = row.facts.outside
    assert (outside.provider.name, outside.roots) == ("ss", 3)
    assert outside.resource_classes == ("DISK_GB",)


def test_a_provider_with_the_trait_that_another_condition_excludes_is_named():
    world = """
        h1    VCPU=64       @az @rack
        slow  DISK_GB=1000  @az   +MISC_SHARES_VIA_AGGREGATE
        fast  DISK_GB=1000  @rack +MISC_SHARES_VIA_AGGREGATE +CUSTOM_FAST
    """
    query = "resources=VCPU:1&resources1=DISK_GB:1&required1=CUSTOM_FAST&member_of1=@az"
    row = explained(world, query).document()["funnel"][-1]
    assert row["code"] == "trait"
    assert row["note"].startswith("fast has it, excluded: not in aggregate ")


@pytest.mark.parametrize(
    ("query", "fact"),
    [
        ("resources=VCPU:1&required=CUSTOM_FAST", "1 provider has it, not with VCPU"),
        ("resources=VCPU:1&root_required=CUSTOM_FAST", "1 provider has it, which is no root"),
        ("resources=VCPU:1&root_required=!CUSTOM_SLOW", ""),
    ],
)
def test_a_trait_that_only_children_have(query, fact):
    world = "h1 VCPU=8 +CUSTOM_SLOW\n  gpu CUSTOM_GPU=1 +CUSTOM_FAST"
    (row,) = explained(world, query).document()["funnel"]
    assert row["note"] == fact


def test_the_clock_is_read_for_each_different_group():
    reads = {}
    for number in (10, 100):
        clock = itertools.count()
        query = "&".join(f"resources{group}=DISK_GB:{group}" for group in range(1, number + 1))
        question = Question(request_of(f"{query}&group_policy=none"), query, MAX_VERSION)
        explain(snapshot_of(SHARING), question, Deadline(1e9, clock.__next__))
        reads[number] = next(clock)
    stages = 4  # of the funnel: conditions, aggregates and traits, amounts, groups as a whole
    assert reads[100] - reads[10] >= stages * 90


A, B = aggregate_uuid("a"), aggregate_uuid("b")
ROOT_AND_CHILD = "h @a\n  numa VCPU=8 @b"


@pytest.mark.parametrize(
    ("amount", "text", "note"),
    [
        (4, "fewer than 4 VCPU free in group 1", "b has enough, excluded: no trait CUSTOM_ON"),
        (9, "VCPU:9 above max_unit 8 in group 1", "b allows it, excluded: no trait CUSTOM_ON"),
    ],
)
def test_a_provider_with_the_amount_that_an_earlier_condition_excludes(amount, text, note):
    world = "h\n  a VCPU=8(used=8, max=8) +CUSTOM_ON\n  b VCPU=16"
    query = f"resources1=VCPU:{amount}&required1=CUSTOM_ON"
    (row,) = explained(world, query).document()["funnel"]
    assert (row["text"], row["note"]) == (text, note)
    requirement = {"code": "trait", "requirement": "required1=CUSTOM_ON"}
    provider = {"uuid": provider_uuid("b"), "name": "b"}
    assert row["detail"]["excluded"] == {"provider": provider, **requirement}


def test_a_provider_that_is_shared_with_other_hosts_is_no_closest_one():
    world = """
        h    VCPU=8 @a
        i    VCPU=8 @b
        nfs1 DISK_GB=99(max=50) @a +MISC_SHARES_VIA_AGGREGATE
        nfs2 DISK_GB=99(max=70) @b +MISC_SHARES_VIA_AGGREGATE
    """
    (row,) = explained(world, "resources=VCPU:1,DISK_GB:60").document()["funnel"]
    assert row["text"] == "DISK_GB:60 above max_unit 50"


def test_aggregates_that_root_and_child_have_only_together():
    """The root is in A, and the child in B: neither sentence about one of them would be true."""
    query = "resources=VCPU:1&member_of=@a&member_of=@b"
    document = explained(ROOT_AND_CHILD, query).document()
    (row,) = document["funnel"]
    assert (row["code"], row["requirement"]) == ("aggregate", f"member_of={A}&member_of={B}")
    assert row["text"] == (
        f"neither the provider nor its root is in all of the aggregates {A} and {B}"
    )
    (unmet,) = document["near_misses"][0]["unmet"]
    assert unmet["text"] == f"not in aggregate {B}"


def test_an_aggregate_that_is_required_and_excluded():
    (row, last) = explained(
        "h VCPU=8 @a\nh2 VCPU=8", "resources=VCPU:1&member_of=!@a&member_of=@a"
    ).document()["funnel"]
    assert row["code"] == "forbidden_aggregate"
    assert last["note"] == f"the request both requires and excludes {A}"
    alternatives = "resources=VCPU:1&member_of=!@a&member_of=in:@a,@b"
    assert (
        "also_excluded"
        not in explained("h2 VCPU=8", alternatives).document()["funnel"][0]["detail"]
    )


@pytest.mark.parametrize(
    ("query", "text", "note"),
    [
        (
            "resources=CUSTOM_GPU:1&required=CUSTOM_DISK",
            "no trait CUSTOM_DISK",
            "1 provider has it, not with CUSTOM_GPU",
        ),
        (
            "resources1=VCPU:1,MEMORY_MB:1&required1=CUSTOM_NODE",
            "no trait CUSTOM_NODE in group 1",
            "1 provider has it, not with VCPU and MEMORY_MB",
        ),
        (
            "resources1=VCPU:1,MEMORY_MB:1&member_of1=@y",
            "not in aggregate @y in group 1",
            "node is, but supplies not all of the amounts",
        ),
        (
            "resources1=CUSTOM_GPU:1&member_of1=@x",
            "not in aggregate @x in group 1",
            "h is, but supplies none of the amounts",
        ),
    ],
)
def test_a_provider_that_has_it_but_cannot_serve_the_group_is_named(query, text, note):
    world = """
        h     @x
          both VCPU=8 MEMORY_MB=9
          node VCPU=8 @y +CUSTOM_NODE
          card CUSTOM_GPU=1
          disk DISK_GB=9 +CUSTOM_DISK
    """
    (row, *_) = explained(world, query).document()["funnel"]
    said = row["text"].replace(aggregate_uuid("x"), "@x").replace(aggregate_uuid("y"), "@y")
    assert (said, row["note"]) == (text, note)


def test_the_largest_groups_do_not_fit_although_the_sum_is_free():
    world = """
        h1  CUSTOM_FPGA=1
          h1g0  CUSTOM_GPU=3
          h1g1  CUSTOM_GPU=1
        h2
          h2g0  CUSTOM_GPU=3
          h2g1  CUSTOM_GPU=3
          h2g2  CUSTOM_GPU=1
    """
    groups = [f"resources{number}=CUSTOM_GPU:{each}" for number, each in enumerate([1, 2, 2, 2])]
    explanation = explained(world, "&".join([*groups, "group_policy=none"]))
    (row,) = explanation.document()["funnel"]
    assert row["text"] == "3 x 2 CUSTOM_GPU + CUSTOM_GPU together"
    assert row["note"] == "best: h2 fits 2 of 3 x 2 CUSTOM_GPU"


@pytest.mark.parametrize(
    ("pool", "note"),
    [
        ("used=60", "best: h has 40 free"),
        ("used=20, max=40", "best: h fits 1 of 2 x 30 DISK_GB"),
        ("used=56, max=31", "best: h has 44 free"),
    ],
)
def test_a_sum_counts_what_is_shared_with_a_root(pool, note):
    world = f"h VCPU=1 @a\npool DISK_GB=100({pool}) @a +{SHARING_TRAIT}"
    amounts = "resources1=DISK_GB:30&resources2=DISK_GB:30&resources=VCPU:1&group_policy=none"
    (*_, row) = explained(world, amounts).document()["funnel"]
    assert row["note"] == note


def test_the_sum_is_what_is_free_even_if_one_allocation_cannot_have_it():
    world = "h\n  a VGPU=3(max=2)\n  b VGPU=1"
    amounts = "&".join(f"resources{each}=VGPU:2" for each in (1, 2, 3))
    (row,) = explained(world, f"{amounts}&group_policy=none").document()["funnel"]
    assert row["note"] == "best: h has 4 free"


def test_several_amounts_of_equal_groups_are_in_parentheses():
    world = "h CUSTOM_FPGA=9\n  p1 CUSTOM_EGR=6 CUSTOM_IGR=6"
    groups = "&".join(f"resources{each}=CUSTOM_EGR:4,CUSTOM_IGR:2" for each in (1, 2))
    query = f"resources=CUSTOM_FPGA:1&{groups}&group_policy=none"
    (row,) = explained(world, query).document()["funnel"]
    assert row["text"] == "2 x (4 CUSTOM_EGR + 2 CUSTOM_IGR) + CUSTOM_FPGA together"
