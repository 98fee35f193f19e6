"""Room in random small clouds against all sets of consumers by brute force.

``DRAIN_WORLDS`` is the number of clouds.
"""

import itertools
import os
import random
import time
from collections import Counter
from contextlib import suppress

import pytest

from placement.core.search.deadline import Deadline
from placement.exception import SearchDeadlineExceeded
from placement.tests.support.provider_tables import snapshot_of_states
from placement_insight.plan.model import Holder
from placement_insight.plan.room import Rooms, Task, rooms
from placement_insight.plan.server_groups import ServerGroups
from placement_insight.tests.property.rooms import BruteRoom, RoomCase, random_room_case
from placement_insight.tests.support.drains import (
    by_number,
    by_row,
    claim_in_order,
    keep_of,
    located,
)

WORLDS = int(os.environ.get("DRAIN_WORLDS", "80"))
FIRST = int(os.environ.get("DRAIN_FIRST", "0"))


def found(world: RoomCase, *, is_moved: bool, deadline: Deadline | None = None):
    """Return the result, and a function from rows to numbers of providers."""
    case = world.case
    snapshot = snapshot_of_states(case.states)
    row_of = [snapshot.forest.row_of[state.provider.uuid] for state in case.states]
    holders = [
        Holder(uuid, "INSTANCE", "p", by_row(held, row_of))
        for uuid, held in case.consumers.items()
    ]

    def read(rows):
        return [each for each in holders if any(rows[row] for _, row in each.allocations)]

    keep = keep_of(case, snapshot)
    evictable = None if is_moved else lambda _: True
    groups = ServerGroups(case.groups, located(case, row_of))
    task = Task(world.request, keep, read, 10, evictable, groups=groups)
    return rooms(snapshot, task, deadline or Deadline(20, time.monotonic)), row_of.index


def judged(seed: int, *, is_moved: bool, has_groups: bool) -> str:
    """Return how the best room of a random cloud compares with the best of all sets."""
    world = random_room_case(random.Random(seed), has_groups=has_groups)
    result, number_of = found(world, is_moved=is_moved)
    force = BruteRoom(world)
    now = [root for root in force.roots if force.fits(root, (), is_moved=False)]
    assert result.fits_now == len(now)
    if now:
        assert result == Rooms(len(now))
        return "fits now"
    fewest = {root: force.fewest(root, is_moved=is_moved) for root in force.roots}
    for room in result.rooms:
        root = number_of(room.root)
        leaving = [each.holder.uuid for each in room.leaving]
        assert force.fits(root, leaving, is_moved=is_moved)
        assert fewest[root] is not None
        assert not room.is_minimal or fewest[root] == len(leaving)
        if is_moved:
            moves = [
                (each.holder.uuid, by_number(each.move.allocations, number_of))
                for each in room.leaving
            ]
            claim_in_order(world.case, moves)
    if result.reason == "too_large_for_any_host":
        assert not any(force.fits_empty(root) for root in force.roots)
    if result.reason is not None:
        assert not result.rooms
        assert set(fewest.values()) == {None}
        return result.reason
    best = min((number for number in fewest.values() if number is not None), default=None)
    if not result.rooms:
        return "undetermined, none" if best is None else "undetermined, possible"
    more = len(result.rooms[0].leaving) - best
    return "fewest" if more == 0 else f"{more} more"


@pytest.mark.parametrize(
    ("is_moved", "has_groups"),
    [
        (True, False),
        pytest.param(True, True, marks=pytest.mark.long),
        (False, False),
    ],
)
def test_the_fewest_consumers_leave(is_moved, has_groups):
    verdicts = Counter[str]()
    for seed in range(FIRST, FIRST + WORLDS):
        try:
            verdicts[judged(seed, is_moved=is_moved, has_groups=has_groups)] += 1
        except AssertionError as error:
            pytest.fail(f"seed {seed}: {error!r}")
    print(verdicts)
    room = verdicts["fewest"] + verdicts["1 more"]
    assert room > WORLDS / 40
    assert verdicts["1 more"] <= room / 100
    assert verdicts["undetermined, possible"] + verdicts["undetermined, none"] <= WORLDS / 20
    assert not [each for each in verdicts if each.endswith(" more") and each != "1 more"]


def test_a_move_may_free_nothing_on_the_root():
    """Its disk moves from the root to shared storage, which the root may use as well."""
    assert judged(1017545, is_moved=True, has_groups=False) == "fewest"


def test_a_search_that_the_deadline_ends_is_not_complete():
    world = random_room_case(random.Random(1017545), has_groups=False)
    whole, _ = found(world, is_moved=True)
    results = []
    for reads_of_the_clock in range(100):
        deadline = Deadline(reads_of_the_clock, itertools.count().__next__)
        with suppress(SearchDeadlineExceeded):
            results.append(found(world, is_moved=True, deadline=deadline)[0])
    cut = [each for each in results if not each.is_complete]
    assert 0 < len(cut) < len(results)
    assert all(each.undetermined for each in cut)
    assert all(each == whole or each.undetermined for each in results)
