"""Trees that are not alike: subproblems, bounds and shared problems."""

import random
import time
from dataclasses import replace

import pytest

from placement.core.search.deadline import Deadline
from placement.core.search.filters import find_domains
from placement.core.search.problems import ProblemBuilder
from placement.core.search.slots import Problem, SlottedRequest
from placement.core.search.solver import solve
from placement.core.snapshot.snapshot import Snapshot
from placement.tests.support.queries import (
    ask,
    mappings_of,
    name_of,
    offered,
    request_of,
    served,
    snapshot_of,
)
from placement.tests.support.worlds import provider_uuid

TWO_NODES = """
    cn1       DISK_GB=9
      cn1n0   VCPU=4
        cn1d0 VGPU=1(used=1) +CUSTOM_A
        cn1d1 VGPU=1         +CUSTOM_A
        cn1d2 VGPU=1         +CUSTOM_B
      cn1n1   VCPU=4
        cn1d3 VGPU=1         +CUSTOM_A
    cn2       DISK_GB=9
      cn2n0   VCPU=4
        cn2d0 VGPU=1         +CUSTOM_A
        cn2d1 VGPU=1(used=1) +CUSTOM_A
        cn2d2 VGPU=1(used=1) +CUSTOM_B
      cn2n1   VCPU=4
        cn2d3 VGPU=1         +CUSTOM_A
        cn2d4 VGPU=1         +CUSTOM_B
"""
AFFINE = (
    "resources_N=VCPU:1&resources_A=VGPU:1&required_A=CUSTOM_A"
    "&resources_B=VGPU:1&required_B=CUSTOM_B&same_subtree=_N,_A,_B&group_policy=isolate"
)


def first_problems(snapshot: Snapshot, query: str, *roots: str) -> list[Problem]:
    """Return the problem of the first subproblem of each root; equal ones are one object."""
    slotted = SlottedRequest.of(request_of(query))
    builder = ProblemBuilder(
        snapshot, slotted, find_domains(snapshot, slotted, Deadline(60, time.monotonic))
    )
    (block,) = builder.blocks([snapshot.forest.row_of[provider_uuid(root)] for root in roots])
    return [next(block.subproblems_of(number))[0] for number in range(len(roots))]


def test_each_numa_node_is_a_subproblem():
    assert served(snapshot_of(TWO_NODES), AFFINE) == [
        {"_N": "cn1n0", "_A": "cn1d1", "_B": "cn1d2"},
        {"_N": "cn2n1", "_A": "cn2d3", "_B": "cn2d4"},
    ]


def test_a_limit_reaches_the_candidates_of_every_part():
    snapshot = snapshot_of(TWO_NODES)
    query = "resources_N=VCPU:1&resources_A=VGPU:1&same_subtree=_N,_A&group_policy=isolate"
    everything = ask(snapshot, query).candidates
    assert len(ask(snapshot, f"{query}&limit=99").candidates) == len(everything) == 6


def test_a_first_part_without_solution():
    """Its options suffice for each group, and for all together, but not for two of them."""
    snapshot = snapshot_of("""
        cn      DISK_GB=1
          n1    VCPU=1
            a1  VGPU=1 +CUSTOM_A +CUSTOM_B
            b1  VGPU=1
            c1  VGPU=1
          n2    VCPU=1
            a2  VGPU=1 +CUSTOM_A
            b2  VGPU=1 +CUSTOM_B
            c2  VGPU=1
            d2  VGPU=1
    """)
    query = AFFINE.replace("_N,_A,_B", "_N,_A,_B,_C") + "&resources_C=VGPU:1"
    expected = [{"_N": "n2", "_A": "a2", "_B": "b2", "_C": name} for name in ("c2", "d2")]
    assert served(snapshot, query) == expected
    assert served(snapshot, f"{query}&limit=9") == expected


def test_hosts_that_differ_in_the_first_part_only():
    snapshot = snapshot_of("""
        cn1     DISK_GB=1
          n1    VCPU=1
            a1  VGPU=1 +CUSTOM_A
            b1  VGPU=1 +CUSTOM_B
          n2    VCPU=1
            a2  VGPU=1 +CUSTOM_A
            b2  VGPU=1 +CUSTOM_B
        cn2     DISK_GB=1
          n3    VCPU=1
            b3  VGPU=1 +CUSTOM_B
            a3  VGPU=1 +CUSTOM_A
          n4    VCPU=1
            a4  VGPU=1 +CUSTOM_A
            b4  VGPU=1 +CUSTOM_B
    """)
    assert served(snapshot, AFFINE + "&limit=9") == [
        {"_N": f"n{number}", "_A": f"a{number}", "_B": f"b{number}"} for number in (1, 2, 3, 4)
    ]


def test_slots_outside_of_the_subtree_use_the_whole_tree():
    query = AFFINE + "&resources=DISK_GB:1&resources_C=VGPU:1"
    candidates = served(snapshot_of(TWO_NODES), query)
    assert [(each["_N"], each["_C"]) for each in candidates] == [
        ("cn1n0", "cn1d3"),
        ("cn2n1", "cn2d0"),
    ]
    assert {each[""] for each in candidates} == {"cn1", "cn2"}


def test_the_first_candidates_of_trees_with_other_free_devices():
    snapshot = snapshot_of(TWO_NODES)
    query = "resources_A=VGPU:1&resources_B=VGPU:1&group_policy=isolate"
    everything = ask(snapshot, query).candidates
    for limit in range(1, len(everything) + 1):
        candidates = ask(snapshot, f"{query}&limit={limit}").candidates
        different = {(each.providers, *mappings_of(each).items()) for each in candidates}
        assert len(different) == limit
    first = [name_of(snapshot, each.providers[0])[:3] for each in candidates[:4]]
    assert first == ["cn1", "cn2", "cn1", "cn2"]


def test_sharing_providers_count_for_isolated_groups():
    snapshot = snapshot_of("""
        cn  VGPU=1 @x
        ss  VGPU=1 @x +MISC_SHARES_VIA_AGGREGATE
    """)
    query = "resources_A=VGPU:1&resources_B=VGPU:1&group_policy=isolate"
    assert served(snapshot, query) == [{"_A": "cn", "_B": "ss"}, {"_A": "ss", "_B": "cn"}]


def test_sharing_providers_may_be_a_subtree():
    snapshot = snapshot_of("""
        cn      VCPU=1 @x
        hub     @x
          ss    VGPU=2 @x +MISC_SHARES_VIA_AGGREGATE
    """)
    query = (
        "resources=VCPU:1&resources_A=VGPU:1&resources_B=VGPU:1"
        "&same_subtree=_A,_B&group_policy=none"
    )
    assert offered(snapshot, query) == [{"cn": {"VCPU": 1}, "ss": {"VGPU": 2}}]


def test_trees_with_the_same_options_but_other_sharing_providers():
    snapshot = snapshot_of("""
        cn1  VCPU=1 @x
        cn2  VCPU=1 @y
        ss1  DISK_GB=1 @x +MISC_SHARES_VIA_AGGREGATE
        ss2  DISK_GB=1 @y +MISC_SHARES_VIA_AGGREGATE
    """)
    candidates = offered(snapshot, "resources=VCPU:1,DISK_GB:1")
    assert offered(snapshot, "resources=VCPU:1,DISK_GB:1&limit=9") == candidates
    assert sorted(sorted(each) for each in candidates) == [["cn1", "ss1"], ["cn2", "ss2"]]


def test_amounts_of_several_groups_on_providers_with_other_free_amounts():
    snapshot = snapshot_of("""
        cn1    DISK_GB=1
          n1   VCPU=8(used=6)
          n2   VCPU=8(used=4)
        cn2    DISK_GB=1
          n3   VCPU=8(used=5)
          n4   VCPU=8(used=7)
    """)
    candidates = served(snapshot, "resources_A=VCPU:2&resources_B=VCPU:2&group_policy=none")
    assert candidates == [
        {"_A": "n1", "_B": "n2"},
        {"_A": "n2", "_B": "n1"},
        {"_A": "n2", "_B": "n2"},
    ]


def test_a_chain_of_subtrees_with_providers_that_serve_nothing_between():
    snapshot = snapshot_of("""
        cn        VCPU=4
          gap     DISK_GB=1
            a     VGPU=1
            gap2  DISK_GB=1
              b   FPGA=1
          c       FPGA=1
    """)
    query = "resources_A=VGPU:1&resources_B=FPGA:1&resources_C=VCPU:1"
    assert served(snapshot, f"{query}&same_subtree=_A,_B&group_policy=none") == []
    candidates = served(
        snapshot, f"{query}&same_subtree=_C,_A,_B&same_subtree=_C,_B&group_policy=none"
    )
    assert sorted(each["_B"] for each in candidates) == ["b", "c"]


def test_providers_that_serve_more_groups_are_tried_first():
    snapshot = snapshot_of("""
        cn   DISK_GB=1
          a  VCPU=1
          b  VCPU=1 VGPU=1
    """)
    query = "resources_A=VCPU:1&resources_B=VGPU:1&group_policy=none"
    assert served(snapshot, query) == [{"_A": "a", "_B": "b"}, {"_A": "b", "_B": "b"}]
    (first,) = ask(snapshot, query + "&limit=1").candidates
    assert [name_of(snapshot, uuid) for uuid in first.providers] == ["b"]


def test_amounts_outside_of_the_subtree_do_not_count_in_it():
    snapshot = snapshot_of("""
        cn     DISK_GB=1
          n1   VCPU=2
            g  VGPU=1
          n2   VCPU=2
    """)
    query = "resources_A=VCPU:2&resources_B=VGPU:1&resources_C=VCPU:2&same_subtree=_A,_B"
    assert served(snapshot, f"{query}&group_policy=none") == [{"_A": "n1", "_B": "g", "_C": "n2"}]


def test_sums_beyond_32_bits_are_clipped():
    most = 2**31 - 1
    snapshot = snapshot_of(f"cn DISK_GB=1\n  a VCPU={most}\n  b VCPU={most}")
    query = f"resources_A=VCPU:{most}&resources_B=VCPU:{most}&group_policy=none"
    assert served(snapshot, query) == [{"_A": "a", "_B": "b"}, {"_A": "b", "_B": "a"}]


def test_a_sharing_provider_in_the_first_row_is_of_another_tree():
    snapshot = snapshot_of("""
        ss    DISK_GB=9 @x +MISC_SHARES_VIA_AGGREGATE
        cn1   MEMORY_MB=1 @x
          n1  VCPU=1
    """)
    assert offered(snapshot, "resources=VCPU:1,DISK_GB:1", (1, 28)) == [
        {"n1": {"VCPU": 1}, "ss": {"DISK_GB": 1}}
    ]


def test_trees_that_use_sharing_providers_only_are_in_the_order_of_their_rows():
    snapshot = snapshot_of("""
        cn1  VCPU=1 @a @b
        cn2  VCPU=1 @c @d
        ss1  DISK_GB=9 @a +MISC_SHARES_VIA_AGGREGATE
        ss2  DISK_GB=9 @c +MISC_SHARES_VIA_AGGREGATE
        gs1  VGPU=9 @b +MISC_SHARES_VIA_AGGREGATE
        gs2  VGPU=9 @d +MISC_SHARES_VIA_AGGREGATE
    """)
    first = snapshot.state(provider_uuid("cn1"))
    changed = snapshot.apply([replace(first, aggregates=first.aggregates | {"a new set"})])
    for searched in (snapshot, changed):
        for limit in ("", "&limit=9"):
            returned = ask(searched, f"resources=DISK_GB:1,VGPU:1{limit}").candidates
            names = [{name_of(searched, uuid) for uuid in each.providers} for each in returned]
            assert names == [{"ss1", "gs1"}, {"ss2", "gs2"}]


def test_trees_with_options_of_their_own_come_before_those_without():
    snapshot = snapshot_of("""
        cn1  MEMORY_MB=1 @x
        cn2  VCPU=1 @x
        ss   VCPU=1 @x +MISC_SHARES_VIA_AGGREGATE
    """)
    (first,) = ask(snapshot, "resources=VCPU:1&limit=1").candidates
    assert [name_of(snapshot, uuid) for uuid in first.providers] == ["cn2"]


def test_more_different_groups_than_bits_of_an_integer():
    groups = range(70)
    hosts = "\n".join(
        f"cn{host} VCPU=1\n" + "\n".join(f"  d{host}x{n} VGPU=1 +CUSTOM_T{n}" for n in groups)
        for host in range(2)
    )
    query = "&".join(f"resources_{n}=VGPU:1&required_{n}=CUSTOM_T{n}" for n in groups)
    assert served(snapshot_of(hosts), f"{query}&group_policy=isolate") == [
        {f"_{n}": f"d{host}x{n}" for n in groups} for host in range(2)
    ]


def test_slots_outside_of_the_subtree_when_the_root_serves_no_slot():
    query = AFFINE + "&resources_C=VGPU:1"
    offers = served(snapshot_of(TWO_NODES), query)
    assert offers == [
        {"_A": "cn1d1", "_B": "cn1d2", "_C": "cn1d3", "_N": "cn1n0"},
        {"_A": "cn2d3", "_B": "cn2d4", "_C": "cn2d0", "_N": "cn2n1"},
    ]


def test_sharing_providers_of_one_need_count_for_all_isolated_groups():
    snapshot = snapshot_of("""
        cn  VGPU=1 +CUSTOM_A @x
        ss  VGPU=1 +CUSTOM_B @x +MISC_SHARES_VIA_AGGREGATE
    """)
    query = "resources_A=VGPU:1&required_A=CUSTOM_A&resources_B=VGPU:1&required_B=CUSTOM_B"
    assert served(snapshot, f"{query}&group_policy=isolate") == [{"_A": "cn", "_B": "ss"}]


def test_candidates_of_trees_that_use_one_shared_provider_and_their_own():
    snapshot = snapshot_of("""
        cn1   VCPU=1(used=1) @x
          n1  VCPU=4
        cn2   VCPU=4 @x
          n2  VCPU=4(used=4)
        ss    DISK_GB=9 @x +MISC_SHARES_VIA_AGGREGATE
        ss2   DISK_GB=9 @x +MISC_SHARES_VIA_AGGREGATE
    """)
    returned = ask(snapshot, "resources=VCPU:1,DISK_GB:1&limit=9").candidates
    names = [[name_of(snapshot, uuid) for uuid in each.providers] for each in returned]
    assert names == [["n1", "ss"], ["cn2", "ss"], ["n1", "ss2"], ["cn2", "ss2"]]


SAME_PROBLEMS = {
    "devices in another order": (
        """
        cn1    DISK_GB=1
          a1   VGPU=1
          b1   FPGA=1
          c1   VGPU=1
        cn2    DISK_GB=1
          b2   FPGA=1
          a2   VGPU=1
          c2   VGPU=1
        """,
        "resources_A=VGPU:1&resources_B=FPGA:1",
    ),
    "other nodes outside of the subtree": (
        """
        cn1    DISK_GB=1
          a1   VCPU=1
            d1 VGPU=1
          b1   VCPU=1
            e1 VGPU=1
        cn2    DISK_GB=1
          a2   VCPU=1
            d2 VGPU=1
          b2   VCPU=1(used=1)
            e2 VGPU=1(used=1)
        """,
        "resources=DISK_GB:1&resources_A=VCPU:1&resources_B=VGPU:1&same_subtree=_A,_B",
    ),
    "more free capacity than requested": (
        """
        cn1   DISK_GB=1
          a1  VCPU=4
        cn2   DISK_GB=1
          a2  VCPU=9
        """,
        "resources_A=VCPU:1&resources_B=VCPU:2",
    ),
    "amounts that no group may use": (
        """
        cn1   DISK_GB=1
          a1  VCPU=9 +CUSTOM_A
          b1  VCPU=1 VGPU=1
        cn2   DISK_GB=1
          a2  VCPU=9 +CUSTOM_A
          b2  VCPU=2 VGPU=1
        """,
        "resources_A=VCPU:1&required_A=CUSTOM_A&resources_B=VCPU:2&required_B=CUSTOM_A"
        "&resources_C=VGPU:1",
    ),
}


@pytest.mark.parametrize(("pictured", "query"), SAME_PROBLEMS.values(), ids=SAME_PROBLEMS)
def test_a_difference_without_effect_does_not_make_another_problem(pictured, query):
    snapshot = snapshot_of(pictured)
    first, second = first_problems(snapshot, f"{query}&group_policy=none", "cn1", "cn2")
    assert first is second


def test_trees_without_a_top_for_one_of_the_subtrees_pose_no_problem():
    snapshot = snapshot_of("""
        cn      DISK_GB=1
          a     VCPU=1
            b   VGPU=1
          c     MEMORY_MB=1
          d     FPGA=1
    """)
    query = (
        "resources_A=VCPU:1&resources_B=VGPU:1&resources_C=MEMORY_MB:1&resources_D=FPGA:1"
        "&same_subtree=_A,_B&same_subtree=_C,_D&group_policy=none"
    )
    slotted = SlottedRequest.of(request_of(query))
    builder = ProblemBuilder(
        snapshot, slotted, find_domains(snapshot, slotted, Deadline(60, time.monotonic))
    )
    assert not list(builder.blocks([snapshot.forest.row_of[provider_uuid("cn")]]))


def test_a_random_order_includes_the_options_below_the_top_of_a_subtree():
    devices = "\n".join(f"    d{number} VGPU=1" for number in range(9))
    snapshot = snapshot_of(f"cn DISK_GB=1\n  n VCPU=1\n{devices}")
    query = "resources_A=VCPU:1&resources_B=VGPU:1&same_subtree=_A,_B&group_policy=none"
    (problem,) = first_problems(snapshot, query, "cn")
    deadline, slotted = Deadline(9, lambda: 0.0), SlottedRequest.of(request_of(query))
    firsts = {next(solve(slotted, problem, deadline, random.Random(seed))) for seed in range(20)}
    assert len(firsts) > 1


def test_every_provider_of_a_long_list_of_candidates_has_a_summary():
    hosts = "\n".join(
        "\n".join([f"cn{host} DISK_GB=1", *(f"  d{host}x{n} VGPU=1" for n in range(80))])
        for host in range(2)
    )
    snapshot = snapshot_of(hosts)
    answer = ask(snapshot, "resources_A=VGPU:1&resources_B=VGPU:1&group_policy=isolate")
    assert len(answer.candidates) == 2 * 80 * 79
    assert len({entry.state.provider.uuid for entry in answer.summaries}) == 2 * 81


def test_a_candidate_of_sharing_providers_alone_is_returned_once_with_a_limit():
    snapshot = snapshot_of("""
        cn1  VCPU=1 @x
        cn2  VCPU=1 @x @y
        ss   DISK_GB=9 @x +MISC_SHARES_VIA_AGGREGATE
    """)
    returned = ask(snapshot, "resources=DISK_GB:1&limit=9").candidates
    assert [[name_of(snapshot, uuid) for uuid in each.providers] for each in returned] == [["ss"]]
