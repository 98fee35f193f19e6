"""The lines of room for a request."""

from placement_insight.cli.whatif import room_lines


def line(amount):
    consumer = {"uuid": "u1", "to": {"uuid": "h2", "name": "cn2"}}
    room = {
        "root": {"name": "cn1"},
        "consumers": [consumer],
        "moved": 1,
        "amount": amount,
        "minimal": True,
    }
    document = {"fits_now": 0, "rooms": [room], "reason": None, "undetermined": 0}
    (text,) = room_lines(document, {"u1": "web-1"})
    return text


def test_a_move_with_amounts():
    assert line({"VCPU": 8, "DISK_GB": 5}) == (
        "cn1: 1 server moves, VCPU:8, DISK_GB:5: web-1 to cn2"
    )


def test_a_move_between_providers_that_both_share_with_the_host_frees_nothing():
    assert line({}) == "cn1: 1 server moves: web-1 to cn2"
