"""What is planned for the consumers of drained providers."""

import time
from collections import Counter

import numpy as np

from placement.core.search.deadline import Deadline
from placement.tests.support.queries import snapshot_of
from placement_insight.plan.cells import cells_of
from placement_insight.plan.drain import drain
from placement_insight.plan.model import Holder, Keep, Scene
from placement_insight.plan.words import of_drain


def test_each_consumer_is_planned_or_skipped_for_a_reason():
    snapshot = snapshot_of("h1 VCPU=8\nh2 VCPU=8\nh3 VCPU=8")
    one, both = Counter({("VCPU", 0): 1}), Counter({("VCPU", 0): 1, ("VCPU", 1): 1})
    holders = [
        Holder("a", "INSTANCE", None, one),
        Holder("b", "MIGRATION", None, one),
        Holder("c", "INSTANCE", None, one, has_changed=True),
        Holder("d", "INSTANCE", None, both),
    ]
    scene = Scene.of(snapshot, np.array([True, False, False]), holders, Keep())
    assert [[each.uuid for each in demand.holders] for demand in scene.demands] == [["a"]]
    assert scene.skipped == {"b": "migration", "c": "changed", "d": "several_trees"}


def scene_of(world, *allocations):
    """Return the scene in which the first tree is drained; the allocations are by class or row."""
    snapshot = snapshot_of(world)
    holders = [
        Holder(f"{number}", "INSTANCE", None, Counter(each))
        for number, each in enumerate(allocations)
    ]
    return Scene.of(snapshot, snapshot.forest.root == 0, holders, Keep())


def drained(world, *allocations):
    return drain(scene_of(world, *allocations), Deadline(60, time.monotonic))


def test_a_consumer_moves_to_the_root_with_the_least_of_the_scarcest_class():
    world = "h1 VCPU=9 DISK_GB=90\nh2 VCPU=30 DISK_GB=100\nh3 VCPU=20 DISK_GB=110"
    (move,) = drained(world, {("VCPU", 0): 5, ("DISK_GB", 0): 90}).moves
    assert move.root == 1


def test_the_largest_consumers_are_placed_first():
    sizes = [{("VCPU", 0): size} for size in (1, 1, 3, 3)]
    assert drained("h1 VCPU=8\nh2 VCPU=4\nh3 VCPU=4", *sizes).verdict == "fits"


def test_a_root_takes_no_more_than_the_consumers():
    """Of three equal consumers, two are left for the second root, which has room for four."""
    sizes = [{("VCPU", 0): size} for size in (2, 2, 2, 1)]
    assert drained("h1 VCPU=8\nh2 VCPU=2\nh3 VCPU=8", *sizes).verdict == "fits"


def test_a_plan_that_is_not_proved_says_so():
    """No two consumers fit on one host, although the sum is free."""
    sizes = [{("VCPU", 0): size} for size in (5, 4, 3)]
    scene = scene_of("h1 VCPU=12\nh2 VCPU=6\nh3 VCPU=6", *sizes)
    result = drain(scene, Deadline(60, time.monotonic))
    assert result.verdict == "undetermined"
    headline, *_ = of_drain(["h1"], scene, result, are_hosts=True)
    assert headline.endswith("; 1 has no place in this plan, and may fit in another one")


def test_each_group_counts_on_the_largest_provider_that_is_left():
    """Only VCPU is too little: the groups of 4 and 2 fit on the providers with 2 and 4."""
    source = "h1 VCPU=8\n  a CUSTOM_GPU=4\n  b CUSTOM_GPU=2"
    target = "h2 VCPU=7\n  c CUSTOM_GPU=2\n  d CUSTOM_GPU=4"
    result = drained(
        f"{source}\n{target}", {("VCPU", 0): 8, ("CUSTOM_GPU", 1): 4, ("CUSTOM_GPU", 2): 2}
    )
    assert [each.text for each in result.stuck] == [
        "needs 8 VCPU; the most that one host has free is 7 (h2)"
    ]


def test_hosts_that_are_down_are_known_without_cells():
    snapshot = snapshot_of("h1 VCPU=8\nh2 VCPU=8")
    assert cells_of(snapshot, {}, (), ["h2"]).down == {1}
