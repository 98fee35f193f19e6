"""What a process remembers of names, and what a transaction adds to it."""

from placement.db.sqlalchemy.id_cache import Known, Names


def test_a_draft_sees_what_is_known():
    names = Names()
    names.projects.learn({"a": 1})
    draft = names.draft()
    assert draft.projects.id_of("a") == 1
    assert draft.projects.name_of(1) == "a"
    assert draft.users.id_of("a") is None


def test_what_a_draft_learned_is_known_when_it_is_kept():
    names = Names()
    draft = names.draft()
    draft.traits.learn({"T": 5})
    assert names.traits.id_of("T") is None
    draft.keep()
    assert names.traits.id_of("T") == 5


def test_what_is_forgotten_is_forgotten_at_once():
    names = Names()
    names.traits.learn({"T": 5})
    draft = names.draft()
    draft.traits.forget("T")
    assert names.traits.id_of("T") is None
    assert draft.traits.id_of("T") is None


def test_zero_is_an_id():
    known = Known()
    known.learn({"VCPU": 0})
    assert Known(known).id_of("VCPU") == 0


def test_missing_are_those_to_ask_for_each_once():
    known = Known()
    known.learn({"b": 1})
    assert known.missing(["c", "b", "a", "c"]) == ["c", "a"]
