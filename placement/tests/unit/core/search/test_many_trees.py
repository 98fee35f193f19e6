"""More trees than one block of the search, nearly all of them different."""

import random
from functools import cache
from itertools import zip_longest

import pytest

from placement.core.model import ProviderState
from placement.core.request import SearchSettings
from placement.core.snapshot.snapshot import Snapshot
from placement.tests.support.oracle import Oracle
from placement.tests.support.queries import (
    Offer,
    allocations_of,
    ask,
    mappings_of,
    request_of,
    snapshot_of,
)
from placement.tests.support.worlds import world

pytestmark = pytest.mark.xdist_group("many trees")  # each process would build them

HOSTS = 150
JOINT = ("", "", " +CUSTOM_R")
AFFINE = (
    "resources_N=VCPU:2&resources_A=VGPU:1&required_A=CUSTOM_A&resources_B=VGPU:1"
    "&same_subtree=_N,_A,_B&group_policy=isolate"
)
QUERIES = {
    "independent": "resources=VCPU:2&resources_A=VGPU:1&group_policy=none",
    "isolated": "resources_A=VGPU:1&resources_B=VGPU:1&required_B=CUSTOM_A&group_policy=isolate",
    "affine": AFFINE,
    "affine, and a slot outside": f"{AFFINE}&resources_C=VCPU:1",
    "affine, and the root": f"{AFFINE}&resources=DISK_GB:1",
    "affine, and joint traits": f"{AFFINE}&resources=DISK_GB:1,MEMORY_MB:1&required=CUSTOM_R",
    "two subtrees": (
        "resources_N=VCPU:1&resources_A=VGPU:1&resources_M=VCPU:1&resources_B=VGPU:1"
        "&same_subtree=_N,_A&same_subtree=_M,_B&group_policy=isolate"
    ),
    "few": AFFINE.replace("VCPU:2", "VCPU:4"),
    "sums": "resources_A=VCPU:2&resources_B=VCPU:1&group_policy=none",
}


@cache
def layout() -> str:
    """Hosts of two NUMA nodes with up to three devices each, partly in use."""
    numbers, lines = random.Random("many trees"), []
    for host in range(HOSTS):
        lines.append(f"cn{host} DISK_GB=1(used={numbers.randint(0, 1)}){numbers.choice(JOINT)}")
        for numa in range(2):
            cpus = f"VCPU=4(used={numbers.randint(0, 4)})"
            lines.append(f"  n{host}x{numa} {cpus} MEMORY_MB=8{numbers.choice(JOINT)}")
            for device in range(numbers.randint(0, 3)):
                trait = f" +CUSTOM_{numbers.choice('AB')}"
                used = numbers.randint(0, 1)
                lines.append(f"    d{host}x{numa}x{device} VGPU=1(used={used}){trait}")
    return "\n".join(lines)


@cache
def snapshot() -> Snapshot:
    return snapshot_of(layout())


@cache
def everything(query: str) -> list[Offer]:
    return list(ask(snapshot(), query).candidates)


def root(candidate: Offer) -> int:
    forest = snapshot().forest
    return forest.root.item(forest.row_of[candidate.providers[0]])


def text(candidate: Offer) -> str:
    return repr((allocations_of(candidate), mappings_of(candidate)))


def from_oracle(query: str) -> set[object]:
    """The candidates of the oracle, tree by tree: nothing is shared between them."""
    states_of: dict[str, list[ProviderState]] = {}
    for state in world(layout()):
        states_of.setdefault(state.provider.root_uuid, []).append(state)
    request = request_of(query)
    return {one for states in states_of.values() for one in Oracle(states).candidates(request)}


def as_from_oracle(candidate: Offer) -> object:
    amounts = allocations_of(candidate).items()
    return (
        frozenset((uuid, name, n) for uuid, own in amounts for name, n in own.items()),
        frozenset((suffix, frozenset(uuids)) for suffix, uuids in mappings_of(candidate).items()),
    )


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_the_candidates_of_many_trees_are_those_of_the_oracle(query: str):
    candidates = [as_from_oracle(candidate) for candidate in everything(query)]
    assert candidates
    assert set(candidates) == from_oracle(query)
    assert len(set(candidates)) == len(candidates)


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_with_a_limit_roots_take_turns(query: str):
    by_root: dict[int, list[Offer]] = {}
    for candidate in everything(query):
        by_root.setdefault(root(candidate), []).append(candidate)
    assert list(by_root) == sorted(by_root)
    turns = [
        text(candidate)
        for turn in zip_longest(*by_root.values())
        for candidate in turn
        if candidate is not None
    ]
    for limit in (1, 7, 16, 17, 33, 60, len(by_root), len(by_root) + 1, 400, len(turns), 9999):
        limited, in_order = f"{query}&limit={limit}", SearchSettings(rotate=False)
        candidates = ask(snapshot(), limited, settings=in_order).candidates
        assert [text(candidate) for candidate in candidates] == turns[:limit]


def test_the_search_continues_after_trees_of_which_none_is_possible():
    hosts = [f"cn{n} DISK_GB=1\n  d{n}x0 VGPU=1" for n in range(99)]
    snapshot = snapshot_of("\n".join([*hosts, "cn99 DISK_GB=1\n  a VGPU=1\n  b VGPU=1"]))
    query = "resources_A=VGPU:1&resources_B=VGPU:1&group_policy=isolate&limit=5"
    assert len(ask(snapshot, query).candidates) == 2
