"""Mixes of shapes on random small clouds against all combinations of candidates.

``MIX_WORLDS`` is the number of clouds.
"""

import os
import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from placement.core.capacity import integer_capacity
from placement.core.model import ProviderState
from placement.core.request import CandidateRequest
from placement.core.search.deadline import Deadline
from placement.tests.property.searches import snapshot_of
from placement.tests.property.strategies import device_requests, device_worlds, requests, worlds
from placement.tests.support.oracle import Oracle
from placement.tests.support.provider_tables import snapshot_of_states
from placement.tests.support.queries import request_of
from placement_insight.plan.capacity.mix import CapacityOfMix
from placement_insight.tests.support.drains import AGGREGATES, random_case

WORLDS = int(os.environ.get("MIX_WORLDS", "80"))
FIRST = int(os.environ.get("MIX_FIRST", "0"))
MOST_STEPS = 20_000

Amounts = tuple[tuple[int, int], ...]
"""The number of an inventory, and an amount of it."""


class TooManyStepsError(Exception):
    """The cloud is too large to try all combinations."""


class AllCombinations:
    """The candidates of each shape, as the oracle finds them, and all combinations of them.

    A claim only makes other candidates impossible, so all candidates are known from the beginning.
    """

    def __init__(self, states: Sequence[ProviderState], requests: Sequence[CandidateRequest]):
        keys = [
            (state.provider.uuid, name) for state in states for name in sorted(state.inventories)
        ]
        state_of = {state.provider.uuid: state for state in states}
        self.free = tuple(
            integer_capacity(state_of[uuid].inventories[name]) - state_of[uuid].used.get(name, 0)
            for uuid, name in keys
        )
        number_of = {key: number for number, key in enumerate(keys)}
        oracle = Oracle(states)
        self.candidates = [
            sorted(
                {
                    tuple(sorted((number_of[uuid, name], amount) for uuid, name, amount in each))
                    for each, _ in oracle.candidates(request)
                }
            )
            for request in requests
        ]
        self.steps = 0

    def fit(self, counts: Sequence[int]) -> bool:
        """Return whether each shape can be claimed so often."""

        @cache
        def is_possible(shape: int, at: int, left: int, free: tuple[int, ...]) -> bool:
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise TooManyStepsError
            if left == 0:
                following = shape + 1
                return following == len(counts) or is_possible(
                    following, 0, counts[following], free
                )
            if at == len(self.candidates[shape]):
                return False
            after = taken(free, self.candidates[shape][at])
            return (after is not None and is_possible(shape, at, left - 1, after)) or is_possible(
                shape, at + 1, left, free
            )

        return is_possible(0, 0, counts[0], self.free)


def taken(free: tuple[int, ...], amounts: Amounts) -> tuple[int, ...] | None:
    """Return what remains free, None if it is not sufficient."""
    left = list(free)
    for number, amount in amounts:
        left[number] -= amount
        if left[number] < 0:
            return None
    return tuple(left)


def random_query(rng: random.Random, classes: Collection[str]) -> str:
    """Return a request for some of the classes."""
    amounts = {"VCPU": (1, 2, 2, 3, 4), "MEMORY_MB": (1, 2, 3, 5), "DISK_GB": (1, 2, 3)}
    names = [name for name in amounts if name in classes]
    chosen = rng.sample(names, rng.randint(1, len(names)))
    query = "resources=" + ",".join(f"{name}:{rng.choice(amounts[name])}" for name in chosen)
    if "VGPU" in classes and rng.random() < 0.4:
        query += f"&resources1=VGPU:{rng.choice((1, 1, 2))}"
        if rng.random() < 0.5:
            query += "&resources2=VGPU:1&group_policy=" + rng.choice(("none", "isolate"))
    if rng.random() < 0.2:
        query += f"&root_required={rng.choice(('', '!'))}CUSTOM_AZ_A"
    if rng.random() < 0.1:
        query += f"&member_of={rng.choice(AGGREGATES)}"
    return query


def judged(seed: int) -> str:
    """Return how the count compares with all combinations."""
    rng = random.Random(seed)
    states = [
        state if rng.random() < 0.2 else replace(state, used={})
        for state in random_case(rng).states
    ]
    classes = {name for state in states for name in state.inventories}
    queries = [random_query(rng, classes) for _ in range(rng.choice((1, 2, 2, 2, 3)))]
    shares = [rng.choice((1, 1, 2, 3)) for _ in queries]
    requests = [request_of(query) for query in queries]
    names = ("VCPU", "MEMORY_MB", "VGPU", "DISK_GB")
    snapshot = snapshot_of_states(states, class_names=names, trait_names=["CUSTOM_AZ_A"])
    shapes = list(zip(requests, shares, strict=True))
    mix = CapacityOfMix(snapshot, shapes, Deadline(1, lambda: 0.0))
    capacity = mix.total()
    combinations = AllCombinations(states, requests)
    case = (seed, queries, shares, capacity)

    def fit(mixes: int) -> bool:
        return combinations.fit([mixes * share for share in shares])

    try:
        assert mix.is_finished
        assert fit(capacity.claims), case
        assert not fit(capacity.at_most + 1), case
        assert not capacity.exact or capacity.claims == capacity.at_most, case
        if capacity.exact:
            return "exact" if capacity.claims else "none"
        return "not the largest" if fit(capacity.claims + 1) else "the largest"
    except TooManyStepsError:
        return "not decided"


def test_the_mixes_fit_and_the_bound_is_never_exceeded():
    verdicts = Counter(judged(seed) for seed in range(FIRST, FIRST + WORLDS))
    print(dict(verdicts))
    assert verdicts["exact"] > WORLDS / 3
    assert verdicts["not the largest"] < WORLDS / 50
    assert verdicts["not decided"] < WORLDS / 5


@given(
    worlds() | device_worlds(), st.lists(requests() | device_requests(), min_size=1, max_size=3)
)
def test_mixes_of_any_requests(world, shapes):
    snapshot = snapshot_of(world)
    mixed = [(replace(request, limit=None), 1) for request in shapes]
    mix = CapacityOfMix(snapshot, mixed, Deadline(1, lambda: 0.0))
    total = mix.total()
    assert mix.is_finished
    assert total.claims <= total.at_most <= min(alone.at_most for alone in mix.alone)
    (alone, *others) = mix.alone
    if not others:
        assert total.at_most == alone.at_most
        assert total.claims >= alone.claims
