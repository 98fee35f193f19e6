"""Allocations and consumers, on each database."""

import pytest
import sqlalchemy as sa

from placement import exception
from placement.core.model import Inventory
from placement.db import tables
from placement.objects import allocation
from placement.tests.support.factories import (
    a_claim,
    allocations_of,
    assert_sound,
    claim,
    consumer_generation,
    generation,
    new_provider,
    rows,
    set_inventories,
    statements,
    used,
    uuid,
)


def post(store, *claims):
    allocation.replace(store, claims)


@pytest.fixture
def host(store):
    return new_provider(store, VCPU=8, MEMORY_MB=1024, DISK_GB=100)


def test_claim_is_stored(store, host):
    consumer = uuid()
    claim(store, consumer, {host: {"VCPU": 2, "MEMORY_MB": 512}}, generation=None, type="INSTANCE")
    stored = allocation.of_consumer(store, consumer)
    assert stored.consumer.uuid == consumer
    assert (stored.consumer.project_id, stored.consumer.user_id) == ("project", "user")
    assert (stored.consumer.generation, stored.consumer.type) == (1, "INSTANCE")
    assert stored.allocations[host].generation == 2
    assert stored.allocations[host].resources == {"VCPU": 2, "MEMORY_MB": 512}
    assert stored.modified_at is not None
    on_host = allocation.of_provider(store, host)
    assert on_host.generation == 2
    assert on_host.allocations[consumer].generation == 1
    assert on_host.allocations[consumer].resources == {"VCPU": 2, "MEMORY_MB": 512}
    assert on_host.modified_at is not None
    assert_sound(store)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)  # MariaDB refuses it by default
def test_a_date_of_zeros_is_no_time(store, host):
    consumer, other = uuid(), uuid()
    claim(store, consumer, {host: {"VCPU": 2}}, generation=None)
    claim(store, other, {host: {"VCPU": 2}}, generation=None)
    zeros = sa.text("UPDATE allocations SET updated_at = '0000-00-00 00:00:00' WHERE id = 1")
    store.write(lambda tx: tx.connection.execute(zeros))
    newest = allocation.of_consumer(store, other).modified_at
    assert newest is not None
    assert allocation.of_provider(store, host).modified_at == newest
    assert allocation.of_consumer(store, consumer).modified_at is None


def test_replacement_replaces_all_rows(store, host):
    consumer = uuid()
    claim(store, consumer, {host: {"VCPU": 2, "MEMORY_MB": 512}})
    claim(store, consumer, {host: {"VCPU": 8, "DISK_GB": 1}}, generation=1)
    assert allocations_of(store, consumer) == {host: {"VCPU": 8, "DISK_GB": 1}}
    assert used(store, host) == {"VCPU": 8, "DISK_GB": 1}
    assert (consumer_generation(store, consumer), generation(store, host)) == (2, 3)
    assert_sound(store)


def test_move_releases_the_source(store, host):
    other, consumer = new_provider(store, VCPU=8), uuid()
    claim(store, consumer, {host: {"VCPU": 2}})
    claim(store, consumer, {other: {"VCPU": 2}})
    assert (generation(store, host), generation(store, other)) == (2, 2)
    assert allocations_of(store, consumer) == {other: {"VCPU": 2}}
    assert used(store, host) == {}
    assert_sound(store)


def test_releasing_all_allocations_removes_the_consumer(store, host):
    consumer = uuid()
    claim(store, consumer, {host: {"VCPU": 2}})
    claim(store, consumer, {}, generation=1)
    assert generation(store, host) == 3
    assert consumer_generation(store, consumer) is None
    claim(store, consumer, {host: {"VCPU": 2}}, generation=None)
    assert consumer_generation(store, consumer) == 1
    assert_sound(store)


def test_empty_first_write_creates_no_consumer(store, host):
    consumer = uuid()
    claim(store, consumer, {}, generation=None)
    assert rows(store, tables.consumers) == []
    claim(store, consumer, {}, generation=None)
    claim(store, consumer, {host: {"VCPU": 1}}, generation=None)


def test_removal_does_not_change_provider_generations(store, host):
    consumer = uuid()
    claim(store, consumer, {host: {"VCPU": 2}})
    allocation.delete(store, consumer)
    assert (generation(store, host), used(store, host)) == (2, {})
    assert allocations_of(store, consumer) == {}
    assert_sound(store)


@pytest.mark.parametrize("release", [allocation.delete, lambda *of: claim(*of, {})])
def test_a_release_reads_no_inventories(store, host, release):
    """It is exact also where an older program made an inventory that cannot be allocated."""
    consumer = uuid()
    claim(store, consumer, {host: {"VCPU": 2, "DISK_GB": 5}})
    store.write(
        lambda tx: tx.connection.execute(
            tables.inventories.update().where(tables.inventories.c.total == 8).values(step_size=0)
        )
    )
    with statements(store) as executed:
        release(store, consumer)
    assert [text for text in executed if "FROM inventories" in text] == []
    assert allocations_of(store, consumer) == {}
    assert_sound(store)


@pytest.mark.parametrize("consumer", ["unknown", "", "\U0001f680"])
def test_consumer_without_allocations_is_not_listed_or_removed(store, consumer):
    stored = allocation.of_consumer(store, consumer)
    assert (stored.consumer, stored.allocations, stored.modified_at) == (None, {}, None)
    with pytest.raises(exception.NoAllocations):
        allocation.delete(store, consumer)


def test_consumer_lookup_is_case_sensitive(store, host):
    consumer = uuid()
    claim(store, consumer, {host: {"VCPU": 1}})
    assert allocations_of(store, consumer.upper()) == {}
    with pytest.raises(exception.NoAllocations):
        allocation.delete(store, consumer.upper())


@pytest.mark.parametrize(
    ("claimed_generation", "text"),
    [(None, "expected 1 but got None"), (0, "expected 1 but got 0"), (10**30, "expected 1 but")],
)
def test_stale_consumer_generation_is_refused(store, host, claimed_generation, text):
    consumer = uuid()
    claim(store, consumer, {host: {"VCPU": 1}})
    for resources in ({host: {"VCPU": 2}}, {}):
        with pytest.raises(exception.StaleConsumerGeneration, match=text):
            claim(store, consumer, resources, generation=claimed_generation)
    assert allocations_of(store, consumer) == {host: {"VCPU": 1}}


def test_generation_of_a_missing_consumer_is_refused(store, host):
    for resources in ({host: {"VCPU": 2}}, {}):
        with pytest.raises(exception.StaleConsumerGeneration, match="expected null but got 0"):
            claim(store, uuid(), resources, generation=0)
    assert rows(store, tables.consumers) == []


def failures(host):
    return {
        "provider": {uuid(): {"VCPU": 1}},
        "class": {host: {"COWS": 1}},
        "inventory": {host: {"PCPU": 1}},
        "capacity": {host: {"VCPU": 9}},
        "amount": {host: {"VCPU": 2**40}},
    }


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ("provider", exception.ProviderToAllocateNotFound),
        ("class", exception.UnknownResourceClass),
        ("inventory", exception.NoSuchInventory),
        ("capacity", exception.CapacityExceeded),
        ("amount", exception.InventoryConstraintsViolated),
    ],
)
def test_refused_first_write_creates_no_rows(store, host, what, error):
    consumer = uuid()
    with pytest.raises(error):
        claim(store, consumer, failures(host)[what], generation=None)
    assert rows(store, tables.consumers) == []
    assert generation(store, host) == 1
    claim(store, consumer, {host: {"VCPU": 1}}, generation=None)
    assert_sound(store)


@pytest.mark.parametrize("what", ["provider", "class", "inventory", "capacity", "amount"])
def test_a_refused_write_changes_nothing(store, host, what):
    consumer, other = uuid(), uuid()
    claim(store, consumer, {host: {"VCPU": 2}}, project_id="first", type="A")
    before = [rows(store, table) for table in tables.metadata.sorted_tables]
    with pytest.raises(exception.PlacementException):
        post(
            store,
            a_claim(other, {host: {"VCPU": 1}}, generation=None),
            a_claim(consumer, failures(host)[what], project_id="first", type="A", generation=1),
        )
    assert [rows(store, table) for table in tables.metadata.sorted_tables] == before


def test_several_consumers_change_together(store, host):
    """A migration: the instance moves, and the migration has its old allocations."""
    instance, migration, target = uuid(), uuid(), new_provider(store, VCPU=8)
    claim(store, instance, {host: {"VCPU": 8}})
    post(
        store,
        a_claim(migration, {host: {"VCPU": 8}}, generation=None),
        a_claim(instance, {target: {"VCPU": 8}}, generation=1),
    )
    assert allocations_of(store, migration) == {host: {"VCPU": 8}}
    assert allocations_of(store, instance) == {target: {"VCPU": 8}}
    post(
        store,
        a_claim(migration, {}, generation=1),
        a_claim(instance, {host: {"VCPU": 8}}, generation=2),
    )
    assert allocations_of(store, migration) == {}
    assert allocations_of(store, instance) == {host: {"VCPU": 8}}
    assert (generation(store, host), generation(store, target)) == (4, 2)
    assert_sound(store)


def test_a_refusal_has_the_names_of_the_locked_providers(store, host):
    other = new_provider(store, "other", VCPU=8)
    with pytest.raises(exception.CapacityExceeded) as refused:
        claim(store, uuid(), {host: {"VCPU": 9}, other: {"VCPU": 1}}, generation=None)
    assert refused.value.provider_names.keys() == {host, other}
    assert refused.value.provider_names[other] == "other"


def test_requests_of_several_consumers_are_summed(store, host):
    with pytest.raises(exception.CapacityExceeded):
        post(store, *(a_claim(uuid(), {host: {"VCPU": 3}}) for _ in range(3)))
    assert rows(store, tables.consumers) == []


def test_overcommitted_provider_accepts_no_additional_usage(store, host):
    first, second = uuid(), uuid()
    claim(store, first, {host: {"VCPU": 4}})
    claim(store, second, {host: {"VCPU": 4}})
    set_inventories(store, host, VCPU=2, MEMORY_MB=1)
    claim(store, first, {host: {"VCPU": 4, "MEMORY_MB": 1}})
    claim(store, first, {host: {"VCPU": 3}})
    with pytest.raises(exception.CapacityExceeded):
        claim(store, first, {host: {"VCPU": 4}})
    with pytest.raises(exception.CapacityExceeded):
        claim(store, uuid(), {host: {"VCPU": 1}})
    assert used(store, host) == {"VCPU": 7}
    assert_sound(store)


def test_last_write_sets_owner_and_type(store, host):
    consumer = uuid()
    claim(store, consumer, {host: {"VCPU": 1}}, type="INSTANCE")
    claim(store, consumer, {host: {"VCPU": 1}}, project_id="p2", user_id="u2", type="MIGRATION")
    stored = allocation.of_consumer(store, consumer).consumer
    assert (stored.project_id, stored.user_id, stored.type) == ("p2", "u2", "MIGRATION")


def test_write_without_type_keeps_the_type(store, host):
    typed, plain = uuid(), uuid()
    claim(store, typed, {host: {"VCPU": 1}}, type="INSTANCE")
    claim(store, typed, {host: {"VCPU": 1}})
    claim(store, plain, {host: {"VCPU": 1}})
    assert allocation.of_consumer(store, typed).consumer.type == "INSTANCE"
    assert allocation.of_consumer(store, plain).consumer.type is None


def test_owners_that_differ_in_case_are_accepted_by_all_databases(store, host):
    claim(store, uuid(), {host: {"VCPU": 1}}, project_id="One", user_id="Émile")
    claim(store, uuid(), {host: {"VCPU": 1}}, project_id="one", user_id="émile")
    post(
        store,
        a_claim(uuid(), {host: {"VCPU": 1}}, project_id="two", user_id="u"),
        a_claim(uuid(), {host: {"VCPU": 1}}, project_id="TWO", user_id="U"),
    )
    assert used(store, host) == {"VCPU": 4}
    assert_sound(store)


def test_consumer_that_equals_another_by_collation_is_accepted(store, host):
    consumer = uuid()
    claim(store, consumer, {host: {"VCPU": 1}}, generation=None)
    try:
        claim(store, consumer.upper(), {host: {"VCPU": 1}}, generation=None)
    except exception.Conflict:
        assert store.engines().writer.dialect.name == "mysql"
    assert_sound(store)


def test_many_consumers_and_providers_in_one_write(store):
    hosts = [new_provider(store, VCPU=1000) for _ in range(3)]
    claims = [a_claim(uuid(), {host: {"VCPU": 1} for host in hosts}) for _ in range(1100)]
    store.write(lambda tx: allocation.replace.__wrapped__(tx, claims[:550]))
    post(store, *claims[:900])
    assert [used(store, host) for host in hosts] == [{"VCPU": 900}] * 3
    assert_sound(store)


def test_a_consumer_of_many_providers(store):
    hosts = [new_provider(store, VCPU=2, DISK_GB=2) for _ in range(60)]
    consumer = uuid()
    claim(store, consumer, {host: {"VCPU": 1, "DISK_GB": 2} for host in hosts})
    claim(store, consumer, {host: {"VCPU": 2} for host in hosts[30:]})
    assert [used(store, host) for host in hosts] == [{}] * 30 + [{"VCPU": 2}] * 30
    assert_sound(store)


def test_allocations_of_a_consumer_without_row_are_replaced(store, host):
    """Rows of older databases: they are not returned, but count as usage."""
    consumer = uuid()
    claim(store, consumer, {host: {"VCPU": 8}})
    store.write(lambda tx: tx.connection.execute(tables.consumers.delete()))
    assert allocations_of(store, consumer) == {}
    claim(store, consumer, {host: {"VCPU": 7}}, generation=None)
    assert allocations_of(store, consumer) == {host: {"VCPU": 7}}
    assert_sound(store)


def test_allocations_on_a_provider_have_a_consumer_with_row(store, host):
    missing, present = uuid(), uuid()
    for consumer in (missing, present):
        claim(store, consumer, {host: {"VCPU": 1}})
    delete = tables.consumers.delete().where(tables.consumers.c.uuid == missing)
    store.write(lambda tx: tx.connection.execute(delete))
    assert allocation.of_provider(store, host).allocations.keys() == {present}


def test_statement_count_is_constant(store):
    """It does not depend on the numbers of classes, and of consumers in a write."""
    host = new_provider(store, VCPU=500, MEMORY_MB=500, DISK_GB=500, PCPU=500, VGPU=500)
    claim(store, uuid(), {host: {"VCPU": 1}})
    counts = set()
    for resources in ({"VCPU": 1}, {"VCPU": 1, "MEMORY_MB": 1, "DISK_GB": 1, "PCPU": 1}):
        for consumers in (1, 20):
            claims = [a_claim(uuid(), {host: resources}) for _ in range(consumers)]
            with statements(store) as executed:
                post(store, *claims)
            counts.add(len(executed))
    assert len(counts) == 1


def test_amounts_are_multiples_of_the_step_size(store):
    host = new_provider(store, VCPU=Inventory(total=10, min_unit=2, max_unit=6, step_size=2))
    for amount in (1, 3, 8):
        with pytest.raises(exception.InventoryConstraintsViolated):
            claim(store, uuid(), {host: {"VCPU": amount}})
    claim(store, uuid(), {host: {"VCPU": 6}})


def test_owners_that_the_collation_treats_as_equal_may_be_in_one_request(store, host):
    claim(store, uuid(), {host: {"VCPU": 1}}, project_id="p", user_id="u")
    consumers = [uuid(), uuid()]
    first, second = ({host: {"VCPU": 1}} for _ in consumers)
    post(
        store,
        a_claim(consumers[0], first, project_id="p", user_id="u"),
        a_claim(consumers[1], second, project_id="P ", user_id="U "),
    )
    for consumer in consumers:
        stored = allocation.of_consumer(store, consumer).consumer
        assert (stored.project_id.strip().lower(), stored.user_id.strip().lower()) == ("p", "u")
    assert_sound(store)
