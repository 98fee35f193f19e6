"""The comparison of rules about maintenance."""

from bench import drains


def test_sums_and_slots_are_wrong_and_the_plan_is_not(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["drains", "60"])
    assert drains.main() == 0
    first, *lines = capsys.readouterr().out.splitlines()
    kinds = [(line.split()[0], line[12:30].strip()) for line in lines]
    assert first.split()[1] == "clouds,"
    assert ("sums", "wrong fits") in kinds
    assert {"wrong fits", "wrong does not fit"} == {
        kind for rule, kind in kinds if rule == "slots"
    }
    assert {kind for rule, kind in kinds if rule == "drain"} <= {"undetermined"}
