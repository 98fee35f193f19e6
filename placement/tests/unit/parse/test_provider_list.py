"""What a query of GET /resource_providers means."""

from urllib.parse import parse_qsl

import pytest

from placement import exception
from placement.core.request import ProviderFilter
from placement.parse.resource_provider import provider_filter
from placement.tests.support.requests import group_of, parts

A = "aaaaaaaa-1111-2222-3333-444444444444"
B = "bbbbbbbb-1111-2222-3333-444444444444"


def parsed(text: str, minor: int = 39) -> ProviderFilter:
    return provider_filter(parse_qsl(text, keep_blank_values=True), (1, minor))


def test_no_parameter_no_filter():
    assert parsed("", 0) == ProviderFilter()


def test_every_parameter():
    text = f"name=n&uuid={A}&in_tree={B}&member_of={A}&member_of=!{B}&resources=V:1&required=X,!Y"
    assert parsed(text) == ProviderFilter(
        name="n",
        uuid=A,
        group=group_of(
            resources={"V": 1},
            required=(frozenset({"X"}),),
            forbidden=frozenset({"Y"}),
            member_of=(frozenset({A}),),
            not_member_of=frozenset({B}),
            in_tree=B,
        ),
    )


def test_an_empty_name_does_not_filter():
    assert parsed("name=x&name=").name is None


def test_uuids_are_made_canonical():
    criteria = parsed(f"uuid={A.upper()}&in_tree={B.upper()}")
    assert (criteria.uuid, parts(criteria.group).in_tree) == (A, B)


def test_contradicting_traits_are_no_mistake():
    assert parts(parsed("required=X,!X").group).forbidden == {"X"}


@pytest.mark.parametrize(
    ("text", "minor"),
    [
        ("member_of=x", 2),
        ("resources=x", 3),
        ("in_tree=x", 13),
        ("required=x", 17),
        ("limit=1", 39),
    ],
)
def test_a_parameter_before_its_time_is_unknown(text, minor):
    with pytest.raises(exception.BadRequest) as caught:
        parsed(text, minor)
    expected = f"Additional properties are not allowed ('{text.split('=')[0]}' was unexpected)"
    assert expected in str(caught.value)


@pytest.mark.parametrize("key", ["uuid", "in_tree"])
@pytest.mark.parametrize("text", ["x", "", A.replace("-", ""), f"{A}%0A", f"{{{A}}}", f"{A}-"])
def test_uuids_must_have_their_hyphens(key, text):
    with pytest.raises(
        exception.BadRequest, match=r"is not a 'uuid'[\s\S]*Failed validating 'format'"
    ):
        parsed(f"{key}={text}")


def test_member_of_is_checked_before_required_and_required_before_resources():
    with pytest.raises(exception.BadRequest, match="member_of"):
        parsed("resources=x&required=,&member_of=x")
    with pytest.raises(exception.BadRequest, match="'required'"):
        parsed("resources=x&required=,")


def test_member_of_repeats_since_124():
    with pytest.raises(exception.BadRequest, match="Multiple member_of parameters"):
        parsed(f"member_of={A}&member_of={B}", 23)
    group = parsed(f"member_of={A}&member_of={B}", 24).group
    assert parts(group).member_of == ({A}, {B})
