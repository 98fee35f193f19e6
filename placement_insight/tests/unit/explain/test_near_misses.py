"""Which roots come closest, and everything that they lack."""

import itertools
import uuid

import pytest

from placement.core.model import SHARING_TRAIT
from placement.core.requirement import MemberOf
from placement.core.search.deadline import Deadline
from placement.microversion import MAX_VERSION
from placement.tests.support.queries import request_of, snapshot_of
from placement.tests.support.worlds import aggregate_uuid
from placement_insight.explain.explain import Question, explain
from placement_insight.explain.unmet import Completeness
from placement_insight.tests.unit.explain.explanations import explained


def lacks(picture, query, **options):
    """Return what each near miss lacks, by the name of the root, in order."""
    return {
        miss.root.name: [
            f"{each.requirement.code} {each.provider.name}"
            if each.provider
            else each.requirement.code
            for each in miss.unmet
        ]
        for miss in explained(picture, query, **options).near_misses
    }


def test_a_forbidden_aggregate_of_the_root_counts():
    hosts = "\n".join(f"a{n} @no\n  a{n}c VCPU=8(used=4) +CUSTOM_OFF" for n in range(6))
    best = "best\n  bestc VCPU=8 +CUSTOM_OFF"
    query = "resources=VCPU:8&required=!CUSTOM_OFF&member_of=!@no"
    assert next(iter(lacks(f"{hosts}\n{best}", query).items())) == (
        "best",
        ["forbidden_trait bestc"],
    )


def test_a_joint_trait_is_lacking_on_a_provider_that_contributes():
    world = "host\n  cpus VCPU=8\n  disk DISK_GB=9"
    missing = lacks(world, "resources=VCPU:1,DISK_GB:1&required=CUSTOM_OFF")
    assert missing == {"host": ["trait cpus"]}


def test_an_amount_above_max_unit_that_is_not_free_lacks_both():
    assert lacks("h VCPU=8(max=4,used=7)", "resources=VCPU:5") == {"h": ["unit h", "capacity h"]}


def test_the_aggregates_that_the_root_is_in_are_named():
    query = "resources=VCPU:1&member_of=!in:@a,@b"
    sentence = f"in aggregate {aggregate_uuid('b')}; everything else fits"
    assert lines("h VCPU=8 @b", query) == {"h": sentence}
    (row,) = explained("h VCPU=8 @b\ni VCPU=8 @a", query).document()["funnel"]
    assert row["text"] == f"in aggregate {' or '.join(sorted(map(aggregate_uuid, 'ab')))}"


def test_conditions_between_groups_are_listed_beside_others():
    query = "resources1=VCPU:1&resources2=VCPU:1&required2=CUSTOM_OFF&group_policy=isolate"
    assert lacks("h VCPU=8", query) == {"h": ["trait h", "isolate h"]}


def test_groups_that_are_isolated_get_providers_of_their_own():
    world = "h\n  a VCPU=8(used=8)\n  b VCPU=8(used=8)"
    query = "resources1=VCPU:1&resources2=VCPU:1&group_policy=isolate"
    (missing,) = lacks(world, query).values()
    assert sorted(missing) == ["capacity a", "capacity b"]


def test_aggregates_of_the_unsuffixed_group_are_lacking_where_one_place_has_the_others():
    world = "h @x\n  a VCPU=8 @y\n  b VCPU=8"
    assert lacks(world, "resources=VCPU:1&member_of=@x&member_of=@z") == {"h": ["aggregate h"]}
    world = "h\n  a VCPU=8 @x @y"
    query = "resources=VCPU:1&member_of=@x&member_of=@y&member_of=@z"
    assert lacks(world, query) == {"h": ["aggregate a"]}


def test_what_is_lacking_after_other_changes_is_named_as_it_is_now():
    world = "h +CUSTOM_OFF\n  a VCPU=8\n  b +CUSTOM_ON"
    query = (
        "resources1=CUSTOM_GPU:1&required1=CUSTOM_ON"
        "&resources2=CUSTOM_GPU:2&required2=!CUSTOM_OFF,!CUSTOM_NOBODY"
        "&resources3=VCPU:1&required3=CUSTOM_OFF,CUSTOM_NOBODY&group_policy=none"
    )
    (missing,) = lacks(world, query).values()
    amounts = [lack for lack in missing if not lack.startswith("trait")]
    assert amounts == ["no_inventory b", "no_inventory a", "combined h"]


def test_what_several_groups_lack_is_listed_once():
    """An amount that each of them lacks is part of their sum."""
    world = "h VCPU=8"
    query = "resources1=VCPU:9&required1=CUSTOM_OFF&resources2=VCPU:9&required2=CUSTOM_OFF"
    for suffix in "34":
        query += f"&resources{suffix}=CUSTOM_FPGA:1&required{suffix}=CUSTOM_OFF"
    (miss,) = explained(world, f"{query}&group_policy=none").near_misses
    assert miss.completeness is Completeness.CONFIRMED
    assert miss.text({"4": "four"}) == (
        "no trait CUSTOM_OFF in groups 1, 2, 3, four, "
        "no inventory of CUSTOM_FPGA in groups 3, four, "
        "VCPU 8 of 18 together, CUSTOM_FPGA 0 of 2 together"
    )


def test_one_aggregate_of_the_root_can_be_all_that_several_providers_lack():
    world = "h @y\n  a VCPU=8 @x\n  b DISK_GB=8"
    query = "resources=VCPU:1,DISK_GB:1&member_of=@x&member_of=@y"
    assert lacks(world, query) == {"h": ["aggregate h"]}


NAMED = "near VCPU=8 +CUSTOM_OFF\nnamed VCPU=4 +CUSTOM_OFF @no"


def test_only_the_tree_that_the_request_names_is_listed():
    query = "resources=VCPU:5&in_tree=$named&required=!CUSTOM_OFF&member_of=!@no"
    assert list(lacks(NAMED, query)) == ["named"]
    assert lacks(NAMED, query.replace("$named", "$removed")) == {}


@pytest.mark.parametrize(
    ("trees", "hosts"),
    [
        (("named", "named"), ["named"]),
        (("named", "near"), ["named", "near"]),  # one of them is a mistake
        (("removed", "named"), ["named"]),
        (("removed", "removed"), []),
        (("nfs", "nfs"), ["near"]),
        (("nfs", "named"), ["near", "named"]),
    ],
)
def test_only_hosts_that_can_use_the_trees_of_the_groups_are_listed(trees, hosts):
    """Nova names the host of the server in each group of an attached interface."""
    world = (
        "near VCPU=4 @rack\n  nic VCPU=1\nfar VCPU=4\nnamed VCPU=4\n"
        f"nfs VCPU=1 @rack +{SHARING_TRAIT}"
    )
    groups = [f"resources{at}=VCPU:5&in_tree{at}=${trees[at - 1]}" for at in (1, 2)]
    query = "&".join([*groups, "group_policy=none"])
    assert sorted(lacks(world, query)) == sorted(hosts)


def test_a_provider_in_the_tree_of_a_group_is_closer_than_one_beside_it():
    world = """
        h1 VCPU=8 DISK_GB=5    @rack
        ss        DISK_GB=100  @rack  +MISC_SHARES_VIA_AGGREGATE +CUSTOM_A
    """
    query = "resources=VCPU:1&resources1=DISK_GB:10&required1=CUSTOM_A&in_tree1=$h1"
    assert lacks(world, f"{query}&group_policy=none") == {"h1": ["trait h1", "capacity h1"]}


def test_the_smallest_shortfall_comes_first_of_many():
    hosts = "\n".join(f"h{number} VCPU=1" for number in range(60))
    assert next(iter(lacks(f"{hosts}\nbest VCPU=7", "resources=VCPU:8"))) == "best"


def test_a_root_that_lacks_more_than_it_seems_comes_after_others():
    """Each class is free on a provider of the first root, but not together."""
    world = """
        a
          a1 VCPU=8 MEMORY_MB=1 DISK_GB=1
          a2 VCPU=1 MEMORY_MB=8 DISK_GB=1
          a3 VCPU=1 MEMORY_MB=1 DISK_GB=8
        b
          b1 VCPU=8 MEMORY_MB=8 DISK_GB=7
    """
    missing = lacks(world, "resources1=VCPU:8,MEMORY_MB:8,DISK_GB:8")
    assert list(missing.items()) == [
        ("b", ["capacity b1"]),
        ("a", ["capacity a1", "capacity a1"]),
    ]


def test_the_cost_of_a_root_is_linear_in_its_unmet_requirements(monkeypatch):
    """900 aggregates that do not exist, which fit into a URL, took 52 s, beyond any budget."""
    calls, lacking = [], MemberOf.lacking
    monkeypatch.setattr(MemberOf, "lacking", lambda *each: calls.append(1) or lacking(*each))
    counts = []
    for number in (50, 200):
        calls.clear()
        query = "&".join(f"member_of={uuid.UUID(int=each)}" for each in range(1, number))
        (miss,) = explained("h VCPU=8", f"resources=VCPU:1,CUSTOM_GPU:1&{query}").near_misses
        assert len(miss.unmet) == number
        counts.append(len(calls))
    assert counts[0] < counts[1] < 5 * counts[0]


def test_the_deadline_leaves_what_is_known():
    ticks = itertools.count()
    snapshot = snapshot_of("a VCPU=8\nb VCPU=7(used=1)")
    query = "resources1=VCPU:9&resources2=VCPU:1&group_policy=isolate"
    question = Question(request_of(query), query, MAX_VERSION)
    seen = set()
    for budget in range(100):
        explanation = explain(snapshot, question, Deadline(budget, ticks.__next__))
        for miss in explanation.near_misses:
            assert miss.unmet
        is_listed = len(explanation.near_misses) == 2 or bool(explanation.undetermined)
        assert is_listed
        results = {miss.completeness for miss in explanation.near_misses}
        assert Completeness.CUT not in results or "near_misses" in explanation.undetermined
        seen |= results
    assert seen == {Completeness.CUT, Completeness.CONFIRMED}
    assert all(miss.completeness is Completeness.CONFIRMED for miss in explanation.near_misses)


def test_a_root_of_which_nothing_is_known_at_the_deadline_is_not_listed():
    snapshot = snapshot_of("h\n  a VCPU=8\n  b VCPU=8")
    query = "resources1=VCPU:1&resources2=VCPU:1&resources3=VCPU:1&group_policy=isolate"
    names = set()
    for root in (None, snapshot.forest.uuids[0]):
        question = Question(request_of(query), query, MAX_VERSION, root=root)
        for budget in range(100):
            explanation = explain(snapshot, question, Deadline(budget, itertools.count().__next__))
            assert all(miss.unmet for miss in explanation.near_misses)
            assert explanation.near_misses or explanation.undetermined
            if root and explanation.fits == 0 and not explanation.near_misses:
                names.update(explanation.undetermined)
    assert names == {"near_misses"}


# --- what an operator can act on ----------------------------------------------------------------


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
@pytest.mark.parametrize(
    "query",
    [
        "resources=VGPU:1&required=CUSTOM_T",
        "resources=VCPU:1&resources1=VGPU:1&required1=CUSTOM_T",
        "resources=VCPU:1,VGPU:1&required=CUSTOM_T",
    ],
)
def test_a_device_with_the_trait_that_is_used_is_named_not_a_free_one_without(names, query):
    """Servers can be moved from it; a device does not get a trait of another one."""
    used, free = names
    devices = sorted([f"  {used} VGPU=1(used=1) +CUSTOM_T", f"  {free} VGPU=1"])
    for lines in (devices, devices[::-1]):
        picture = "\n".join(["h VCPU=8", *lines])
        assert lacks(picture, query) == {"h": [f"capacity {used}"]}


def texts(picture, query):
    """Return the sentences of each near miss, by the name of the root."""
    document = explained(picture, query).document()
    return {
        miss["name"]: [each["text"] for each in miss["unmet"]] for miss in document["near_misses"]
    }


def test_an_amount_that_is_not_free_is_in_use_or_reserved_or_both():
    picture = (
        "a CUSTOM_NODE=1(used=1,reserved=1)\nb CUSTOM_NODE=1(reserved=1)\nc CUSTOM_NODE=1(used=1)"
    )
    assert texts(picture, "resources=CUSTOM_NODE:1") == {
        "a": ["CUSTOM_NODE 0 of 1 (in use, reserved)"],
        "b": ["CUSTOM_NODE 0 of 1 (reserved)"],
        "c": ["CUSTOM_NODE 0 of 1 (in use)"],
    }


@pytest.mark.parametrize(
    ("slot", "sentence"),
    [
        (
            "slot CUSTOM_SLOT=1 @x",
            ": slot of the same aggregate has it, without the trait MISC_SHARES_VIA_AGGREGATE",
        ),
        (
            "slot CUSTOM_SLOT=1 @y +MISC_SHARES_VIA_AGGREGATE",
            ": slot has it and shares it, with other aggregates",
        ),
        ("host-slot CUSTOM_SLOT=1", ": host-slot has it, in another tree"),
        ("other VCPU=8 CUSTOM_SLOT=1 @x", ""),  # another host of the aggregate
        ("slot CUSTOM_SLOT=1", ""),
        ("slot CUSTOM_SLOT=1 @y", ""),
        ("host2 CUSTOM_SLOT=1", ""),  # another host
    ],
)
def test_a_provider_beside_the_host_is_named_with_the_missing_link(slot, sentence):
    missing = texts(f"host VCPU=8 @x\n{slot}", "resources=VCPU:1,CUSTOM_SLOT:1")
    assert missing["host"] == [f"no inventory of CUSTOM_SLOT{sentence}"]


def test_a_host_of_another_kind_is_not_a_pool_of_what_a_node_lacks():
    missing = texts(
        "node CUSTOM_NODE=1 @x\nhost VCPU=8(used=8) MEMORY_MB=8 @x", "resources=VCPU:1"
    )
    assert missing["node"] == ["no inventory of VCPU"]


def test_a_port_is_missing_bandwidth_and_not_the_network_of_another_bridge():
    """Two amounts that are in use can be freed; a bridge does not get another network."""
    picture = (
        "host VCPU=8\n  br-a CUSTOM_EGR=10(used=9) CUSTOM_IGR=10(used=9) +CUSTOM_A"
        "\n  br-b CUSTOM_EGR=10 CUSTOM_IGR=10 +CUSTOM_B"
    )
    query = "resources1=CUSTOM_EGR:2,CUSTOM_IGR:2&required1=CUSTOM_A"
    assert texts(picture, query)["host"] == [
        "br-a: CUSTOM_EGR 1 of 2 in group 1",
        "br-a: CUSTOM_IGR 1 of 2 in group 1",
    ]


def lines(picture, query):
    """Return the near misses in words, by the name of the root."""
    document = explained(picture, query).document()
    return {miss["name"]: miss["text"] for miss in document["near_misses"]}


def test_a_provider_with_one_of_two_traits_is_named():
    world = "h VCPU=8\n  a CUSTOM_GPU=1(used=1) +CUSTOM_ON\n  b CUSTOM_GPU=1 +CUSTOM_OFF"
    query = "resources=VCPU:1,CUSTOM_GPU:1&required=CUSTOM_OFF,CUSTOM_ON"
    assert lines(world, query)["h"] == (
        "a has CUSTOM_ON, but not all of the other traits; everything else fits"
    )


def test_a_sharing_provider_that_is_named_is_no_host():
    """No host shares what a sharing provider does not have."""
    world = f"pool DISK_GB=8 @a +{SHARING_TRAIT}\nh VCPU=8 @a"
    query = "resources=VCPU:1,DISK_GB:1&in_tree=$pool"
    assert lines(world, query) == {"pool": "no inventory of VCPU"}


@pytest.mark.parametrize("amounts", ["VCPU:1", "VCPU:1,CUSTOM_GPU:1"])
def test_a_trait_does_not_count_on_a_root_that_supplies_nothing(amounts):
    world = "root +CUSTOM_OFF\n  a VCPU=8\n  b CUSTOM_GPU=1\nother VCPU=8\n  c CUSTOM_GPU=1"
    query = f"resources={amounts}&required=CUSTOM_OFF"
    supplies = "root has CUSTOM_OFF, but supplies none of the amounts"
    assert lines(world, query) == {
        "root": f"{supplies}; everything else fits",
        "other": "no trait CUSTOM_OFF; everything else fits",
    }
    (row,) = explained(world, query).document()["funnel"]
    assert (row["text"], row["note"]) == (
        "no trait CUSTOM_OFF",
        "root has it, but supplies none of the amounts",
    )
    alone = world.partition("\nother")[0]
    (row,) = explained(alone, query).document()["funnel"]
    assert row["text"] == "CUSTOM_OFF only on a provider that supplies none of the amounts"
    assert row["detail"]["unused"]["roots"] == 1


def test_classes_of_a_group_on_different_providers_are_named():
    world = "h\n  agent CUSTOM_GPU=9\n  bridge VCPU=9 MEMORY_MB=9"
    assert lines(world, "resources1=VCPU:1,MEMORY_MB:1,CUSTOM_GPU:1") == {
        "h": "bridge has VCPU and MEMORY_MB, agent has CUSTOM_GPU, none has all in group 1"
    }


def test_a_class_on_another_provider_of_the_tree_counts_once():
    world = "plain VCPU=9 MEMORY_MB=9\nh\n  a VCPU=9\n  b MEMORY_MB=9\n  c CUSTOM_GPU=9"
    misses = lines(world, "resources1=VCPU:1,MEMORY_MB:1,CUSTOM_GPU:1")
    assert [*misses] == ["h", "plain"]


def test_a_card_of_one_class_does_not_lack_another():
    world = "h\n  card VCPU=9 +CUSTOM_OFF"
    assert lines(world, "resources1=CUSTOM_GPU:1&required1=CUSTOM_OFF") == {
        "h": "no inventory of CUSTOM_GPU in group 1"
    }


def test_one_of_several_nodes_is_named():
    world = "h\n  node0 VCPU=40(used=20)\n  node1 VCPU=40(used=30)\n  card CUSTOM_GPU=1(used=1)"
    assert lines(world, "resources=VCPU:40") == {"h": "node0: VCPU 20 of 40"}
    assert lines(world, "resources=CUSTOM_GPU:1") == {"h": "CUSTOM_GPU 0 of 1 (in use)"}


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("resources1=CUSTOM_GPU:1&required1=CUSTOM_OFF", "card: no trait CUSTOM_OFF in group 1"),
        ("resources1=CUSTOM_GPU:1&required1=!CUSTOM_NEW", "trait CUSTOM_NEW in group 1"),
        ("resources1=CUSTOM_GPU:1&member_of1=@x", "card: not in aggregate @x in group 1"),
        (
            "resources1=SRIOV_NET_VF:1&required1=!CUSTOM_NEW&member_of1=!@y",
            "vf0: trait CUSTOM_NEW in group 1",
        ),
        (
            "resources1=VCPU:1,MEMORY_MB:1&required1=CUSTOM_NEW",
            "card: no inventory of VCPU in group 1, card: no inventory of MEMORY_MB in group 1",
        ),
        (
            "resources=CUSTOM_GPU:1&required=CUSTOM_DISK",
            "disk has CUSTOM_DISK, but supplies none of the amounts",
        ),
    ],
)
def test_what_the_host_has_is_not_said_to_be_missing_on_it(query, text):
    world = """
        h     @x +CUSTOM_OFF
          card CUSTOM_GPU=1 +CUSTOM_NEW
          node VCPU=8
          more MEMORY_MB=8
          disk DISK_GB=9 +CUSTOM_DISK
          vf0  SRIOV_NET_VF=1 +CUSTOM_NEW
          vf1  SRIOV_NET_VF=1 @y
    """
    found = lines(world, query)["h"].removesuffix("; everything else fits")
    assert found == text.replace("@x", aggregate_uuid("x"))


def test_a_shared_class_is_not_said_to_be_missing():
    storage = f"nfs DISK_GB=9 CUSTOM_GPU=1 @x +CUSTOM_NO +{SHARING_TRAIT}"
    world = f"h VCPU=8 @x\n  card CUSTOM_GPU=2(used=1)\n{storage}"
    assert lines(world, "resources=CUSTOM_GPU:2")["h"] == "card: CUSTOM_GPU 1 of 2"
    assert lines(world, "resources=DISK_GB:99&required=!CUSTOM_NO")["h"] == (
        "nfs: trait CUSTOM_NO, nfs: DISK_GB 9 of 99"
    )
    assert lines(world, "resources1=DISK_GB:1,VCPU:99&required1=!CUSTOM_OFF")["h"] == (
        "h: no inventory of DISK_GB in group 1, VCPU 8 of 99 in group 1"
    )


@pytest.mark.parametrize(("used", "state"), [(8, "in use"), (4, None)])
def test_a_provider_with_free_capacity_has_no_state(used, state):
    (miss,) = explained(f"h VCPU=8(used={used})", "resources=VCPU:5").document()["near_misses"]
    assert miss["unmet"][0].get("state", "none") == (state or "none")


@pytest.mark.parametrize(
    ("ports", "text"),
    [
        (
            (6000, 6000),
            "not together: CUSTOM_BW 6000 in group 1, 6000 in group 2; "
            "allocatable: 9000 on eth0, 5000 on eth1",
        ),
        (
            (8500, 1001, 1001, 1001, 1001, 1001),
            "not together: CUSTOM_BW 8500 in group 1, 1001 in group 2, 1001 in group 3, "
            "1001 in group 4, 2 more; allocatable: 9000 on eth0, 5000 on eth1",
        ),
        (
            (8000, 4000, 3000),
            "not together: CUSTOM_BW 8000 in group 1, 4000 in group 2, 3000 in group 3; "
            "allocatable: 9000 on eth0, 5000 on eth1",
        ),
        ((8000, 4000, 4000), "CUSTOM_BW 15000 of 16000 together"),
    ],
)
def test_amounts_that_do_not_fit_together_are_listed_with_what_is_where(ports, text):
    world = """
        cn1
          eth0 CUSTOM_BW=10000(used=1000) +CUSTOM_NET
          eth1 CUSTOM_BW=6000(max=5000)   +CUSTOM_NET
          eth2 CUSTOM_BW=1000(used=1000)
          eth3 CUSTOM_BW=7000(used=8000)
    """
    groups = (
        f"resources{number}=CUSTOM_BW:{amount}&required{number}=CUSTOM_NET"
        for number, amount in enumerate(ports, 1)
    )
    (miss,) = explained(world, "&".join([*groups, "group_policy=none"])).near_misses
    assert miss.text({}) == text


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (
            "resources1=VGPU:2,CUSTOM_NIC:1&required1=CUSTOM_OFF",
            "b has VGPU, nic has CUSTOM_NIC, none has all in group 1, b: VGPU 1 of 2 in group 1",
        ),
        (
            "resources=VCPU:5&resources1=VGPU:2&resources2=VGPU:2&group_policy=isolate",
            "b: VCPU 4 of 5, b: VGPU 1 of 2 in group 1, a: VGPU 0 of 2 (in use) in group 2",
        ),
        (
            "resources=VCPU:5&resources_1=CUSTOM_NIC:1&resources_2=VGPU:1&group_policy=none"
            "&same_subtree=_1,_2",
            "b: VCPU 4 of 5, not in one subtree: _1,_2",
        ),
    ],
)
def test_the_closest_provider_is_named_beside_conditions_of_other_groups(query, text):
    world = """
        h
          a VGPU=1(used=1) VCPU=4(used=4) +CUSTOM_OFF
          b VGPU=1 VCPU=4 +CUSTOM_OFF
          nic CUSTOM_NIC=2
    """
    (miss,) = explained(world, query).near_misses
    assert miss.text({}) == text


def test_a_provider_with_enough_in_another_unit_is_not_the_closest():
    world = "h\n  a VCPU=5(step=2)\n  b VCPU=4"
    assert lacks(world, "resources=VCPU:5") == {"h": ["capacity b"]}


@pytest.mark.parametrize(
    ("required", "text"),
    [
        ("", "4 VGPU free on 2 providers, at most 3 on one in group 1"),
        ("&required1=CUSTOM_T4", "gpu0: VGPU 3 of 4 in group 1"),
    ],
)
def test_amounts_together_are_those_of_providers_that_meet_the_conditions(required, text):
    world = """
        cn1
          gpu0 VGPU=3 +CUSTOM_T4
          gpu1 VGPU=1
    """
    (miss,) = explained(world, f"resources1=VGPU:4{required}").near_misses
    assert miss.text({}) == text


def test_a_condition_that_is_missed_without_the_sum_is_listed_beside_it():
    """The disk of the provider with the trait would do for a provider of the aggregate."""
    world = """
        host
          all CUSTOM_DEVICE=1 DISK_GB=1 VCPU=1 @a
            disk DISK_GB=1 +CUSTOM_RED
    """
    query = (
        "resources=VCPU:1,DISK_GB:1,CUSTOM_DEVICE:1&required=CUSTOM_RED&member_of=@a"
        "&resources1=VCPU:1&resources2=VCPU:1&resources3=VCPU:1,DISK_GB:1&group_policy=none"
    )
    (miss,) = explained(world, query).near_misses
    missing = f"not in aggregate {aggregate_uuid('a')}, VCPU 1 of 4 together"
    assert (miss.text({}), miss.completeness) == (missing, Completeness.CONFIRMED)
