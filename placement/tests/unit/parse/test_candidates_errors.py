"""Which mistake in a query of GET /allocation_candidates is reported, and how."""

import pytest

from placement import exception
from placement.tests.unit.parse.candidate_queries import A, B, parsed

INVALID = "Invalid query string parameters: "
FORM = f"{INVALID}Expected 'required' parameter value of the form: "


def mistake(text: str, minor: int = 39) -> exception.BadRequest:
    with pytest.raises(exception.BadRequest) as caught:
        parsed(text, minor)
    return caught.value


@pytest.mark.parametrize(
    ("text", "minor", "fragments"),
    [
        ("", 10, ["'resources' is a required property"]),
        ("resources=V:1&limit=1", 15, ["(", "'limit' was unexpected)"]),
        ("resources=V:1&bb=1&aa=1", 24, ["Additional properties", "('aa', 'bb' were unexpected)"]),
        ("resources=V:1&required=A", 16, ["'required' was unexpected"]),
        ("resources=V:1&member_of=A", 20, ["'member_of' was unexpected"]),
        ("resources=V:1&group_policy=none", 24, ["'group_policy' was unexpected"]),
        (
            "resources01=V:1",
            25,
            [
                "'resources01' does not match any of the regexes: '^member_of([1-9][0-9]*)?$', "
                "'^required([1-9][0-9]*)?$', '^resources([1-9][0-9]*)?$'"
            ],
        ),
        ("bb=1&aa=1", 25, ["'aa', 'bb' do not match any of the regexes"]),
        ("resources=V:1&in_tree=x", 30, ["'in_tree' does not match any of the regexes"]),
        ("resources0=V:1", 31, ["regexes: '^in_tree([1-9][0-9]*)?$', '^member_of"]),
        ("resources_A=V:1", 32, ["'resources_A' does not match"]),
        ("resources.A=V:1", 33, ["'^member_of([a-zA-Z0-9_-]{1,64})?$'"]),
        ("resources" + "x" * 65 + "=V:1", 33, ["does not match any of the regexes"]),
        ("resources=V:1&root_required=A", 34, ["'root_required' does not match"]),
        ("resources=V:1&same_subtree=1", 35, ["'same_subtree' does not match"]),
        ("Resources=V:1", 39, ["'Resources' does not match"]),
        ("resources=V:1&limit=0", 16, ["Failed validating 'pattern'", "'^[1-9][0-9]*$'"]),
        ("resources=V:1&limit=x&limit=3", 39, ["Failed validating 'pattern'"]),
        ("resources=V:1&limit=1%0A", 39, ["Failed validating 'pattern'"]),
        ("resources%0A=V:1", 39, [r"'resources\n' does not match any of the regexes"]),
        ("resources=V:1&group_policy=x", 25, ["'x' is not one of ['none', 'isolate']"]),
        ("resources=V:1&group_policy=x&group_policy=none", 39, ["'x' is not one of"]),
    ],
)
def test_unknown_and_malformed_parameters(text, minor, fragments):
    message = str(mistake(text, minor))
    assert message.startswith(INVALID)
    assert [each for each in fragments if each not in message] == []


RESOURCES_FORM = (
    "Badly formed resources parameter. Expected resources query string parameter in form: "
    "?resources=VCPU:2,MEMORY_MB:1024. Got: "
)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", f"{RESOURCES_FORM}empty string."),
        ("%20", f"{RESOURCES_FORM}empty string."),
        ("VCPU", f"{RESOURCES_FORM}VCPU."),
        ("VCPU:1,", f"{RESOURCES_FORM}."),
        ("VCPU:1:2", f"{RESOURCES_FORM}VCPU:1:2."),
        ("VCPU:x", "Requested resource VCPU expected positive integer amount. Got: x."),
        ("VCPU:1.0", "Requested resource VCPU expected positive integer amount. Got: 1.0."),
        ("VCPU:0", "Requested resource VCPU requires amount >= 1. Got: 0."),
        ("VCPU:-2", "Requested resource VCPU requires amount >= 1. Got: -2."),
    ],
)
def test_resources(value, message):
    assert str(mistake(f"resources={value}")) == message
    assert str(mistake(f"resources={value}&resources=VCPU:1")) == message


PLAIN, FORBIDDING = "HW_CPU_X86_VMX,CUSTOM_MAGIC.", "HW_CPU_X86_VMX,!CUSTOM_MAGIC."
ANY_OF = "in:HW_CPU_X86_VMX,CUSTOM_MAGIC"


@pytest.mark.parametrize(
    ("value", "minor", "message"),
    [
        ("A,", 21, f"{FORM}{PLAIN} Got an empty trait in: A,"),
        ("A,", 22, f"{FORM}{FORBIDDING} Got an empty trait in: A,"),
        ("!", 39, f"{FORM}{FORBIDDING} Got an empty trait in: !"),
        (
            "A,!B",
            21,
            f"{FORM}{PLAIN} Got: A,!B. "
            "A forbidden trait exists from 1.22; this request was handled at 1.21.",
        ),
        (
            "in:A",
            38,
            f"{INVALID}The format '{ANY_OF}' only supported since microversion 1.39. Got: in:A",
        ),
        ("in:A,", 39, f"{FORM}{ANY_OF}. Got an empty trait in: in:A,"),
        (
            "in:A,!B",
            39,
            f"{INVALID}The format '{ANY_OF}' does not support forbidden traits. Got: in:A,!B",
        ),
    ],
)
def test_required(value, minor, message):
    assert str(mistake(f"resources=VCPU:1&required={value}", minor)) == message


@pytest.mark.parametrize(
    ("query", "minor", "message"),
    [
        (
            f"member_of={A}&member_of={B}",
            23,
            "Multiple member_of parameters are not supported. "
            "A repeated member_of exists from 1.24; this request was handled at 1.23.",
        ),
        (
            f"member_of={A},{B}",
            24,
            "Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword "
            f"using the valid microversion. Got: {A},{B}",
        ),
        (
            f"member_of1=!{A}&resources1=V:1",
            31,
            "Forbidden member_of1 parameters are not supported in the specified microversion. "
            "A forbidden member_of1 exists from 1.32; this request was handled at 1.31.",
        ),
        (
            f"member_of_Z=in:{A},!{B}",
            39,
            f"{INVALID}Expected 'member_of' parameter to contain valid UUID(s). Got: !{B}",
        ),
        (
            "member_of=in:",
            39,
            f"{INVALID}Expected 'member_of' parameter to contain valid UUID(s). Got: ",
        ),
    ],
)
def test_member_of(query, minor, message):
    assert str(mistake(f"resources=VCPU:1&{query}", minor)) == message


def test_in_tree():
    assert str(mistake("resources=VCPU:1&in_tree=x", 31)) == (
        f"{INVALID}Expected 'in_tree' parameter to be a format of uuid. Got: x"
    )


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (
            "A&root_required=B",
            exception.DuplicateQueryKey,
            "Query parameter 'root_required' may be specified only once.",
        ),
        (
            "A,!A,B,!B",
            exception.BadQueryValue,
            "Conflicting required and forbidden traits found in root_required: A, B",
        ),
        ("", exception.BadRequest, f"{FORM}{FORBIDDING} Got an empty trait in: "),
        (
            "in:A",
            exception.BadRequest,
            f"{INVALID}The format '{ANY_OF}' only supported since microversion 1.39. Got: in:A",
        ),
    ],
)
def test_root_required(value, kind, message):
    error = mistake(f"resources=x&root_required={value}")
    assert (type(error), str(error)) == (kind, message)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (
            "resources1=x&same_subtree=1,",
            exception.BadQueryValue,
            "Empty string (unsuffixed group) can not be specified in `same_subtree`",
        ),
        (
            "",
            exception.MissingQueryValue,
            "There must be at least one resources or resources[$S] parameter.",
        ),
        (
            "required_A=X&same_subtree=_A",
            exception.MissingQueryValue,
            "There must be at least one resources or resources[$S] parameter.",
        ),
        (
            "resources_A=V:1&required_N=X&required=Y",
            exception.BadQueryValue,
            "Resourceless suffixed group request should be specified in `same_subtree` query "
            "param: bad group(s) - ['_N', ''].",
        ),
        (
            "resources_A=V:1&resources=V:1&same_subtree=A",
            exception.BadQueryValue,
            "Real suffixes should be specified in `same_subtree`: ['A'] not found in ['_A', ''].",
        ),
    ],
)
def test_groups_without_resources_since_136(text, kind, message):
    error = mistake(text)
    assert (type(error), str(error)) == (kind, message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"required1=A&required=B&member_of2={A}",
            "All traits parameters must be associated with resources.  "
            "Found the following orphaned traits keys: required1, required",
        ),
        (
            f"member_of3={A}&required4=!X&resources=V:1",
            "All member_of parameters must be associated with resources. "
            "Found the following orphaned member_of keys: member_of3",
        ),
        ("required1=!A&resources=V:1", "All request groups must specify resources."),
        (
            "limit=3",
            "At least one request group (`resources` or `resources{$S}`) is required.",
        ),
    ],
)
def test_groups_without_resources_up_to_135(text, message):
    assert str(mistake(text, 35)) == message


def test_contradicting_traits():
    unsuffixed = "resources=V:1&required=C,!C,B,!B&required=D"
    suffixed = "resources1=V:1&required1=in:A,E&required1=!A,!E"
    assert str(mistake(f"{unsuffixed}&{suffixed}")) == (
        "Conflicting required and forbidden traits found in the following traits keys: "
        "required1: (A, E), required: (B, C)"
    )


def test_an_either_list_forbidden_in_part_is_no_contradiction():
    assert parsed("resources=V:1&required=in:A,B&required=!A")


@pytest.mark.parametrize(
    "text", ["resources1=V:1&resources2=V:1", "resources1=V:1&resources_A=V:1"]
)
def test_two_suffixed_groups_need_a_policy(text):
    assert str(mistake(text)) == (
        'The "group_policy" parameter is required when specifying more than one '
        '"resources{N}" parameter.'
    )


def test_one_suffixed_group_beside_the_unsuffixed_needs_none():
    assert parsed("resources=V:1&resources1=V:1")
