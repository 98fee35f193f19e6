"""Two writes at the same time have the results of one after the other, on each database.

One write stops before each of its statements and before COMMIT, while another one runs. The
results are the outcomes of both, and all rows; the usage counters must be the sums of allocations,
and snapshots that were loaded before must equal new ones.
"""

import os
import random

import pytest

from placement.db.connections import messages
from placement.db.schema import migration, seed
from placement.tests.functional.db.interleavings.kinds import KINDS
from placement.tests.functional.db.interleavings.pairs import pairs

IS_EXHAUSTIVE = "INTERLEAVINGS" in os.environ  # `make stress`
DRAWN = 2
# SQLite has one writer at a time: the other operation waits, wherever the first one stops in a
# transaction, so most stops have the same result.
EVERY = {} if IS_EXHAUSTIVE else {"sqlite": 4}
CONFLICTS = [
    ("release", "change allocations"),
    ("move a tree", "move a tree back"),
    ("move a tree", "create a child"),
    ("move a tree back", "delete a leaf"),
    ("delete a leaf", "create a child"),
    ("delete a class", "use an unused class"),
    ("delete a class", "reshape without claims"),
    ("delete a trait", "replace traits of another"),
    ("create incomplete consumers", "release a consumer without row"),
]
FIXED = [
    ("claim the last units", "claim the last units for another"),
    ("claim the last units", "claim the last units"),
    ("claim the last units for another", "claim the last units for another"),
    ("claim the last units", "claim again for a new consumer"),
    ("claim with an unused type", "delete inventories"),
    *((kind, "rename a class") for kind in ("change two providers", "replace inventories")),
    *((kind, "rename a class") for kind in ("release on two providers", "reshape")),
    ("move a leaf", "delete a root"),
    ("create a class", "ensure classes"),
    ("delete and create a class", "use an unused class"),
    ("convert UUIDs", "convert UUIDs"),
    ("reshape", "release on two providers"),
    ("reshape", "claim the last units"),
    ("first claim of a consumer without row", "release a consumer without row"),
    ("create incomplete consumers", "claim for a consumer without row"),
    ("create incomplete consumers", "empty allocations of a consumer without row"),
]


@pytest.fixture
def tried(empty_store, monkeypatch):
    """Pairs on a database of their own; the statements of a message are sent one by one."""
    monkeypatch.setattr(messages, "DRIVERS", frozenset())
    migration.upgrade(empty_store)
    seed.sync(empty_store)
    with pairs(empty_store) as of_store:
        yield of_store
        print(f"{of_store.interleavings} interleavings, {of_store.comparisons} snapshots")


@pytest.fixture
def every(backend):
    """Of so many stops one is tried."""
    return EVERY.get(backend, 1)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_each_kind_alone(tried):
    """Services see each write; those that are refused change nothing."""
    unchanged = {kind for kind in KINDS if not tried.alone(kind)[1]}
    assert unchanged == {
        "claim without class",
        "release stray allocations",
        "replace inventories without a class",
        "delete an inventory",
        "delete a root",
        "reshape to a renamed class",
        "delete and create a trait",
    }


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_class_is_renamed_before_a_statement(tried):
    kinds = (
        *("change two providers", "swap consumers", "release on two providers"),
        *("reshape", "reshape to a renamed class"),
    )
    failures = [failure for kind in kinds for failure in tried.renamed(kind)]
    assert not failures, "\n".join(failures)


@pytest.mark.long
@pytest.mark.parametrize("is_reversed", [False, True])
def test_conflicts_in_both_orders(tried, is_reversed, backend, every):
    if backend == "sqlite" and is_reversed and not IS_EXHAUSTIVE:
        pytest.skip("one transaction writes at a time: the other one begins before it or after it")
    ordered = [pair[::-1] if is_reversed else pair for pair in CONFLICTS]
    failures = [failure for pair in ordered for failure in tried.failures(*pair, every=every)]
    assert not failures, "\n".join(failures)


@pytest.mark.long
def test_fixed_pairs(tried, every):
    failures = [failure for pair in FIXED for failure in tried.failures(*pair, every=every)]
    assert not failures, "\n".join(failures)


@pytest.mark.long
def test_drawn_pairs(tried):
    """Both writes stop: the second one runs to one of its statements, and later to its end."""
    failures = []
    for _ in range(DRAWN):
        first, second = random.choices(list(KINDS), k=2)
        failures += tried.failures(
            first, second, lambda: random.choice((None, random.randrange(8)))
        )
    assert not failures, "\n".join(failures)


@pytest.mark.skipif(not IS_EXHAUSTIVE, reason="make stress")
@pytest.mark.parametrize("first", KINDS)
def test_all_pairs(tried, first):
    failures = [failure for second in KINDS for failure in tried.failures(first, second)]
    assert not failures, "\n".join(failures)
