"""Drains of random small clouds against all plans by brute force.

``DRAIN_WORLDS`` is the number of clouds.
"""

import os
import random
import time
from collections import Counter
from dataclasses import replace

import pytest

from placement.core.model import SHARING_TRAIT
from placement.core.search.deadline import Deadline
from placement.tests.support.provider_tables import snapshot_of_states
from placement_insight.plan.shortage import lacks
from placement_insight.plan.survival import Group, Survival
from placement_insight.tests.support.drains import (
    BruteForce,
    by_number,
    by_row,
    claim_in_order,
    keep_of,
    keeps,
    planned,
    random_case,
    root_of,
    with_cells,
    with_groups,
)

WORLDS = int(os.environ.get("DRAIN_WORLDS", "100"))
FIRST = int(os.environ.get("DRAIN_FIRST", "0"))


def verdict(seed: int, *, has_groups: bool = False, has_cells: bool = False) -> str:
    """Return the verdict about a random cloud, after it was compared with all plans."""
    case = random_case(rng := random.Random(seed))
    case = with_groups(rng, case) if has_groups else case
    case = with_cells(rng, case) if has_cells else case
    scene, result, number_of = planned(case)
    skipped = set(scene.skipped)
    several = {
        uuid for uuid, held in case.consumers.items() if BruteForce(case).source(held) is None
    }
    assert skipped == several
    asked = {uuid: held for uuid, held in case.consumers.items() if uuid not in skipped}
    case = replace(case, consumers=asked)
    force = BruteForce(case)
    moves = [(move.holder.uuid, by_number(move.allocations, number_of)) for move in result.moves]
    claim_in_order(case, moves)
    moved = {move.holder.uuid: number_of(move.root) for move in result.moves}
    assert all(keeps(group, moved, case.staying, case) for group in case.groups)
    for (uuid, allocations), move in zip(moves, result.moves, strict=True):
        assert allocations in list(force.options(asked[uuid]))
        assert force.is_target(number_of(move.root), force.source(asked[uuid]))
    placed, stuck = {uuid for uuid, _ in moves}, {each.holder.uuid for each in result.stuck}
    assert placed | stuck == asked.keys()
    assert placed.isdisjoint(stuck)
    assert (result.verdict == "fits") == (not stuck)
    assert bool(result.reasons) == bool(stuck)
    if result.verdict == "does_not_fit":
        assert not force.is_possible()
    for each in result.stuck:
        assert not (each.is_proved and force.fits_alone(each.holder.uuid))
        if not each.is_after_moves:
            assert not any(
                force.fits_alone(each.holder.uuid, name) for name in lacks(each.shortage)
            )
    if result.verdict == "undetermined" and force.is_possible():
        return "undetermined, possible"
    return result.verdict


def survives(seed: int) -> str:
    """Return whether the random hosts that are drained survive, compared with all plans."""
    case = random_case(rng := random.Random(seed))
    case = with_cells(rng, case) if seed % 2 else case
    force, snapshot = BruteForce(case), snapshot_of_states(case.states)
    row_of = [snapshot.forest.row_of[state.provider.uuid] for state in case.states]
    gone = {root_of(case.states, at) for at in case.drained}
    tree = {at for at in range(len(case.states)) if root_of(case.states, at) in gone}
    sources = {force.source(held) for held in case.consumers.values()}
    is_host = all(SHARING_TRAIT not in case.states[at].traits for at in gone)
    if tree != case.drained or not is_host or len(gone) > 1 or sources != gone:
        return "another case"
    groups = [Group(by_row(held, row_of), 1) for held in case.consumers.values()]
    keep = keep_of(case, snapshot)
    survival = Survival(snapshot, groups, keep, Deadline(20, time.monotonic))
    outcomes = {
        outcome.domain.roots: outcome
        for outcome in survival.until_deadline(survival.domains("root"))
    }
    assert all(
        other.verdict == "fits" for roots, other in outcomes.items() if other.consumers == 0
    )
    outcome = outcomes[row_of[gone.pop()],]
    assert outcome.consumers == len(case.consumers)
    assert (outcome.verdict == "fits") == (not outcome.stuck)
    assert outcome.stuck or not outcome.lacks
    if outcome.verdict != "undetermined":
        assert (outcome.verdict == "fits") == force.is_possible()
    return outcome.verdict


def test_survival_is_the_verdict_of_a_drain():
    verdicts = Counter(survives(seed) for seed in range(FIRST, FIRST + WORLDS))
    print(verdicts)
    assert verdicts["fits"] > WORLDS / 10
    assert verdicts["does_not_fit"] > WORLDS / 10
    assert verdicts["undetermined"] < WORLDS / 20


@pytest.mark.parametrize(
    ("has_groups", "has_cells"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_no_verdict_is_wrong(has_groups, has_cells):
    """``fits`` can be claimed in the order of the moves; ``does_not_fit`` has no plan at all."""
    verdicts = Counter[str]()
    for seed in range(FIRST, FIRST + WORLDS):
        try:
            verdicts[verdict(seed, has_groups=has_groups, has_cells=has_cells)] += 1
        except AssertionError as error:
            pytest.fail(f"seed {seed}: {error!r}")
    print(verdicts)
    assert verdicts["fits"] > WORLDS / 10
    assert verdicts["does_not_fit"] > WORLDS / 5
    assert verdicts["undetermined"] + verdicts["undetermined, possible"] < WORLDS / 10
