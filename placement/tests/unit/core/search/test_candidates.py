"""The result of a search: number and order of candidates, and the summaries."""

import random
import time
from collections import Counter
from dataclasses import replace

import pytest

from placement.core.request import SearchSettings
from placement.core.search.deadline import Deadline
from placement.core.search.search import search
from placement.exception import SearchDeadlineExceeded, UnknownResourceClass, UnknownTrait
from placement.microversion import MAX_VERSION
from placement.tests.support.queries import Offers, ask, name_of, request_of, snapshot_of

PICTURE = "\n".join(
    f"cn{host}  VCPU=8\n" + "\n".join(f"  dev{host}{n}  VGPU=1" for n in range(3))
    for host in range(3)
)
DEVICES = snapshot_of(PICTURE)
EACH = "resources=VCPU:1&resources_A=VGPU:1"


def hosts(response):
    return [candidate.providers[0] for candidate in response.candidates]


def names(response):
    return [entry.state.provider.name for entry in response.summaries]


def test_a_limited_answer_spreads_over_the_roots():
    assert set(Counter(hosts(ask(DEVICES, EACH + "&limit=3"))).values()) == {1}
    assert set(Counter(hosts(ask(DEVICES, EACH + "&limit=6"))).values()) == {2}


def test_a_bound_is_filled_depth_first_unless_told_otherwise():
    deep = SearchSettings(max_candidates=3)
    wide = SearchSettings(max_candidates=3, breadth_first=True)
    assert len(set(hosts(ask(DEVICES, EACH, settings=deep)))) == 1
    assert len(set(hosts(ask(DEVICES, EACH, settings=wide)))) == 3


@pytest.mark.parametrize(("bound", "count"), [(None, 9), (1, 1), (4, 4), (99, 9)])
def test_a_bound_limits_the_candidates(bound, count):
    candidates = ask(DEVICES, EACH, settings=SearchSettings(max_candidates=bound))
    assert len(candidates.candidates) == count


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_a_bound_below_the_number_of_standalone_hosts_bounds_a_sample(bound):
    flat = snapshot_of("cn0 VCPU=1\ncn1 VCPU=1\ncn2 VCPU=1")
    settings = SearchSettings(max_candidates=bound, randomize=True)
    assert len(ask(flat, "resources=VCPU:1", settings=settings).candidates) == bound


def test_the_smaller_of_limit_and_bound_counts():
    candidates = ask(DEVICES, EACH + "&limit=2", settings=SearchSettings(max_candidates=5))
    assert len(candidates.candidates) == 2


def test_summaries_are_whole_trees_and_below_1_29_only_providers_with_allocations():
    assert names(ask(DEVICES, "resources=VGPU:1&limit=1")) == ["cn0", "dev00", "dev01", "dev02"]
    assert names(ask(DEVICES, "resources=VGPU:1&limit=1", (1, 28))) == ["dev00"]


def test_a_tree_that_only_serves_groups_without_resources_is_not_described():
    snapshot = snapshot_of("""
        hub   @x +CUSTOM_HUB
        disk  DISK_GB=10 @x +MISC_SHARES_VIA_AGGREGATE
    """)
    candidates = ask(
        snapshot,
        "resources_D=DISK_GB:1&required_H=CUSTOM_HUB&same_subtree=_H&group_policy=none",
    )
    assert names(candidates) == ["disk"]
    (candidate,) = candidates.candidates
    assert [name_of(snapshot, uuid) for uuid in candidate.providers] == ["disk", "hub"]


def sample(seed, query=EACH + "&limit=3", **settings):
    found = search(
        DEVICES,
        request_of(query),
        SearchSettings(**settings),
        Deadline(60, time.monotonic),
        rng=random.Random(seed),
    )
    return Offers.of(found)


def test_a_random_sample_is_uniform():
    counts = Counter(c.providers for seed in range(600) for c in sample(seed).candidates)
    assert len(counts) == 9
    assert max(counts.values()) < 1.5 * min(counts.values())


def test_a_random_sample_comes_from_the_bounded_set():
    samples = {
        c.providers for seed in range(50) for c in sample(seed, max_candidates=3).candidates
    }
    assert len(samples) == 3


def test_a_random_sample_of_a_breadth_first_bound_has_candidates_of_all_roots():
    """Three of three were of one host: the bound was filled depth-first."""
    for seed in range(20):
        wide = sample(seed, EACH, max_candidates=3, breadth_first=True)
        assert len(set(hosts(wide))) == len(wide.candidates) == 3
    assert len(set(hosts(sample(0, EACH, max_candidates=3)))) == 1


def test_where_there_are_too_many_a_sample_is_fair_over_the_roots(monkeypatch):
    monkeypatch.setattr("placement.core.search.search.MAX_SAMPLED", 5)
    for seed in range(20):
        assert len(set(hosts(sample(seed)))) == 3
    samples = {c.providers for seed in range(100) for c in sample(seed).candidates}
    assert len(samples) == 9


def test_as_many_as_can_be_sampled_are_sampled_from_all(monkeypatch):
    """Three of nine candidates are often of fewer than three hosts."""
    monkeypatch.setattr("placement.core.search.search.MAX_SAMPLED", 9)
    assert min(len(set(hosts(sample(seed)))) for seed in range(20)) < 3


def test_a_search_that_takes_too_long_is_ended():
    ticks = iter(range(10**9))
    groups = "&".join(f"resources_{n}=VGPU:1" for n in range(6))
    snapshot = snapshot_of("cn\n" + "\n".join(f"  dev{n} VGPU=9" for n in range(9)))
    request = replace(request_of(groups + "&group_policy=none", MAX_VERSION), limit=None)
    with pytest.raises(SearchDeadlineExceeded):
        search(snapshot, request, SearchSettings(), Deadline(5, lambda: float(next(ticks))))


@pytest.mark.parametrize(
    ("query", "error", "name"),
    [
        ("resources=CUSTOM_X:1&root_required=CUSTOM_T", UnknownTrait, "CUSTOM_T"),
        ("resources=CUSTOM_X:1&required=CUSTOM_T", UnknownResourceClass, "CUSTOM_X"),
        ("resources=VCPU:1&required=!CUSTOM_T", UnknownTrait, "CUSTOM_T"),
        ("resources=VCPU:99&resources_A=CUSTOM_X:1", UnknownResourceClass, "CUSTOM_X"),
    ],
)
def test_unknown_names_are_reported_before_anything_is_searched(query, error, name):
    with pytest.raises(error) as caught:
        ask(DEVICES, query)
    assert caught.value.name == name


def test_known_names_that_nobody_has_give_an_empty_answer():
    snapshot = snapshot_of("cn VCPU=1", traits=["CUSTOM_T"], classes=["CUSTOM_X"])
    assert not ask(snapshot, "resources=CUSTOM_X:1").candidates
    assert not ask(snapshot, "resources=VCPU:1&required=CUSTOM_T").candidates
    assert ask(snapshot, "resources=VCPU:1&required=!CUSTOM_T").candidates


def test_amounts_beyond_all_inventories_give_an_empty_answer():
    assert not ask(DEVICES, f"resources=VCPU:{2**70}").candidates
    many = f"resources_A=VCPU:{2**70}&resources_B=VCPU:{2**70}&group_policy=none"
    assert not ask(DEVICES, many).candidates


def test_an_empty_snapshot_answers():
    snapshot = snapshot_of("", classes=["VCPU"])
    assert not ask(snapshot, "resources=VCPU:1").candidates
    assert snapshot.size == 0
