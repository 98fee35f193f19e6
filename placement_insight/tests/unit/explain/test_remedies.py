"""What would help."""

import itertools

import pytest

from placement.core.requirement import Amount, Isolate, RequiredTrait, SameSubtree
from placement.core.search.deadline import Deadline
from placement.microversion import MAX_VERSION, Version
from placement.tests.support.queries import request_of, snapshot_of
from placement.tests.support.worlds import aggregate_uuid
from placement_insight.explain.changes import (
    Both,
    Drop,
    Lower,
    Policy,
    Remedy,
    Split,
    Unsuffix,
)
from placement_insight.explain.explain import Question, explain
from placement_insight.tests.unit.explain.explanations import explained


def remedies(picture, query, **options):
    return explained(picture, query, remedies=True, **options).remedies


def dropped(remedy):
    return remedy.change.parameters.spelled(remedy.change.group)


def amounts(picture, query):
    return {
        (each.change.group, each.change.resource_class): (each.change.to, each.roots)
        for each in remedies(picture, query)
        if isinstance(each.change, Lower)
    }


def test_the_largest_amount_that_fits_is_found_among_many():
    world = "\n".join(f"h{n} VCPU=1000(used={n})" for n in range(10, 500))
    assert amounts(world, "resources=VCPU:5000") == {("", "VCPU"): (990, 1)}


def test_the_step_of_each_provider_counts():
    world = """
        h1  VCPU=1000(used=900, step=64)
        h2  VCPU=1000(used=950, step=3)
        h3  VCPU=1000(used=999, step=1)
    """
    assert amounts(world, "resources=VCPU:640") == {("", "VCPU"): (64, 1)}


def test_a_least_amount_counts():
    world = """
        h1  VCPU=100(min=60)
        h2  VCPU=100(used=80)
    """
    assert amounts(world, "resources=VCPU:101") == {("", "VCPU"): (100, 1)}
    world = world.replace("min=60", "used=50, min=60")
    assert amounts(world, "resources=VCPU:101") == {("", "VCPU"): (20, 1)}


def test_an_amount_is_bounded_by_what_other_groups_take():
    world = "h1 VCPU=100"
    query = "resources1=VCPU:80&resources2=VCPU:60&group_policy=none"
    assert amounts(world, query) == {("1", "VCPU"): (40, 1), ("2", "VCPU"): (20, 1)}


def test_an_amount_of_a_tree():
    world = """
        h1
          a VCPU=1000(used=400)
          b VCPU=1000(used=700)
    """
    query = "resources1=VCPU:900&resources2=VCPU:300&group_policy=isolate"
    assert amounts(world, query) == {("1", "VCPU"): (600, 1)}


def test_the_requirement_that_lets_most_hosts_fit_comes_first():
    world = "\n".join(
        f"cn{n} VCPU=8 {'+CUSTOM_OFF' * (n < 1)} {'@rack' * (n > 1)}" for n in range(6)
    )
    suggestions = remedies(world, "resources=VCPU:1&required=CUSTOM_OFF&member_of=@rack")
    assert [each.roots for each in suggestions] == [4, 1]
    assert [type(each.change) for each in suggestions] == [Drop, Drop]


GPUS = """
    h1 VCPU=8
      a CUSTOM_GPU=1
      b CUSTOM_GPU=1
      c CUSTOM_GPU=1
"""


def test_an_amount_that_several_providers_have_is_requested_in_groups():
    split, lowered = remedies(GPUS, "resources=CUSTOM_GPU:3")
    assert split == Remedy(
        change=Split("", "CUSTOM_GPU", (1, 1, 1)),
        roots=1,
        query="resources=CUSTOM_GPU:1&resources1=CUSTOM_GPU:1&resources2=CUSTOM_GPU:1&group_policy=none",
    )
    assert split.change.text({}) == "with 3 groups of CUSTOM_GPU:1"
    assert lowered.change == Lower("", "CUSTOM_GPU", to=1)


@pytest.mark.parametrize(
    ("free", "text", "resources"),
    [
        ("41", "with 2 groups of VGPU:4 + 1", ["4", "1"]),
        ("712", "with 2 groups of VGPU:3 + 2", ["3", "2"]),
        ("32", "with 2 groups of VGPU:3 + 2", ["3", "2"]),
        ("221", "with 3 groups of VGPU:2 + 2 + 1", ["2", "2", "1"]),
    ],
)
def test_an_amount_is_divided_as_the_providers_have_it(free, text, resources):
    world = "h1\n" + "\n".join(f"  g{n} VGPU={each}(max=4)" for n, each in enumerate(free))
    split = remedies(world, "resources=VGPU:5")[0]
    assert split.change.text({}) == text
    document = split.change.document()
    assert (document["parts"], document["to"]) == (len(resources), split.change.amounts[0])
    groups = [f"resources{number or ''}=VGPU:{each}" for number, each in enumerate(resources)]
    assert split.query.removesuffix("&group_policy=none") == "&".join(groups)


def test_a_group_keeps_its_conditions_when_it_is_split():
    query = "resources=VCPU:1&resources_G=CUSTOM_GPU:2&required_G=!CUSTOM_OFF"
    split = remedies(GPUS, query)[0]
    assert split.query == (
        "resources=VCPU:1&resources_G=CUSTOM_GPU:1&required_G=!CUSTOM_OFF"
        "&resources1=CUSTOM_GPU:1&required1=!CUSTOM_OFF&group_policy=none"
    )


def test_only_the_first_part_keeps_the_aggregate_of_a_tree():
    split = remedies("h1 @rack\n  a VCPU=4\n  b VCPU=4", "resources=VCPU:8&member_of=@rack")[0]
    rack = aggregate_uuid("rack")
    assert split.query == f"resources=VCPU:4&member_of={rack}&resources1=VCPU:4"


def test_a_group_of_several_classes_loses_its_suffix():
    first = remedies(GPUS, "resources1=VCPU:1,CUSTOM_GPU:1")[0]
    assert isinstance(first.change, Unsuffix)
    assert first.change.group == "1"
    assert first.query == "resources=VCPU:1,CUSTOM_GPU:1"


def test_the_same_change_of_equal_groups_is_listed_once():
    four = "&".join(f"resources{number}=CUSTOM_GPU:1" for number in range(1, 5))
    (remedy,) = remedies(GPUS, f"{four}&group_policy=isolate")
    assert dropped(remedy) == "resources1=CUSTOM_GPU:1"
    assert remedy.change.alike == tuple("1234")


def test_one_amount_of_equal_groups_is_lowered():
    two = "resources1=CUSTOM_GPU:2&resources2=CUSTOM_GPU:2"
    world = "h1\n  g1 CUSTOM_GPU=2\n  g2 CUSTOM_GPU=1"
    lowered = remedies(world, f"{two}&group_policy=isolate")[0]
    assert lowered.change == Lower("1", "CUSTOM_GPU", to=1, alike=("1", "2"))


def test_a_smaller_amount_comes_before_a_dropped_class():
    world = "h1 VCPU=8 MEMORY_MB=64\nh2 VCPU=4 MEMORY_MB=64"
    suggestions = remedies(world, "resources=VCPU:9,MEMORY_MB:1")
    kinds = [(type(each.change), each.roots) for each in suggestions]
    assert kinds == [(Lower, 1), (Drop, 2)]


def test_two_changes_if_no_single_one_helps():
    (both,) = remedies("h1 VCPU=8", "resources=VCPU:9&required=CUSTOM_OFF")
    assert both == Remedy(
        Both(Drop(RequiredTrait(frozenset({"CUSTOM_OFF"}))), Lower("", "VCPU", to=8)),
        1,
        "resources=VCPU:8",
    )


def test_two_amounts():
    suggestions = remedies("h1 VCPU=8 MEMORY_MB=64", "resources=VCPU:9,MEMORY_MB:65")
    cpus, memory = Lower("", "VCPU", to=8), Lower("", "MEMORY_MB", to=64)
    assert {each.change for each in suggestions} == {
        Both(Drop(Amount("VCPU", 9)), memory),
        Both(Drop(Amount("MEMORY_MB", 65)), cpus),
        Both(cpus, memory),
    }


def test_a_policy_that_several_groups_must_have_is_replaced():
    query = "resources1=VCPU:1&resources2=VCPU:1&group_policy=isolate"
    (by_policy,) = (
        each
        for each in remedies("h1 VCPU=8", query)
        if isinstance(each.change, Drop) and each.change.instead
    )
    assert by_policy.change == Drop(Isolate(), instead=(Policy(isolate=False),))
    assert by_policy.query == query.replace("isolate", "none")


def test_a_group_without_resources_remains_named_by_a_subtree():
    world = "h1\n  a VCPU=8\n  b +CUSTOM_OFF"
    query = "resources1=VCPU:1&required2=CUSTOM_OFF&same_subtree=1,2&group_policy=none"
    _, remedy = remedies(world, query)
    both, alone = SameSubtree(frozenset("12")), SameSubtree(frozenset("2"))
    assert remedy.change == Drop(both, instead=(alone,))


def test_a_group_without_resources_is_dropped_with_its_same_subtree():
    """Its only requirement alone cannot be dropped: the API has no empty groups."""
    query = "resources1=VCPU:1&required2=CUSTOM_OFF&same_subtree=2&group_policy=none"
    (remedy,) = remedies("h1 VCPU=8", query)
    assert remedy.query == "resources1=VCPU:1"
    assert dropped(remedy) == "required2=CUSTOM_OFF&same_subtree=2"
    three = "resources1=VCPU:1&resources3=VCPU:1&required2=CUSTOM_OFF&same_subtree=1,2,3"
    (remedy,) = remedies("h1 VCPU=8", f"{three}&group_policy=none")
    assert remedy.change.instead == (SameSubtree(frozenset("13")),)
    rest = "resources1=VCPU:1&resources3=VCPU:1&group_policy=none&same_subtree=1,3"
    assert (remedy.query, remedy.roots) == (rest, 1)


def test_parts_that_exceed_the_budget_are_named_as_undetermined():
    ticks = itertools.count()
    snapshot = snapshot_of("h1 VCPU=8")
    question = Question(request_of("resources=VCPU:9"), "", MAX_VERSION, remedies=True)
    for budget in range(100):
        explanation = explain(snapshot, question, Deadline(budget, ticks.__next__))
        if not explanation.undetermined:
            break
        if "funnel" in explanation.undetermined:
            assert explanation.fits is None
        else:
            assert explanation.fits == 0
    assert budget > 3
    assert explanation.remedies


def test_a_request_that_fits_needs_no_smaller_amount():
    explanation = explained("h1 VCPU=8", "resources=VCPU:8", remedies=True)
    assert (explanation.fits, explanation.remedies, explanation.near_misses) == (1, (), ())


def test_the_limit_does_not_matter():
    query = "resources=VCPU:9"
    world = "h1 VCPU=8\nh2 VCPU=8"
    snapshot = snapshot_of(world)
    first, second = (
        explain(snapshot, Question(request_of(text), "", MAX_VERSION), Deadline(1, lambda: 0.0))
        for text in (query, f"{query}&limit=1")
    )
    assert first == second
    assert remedies(world, f"{query}&limit=5")[0].query == "resources=VCPU:8&limit=5"


def test_an_amount_without_bound_is_lowered():
    for amount in (2**31, 2**63, 2**64, 10**23, 10**400):
        assert amounts("h1 VCPU=8", f"resources=VCPU:{amount}") == {("", "VCPU"): (8, 1)}


SHARED_STORAGE = """
    cn1  VCPU=8        @rack1
    cn2  VCPU=8        @rack1
    cn3  VCPU=8        +CUSTOM_FAST
    ss1  DISK_GB=1000  @rack1  +MISC_SHARES_VIA_AGGREGATE
"""


def test_a_remedy_counts_hosts():
    """Not the sharing provider on which the changed request fits alone, unless no host fits."""
    assert amounts(SHARED_STORAGE, "resources=DISK_GB:5000") == {("", "DISK_GB"): (1000, 2)}
    (trait,) = remedies(SHARED_STORAGE, "resources=DISK_GB:10&root_required=CUSTOM_FAST")
    assert (dropped(trait), trait.roots) == ("root_required=CUSTOM_FAST", 2)
    named = "resources=DISK_GB:5000&in_tree=$ss1"
    assert amounts(SHARED_STORAGE, named) == {("", "DISK_GB"): (1000, 1)}
    fitting = explained(SHARED_STORAGE, "resources=DISK_GB:10")
    assert (fitting.fits, fitting.roots) == (2, 3)


PORTS = """
    host VCPU=8
      agent CUSTOM_GPU=9
        bridge CUSTOM_FPGA=20 MEMORY_MB=20 +CUSTOM_OFF
"""


@pytest.mark.parametrize("kept", ["", "&required2=CUSTOM_OFF"])
def test_a_group_whose_classes_are_on_different_providers_is_separated(kept):
    """The traits stay where all of them are."""
    query = f"resources=VCPU:1&resources2=CUSTOM_FPGA:2,MEMORY_MB:3,CUSTOM_GPU:4{kept}"
    first = remedies(PORTS, query)[0]
    assert first.query == (
        "resources=VCPU:1&resources2=CUSTOM_FPGA:2,MEMORY_MB:3"
        f"{kept}&resources1=CUSTOM_GPU:4&group_policy=none"
    )
    moved = "with CUSTOM_GPU:4 in group 2 moved to another group"
    assert first.change.text({}) == moved + (" without its traits" if kept else "")
    assert first.change.document() == {"change": "separate", "moved": ["resources2=CUSTOM_GPU:4"]}


@pytest.mark.parametrize("classes", ["CUSTOM_FPGA:2,CUSTOM_GPU:4", "CUSTOM_GPU:4,CUSTOM_FPGA:2"])
def test_the_classes_whose_provider_has_the_trait_keep_it(classes):
    query = f"resources=VCPU:1&resources_P={classes}&required_P=CUSTOM_OFF"
    assert remedies(PORTS, query)[0].query == (
        "resources=VCPU:1&resources_P=CUSTOM_FPGA:2&required_P=CUSTOM_OFF&"
        "resources1=CUSTOM_GPU:4&group_policy=none"
    )


def test_a_group_of_one_class_in_the_aggregate_of_its_root_loses_its_suffix():
    """The unsuffixed group is in the aggregates of the root."""
    first = remedies("h @a\n  g CUSTOM_GPU=1", "resources1=CUSTOM_GPU:1&member_of1=@a")[0]
    assert first.query == f"resources=CUSTOM_GPU:1&member_of={aggregate_uuid('a')}"


def test_three_kinds_of_classes_are_requested_in_three_groups():
    query = "resources=MEMORY_MB:1&resources_P=VCPU:1,CUSTOM_FPGA:2,CUSTOM_GPU:4"
    assert remedies(PORTS, query)[0].change.text({}) == (
        "with CUSTOM_FPGA:2 in group _P and CUSTOM_GPU:4 in group _P moved to other groups"
    )


def test_a_trait_of_a_root_that_supplies_nothing_is_requested_of_the_root():
    world = "root +CUSTOM_OFF\n  a VCPU=8\n  b CUSTOM_GPU=1"
    first = remedies(world, "resources=VCPU:1,CUSTOM_GPU:1&required=CUSTOM_OFF")[0]
    assert first.query == "resources=VCPU:1,CUSTOM_GPU:1&root_required=CUSTOM_OFF"
    text = "with root_required=CUSTOM_OFF instead of required=CUSTOM_OFF"
    assert first.change.text({}) == text


@pytest.mark.parametrize(("minor", "is_offered"), [(28, False), (34, False), (35, True)])
def test_only_parameters_of_the_microversion_are_offered(minor, is_offered):
    world = "root VCPU=8 +CUSTOM_OFF\n  b CUSTOM_GPU=1"
    query = "resources=CUSTOM_GPU:1&required=CUSTOM_OFF"
    offered = remedies(world, query, version=Version(1, minor))
    queries = ["resources=CUSTOM_GPU:1&root_required=CUSTOM_OFF"] if is_offered else []
    assert [each.query for each in offered] == [*queries, "resources=CUSTOM_GPU:1"]


@pytest.mark.parametrize("minor", [38, 39])
def test_single_traits_are_one_parameter(minor):
    """Below 1.39, ``required`` cannot be repeated."""
    traits = "required=CUSTOM_A,CUSTOM_B"
    (first, *_) = remedies(
        "h VCPU=8 +CUSTOM_A +CUSTOM_B", f"resources=VCPU:9&{traits}", version=Version(1, minor)
    )
    assert first.query == f"resources=VCPU:8&{traits}"
