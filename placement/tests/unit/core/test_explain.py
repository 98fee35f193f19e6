"""What an explanation counts."""

import itertools
import time

import pytest

from placement.core.insight.explanation import Explanation, explain, summary
from placement.exception import SearchDeadlineExceeded
from placement.tests.queries import ask, request_of, snapshot_of

CLOUD = snapshot_of(
    """
    cn1  VCPU=8(used=6)  MEMORY_MB=1024  +CUSTOM_GPU @rack1
    cn2  VCPU=8          MEMORY_MB=1024  +CUSTOM_GPU
    cn3  VCPU=8          MEMORY_MB=1024  @rack1
    cn4  MEMORY_MB=1024                  +CUSTOM_GPU
    """,
    traits=["CUSTOM_NOBODY"],
)
TREE = snapshot_of("""
    host
      dev0 VGPU=1
      dev1 VGPU=1
    disk DISK_GB=9
""")


def explained(snapshot, query, relaxed=False) -> Explanation:
    return explain(snapshot, request_of(query), now=time.monotonic, relaxed=relaxed)


def losses(tally):
    return {str(loss.requirement): loss.count for loss in tally.losses if loss.count}


def test_each_provider_is_counted_at_the_first_requirement_it_fails():
    (slot,) = explained(CLOUD, "resources=VCPU:4&required=CUSTOM_GPU&member_of=@rack1").slots
    assert slot.considered == 4
    assert losses(slot).popitem()[0].startswith("member_of=")
    assert losses(slot)["resources=VCPU:4"] == 2
    assert losses(slot)["required=CUSTOM_GPU"] == 1
    assert slot.remaining == 0


def test_the_largest_amount_that_would_have_fitted():
    vcpu, memory = explained(CLOUD, "resources=VCPU:4,MEMORY_MB:2000&required=CUSTOM_GPU").slots
    assert vcpu.largest == {"VCPU": 8}
    assert memory.largest == {"MEMORY_MB": 1024}
    (slot,) = explained(CLOUD, "resources=VCPU:4&required=CUSTOM_GPU&member_of=@rack1").slots
    assert slot.largest == {"VCPU": 2}


def test_roots_add_up():
    found = explained(CLOUD, "resources=VCPU:4&root_required=CUSTOM_GPU")
    assert losses(found) == {"root_required=CUSTOM_GPU": 1, "resources=VCPU:4": 2}
    assert (found.roots, found.remaining) == (4, 1)


def test_conditions_between_groups_are_counted_after_the_groups():
    three = "&".join(f"resources_{letter}=VGPU:1" for letter in "ABC")
    assert losses(explained(TREE, three + "&group_policy=isolate")) == {
        "resources_A=VGPU:1": 1,
        "group_policy=isolate": 1,
    }
    assert losses(explained(TREE, three + "&group_policy=none")) == {
        "resources_A=VGPU:1": 1,
        "resources of all groups together": 1,
    }
    two = "resources_A=VGPU:1&resources_B=VGPU:1&same_subtree=_A,_B&group_policy=isolate"
    assert losses(explained(TREE, two))["same_subtree=_A,_B"] == 1


def test_dropping_one_requirement():
    found = explained(CLOUD, "resources=VCPU:4&required=CUSTOM_GPU&member_of=@rack1", relaxed=True)
    assert sorted(relaxation.roots for relaxation in found.relaxations) == [1, 1]
    assert {r.requirement.parameter for r in found.relaxations} == {"required", "member_of"}


def test_an_explanation_fits_in_a_line():
    query = "resources=VCPU:99&required=CUSTOM_GPU"
    line = summary(explained(CLOUD, query))
    assert not ask(CLOUD, query).candidates
    assert "resources=VCPU:99: -4" in line
    assert "\n" not in line


def test_each_requirement_that_could_be_dropped_is_tried():
    picture = """
        cn1  VCPU=8  +CUSTOM_A  @rack1
        cn2  VCPU=8  +CUSTOM_A
        cn3  VCPU=8  +CUSTOM_A +CUSTOM_OLD
          numa3  DISK_GB=5
        cn4  VCPU=8  DISK_GB=5
    """
    query = "resources=VCPU:4,DISK_GB:5&required=CUSTOM_A&required=!CUSTOM_OLD&member_of=@rack1"
    found = explained(snapshot_of(picture), query, relaxed=True)
    assert {str(r.requirement): r.roots for r in found.relaxations} == {"resources=DISK_GB:5": 1}
    looser = explained(snapshot_of(picture), query.replace("&member_of=@rack1", ""), relaxed=True)
    assert {str(r.requirement): r.roots for r in looser.relaxations} == {
        "resources=DISK_GB:5": 2,
        "required=CUSTOM_A": 1,
        "required=!CUSTOM_OLD": 1,
    }


def test_the_requirement_that_lets_most_hosts_fit_comes_first():
    picture = "\n".join(
        f"cn{n} VCPU=8 {'+CUSTOM_A' * (n < 1)} {'@rack' * (n > 1)}" for n in range(6)
    )
    found = explained(
        snapshot_of(picture), "resources=VCPU:1&required=CUSTOM_A&member_of=@rack", relaxed=True
    )
    assert [r.roots for r in found.relaxations] == [4, 1]


def test_the_limit_is_of_no_matter():
    query = "resources=VCPU:1"
    assert explained(CLOUD, query) == explained(CLOUD, f"{query}&limit=1")


def test_an_explanation_that_takes_too_long_is_ended():
    ticks = itertools.count()
    with pytest.raises(SearchDeadlineExceeded):
        explain(CLOUD, request_of("resources=VCPU:9"), now=ticks.__next__, budget_seconds=0)
