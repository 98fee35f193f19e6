"""What a query of GET /allocation_candidates means."""

import pytest

from placement.core.request import CandidateRequest, RequestGroup
from placement.tests.support.requests import Parts, group_of, parts, root_traits
from placement.tests.unit.parse.candidate_queries import A, B, parsed


def only_group(text: str, minor: int = 39) -> RequestGroup:
    (group,) = parsed(text, minor).groups
    return group


def only_parts(text: str, minor: int = 39) -> Parts:
    return parts(only_group(text, minor))


def test_one_group():
    assert parsed("resources=VCPU:2,MEMORY_MB:1024") == CandidateRequest(
        groups=(RequestGroup(resources={"VCPU": 2, "MEMORY_MB": 1024}),)
    )


def test_a_class_given_twice_has_its_last_amount():
    assert only_group("resources=VCPU:1,VCPU:2").resources == {"VCPU": 2}


def test_a_parameter_given_twice_counts_for_the_last():
    group = only_group(f"resources=VCPU:1&in_tree={A}&resources=DISK_GB:2&in_tree={B}")
    assert (group.resources, parts(group).in_tree) == ({"DISK_GB": 2}, B)


def test_required_counts_for_the_last_up_to_138_and_for_all_since():
    text = "resources=VCPU:1&required=A&required=B,!C"
    assert only_parts(text, 38).required == ({"B"},)
    assert only_parts(text, 39).required == ({"A"}, {"B"})
    assert only_parts(text, 39).forbidden == {"C"}


def test_an_earlier_required_is_not_looked_at_up_to_138():
    assert only_parts("resources=VCPU:1&required=,&required=A", 38).required == ({"A"},)


def test_any_of_some_traits():
    group = only_parts("resources=VCPU:1&required=in:A,B&required=C,!D")
    assert (group.required, group.forbidden) == (({"A", "B"}, {"C"}), {"D"})


def test_exclamation_marks_and_blanks_around_traits():
    group = only_parts("resources=VCPU:1&required=%20A%20,!!!B", 22)
    assert (group.required, group.forbidden) == (({"A"},), {"B"})


def test_each_member_of_is_a_list_and_the_forbidden_are_one_set():
    group = only_parts(
        f"resources=VCPU:1&member_of={A}&member_of=in:{A},{B}&member_of=!{A}&member_of=!in:{B}"
    )
    assert (group.member_of, group.not_member_of) == (({A}, {A, B}), {A, B})


def test_an_aggregate_is_made_canonical():
    spelled = A.upper().replace("-", "")
    assert only_parts(f"resources=VCPU:1&member_of={spelled}").member_of == ({A},)


def test_in_tree_is_made_canonical():
    assert only_parts(f"resources=VCPU:1&in_tree=%20{A.upper()}%20").in_tree == A


def test_the_rest_of_the_key_is_the_suffix_and_groups_keep_their_order():
    request = parsed("resources_A=VCPU:1&resources=VCPU:1&resourcesA=VCPU:1&group_policy=none")
    assert [group.suffix for group in request.groups] == ["_A", "", "A"]


def test_parameters_of_one_suffix_make_one_group():
    assert only_group(f"required1=A&resources1=VCPU:1&member_of1={A}", 25) == group_of(
        suffix="1",
        resources={"VCPU": 1},
        required=(frozenset({"A"}),),
        member_of=(frozenset({A}),),
    )


@pytest.mark.parametrize(("policy", "isolate"), [("none", False), ("isolate", True)])
def test_group_policy(policy, isolate):
    assert parsed(f"resources1=VCPU:1&group_policy={policy}", 25).isolate is isolate


def test_the_first_limit_and_the_first_policy_count():
    request = parsed("resources=VCPU:1&limit=3&limit=x&group_policy=isolate&group_policy=x")
    assert (request.limit, request.isolate) == (3, True)


def test_a_limit_beyond_counting_is_none():
    assert parsed(f"resources=VCPU:1&limit={'9' * 5000}").limit is None


def test_an_amount_beyond_64_bits_is_kept():
    assert only_group(f"resources=VCPU:{2**63}").resources == {"VCPU": 2**63}


def test_root_required():
    request = parsed("resources=VCPU:1&root_required=A,!B", 35)
    assert root_traits(request) == ({"A"}, {"B"})


def test_the_traits_of_the_root_are_in_the_order_of_their_names():
    names = [f"CUSTOM_{letter}" for letter in "CABEDHGF"]
    for sign in ("", "!"):
        listed = ",".join(f"{sign}{name}" for name in names)
        request = parsed(f"resources=VCPU:1&root_required={listed}", 35)
        spelled = [each.spelled() for each in request.of_root]
        assert spelled == [f"root_required={sign}{name}" for name in sorted(names)]


def test_each_same_subtree_is_a_set_of_suffixes():
    request = parsed(
        "resources_A=VCPU:1&required_B=X&same_subtree=_A,%20_B,_A&same_subtree=_B&group_policy=none",
        36,
    )
    assert request.same_subtree == ({"_A", "_B"}, {"_B"})


@pytest.mark.parametrize(("minor", "nested"), [(28, False), (29, True)])
def test_candidates_are_nested_since_129(minor, nested):
    assert parsed("resources=VCPU:1", minor).nested is nested
