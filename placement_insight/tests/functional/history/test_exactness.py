"""Records replayed give the state of the database, for each kind of write and each repair."""

import threading
from datetime import datetime, timedelta
from itertools import combinations
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa

from placement import exception
from placement.core.changes import AllocationsChange, ProviderChange, RepairChange, TraitChange
from placement.db.errors import WriteConflict
from placement.db.schema import migration, seed
from placement.db.tables import allocations, insight_change_providers, insight_changes
from placement.objects import allocation
from placement.tests.functional.db.interleavings.kinds import KINDS, World
from placement.tests.functional.db.interleavings.stored import StoredRows
from placement.tests.support.factories import claim, new_provider, statements
from placement.tests.support.races import outcome_of
from placement.tests.support.waiting import wait_until
from placement_insight.history.observer import History, in_thread
from placement_insight.history.repairs import of_repair
from placement_insight.history.sql import Filter, find, prune
from placement_insight.tests.functional.audit.repair.interleavings.kinds import REPAIRS, UNDONE
from placement_insight.tests.functional.history.replay import oldest_first, state_of

ALL = {**KINDS, **REPAIRS, **UNDONE}
WITHOUT_CHANGE = {
    *("claim without class", "release stray allocations", "delete a root"),
    *("first claim of a consumer without row", "delete an inventory"),
    *("replace inventories without a class", "set roots", "create incomplete consumers"),
    *("reshape to a renamed class", "reconcile counters", "convert UUIDs"),
}


@pytest.fixture
def observed(empty_store):
    migration.upgrade(empty_store)
    seed.sync(empty_store)
    return empty_store.writing_with(observer=History(empty_store, 100_000))


def test_each_kind_of_write(observed, empty_store):
    world, rows = World(empty_store), StoredRows(observed)
    before = rows.read()
    unchanged = set()
    last = 0
    for kind, steps in ALL.items():
        rows.restore(before)
        state = state_of(observed)
        for step in steps:
            outcome_of(lambda step=step: step(world, observed))
        records = oldest_first(observed, after=last)
        assert state.replay(records).values() == state_of(observed).values(), kind
        rows.read()
        if records:
            last = records[-1].id
        else:
            unchanged.add(kind)
    rows.close()
    assert unchanged == WITHOUT_CHANGE


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_repair_changes_no_consumer_that_has_the_same_amounts_after_it(store):
    host = new_provider(store, "host", VCPU=8)
    for consumer in ("same", "removed"):
        claim(store, consumer, {host: {"VCPU": 1}})
    repair = RepairChange(None, "remove_allocations")
    with store.read() as tx:
        rows = tx.connection.execute(sa.select(allocations)).mappings().all()
        after = [row for row in rows if row["consumer_id"] == "same"]
        changes = list(of_repair(tx, repair, {"allocations": rows}, {"allocations": after}))
    assert changes == [AllocationsChange("removed", None, {host: {"VCPU": 1}}, {}), repair]


def test_a_write_that_runs_again_is_recorded_once_and_a_refused_one_never(observed):
    attempts = []

    def work(tx, error):
        attempts.append(error)
        tx.publish(names=True, changes=[TraitChange(None, "CUSTOM_A")])
        if error and len(attempts) < 3:
            raise error

    observed.write(work, WriteConflict())
    attempts.clear()
    with pytest.raises(exception.BadRequest):
        observed.write(work, exception.BadRequest("refused"))
    assert [record.change for record in oldest_first(observed)] == [TraitChange(None, "CUSTOM_A")]


def at_once(work):
    work()


def test_changes_of_allocations_remove_none_of_providers(observed):
    history = History(observed, 80, at_once)  # removes rows after each two
    store = observed.writing_with(observer=history)
    history.start()
    for number in range(3):
        new_provider(store, f"host{number}", VCPU=100)
    host = new_provider(store, "host", VCPU=100)
    for number in range(100):
        claim(store, str(UUID(int=number)), {host: {"VCPU": 1}})
    changes = [record.change for record in oldest_first(store)]
    assert len([each for each in changes if isinstance(each, ProviderChange)]) == 4
    of_consumers = [each for each in changes if isinstance(each, AllocationsChange)]
    assert 80 <= len(of_consumers) <= 83
    assert of_consumers[-1].consumer_uuid == str(UUID(int=99))


def test_as_many_of_allocations_and_of_others_remain_as_are_kept(observed):
    """The rows in excess are more than those that one transaction removes."""
    host = new_provider(observed, "host", VCPU=100)
    for number in range(9):
        new_provider(observed, f"host{number}")
        claim(observed, str(UUID(int=number)), {host: {"VCPU": 1}})
    prune(observed, 4, 2)
    last = [str(UUID(int=number)) for number in range(5, 9)]
    changes = [record.change for record in oldest_first(observed)]
    of_consumers = [each for each in changes if isinstance(each, AllocationsChange)]
    assert [each.consumer_uuid for each in of_consumers] == last
    assert [each.name for each in changes if isinstance(each, ProviderChange)] == [
        f"host{number}" for number in range(5, 9)
    ]
    prune(observed, 4, 2)
    assert [record.change for record in oldest_first(observed)] == changes


def test_processes_that_end_early_remove_the_oldest(observed):
    host = new_provider(observed, "host", VCPU=100)
    for number in range(80):
        history = History(observed, 40, at_once)
        history.start()
        claim(observed.writing_with(observer=history), str(UUID(int=number)), {host: {"VCPU": 1}})
    changes = [record.change for record in oldest_first(observed)]
    assert 40 <= len([each for each in changes if isinstance(each, AllocationsChange)]) <= 60


def test_the_oldest_are_removed_in_another_thread(observed):
    others = {*threading.enumerate()}
    store = observed.writing_with(observer=History(observed, 2, in_thread))
    host = new_provider(store, "host", VCPU=10_000)
    for number in range(9):
        claim(observed, str(UUID(int=number)), {host: {"VCPU": 1}})

    def is_pruned():
        claim(store, str(uuid4()), {host: {"VCPU": 1}})
        return len(oldest_first(observed)) < 9

    wait_until(is_pruned)
    wait_until(lambda: others.issuperset(threading.enumerate()))


def refused(_work):
    raise RuntimeError("no DELETE")


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_few_changes_are_only_inserted(observed):
    store = observed.writing_with(observer=History(observed, 400))
    with statements(observed) as executed:
        new_provider(store, "host", VCPU=9)
    of_changes = [each.split()[0] for each in executed if "insight_changes" in each]
    assert of_changes == ["INSERT", "INSERT"]


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("run", [at_once, refused])
def test_a_committed_write_does_not_fail_because_no_row_is_removed(observed, caplog, run):
    store = observed.writing_with(observer=History(observed, 1, run))
    host = new_provider(store, "host", VCPU=9)
    refuse(observed, "DELETE")
    for number in range(3):
        claim(store, str(UUID(int=number)), {host: {"VCPU": 1}})
    assert len(state_of(observed).allocations) == 3
    expected = "Old changes cannot be removed from insight_changes: no DELETE"
    assert {record.getMessage() for record in caplog.records} == {expected}


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("verb", "rows"), [("INSERT", 1), ("DELETE", 0)])
def test_a_process_starts_on_a_read_only_database(observed, caplog, verb, rows):
    if rows == 0:
        new_provider(observed, "host", VCPU=1)
    refuse(observed, verb)
    History(observed, rows).start()
    expected = f"insight_changes cannot be prepared: no {verb}. Restart the process."
    assert [record.getMessage() for record in caplog.records] == [expected]


def refuse(store, verb):
    """Refuse a statement on the table, as without the privilege."""
    trigger = f"CREATE TRIGGER no_{verb} BEFORE {verb} ON insight_changes"
    statement = f"{trigger} BEGIN SELECT RAISE(ABORT, 'no {verb}'); END"
    store.write(lambda tx: tx.connection.exec_driver_sql(statement))


def test_changes_on_any_of_many_providers(observed):
    host, other = (new_provider(observed, name, VCPU=1) for name in ("host", "other"))
    claim(observed, str(UUID(int=1)), {host: {"VCPU": 1}, other: {"VCPU": 1}})
    allocation.delete(observed, str(UUID(int=1)))
    others = {str(UUID(int=number)) for number in range(1100)}
    with observed.read() as tx:
        for wanted in ({*others, host}, {host, other}):
            released, placed = find(tx, Filter(providers=wanted, kind=AllocationsChange.kind))
            assert released.change.before == placed.change.after
            assert placed.change.after.keys() == {host, other}
        assert find(tx, Filter(providers=others)) == find(tx, Filter(providers=set())) == []
    prune(observed, 0, 2)
    with observed.read() as tx:
        assert [*tx.connection.execute(insight_change_providers.select())] == []


def test_times_are_exact_although_clocks_differ(observed):
    """Each row is at most five minutes before or after the time at which it was inserted."""
    start = datetime(2026, 11, 29)
    times = [start + timedelta(minutes=at + (at * 7) % 11 - 5) for at in range(40)]
    rows = [{"created_at": at, "kind": "quota", "change": "[null,1,2]"} for at in times]
    observed.write(lambda tx: tx.connection.execute(insight_changes.insert(), rows))
    with observed.read() as tx:
        for since, until in combinations(
            [start + timedelta(minutes=at) for at in range(-9, 50, 3)], 2
        ):
            listed = [each.at for each in find(tx, Filter(since=since, until=until))]
            assert listed == [at for at in reversed(times) if since <= at < until]


def test_without_rows_nothing_is_recorded_and_records_are_removed(observed):
    new_provider(observed, "host", VCPU=1)
    off = History(observed, 0, at_once)
    off.start()
    new_provider(observed.writing_with(observer=off), "other", VCPU=1)
    assert oldest_first(observed) == []
