"""Requests that exhaustive enumeration would never finish."""

import time
import tracemalloc
from collections import Counter
from dataclasses import replace
from itertools import count as count_up

import pytest

from placement.core.request import SearchSettings
from placement.core.search import subproblems
from placement.core.search.anchors import possible_anchors
from placement.core.search.constraints import Constraints
from placement.core.search.deadline import Deadline
from placement.core.search.filters import find_domains
from placement.core.search.search import search
from placement.core.search.slots import Problem, SlottedRequest
from placement.core.search.solver import Backtracking
from placement.core.snapshot.entries import Entries
from placement.exception import SearchDeadlineExceeded
from placement.microversion import MAX_VERSION, Version
from placement.render.candidates import pieces
from placement.tests.support.queries import ask, mappings_of, name_of, request_of, snapshot_of


def devices(count, hosts=1, total=1):
    return snapshot_of(
        "\n".join(
            f"cn{host}  VCPU=8\n"
            + "\n".join(f"  dev{host}x{n}  VGPU={total}" for n in range(count))
            for host in range(hosts)
        )
    )


def groups(amounts, policy):
    query = "&".join(f"resources_{n}=VGPU:{amount}" for n, amount in enumerate(amounts))
    return f"{query}&group_policy={policy}"


def count(snapshot, query, settings=None):
    """Return the number of candidates; fail if the search takes long."""
    patient = replace(settings or SearchSettings(), budget_seconds=60)
    started = time.process_time()  # without the time of other processes
    number = len(ask(snapshot, query, settings=patient).candidates)
    assert time.process_time() - started < 10
    return number


@pytest.mark.parametrize("policy", ["isolate", "none"])
def test_one_device_too_few_is_detected_at_once(policy):
    assert count(devices(24), groups([1] * 25, policy)) == 0


@pytest.mark.parametrize("policy", ["isolate", "none"])
def test_as_many_devices_as_groups(policy):
    assert count(devices(24), groups([1] * 24, policy) + "&limit=50") == 50


def test_isolated_groups_that_want_overlapping_devices():
    world_text = "cn\n" + "\n".join(
        f"  dev{n} VGPU=1 +CUSTOM_A{n // 2}" + (" +CUSTOM_ANY" if n else "") for n in range(20)
    )
    snapshot = snapshot_of(world_text)
    pairs = "&".join(f"resources_{n}=VGPU:1&required_{n}=CUSTOM_A{n // 2}" for n in range(20))
    assert count(snapshot, f"{pairs}&group_policy=isolate&limit=9") == 9
    more = f"{pairs}&resources_X=VGPU:1&required_X=CUSTOM_ANY&group_policy=isolate&limit=9"
    assert count(snapshot, more) == 0


def test_isolation_with_sums_shared_by_the_unsuffixed_group():
    query = "resources=VGPU:2&" + groups([1] * 12, "isolate")
    assert count(devices(12, total=2), query) == 0
    assert count(devices(12, total=3), query + "&limit=20") == 20


def test_packing_that_leaves_no_gap():
    query = groups([6, 6, 4, 4, 2, 2, 5, 3, 8], "none")
    assert count(devices(5, total=8), query + "&limit=5") == 5
    assert count(devices(5, total=8), query.replace("VGPU:3", "VGPU:4") + "&limit=5") == 0


def test_many_hosts_that_are_alike_are_solved_once():
    assert count(devices(8, hosts=100), groups([1] * 8, "isolate") + "&limit=100") == 100


def test_sixty_four_groups_over_as_many_devices_on_two_hosts():
    settings = SearchSettings(max_candidates=10, breadth_first=True)
    assert count(devices(64, hosts=2), groups([1] * 64, "none"), settings) == 10


def test_hundreds_of_groups_do_not_exhaust_the_stack():
    parameters = [f"resources_{n}=VGPU:1" for n in range(400)]
    parameters += [f"required_{n}=CUSTOM_ODD" for n in range(200)]
    query = "&".join(parameters) + "&group_policy=isolate&limit=1"
    world_text = "cn\n" + "\n".join(
        f"  d{n} VGPU=1" + " +CUSTOM_ODD" * (n % 2) for n in range(400)
    )
    assert count(snapshot_of(world_text), query) == 1
    assert count(snapshot_of(world_text.replace("  d399 VGPU=1 +", "  d399 +")), query) == 0


def test_many_siblings_that_would_have_to_be_above_each_other():
    query = "&".join(f"resources_{n}=VGPU:1" for n in range(16))
    pairs = "&".join(f"same_subtree=_{n},_{n + 1}" for n in range(0, 16, 2))
    assert count(devices(32), f"{query}&{pairs}&group_policy=isolate") == 0


class CountedOptions(tuple):
    """Options that count how often they are iterated over."""

    iterations = 0

    def __iter__(self):
        type(self).iterations += 1
        return super().__iter__()


def test_equal_options_of_many_groups_are_read_once():
    """2,500 groups on 10,000 devices took seconds before the deadline was checked first."""
    slotted = SlottedRequest.of(request_of(groups([1] * 40, "none")))
    options = CountedOptions(range(50))
    problem = Problem((options,) * 40, {(at, "VGPU"): 5 for at in range(50)}, {}, (), {}, {}, None)
    CountedOptions.iterations = 0
    constraints = Constraints.of(slotted, problem)
    Backtracking(constraints, problem.options, Deadline(60, time.monotonic))
    assert CountedOptions.iterations == 1


def test_groups_under_one_of_very_many_siblings():
    query = groups([1] * 32, "isolate")
    named = ",".join(f"_{n}" for n in range(32))
    assert count(devices(500), f"{query}&same_subtree={named}") == 0


@pytest.mark.parametrize(("devices", "indentation"), [(2000, 0), (1000, 1)], ids=["wide", "deep"])
def test_memory_does_not_grow_with_the_square_of_a_tree(devices, indentation):
    lines = (f"  {'  ' * indentation * n}d{n} VGPU=2" for n in range(devices))
    snapshot = snapshot_of("h DISK_GB=9\n" + "\n".join(lines))
    query = "resources_A=VGPU:1&resources_B=VGPU:1&resources_C=DISK_GB:1&same_subtree=_A,_B"
    ask(snapshot, f"{query}&group_policy=none&limit=10")
    tracemalloc.start()
    try:
        assert count(snapshot, f"{query}&group_policy=none&limit=10") == 10
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_trees_too_large_to_divide_keep_their_place(monkeypatch):
    monkeypatch.setattr(subproblems, "_MAX_DIVIDED", 6)
    hosts = {"h1": 1, "h2": 3, "h3": 2, "h4": 1}
    snapshot = snapshot_of(
        "\n".join(
            "\n".join([f"{host} DISK_GB=9", *(f"  {host}d{n} VGPU=2" for n in range(devices))])
            for host, devices in hosts.items()
        )
    )
    query = "resources_A=VGPU:1&resources_B=VGPU:1&resources_C=DISK_GB:1&same_subtree=_A,_B"
    candidates = ask(snapshot, f"{query}&group_policy=none&limit=4").candidates
    disks = [uuid for one in candidates for uuid in mappings_of(one)["_C"]]
    assert [name_of(snapshot, uuid) for uuid in disks] == list(hosts)


def test_a_long_chain_through_a_deep_tree_begins_at_once():
    world_text = "\n".join(f"{'  ' * level}p{level} VGPU=1" for level in range(60))
    chain = "&".join(f"same_subtree=_{n},_{n + 1}" for n in range(11))
    query = f"{groups([1] * 12, 'isolate')}&{chain}&limit=5"
    assert count(snapshot_of(world_text), query) == 5


SHARED_DISKS = snapshot_of(
    "\n".join(f"cn{n} VCPU=8 @a{n % 20}" for n in range(40))
    + "\n"
    + "\n".join(f"ss{n} DISK_GB=999999 @a{n} +MISC_SHARES_VIA_AGGREGATE" for n in range(20))
)
SHARED_GROUPS = "&".join(f"resources_{n}=DISK_GB:{n + 1}" for n in range(50))
SHARING = f"resources=VCPU:1&{SHARED_GROUPS}&group_policy=none&limit=10"


def test_many_groups_of_a_shared_class_read_its_providers_once(monkeypatch):
    """1,000 groups took 7 s on 10,000 hosts: each read 300 sharing providers, and all hosts."""
    reads = Counter()
    state = Entries.state
    monkeypatch.setattr(
        Entries, "state", lambda self, row: reads.update([row]) or state(self, row)
    )
    assert count(SHARED_DISKS, SHARING) == 10
    assert set(reads.values()) == {1}


@pytest.mark.parametrize("stage", [find_domains, possible_anchors])
def test_the_deadline_is_checked_for_each_need(stage):
    slotted, patient = SlottedRequest.of(request_of(SHARING)), Deadline(60, time.monotonic)
    arguments = [find_domains(SHARED_DISKS, slotted, patient)] if stage is possible_anchors else []
    impatient = Deadline(30, count_up().__next__)
    with pytest.raises(SearchDeadlineExceeded):
        stage(SHARED_DISKS, slotted, *arguments, impatient)


@pytest.mark.parametrize("version", [Version(1, 26), MAX_VERSION])
def test_the_deadline_also_ends_rendering(version):
    query = "resources=VGPU:1,VCPU:1"
    found_by = Deadline(60, time.monotonic)
    candidates = search(devices(3), request_of(query), SearchSettings(), found_by)
    deadline = Deadline(0, count_up().__next__)
    with pytest.raises(SearchDeadlineExceeded):
        b"".join(pieces(candidates, request_of(query, version), version, deadline.check))
