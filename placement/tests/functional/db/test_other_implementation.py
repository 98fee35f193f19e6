"""openstack-placement writes to the database while this service runs."""

import pytest
import sqlalchemy as sa

from placement import exception
from placement.db import usage_counters
from placement.db.maintenance import reconcile
from placement.engine.engine import Engine
from placement.objects import trait
from placement.tests.support.factories import (
    claim,
    generation,
    new_provider,
    set_inventories,
    used,
    uuid,
)
from placement.tests.support.queries import offered
from placement.tests.support.snapshots import RecordingObserver, contents
from placement.tests.support.sql import ADD_ALLOCATION, ADD_INVENTORY, NOW, execute, scalar


def claim_elsewhere(store, host, amount):
    """Allocate VCPU like openstack-placement, which increases the generation of the provider."""
    id_ = scalar(store, f"SELECT id FROM resource_providers WHERE uuid = '{host}'")

    def work(tx):
        row = {"now": NOW, "provider": id_, "class": 0, "consumer": uuid(), "used": amount}
        tx.connection.execute(sa.text(ADD_ALLOCATION), row)
        grow = "UPDATE resource_providers SET generation = generation + 1 WHERE id = :id"
        tx.connection.execute(sa.text(grow), {"id": id_})

    store.write(work)


def differences(store):
    with store.read() as tx:
        return usage_counters.differences(tx.connection)


def test_claim_counts_allocations_of_others(store, other_store):
    """The host is full, and the usage counter is 0."""
    host, empty = new_provider(store, VCPU=8), new_provider(store, VCPU=8)
    engine = Engine(store)
    engine.current()
    claim_elsewhere(other_store, host, 8)
    with pytest.raises(exception.CapacityExceeded):
        claim(store, uuid(), {host: {"VCPU": 1}, empty: {"VCPU": 1}})
    assert differences(store) == []
    assert engine.current().state(host).used == {"VCPU": 8}
    claim_elsewhere(other_store, empty, 3)
    claim(store, uuid(), {empty: {"VCPU": 5}})
    with pytest.raises(exception.CapacityExceeded):
        claim(store, uuid(), {empty: {"VCPU": 1}})
    assert used(store, empty) == {"VCPU": 8}


def test_only_what_was_counted_is_noted_as_counted(store, other_store):
    """Two hosts are full, and their usage counters are 0; a claim on one counts that one."""
    one, other = new_provider(store, VCPU=8), new_provider(store, VCPU=8)
    for host in (one, other):
        claim_elsewhere(other_store, host, 8)
    counters = []
    for host in (one, other):
        with pytest.raises(exception.CapacityExceeded):
            claim(store, uuid(), {host: {"VCPU": 1}})
        counters.append([used(store, each).get("VCPU") for each in (one, other)])
    assert counters == [[8, None], [8, 8]]  # the other provider is not locked


def test_other_writes_do_not_hide_allocations_of_others(store, other_store):
    """A write to the inventories increases the generation, and counts no allocations."""
    host = new_provider(store, VCPU=8)
    claim_elsewhere(other_store, host, 8)
    set_inventories(store, host, VCPU=10, MEMORY_MB=1)
    with pytest.raises(exception.CapacityExceeded):
        claim(store, uuid(), {host: {"VCPU": 3}})
    claim(store, uuid(), {host: {"VCPU": 2}})
    assert differences(store) == []


def test_allocation_of_others_during_a_claim_is_counted(store, other_store):
    """The other implementation commits between the begin of a claim and its lock of the host."""
    if store.settings.backend == "sqlite":
        pytest.skip("one transaction at a time")
    host = new_provider(store, VCPU=8)
    claim(store, uuid(), {host: {"VCPU": 1}})
    writer, outcomes = store.engines().writer, []

    def claim_before_lock(_connection, _cursor, statement, *_):
        if "ORDER BY resource_providers.id" in statement and not outcomes:
            outcomes.append(True)
            claim_elsewhere(other_store, host, 4)

    sa.event.listen(writer, "before_cursor_execute", claim_before_lock)
    with pytest.raises(exception.CapacityExceeded):
        claim(store, uuid(), {host: {"VCPU": 4}})
    sa.event.remove(writer, "before_cursor_execute", claim_before_lock)
    assert outcomes
    assert used(store, host) == {"VCPU": 5}


def test_reconciliation_notes_providers_whose_counters_are_right(store, other_store):
    """After an upgrade the first claim on each provider need not count its allocations."""
    host = new_provider(store, VCPU=8)
    claim_elsewhere(other_store, host, 0)
    not_counted = "SELECT count(*) FROM resource_providers WHERE counted_generation != generation"
    assert scalar(store, not_counted) == 1
    assert reconcile.reconcile(store) == 0
    assert scalar(store, not_counted) == 0


def add_names(store):
    """Insert a resource class and a trait like openstack-placement, which advances no clock."""
    execute(store, "INSERT INTO resource_classes (id, name) VALUES (10100, 'CUSTOM_FPGA')")
    execute(store, "INSERT INTO traits (name) VALUES ('CUSTOM_FAST')")


def assert_equal_to_a_new_process(store, engine):
    assert contents(engine.current()) == contents(Engine(store).current())
    assert engine.view().names == Engine(store).view().names


def test_names_of_others_are_seen_when_a_provider_gets_them(store, other_store, caplog):
    host = new_provider(store, VCPU=8)
    engine = Engine(store)
    engine.current()
    add_names(other_store)
    set_inventories(store, host, VCPU=8, CUSTOM_FPGA=2)
    assert engine.current().state(host).inventories.keys() == {"VCPU", "CUSTOM_FPGA"}
    claim(store, uuid(), {host: {"CUSTOM_FPGA": 2}})
    trait.replace(store, host, generation(store, host), ["CUSTOM_FAST"])
    state = engine.current().state(host)
    assert (state.used, state.traits) == ({"CUSTOM_FPGA": 2}, {"CUSTOM_FAST"})
    assert offered(engine.current(), "resources=VCPU:1&required=CUSTOM_FAST")
    assert_equal_to_a_new_process(store, engine)
    assert "left out" not in caplog.text


def test_names_of_others_need_one_more_statement_and_no_load(store, other_store):
    host, observer = new_provider(store, VCPU=8), RecordingObserver()
    engine = Engine(store, observer)
    engine.current()
    add_names(other_store)
    set_inventories(store, host, CUSTOM_FPGA=2)
    executed, reader = [], store.engines().reader

    def note(_connection, _cursor, statement, *_):
        executed.append(statement)

    sa.event.listen(reader, "before_cursor_execute", note)
    engine.current()
    sa.event.remove(reader, "before_cursor_execute", note)
    read_changes = [each for each in executed if "UNION ALL" in each]
    assert ["FROM traits" in each for each in read_changes] == [False, True]
    engine.current()
    assert observer.reports == ["load", "refresh"]


def test_inventory_of_a_class_that_does_not_exist_is_left_out(store, other_store):
    """The names are read, and the id is still unknown."""
    host = new_provider(store, VCPU=8)
    engine = Engine(store)
    engine.current()
    id_ = scalar(store, f"SELECT id FROM resource_providers WHERE uuid = '{host}'")
    row = {"provider": id_, "class": 4444, "total": 8, "now": NOW}
    execute(other_store, ADD_INVENTORY, row)
    claim(store, uuid(), {host: {"VCPU": 1}})
    assert engine.current().state(host).inventories.keys() == {"VCPU"}
    assert_equal_to_a_new_process(store, engine)
