"""Limited responses: where they begin, and what they leave out."""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from statistics import fmean, pstdev

import pytest

from placement.core.request import SearchSettings
from placement.core.search.search import circle_of
from placement.tests.support.queries import allocations_of, ask, name_of, snapshot_of

FLAT = "\n".join(f"cn{number:02}  VCPU=8" for number in range(12))
WITH_CHILDREN = "\n".join(f"gpu{number}  VCPU=8\n  dev{number}  VGPU=1" for number in range(4))
SHARED = "\n".join(
    [
        *(f"cn{number}  VCPU=8  @rack{number % 2}" for number in range(9)),
        *(
            f"ss{number}  DISK_GB=99  @rack{number}  +MISC_SHARES_VIA_AGGREGATE"
            for number in range(2)
        ),
    ]
)
MIXED = snapshot_of(f"{FLAT}\n{WITH_CHILDREN}")
VCPU = "resources=VCPU:1"


def hosts(snapshot, query, turn=0, **settings):
    candidates = ask(snapshot, query, settings=SearchSettings(**settings), turn=turn).candidates
    return [name_of(snapshot, min(allocations_of(one))) for one in candidates]


def test_standalone_hosts_and_trees_are_one_circle():
    everything = hosts(MIXED, VCPU)
    assert len(everything) == 16
    for turn in range(40):
        start, stride = circle_of(turn, 16)
        selected = [everything[(start + step * stride) % 16] for step in range(10)]
        of_the_first_kind_first = sorted(selected, key=lambda host: host[:2] != selected[0][:2])
        assert hosts(MIXED, f"{VCPU}&limit=10", turn) == of_the_first_kind_first


@pytest.mark.parametrize("world", [FLAT, WITH_CHILDREN, f"{FLAT}\n{WITH_CHILDREN}", SHARED])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_turns_of_a_circle_have_all_candidates_of_the_response_without_limit(world, limit):
    snapshot = snapshot_of(world)
    query = f"{VCPU},DISK_GB:1" if world == SHARED else VCPU
    everything = {one.providers for one in ask(snapshot, query).candidates}
    turns = [ask(snapshot, f"{query}&limit={limit}", turn=turn) for turn in range(48)]
    assert all(len(result.candidates) == limit for result in turns)
    assert {one.providers for result in turns for one in result.candidates} == everything


def test_each_root_is_offered_as_often_as_the_others():
    counts = Counter(host for turn in range(160) for host in hosts(MIXED, f"{VCPU}&limit=3", turn))
    assert len(counts) == 16
    assert max(counts.values()) - min(counts.values()) <= 8


def test_a_response_with_one_root_has_the_first_of_the_turn():
    everything = hosts(MIXED, VCPU)
    for turn in range(40):
        assert hosts(MIXED, f"{VCPU}&limit=1", turn) == [everything[circle_of(turn, 16)[0]]]


def test_successive_changes_start_far_from_each_other():
    starts = [circle_of(turn, 10_000)[0] for turn in range(2**40, 2**40 + 100)]
    for before, after in pairwise(starts):
        assert 3_000 < abs(after - before) < 7_000
    gaps = [after - before for before, after in pairwise(sorted(starts))]
    assert max(gaps) < 200  # 100 starts


@pytest.mark.parametrize("roots", range(1, 200))
def test_a_stride_visits_each_root_once(roots):
    for turn in range(50):
        start, stride = circle_of(turn, roots)
        assert len({(start + step * stride) % roots for step in range(roots)}) == roots


Selection = Callable[[int], Iterable[int]]


def deviation(select: Selection, hosts: int, claims: int, begin: int) -> float:
    """Return the deviation of servers per host if a client selects the emptiest host.

    Of equal hosts it selects the first, as a scheduler that sorts by weight does.
    """
    servers = [0] * hosts
    for turn in range(begin, begin + claims):
        servers[min(select(turn), key=lambda host: (servers[host], host))] += 1
    return pstdev(servers)


@pytest.mark.parametrize(("hosts", "limit"), [(30, 10), (300, 10), (300, 100)])
def test_a_client_that_prefers_the_first_of_equal_hosts_fills_all_evenly(hosts, limit):
    numbers = random.Random(7)

    def rotated(turn):
        start, stride = circle_of(turn, hosts)
        return [(start + step * stride) % hosts for step in range(limit)]

    def randomized(_turn):
        return numbers.sample(range(hosts), limit)

    begins = [numbers.getrandbits(40) for _ in range(2000 // hosts)]
    means = [
        fmean(deviation(select, hosts, 3 * hosts, begin) for begin in begins)
        for select in (rotated, randomized)
    ]
    assert means[0] <= 1.5 * means[1]


@pytest.mark.parametrize(
    ("query", "settings"),
    [
        (VCPU, {}),
        (f"{VCPU}&limit=16", {}),
        (f"{VCPU}&limit=10", {"rotate": False}),
        (f"{VCPU}&limit=10", {"max_candidates": 100}),
        (VCPU, {"max_candidates": 10}),
        (f"{VCPU}&limit=10", {"randomize": True}),
        ("resources_A=VCPU:1&resources_B=VGPU:1&group_policy=none&limit=4", {}),
        ("resources=VCPU:1&in_tree=$gpu1&limit=1", {}),
    ],
)
def test_other_responses_do_not_depend_on_the_turn(query, settings):
    assert len({tuple(hosts(MIXED, query, turn, **settings)) for turn in range(9)}) == 1


@pytest.mark.parametrize(
    ("query", "settings", "left_out"),
    [
        (VCPU, {}, 0),
        (f"{VCPU}&limit=16", {}, 0),
        (f"{VCPU}&limit=10", {}, 6),
        (f"{VCPU}&limit=10", {"rotate": False}, 6),
        (f"{VCPU}&limit=10", {"randomize": True}, 6),
        (VCPU, {"max_candidates": 10}, 6),
        (VCPU, {"max_candidates": 10, "breadth_first": True}, 6),
        ("resources=VGPU:1&limit=3", {}, 1),
        ("resources=VGPU:1&limit=4", {}, 0),
    ],
)
def test_the_roots_that_a_limit_leaves_out_are_counted(query, settings, left_out):
    assert ask(MIXED, query, settings=SearchSettings(**settings)).left_out == left_out


def test_a_limit_that_all_fitting_trees_reach_leaves_out_nothing():
    # each host has options for both groups, only two hosts can serve them together
    trees = "\n".join(
        f"cn{number}  VCPU=8\n"
        + "\n".join(f"  d{number}{n}  VGPU=1" for n in range(1 + number % 2))
        for number in range(4)
    )
    query = "resources_A=VGPU:1&resources_B=VGPU:1&group_policy=isolate"
    limited = [ask(snapshot_of(trees), f"{query}&limit=2", turn=turn) for turn in range(9)]
    assert len({tuple(one.providers for one in result.candidates) for result in limited}) == 1
    assert {result.left_out for result in limited} == {0}
