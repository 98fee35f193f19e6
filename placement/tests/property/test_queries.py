"""Any query string is parsed or refused with BadRequest; no other error is raised."""

from hypothesis import given
from hypothesis import strategies as st

from placement import exception
from placement.microversion import VERSIONS
from placement.parse.candidates import candidate_request
from placement.parse.resource_provider import provider_filter

AGGREGATE = "aaaaaaaa-1111-2222-3333-444444444444"
GROUPED = ("resources", "required", "member_of", "in_tree")
PIECES = ["", " ", ",", "!", "in:", ":", "A", "VCPU", "1", "0", "-1", AGGREGATE, "\n", "\u0665"]
USUAL = {
    "resources": ["VCPU:1", "VCPU:1,DISK_GB:2"],
    "required": ["A", "A,!B", "in:A,B"],
    "member_of": [AGGREGATE, f"in:{AGGREGATE}", f"!{AGGREGATE}"],
    "in_tree": [AGGREGATE],
    "limit": ["1", "99999999999999999999"],
    "group_policy": ["none", "isolate"],
    "root_required": ["A", "!B"],
    "same_subtree": ["1", "1,2"],
    "name": ["A"],
    "uuid": [AGGREGATE],
}
anything = st.lists(st.sampled_from(PIECES), max_size=5).map("".join)
rarely = st.integers(0, 15).map(lambda number: number == 0)


@st.composite
def pairs(draw, parameters=tuple(USUAL)):
    """Return parameters, of which most are well formed."""
    drawn = []
    for name in draw(st.lists(st.sampled_from(parameters), max_size=5)):
        suffix = draw(st.sampled_from(["", "", "1", "2"])) if name in GROUPED else ""
        value = draw(anything if draw(rarely) else st.sampled_from(USUAL[name]))
        drawn.append((name + suffix, value))
    return drawn


@st.composite
def candidate_pairs(draw):
    """Return parameters of candidates; each group that they name has resources as well."""
    drawn = draw(pairs(tuple(USUAL)[:-2]))
    needed = [(f"resources{suffix}", "VCPU:1") for suffix in ("", "1", "2")]
    return drawn if draw(rarely) else [*drawn, *needed, ("group_policy", "none")]


def understood(parse, given_pairs, version):
    """Return the parsed parameters, None if they are refused with BadRequest."""
    try:
        return parse(given_pairs, version)
    except exception.BadRequest as error:
        return None if str(error) else error


@given(candidate_pairs(), st.sampled_from(VERSIONS[10:]))
def test_candidates(given_pairs, version):
    request = understood(candidate_request, given_pairs, version)
    if request is not None:
        assert any(group.resources for group in request.groups)
        assert all(amount > 0 for group in request.groups for amount in group.resources.values())
        assert request.limit is None or request.limit > 0


@given(pairs(), st.sampled_from(VERSIONS))
def test_provider_list(given_pairs, version):
    wanted = understood(provider_filter, given_pairs, version)
    assert wanted is None or wanted.name != ""


@given(candidate_pairs())
def test_a_query_means_the_same_at_every_version_that_takes_it(given_pairs):
    """Later versions add parameters; they differ in repeated ones, and in groups that nest."""
    if sum(key.startswith("required") for key, _ in given_pairs) > 1:
        return
    read = {repr(understood(candidate_request, given_pairs, version)) for version in VERSIONS[29:]}
    assert len(read - {"None"}) <= 1
