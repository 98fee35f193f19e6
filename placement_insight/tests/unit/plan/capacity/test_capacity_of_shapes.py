"""How often a shape fits: by hand, on small worlds."""

import itertools

import pytest

from placement import exception
from placement.core.search.deadline import Deadline
from placement.core.search.fitting_roots import FittingRoots
from placement.tests.support.queries import request_of, snapshot_of
from placement.tests.support.worlds import aggregate_uuid
from placement_insight.plan.capacity.counts import simulate
from placement_insight.plan.capacity.model import (
    NO_TRAIT,
    CapacityOfRoots,
    by_root_trait,
    grouped,
)


def never():
    return 0.0


def counted(world, query, now=never):
    return CapacityOfRoots(
        snapshot_of(world, ["CUSTOM_A"], ["VCPU"]), request_of(query), Deadline(1, now)
    )


def capacity(world, query):
    shape_capacity = counted(world, query)
    return shape_capacity.of(shape_capacity.rows)


def test_a_standalone_root_gives_what_its_scarcest_class_gives():
    shape_capacity = capacity(
        "cn VCPU=16(used=3, ratio=2.0, max=16) DISK_GB=100", "resources=VCPU:4,DISK_GB:20"
    )
    assert (shape_capacity.claims, shape_capacity.roots, shape_capacity.exact) == (5, 1, True)
    assert shape_capacity.limited_by == {"DISK_GB": 1}
    assert shape_capacity.free == {"VCPU": 29, "DISK_GB": 100}
    assert shape_capacity.stranded == {"VCPU": 9, "DISK_GB": 0}
    assert shape_capacity.largest == {"VCPU": 16, "DISK_GB": 100}


def test_groups_that_meet_on_one_provider_take_their_sum():
    shape_capacity = capacity("cn VCPU=16", "resources=VCPU:1&resources1=VCPU:2&group_policy=none")
    assert (shape_capacity.claims, shape_capacity.stranded) == (5, {"VCPU": 1})


@pytest.mark.parametrize("options", ["max=3", "min=5", "step=3"])
def test_an_amount_that_is_not_given_in_one_piece_is_stranded(options):
    shape_capacity = capacity(f"cn VCPU=16({options})", "resources=VCPU:4")
    assert (shape_capacity.claims, shape_capacity.roots, shape_capacity.at_most) == (0, 0, 0)
    assert shape_capacity.stranded == {"VCPU": 16}
    assert shape_capacity.limited_by == {"VCPU": 1}


def test_the_largest_single_claim_is_a_portion():
    world = "cn1 VCPU=16(step=5)\ncn2 VCPU=9(min=10)"
    assert capacity(world, "resources=VCPU:1").largest == {"VCPU": 15}


def test_hosts_without_the_class_or_the_trait_are_not_considered():
    shape_capacity = capacity(
        "cn1 VCPU=4 +CUSTOM_A\ncn2 VCPU=8\ncn3 DISK_GB=9", "resources=VCPU:2&required=CUSTOM_A"
    )
    assert (shape_capacity.claims, shape_capacity.free) == (2, {"VCPU": 4})


def test_a_host_with_less_than_is_used_takes_nothing():
    shape_capacity = capacity("cn VCPU=4(used=9)", "resources=VCPU:1")
    assert (shape_capacity.claims, shape_capacity.free, shape_capacity.stranded) == (
        0,
        {"VCPU": 0},
        {"VCPU": 0},
    )


NUMA = """
    cn1      MEMORY_MB=1000  @az1 +CUSTOM_AZ_1
      numa0  VCPU=8(used=1)
      numa1  VCPU=8
    cn2      MEMORY_MB=1000(used=900)  @az2 +CUSTOM_AZ_2
      numa2  VCPU=8
"""


def test_the_members_of_a_tree_are_used_one_after_the_other():
    shape_capacity = capacity(NUMA, "resources=VCPU:3,MEMORY_MB:100")
    assert (shape_capacity.claims, shape_capacity.at_most, shape_capacity.roots) == (
        2 + 2 + 1,
        5,
        2,
    )
    assert shape_capacity.limited_by == {"VCPU": 1, "MEMORY_MB": 1}
    assert shape_capacity.stranded == {"VCPU": 24 - 1 - 15, "MEMORY_MB": 600}


def test_isolated_groups_of_a_tree_are_within_the_bound():
    query = "resources1=VCPU:4&resources2=VCPU:4&group_policy=isolate"
    shape_capacity = capacity("cn DISK_GB=1\n  numa0 VCPU=12\n  numa1 VCPU=4", query)
    assert (shape_capacity.claims, shape_capacity.at_most, shape_capacity.exact) == (
        1,
        2,
        False,
    )


SHARED = """
    ss   DISK_GB=100  @rack +MISC_SHARES_VIA_AGGREGATE
    cn1  VCPU=8  @rack
    cn2  VCPU=8  @rack
    cn3  VCPU=8
"""


def test_what_is_shared_counts_once():
    shape_capacity = capacity(SHARED, "resources=VCPU:1,DISK_GB:10")
    assert (shape_capacity.claims, shape_capacity.at_most, shape_capacity.roots) == (10, 10, 2)
    assert (shape_capacity.free, shape_capacity.stranded) == (
        {"VCPU": 16, "DISK_GB": 100},
        {"VCPU": 6, "DISK_GB": 0},
    )


def test_what_only_a_sharing_provider_gives_fits_wherever_it_is_shared():
    shape_capacity = capacity(SHARED, "resources=DISK_GB:30")
    assert (shape_capacity.claims, shape_capacity.at_most, shape_capacity.roots) == (3, 3, 3)
    assert shape_capacity.free == {"DISK_GB": 100}


def test_roots_are_grouped():
    shape_capacity = counted(NUMA, "resources=VCPU:3,MEMORY_MB:100")
    snapshot = shape_capacity.snapshot
    aggregates = {
        uuid: shape_capacity.of(rows).claims
        for uuid, rows in grouped(snapshot.aggregates, shape_capacity.rows, snapshot.size)
    }
    assert aggregates == {aggregate_uuid("az1"): 4, aggregate_uuid("az2"): 1}
    traits = {
        n: shape_capacity.of(rows)
        for n, rows in by_root_trait(snapshot, shape_capacity.rows, "CUSTOM_AZ_")
    }
    assert {name: (each.claims, each.roots) for name, each in traits.items()} == {
        "CUSTOM_AZ_1": (4, 1),
        "CUSTOM_AZ_2": (1, 1),
    }


def test_roots_without_the_trait_are_the_last_group():
    shape_capacity = counted(NUMA, "resources=VCPU:3,MEMORY_MB:100")

    def groups(prefix):
        grouped = by_root_trait(shape_capacity.snapshot, shape_capacity.rows, prefix)
        return [(name, shape_capacity.of(rows).claims) for name, rows in grouped]

    assert groups("CUSTOM_AZ_1") == [("CUSTOM_AZ_1", 4), (NO_TRAIT, 1)]
    assert groups("CUSTOM_NO_SUCH_") == [(NO_TRAIT, 5)]


def test_an_empty_snapshot_takes_nothing():
    shape_capacity = capacity("", "resources=VCPU:1")
    assert (shape_capacity.claims, shape_capacity.at_most, shape_capacity.free) == (
        0,
        0,
        {"VCPU": 0},
    )


def test_a_class_that_does_not_exist_is_an_error():
    with pytest.raises(exception.UnknownResourceClass):
        capacity("cn VCPU=1", "resources=CUSTOM_NO:1")


@pytest.mark.parametrize("step", [FittingRoots, simulate])
def test_a_budget_that_ends_leaves_the_bound(monkeypatch, step):
    seconds = [0.0]

    def late(*arguments):
        seconds.append(2.0)
        return step(*arguments)

    monkeypatch.setattr(f"placement_insight.plan.capacity.model.{step.__name__}", late)
    shape_capacity = counted(NUMA, "resources=VCPU:3,MEMORY_MB:100", now=lambda: seconds[-1])
    total = shape_capacity.of(shape_capacity.rows)
    assert not shape_capacity.is_finished
    assert (total.claims, total.at_most, total.exact) == (0, 5, False)


@pytest.mark.parametrize("amount", [2**31, 2**62, 2**63, 10**23, 10**400])
@pytest.mark.parametrize(
    "query",
    [
        "resources=VCPU:{0}",
        "resources1=VCPU:{0}&resources2=VCPU:{0}&group_policy=none",
        "resources=VCPU:1&resources1=VCPU:{0}",
    ],
)
def test_no_amount_is_too_large_to_be_requested(query, amount):
    shared = "cn @r\ns VCPU=8 @r +MISC_SHARES_VIA_AGGREGATE"
    for world in ("cn VCPU=16", "cn\n  a VCPU=8\n  b VCPU=8", shared):
        shape_capacity = capacity(world, query.format(amount))
        assert (shape_capacity.claims, shape_capacity.at_most, shape_capacity.roots) == (0, 0, 0)


def test_groups_after_the_deadline_are_left_out():
    clock = itertools.count()
    world = "\n".join(f"cn{number} VCPU=1" for number in range(9))
    snapshot, request = snapshot_of(world), request_of("resources=VCPU:1")
    shape_capacity = CapacityOfRoots(snapshot, request, Deadline(13, clock.__next__))
    roots = [(row, shape_capacity.rows[row : row + 1]) for row in range(9)]
    listed = list(shape_capacity.of_each(roots))
    assert 0 < len(listed) < 9
    assert not shape_capacity.is_finished
