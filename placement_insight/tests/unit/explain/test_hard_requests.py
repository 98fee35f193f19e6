"""Requests whose explanation takes long unless it is done well."""

import sys
import time
from collections import Counter

from placement.core.model import Inventory, Provider, ProviderState
from placement.core.search.deadline import Deadline
from placement.core.search.fitting_roots import FittingRoots
from placement.core.search.slots import SlottedRequest
from placement.tests.support.provider_tables import snapshot_of_states
from placement.tests.support.queries import request_of
from placement.tests.unit.core.search.test_hard_requests import groups


def test_the_calls_that_explain_a_deep_tree_do_not_grow_with_its_square():
    """Providers below each other were counted level by level: 1.7 s of CPU for 5,000 levels."""
    assert calls_to_explain(levels=2000) < 2.2 * calls_to_explain(levels=1000)


def calls_to_explain(levels):
    uuids = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(levels)]
    parts = ({"VGPU": Inventory(total=1)}, {}, frozenset(), frozenset())
    states = [
        ProviderState(Provider(number, uuid, uuid, 0, parent, uuids[0]), *parts)
        for number, (uuid, parent) in enumerate(zip(uuids, [None, *uuids], strict=False))
    ]
    names = [f"CUSTOM_{n}" for n in range(4)]
    forbidden = "&".join(f"required_{n}=!{name}" for n, name in enumerate(names))
    query = f"{groups([1] * 4, 'isolate')}&{forbidden}&same_subtree=_0,_1,_2,_3"
    slotted = SlottedRequest.of(request_of(query))
    snapshot = snapshot_of_states(states, trait_names=names)
    events = Counter()
    sys.setprofile(lambda _frame, event, _: events.update([event]))
    try:
        assert FittingRoots(snapshot, Deadline(60, time.monotonic)).of(slotted).any()
    finally:
        sys.setprofile(None)
    return events["call"] + events["c_call"]
