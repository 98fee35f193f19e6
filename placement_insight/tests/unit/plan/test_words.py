"""The sentences of plans."""

import pytest

from placement.tests.support.queries import snapshot_of
from placement_insight.plan import words
from placement_insight.plan.model import Holder, Move
from placement_insight.plan.room import Leaving, Room, Rooms
from placement_insight.plan.survival import Domain, Outcome


def outcome(name, verdict, reason=""):
    return Outcome(Domain(name, name, (1,)), verdict, 3, 2, {}, reason)


def test_equal_reasons_are_one_line_with_their_number():
    reason = "no other enabled host has the aggregate x of its host"
    outcomes = [outcome(f"cn{n}", "does_not_fit", reason) for n in range(109)]
    outcomes += [outcome("db1", "does_not_fit", "is full"), outcome("cn0", "fits")]
    lines = list(words.of_survival("host", 111, outcomes, 1))
    assert lines[0] == "1 of 111 hosts survive; 110 do not"
    assert lines[1:3] == [f"109: {reason}", "db1: is full"]
    assert "1 consumer on several hosts does not count" in lines
    assert list(words.of_survival("host", 1, [outcome("cn0", "fits")], 0)) == [
        "1 of 1 host survives"
    ]


@pytest.mark.parametrize(("count", "rest"), [(10, []), (11, ["1 more reason"])])
def test_ten_reasons_are_listed(count, rest):
    lines = list(words.grouped((f"{n}", f"cn{n}") for n in range(count)))
    assert lines[9:] == ["cn9: 9", *rest]


@pytest.mark.parametrize(
    ("verdicts", "others"),
    [
        ([], ""),
        (["fits"], "; of the others, 1 survives"),
        (["fits", "fits", "does_not_fit"], "; of the others, 2 survive and 1 does not"),
    ],
)
def test_what_was_not_determined_comes_first(verdicts, others):
    outcomes = [outcome("cn1", verdict) for verdict in verdicts]
    first, *_ = words.of_survival("host", 500, outcomes, 0)
    unknown = 500 - len(verdicts)
    assert first == f"{unknown} of 500 hosts not determined: {words.TIME_LIMIT}{others}"


@pytest.mark.parametrize(
    ("count", "is_minimal", "text"),
    [
        (1, True, "cn1: 1 consumer moves, VCPU:2: a to cn2"),
        (2, False, "cn1: 2 consumers move (perhaps fewer are enough), VCPU:4: a to cn2, a to cn2"),
    ],
)
def test_room(count, is_minimal, text):
    holder = Holder("a", "INSTANCE", "p", {})
    leaving = [Leaving(holder, {"VCPU": 2}, Move(holder, 7, {}))] * count
    room = Room(3, leaving, is_minimal)
    assert words.of_room("cn1", room, {7: "cn2"}) == text
    lines = list(words.of_rooms(Rooms(0, [room], None, 4, is_complete=False), [text]))
    assert lines[:2] == [f"4 more hosts not determined: {words.TIME_LIMIT}", text]


def test_only_servers_have_a_command():
    snapshot = snapshot_of("cn2;halt VCPU=8\n  gpu CUSTOM_GPU=1 NET_BW_EGR_KILOBIT_PER_SEC=9")
    row_of = {state.provider.name: row for row, state in enumerate(snapshot.states())}
    host, gpu = row_of["cn2;halt"], row_of["gpu"]

    def text(kind, *allocated, down=()):
        holder = Holder("a b", kind, "p", dict.fromkeys(allocated, 1))
        return words.of_move(snapshot, Move(holder, host, {}), down)

    live = "openstack server migrate --live-migration --host 'cn2;halt' 'a b'"
    assert text(None, ("VCPU", host)) == live
    assert text("INSTANCE", ("NET_BW_EGR_KILOBIT_PER_SEC", gpu), ("VCPU", gpu)) == live
    assert text("INSTANCE", ("CUSTOM_GPU", host)) == live
    assert text("INSTANCE", ("CUSTOM_GPU", gpu), ("VCPU", host)) == (
        "openstack server migrate --wait --host 'cn2;halt' 'a b' "
        "&& openstack server migration confirm 'a b'"
    )
    assert text("INSTANCE", ("CUSTOM_GPU", gpu), down=[host]) == (
        "openstack server evacuate --host 'cn2;halt' 'a b'"
    )
    assert text("VOLUME", ("VCPU", host)) == "VOLUME a b moves to cn2;halt"


def test_a_move_between_providers_that_both_share_with_the_host_frees_nothing():
    holder = Holder("a", None, "p", {})
    room = Room(3, [Leaving(holder, {}, Move(holder, 7, {}))], is_minimal=True)
    assert words.of_room("cn1", room, {7: "cn2"}) == "cn1: 1 consumer moves: a to cn2"
