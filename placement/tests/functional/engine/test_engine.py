"""The engine: its snapshots equal the current contents of the database."""

import gc
import multiprocessing
import os
import random
import threading
from dataclasses import replace
from itertools import permutations

import pytest

from placement import exception
from placement.core.model import Inventory, UpdateProvider
from placement.core.snapshot.snapshot import Snapshot
from placement.db import clocks
from placement.db.schema import migration
from placement.db.snapshot.load import SnapshotReader
from placement.db.store import Store
from placement.engine import engine as engine_module
from placement.engine.engine import Engine
from placement.objects import aggregate, allocation, provider, resource_class, trait
from placement.tests.support.factories import (
    claim,
    generation,
    new_provider,
    set_inventories,
    uuid,
)
from placement.tests.support.provider_tables import snapshot_of_states
from placement.tests.support.snapshots import (
    RecordingObserver,
    assert_exact,
    by_id,
    by_name,
    contents,
    loaded,
)
from placement.tests.support.waiting import SECONDS_TO_WAIT

# for a long run: PLACEMENT_TEST_COMPARISONS=100000
COMPARISONS = int(os.environ.get("PLACEMENT_TEST_COMPARISONS", "40"))


@pytest.fixture
def observer():
    return RecordingObserver()


@pytest.fixture
def reports(observer):
    """What the engine has reported: ``load``, ``refresh``, ``discard``."""
    return observer.reports


@pytest.fixture
def engine(store, observer):
    return Engine(store, observer)


def test_an_empty_database_is_an_empty_snapshot(engine):
    snapshot = engine.current()
    assert by_id(snapshot) == {}
    assert "VCPU" in snapshot.class_names
    assert "HW_CPU_X86_AVX2" in snapshot.trait_names


def test_snapshot_has_acknowledged_writes_of_other_processes(engine, other_store):
    engine.current()
    host = new_provider(other_store, "cn1", VCPU=8)
    assert by_name(engine.current())["cn1"].inventories["VCPU"].total == 8
    claim(other_store, uuid(), {host: {"VCPU": 3}})
    assert by_name(engine.current())["cn1"].used == {"VCPU": 3}
    trait.ensure(other_store, "CUSTOM_RED")
    assert "CUSTOM_RED" in engine.current().trait_names
    trait.replace(other_store, host, generation(other_store, host), ["CUSTOM_RED"])
    assert by_name(engine.current())["cn1"].traits == {"CUSTOM_RED"}
    rack = uuid()
    aggregate.replace(other_store, host, [rack], generation(other_store, host))
    assert by_name(engine.current())["cn1"].aggregates == {rack}


def test_all_statements_read_the_same_ratio(engine, store, other_store):
    host = new_provider(other_store, "cn1", VCPU=8)
    engine.current()
    set_inventories(other_store, host, VCPU=Inventory(total=8, allocation_ratio=16.1))
    assert by_id(engine.current()) == by_id(Engine(store).current())


@pytest.mark.parametrize("order", list(permutations(["DISK_GB", "MEMORY_MB", "VCPU"])))
def test_providers_read_together_have_all_of_their_inventories(engine, store, other_store, order):
    engine.current()
    hosts = {new_provider(other_store, **{order[2]: 8}): {order[2]}}
    last = new_provider(other_store)
    for number in range(3):  # in the order of rows
        set_inventories(other_store, last, **dict.fromkeys(order[: number + 1], 8))
    hosts[last] = set(order)
    snapshot = engine.current()
    assert {each.provider.uuid: set(each.inventories) for each in snapshot.states()} == hosts
    assert contents(snapshot) == contents(Engine(store).current())
    with store.read() as tx:
        names = SnapshotReader(tx.connection).names()
        row_by_row = snapshot_of_states(
            loaded(tx).values(), names.classes.values(), names.traits.values()
        )
    assert contents(snapshot) == contents(row_by_row)


@pytest.mark.parametrize("backend", ["sqlite"])
@pytest.mark.parametrize(("many", "is_frozen"), [(1, True), (2, False)], ids=["many", "few"])
def test_objects_are_frozen_from_a_number_of_providers(
    engine, store, monkeypatch, many, is_frozen
):
    """With many objects a collection takes too long; with few the process may be a test run."""
    monkeypatch.setattr(engine_module, "FREEZE_PROVIDERS", many)
    new_provider(store)
    gc.unfreeze()
    engine.current()
    assert (gc.get_freeze_count() > 0) is is_frozen
    assert gc.isenabled()
    gc.unfreeze()


def test_unchanged_snapshot_is_not_read_again(engine, reports, other_store):
    new_provider(other_store, "cn1")
    first = engine.current()
    assert engine.current() is first
    assert reports == ["load"]
    assert first.size == 1


def test_only_changed_providers_are_read(engine, reports, other_store, monkeypatch):
    # more than clocks: the last one has the clock of the first
    hosts = [new_provider(other_store, VCPU=1) for _ in range(clocks.PROVIDER_CLOCKS + 1)]
    engine.current()
    set_inventories(other_store, hosts[0], VCPU=2)
    provider.delete(other_store, hosts[1])
    apply, applied = Snapshot.apply, []

    def counting(snapshot, states, removed, *names):
        applied.append((len(states), len(removed)))
        return apply(snapshot, states, removed, *names)

    monkeypatch.setattr(Snapshot, "apply", counting)
    engine.current()
    assert reports == ["load", "refresh"]
    assert applied == [(1, 1)]


def test_snapshot_is_immutable(engine, other_store):
    host = new_provider(other_store, "cn1", VCPU=8)
    earlier = engine.current()
    provider.delete(other_store, host)
    assert "cn1" not in by_name(engine.current())
    assert by_name(earlier)["cn1"].inventories["VCPU"].total == 8


def test_a_moved_tree_has_its_new_root(engine, other_store):
    top = new_provider(other_store, "top")
    middle = new_provider(other_store, "middle")
    new_provider(other_store, "leaf", middle)
    engine.current()
    provider.update(other_store, UpdateProvider(middle, "middle", top, may_move=True))
    assert by_name(engine.current())["leaf"].provider.root_uuid == top


def test_a_renamed_class_is_renamed_everywhere(engine, other_store):
    resource_class.create(other_store, "CUSTOM_OLD")
    new_provider(other_store, "cn1", CUSTOM_OLD=4)
    engine.current()
    resource_class.rename(other_store, "CUSTOM_OLD", "CUSTOM_NEW")
    snapshot = engine.current()
    assert by_name(snapshot)["cn1"].inventories.keys() == {"CUSTOM_NEW"}
    assert "CUSTOM_OLD" not in snapshot.class_names


def test_reused_id_is_another_provider(engine, other_store):
    """SQLite reuses the last id; the other databases do not."""
    provider.delete(other_store, new_provider(other_store, "old"))
    new_provider(other_store, "first")
    engine.current()
    provider.delete(other_store, by_name(engine.current())["first"].provider.uuid)
    new_provider(other_store, "second", VCPU=1)
    assert by_name(engine.current()).keys() == {"second"}


@pytest.mark.parametrize("refreshed_after", range(5))
def test_recreated_providers_may_exchange_their_ids(engine, store, other_store, refreshed_after):
    """SQLite gives each the former id of the other; all in one refresh, or in two."""
    hosts = [new_provider(other_store, name, VCPU=4) for name in ("first", "second")]
    engine.current()
    first, second = hosts
    steps = [
        lambda: provider.delete(other_store, second),
        lambda: provider.delete(other_store, first),
        lambda: provider.create(other_store, second, "second", None),
        lambda: provider.create(other_store, first, "first", None),
    ]
    for number, step in enumerate(steps, start=1):
        step()
        if number == refreshed_after:
            engine.current()
    set_inventories(other_store, first, VCPU=5)
    set_inventories(other_store, second, VCPU=6)
    snapshot = engine.current()
    assert [snapshot.state(host).inventories["VCPU"].total for host in hosts] == [5, 6]
    assert contents(snapshot) == contents(Engine(store).current())


@pytest.mark.parametrize("has_other", [True, False], ids=["id reused", "id not reused"])
def test_a_child_returns_to_a_parent_that_was_created_again(engine, store, other_store, has_other):
    """All of it happens between two refreshes."""
    parent = new_provider(other_store, "cn", VCPU=4)
    child = new_provider(other_store, "numa", parent=parent, VGPU=1)
    engine.current()
    provider.update(other_store, UpdateProvider(child, "numa", None, may_move=True))
    provider.delete(other_store, parent)
    if has_other:
        new_provider(other_store, "other", VCPU=1)
    provider.create(other_store, parent, "cn", None)
    provider.update(other_store, UpdateProvider(child, "numa", parent, may_move=True))
    snapshot = engine.current()
    assert (
        snapshot.forest.parent.item(snapshot.forest.row_of[child])
        == (snapshot.forest.row_of[parent])
    )
    assert contents(snapshot) == contents(Engine(store).current())


def test_new_epoch_reloads_everything(engine, reports, other_store):
    new_provider(other_store, "cn1")
    engine.current()
    migration.sync(other_store)
    engine.current()
    assert reports == ["load", "discard", "load"]


class _Interrupted(Store):
    """A store with a write between the probe and the statement that reads the changes."""

    concurrent_write = None

    def probe(self):
        clocks = super().probe()
        if self.concurrent_write is not None:
            write, self.concurrent_write = self.concurrent_write, None
            write()
        return clocks


@pytest.fixture
def interrupted(settings):
    interrupted_store = _Interrupted(settings)
    yield interrupted_store
    interrupted_store.dispose()


def test_concurrent_write_is_never_read_in_part(interrupted, other_store):
    """The probe reports the first host only; then allocations move to the second."""
    first, second = (new_provider(other_store, VCPU=8) for _ in range(2))
    consumer, engine = uuid(), Engine(interrupted)
    engine.current()
    claim(other_store, consumer, {first: {"VCPU": 3}})
    interrupted.concurrent_write = lambda: claim(other_store, consumer, {second: {"VCPU": 3}})
    snapshot = engine.current()
    assert (snapshot.state(first).used, snapshot.state(second).used) == ({}, {"VCPU": 3})


def test_name_created_during_a_read_is_resolved(interrupted, other_store):
    host, engine = new_provider(other_store, VCPU=8), Engine(interrupted)
    engine.current()

    def make_and_use():
        resource_class.create(other_store, "CUSTOM_NEW")
        set_inventories(other_store, host, CUSTOM_NEW=1)

    set_inventories(other_store, host, VCPU=9)
    interrupted.concurrent_write = make_and_use
    assert engine.current().state(host).inventories.keys() == {"CUSTOM_NEW"}


def test_error_is_reported_and_the_next_request_retries(engine, store, other_store, backend):
    if backend == "sqlite":
        pytest.skip("a file is never away")
    new_provider(other_store, "cn1")
    engine.current()
    writer = store.engines().reader
    with writer.connect() as connection:
        connection.exec_driver_sql("SELECT 1")
        connection.invalidate()
    assert by_name(engine.current()).keys() == {"cn1"}


# --- several processes --------------------------------------------------------------------


def test_forked_child_has_its_own_connections(engine, store, other_store):
    new_provider(store, "before")
    assert by_name(engine.current()).keys() == {"before"}
    fork = multiprocessing.get_context("fork")
    results = fork.SimpleQueue()

    def child(number):
        for count in range(5):
            new_provider(store, f"child {number} {count}")
        results.put(set(by_name(engine.current())))

    children = [fork.Process(target=child, args=(number,)) for number in range(2)]
    for each in children:
        each.start()
    snapshots = [results.get() for _ in children]
    for each in children:
        each.join(SECONDS_TO_WAIT)
        assert each.exitcode == 0
    created = {f"child {number} {count}" for number in range(2) for count in range(5)}
    assert max(snapshots, key=len) == created | {"before"}
    # the parent's connections are still usable
    new_provider(store, "after")
    assert by_name(engine.current()).keys() == created | {"before", "after"}


def exit_code_of(work):
    """Fork a child that does the work; return its exit code, None if it does not end."""
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(60)
    ended_with = child.exitcode
    child.kill()
    child.join()
    return ended_with


def test_a_lock_that_another_thread_held_at_the_fork_is_free_in_the_child(engine, store):
    engine.current()
    lock_taken, forked = threading.Event(), threading.Event()

    def hold():
        with engine._keeper().flight._ended:
            lock_taken.set()
            forked.wait(2 * SECONDS_TO_WAIT)

    thread = threading.Thread(target=hold)
    thread.start()
    lock_taken.wait(SECONDS_TO_WAIT)
    try:
        assert exit_code_of(engine.current) == 0
    finally:
        forked.set()
        thread.join()


def test_forked_child_can_open_all_connections(settings):
    """Requests in the parent use all connections that its pools may open."""
    store = Store(replace(settings, max_pool_size=1, max_overflow=0))
    engine = Engine(store)
    engine.current()
    engines = store.engines()

    def child():
        new_provider(store, "of the child")
        engine.current()

    with engines.writer.connect(), engines.reader.connect():
        assert exit_code_of(child) == 0
    assert by_name(engine.current()).keys() == {"of the child"}
    store.dispose()


def write_at_random(settings, seed, stop, acknowledged):
    """Write at random, and record acknowledged provider generations, by slot."""
    store = Store(settings)
    choose = random.Random(seed)
    hosts = {slot: new_provider(store, f"{seed} {slot}", VCPU=1000) for slot in range(3)}
    consumers = []
    while not stop.is_set():
        slot = choose.randrange(3)
        try:
            _write_something(store, choose, hosts, slot, consumers)
        except exception.PlacementException:
            continue
        with acknowledged.get_lock():
            at = seed * 3 + slot
            now = provider.show(store, hosts[slot])
            acknowledged[2 * at] = now.id
            acknowledged[2 * at + 1] = now.generation
    store.dispose()


def _write_something(store, choose, hosts, slot, consumers):
    host = hosts[slot]
    match choose.randrange(7):
        case 0 | 1:
            consumers.append(uuid())
            claim(store, consumers[-1], {host: {"VCPU": 1}, hosts[(slot + 1) % 3]: {"VCPU": 2}})
        case 2 if consumers:
            allocation.delete(store, consumers.pop())
        case 3:
            trait.replace(
                store,
                host,
                generation(store, host),
                choose.sample(["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "STORAGE_DISK_SSD"], 2),
            )
        case 4:
            aggregate.replace(store, host, [uuid()], generation(store, host))
        case 5:
            child = new_provider(store, parent=host, VCPU=2)
            if choose.random() < 0.7:
                provider.delete(store, child)
        case _:
            name = f"CUSTOM_{choose.randrange(10)}"
            trait.ensure(store, name)
            trait.delete(store, name)


@pytest.mark.long
def test_reads_beside_writers_are_exact(store, settings, engine):
    """Several processes write; each read is compared with a full load in the same transaction."""
    fork = multiprocessing.get_context("fork")
    acknowledged, stop = fork.Array("q", 2 * 3 * 3), fork.Event()
    writers = [
        fork.Process(target=write_at_random, args=(settings, seed, stop, acknowledged))
        for seed in range(3)
    ]
    for writer in writers:
        writer.start()
    try:
        view = None
        while not all(acknowledged):
            assert all(writer.is_alive() for writer in writers)
            view = compare(view, store, engine, acknowledged)
        for _ in range(COMPARISONS):
            view = compare(view, store, engine, acknowledged)
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    compare(view, store, engine, acknowledged)


def compare(view, store, engine, acknowledged):
    """Check that a read has all acknowledged writes, and an advanced view equals a full load."""
    with acknowledged.get_lock():
        noted = list(acknowledged)
    current = by_id(engine.current())
    for id_, grown_to in zip(noted[::2], noted[1::2], strict=True):
        if id_:
            assert current[id_].provider.generation >= grown_to
    with store.read() as tx:
        return assert_exact(tx, view)[0]


def test_concurrent_threads_read_their_own_writes(store, engine):
    failures = []

    def run(number):
        host = new_provider(store, f"host {number}", VCPU=100)
        for count in range(1, 11):
            claim(store, uuid(), {host: {"VCPU": 1}})
            used = by_name(engine.current())[f"host {number}"].used
            if used != {"VCPU": count}:
                failures.append((number, count, used))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize("backend", ["mariadb"], indirect=True)
def test_everything_is_loaded_if_the_server_truncates_texts(engine, reports, store, other_store):
    host = new_provider(other_store, "cn1", VCPU=8, MEMORY_MB=1024)
    engine.current()
    with store.read() as tx:
        tx.connection.exec_driver_sql("SET SESSION group_concat_max_len = 1000")
    racks = {uuid() for _ in range(40)}
    aggregate.replace(other_store, host, sorted(racks), generation(other_store, host))
    assert by_name(engine.current())["cn1"].aggregates == racks
    assert reports == ["load", "discard", "load"]


def test_providers_with_many_parts_are_read_together(engine, reports, other_store):
    """Each text is longer than the default of MySQL, 1,024 bytes."""
    hosts = [new_provider(other_store, VCPU=8) for _ in range(3)]
    engine.current()
    racks = {uuid() for _ in range(100)}
    names = sorted(engine.current().trait_names)[:250]
    for host in hosts:
        aggregate.replace(other_store, host, sorted(racks), generation(other_store, host))
        trait.replace(other_store, host, generation(other_store, host), names)
    snapshot = engine.current()
    for state in (snapshot.state(host) for host in hosts):
        assert (state.aggregates, state.traits) == (racks, set(names))
    assert reports == ["load", "refresh"]
    assert by_id(snapshot) == by_id(Engine(other_store).current())


def test_each_ratio_is_read_as_it_is_loaded(engine, other_store):
    engine.current()
    for ratio in (16.1, 0.1 + 0.2, 1 / 3, 1e-7, 3.4e38):
        host = new_provider(other_store, VCPU=Inventory(total=8, allocation_ratio=ratio))
        changed = engine.current().state(host)
        assert changed == Engine(other_store).current().state(host), ratio
        assert changed.inventories["VCPU"].allocation_ratio == pytest.approx(ratio, rel=1e-5)
