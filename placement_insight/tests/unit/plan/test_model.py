"""What is planned for the consumers of drained providers."""

import time
from collections import Counter

import numpy as np

from placement.core.search.deadline import Deadline
from placement.tests.support.queries import snapshot_of
from placement_insight.plan.model import Holder, Keep, Scene
from placement_insight.plan.placing import Placement


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


def test_a_consumer_moves_to_the_root_with_the_least_of_the_scarcest_class():
    world = "h1 VCPU=9 DISK_GB=90\nh2 VCPU=30 DISK_GB=100\nh3 VCPU=20 DISK_GB=110"
    holder = Holder("a", "INSTANCE", None, Counter({("VCPU", 0): 5, ("DISK_GB", 0): 90}))
    scene = Scene.of(snapshot_of(world), np.array([True, False, False]), [holder], Keep())
    (move,) = Placement(scene, Deadline(60, time.monotonic)).moves
    assert move.root == 1
