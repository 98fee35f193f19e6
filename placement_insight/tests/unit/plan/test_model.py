"""What is planned for the consumers of drained providers."""

from collections import Counter

import numpy as np

from placement.tests.support.queries import snapshot_of
from placement_insight.plan.model import Holder, Keep, Scene


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
