"""An action of a repair at the same time as any write has the result of one after the other."""

import random

import pytest

from placement.db.connections import messages
from placement.db.schema import migration, seed
from placement.tests.functional.db.interleavings.pairs import pairs
from placement.tests.functional.db.interleavings.test_interleavings import DRAWN, IS_EXHAUSTIVE
from placement_insight.tests.functional.audit.repair.interleavings.kinds import (
    ALL,
    REPAIRS,
    UNDONE,
)


@pytest.fixture
def tried(empty_store, monkeypatch):
    """Pairs on a database of their own; the statements of a message are sent one by one."""
    monkeypatch.setattr(messages, "DRIVERS", frozenset())
    migration.upgrade(empty_store)
    seed.sync(empty_store)
    with pairs(empty_store, kinds={**ALL, **UNDONE}) as of_store:
        yield of_store
        print(f"{of_store.interleavings} interleavings, {of_store.comparisons} snapshots")


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_each_action_alone(tried):
    """Services see each action."""
    for kind in REPAIRS:
        assert tried.alone(kind) == (["applied"], True), kind


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_each_undo_alone(tried):
    """Services see each undo, which restores all but generations and new owners."""
    not_restored = set()
    for kind in UNDONE:
        outcomes, has_changed = tried.alone(kind)
        assert outcomes == ["applied", "applied"], kind
        not_restored |= {kind} if has_changed else set()
    assert not_restored == {
        f"repair: {action}, and undo"
        for action in (
            *("remove allocations of a renamed class", "create a consumer"),
            *("move allocations", "move allocations beside a renamed class"),
            "take over allocations",
        )
    }


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_class_is_renamed_before_a_statement(tried):
    kinds = (
        *("remove allocations of a renamed class", "move allocations beside a renamed class"),
        "take over allocations",
    )
    failures = [failure for kind in kinds for failure in tried.renamed(f"repair: {kind}")]
    assert not failures, "\n".join(failures)


@pytest.mark.long
@pytest.mark.parametrize("action", ["remove allocations of", "move allocations beside"])
def test_actions_notice_a_renamed_class(tried, action):
    failures = tried.failures(f"repair: {action} a renamed class", "rename a class")
    assert not failures, "\n".join(failures)


@pytest.mark.long
def test_drawn_pairs(tried):
    """Both writes stop: the second one runs to one of its statements, and later to its end."""
    failures = []
    for _ in range(DRAWN):
        pair = [random.choice(list(REPAIRS)), random.choice(list(ALL))]
        random.shuffle(pair)
        failures += tried.failures(*pair, lambda: random.choice((None, random.randrange(8))))
    assert not failures, "\n".join(failures)


@pytest.mark.skipif(not IS_EXHAUSTIVE, reason="make stress")
@pytest.mark.parametrize("first", ALL)
def test_all_pairs(tried, first):
    others = ALL if first in REPAIRS else REPAIRS
    failures = [failure for second in others for failure in tried.failures(first, second)]
    assert not failures, "\n".join(failures)
