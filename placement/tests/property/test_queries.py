"""Whatever a query string says, it is understood or refused, never a fault."""

from hypothesis import given
from hypothesis import strategies as st

from placement import exception
from placement.microversion import VERSIONS
from placement.parse.candidates import candidate_request
from placement.parse.provider_list import provider_filter

AGGREGATE = "aaaaaaaa-1111-2222-3333-444444444444"
PIECES = [
    "",
    " ",
    ",",
    "!",
    "in:",
    ":",
    "A",
    "B",
    "VCPU",
    "1",
    "0",
    "-1",
    AGGREGATE,
    "\n",
    "\u0665",
]
NAMES = ["resources", "required", "member_of", "in_tree"]
OTHERS = ["limit", "group_policy", "root_required", "same_subtree", "name", "uuid"]

suffixes = st.sampled_from(["", "1", "2", "_A", "B"])
keys = st.builds(str.__add__, st.sampled_from(NAMES), suffixes) | st.sampled_from(OTHERS)
likely = {
    "resources": st.sampled_from(["VCPU:1", "VCPU:1,DISK_GB:2"]),
    "limit": st.sampled_from(["1", "99999999999999999999"]),
    "group_policy": st.sampled_from(["none", "isolate"]),
    "same_subtree": st.sampled_from(["1", "1,_A", "B"]),
}
values = st.lists(st.sampled_from(PIECES), max_size=5).map("".join) | st.text(
    "AV:,!1-\n\t\u0665\u2603", max_size=8
)


@st.composite
def pairs(draw):
    """Return parameters, of which most are well formed."""
    found = []
    for key in draw(st.lists(keys, max_size=6)):
        usual = likely.get(key.rstrip("12_AB"), st.sampled_from(["A", "A,B", AGGREGATE]))
        found.append((key, draw(st.one_of(usual, usual, values))))
    return found


def understood(parse, given_pairs, version):
    """Return what the parameters mean, None if they are refused with a sentence."""
    try:
        return parse(given_pairs, version)
    except exception.BadRequest as error:
        return None if str(error) else error


@given(pairs(), st.sampled_from(VERSIONS[10:]))
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


@given(pairs())
def test_a_query_means_the_same_at_every_version_that_takes_it(given_pairs):
    """Later versions add; what they read differently is repetition, and which groups nest."""
    if len({key for key, _ in given_pairs}) < len(given_pairs):
        return
    read = {repr(understood(candidate_request, given_pairs, version)) for version in VERSIONS[29:]}
    assert len(read - {"None"}) <= 1
