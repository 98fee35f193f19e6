"""First claims of consumers: what one statement locks and reads, and when more are necessary."""

import pytest
import sqlalchemy as sa

from placement import exception
from placement.core.model import ReplaceAllocations
from placement.db import tables
from placement.db.claims.consumers import PROJECT, TYPE, USER, LockedConsumers, OwnerIds
from placement.objects import allocation
from placement.tests.functional.db.factories import (
    a_claim,
    allocations_of,
    assert_sound,
    claim,
    new_provider,
    statements,
    uuid,
)


@pytest.fixture
def host(store):
    return new_provider(store, VCPU=80, MEMORY_MB=1024)


def first(consumer, resources, **values):
    return a_claim(consumer, resources, **{"generation": None, "type": "INSTANCE", **values})


def lock(store, *claims):
    return store.write(lambda tx: tx.first_claims.lock(claims))


def test_state_of_a_new_consumer(store, host):
    state = lock(store, first(uuid(), {host: {"VCPU": 1}}))
    assert state.consumers == LockedConsumers({}, {}, {}, {}, OwnerIds(looked_up=True))
    assert state.providers[host].inventories.keys() == {"VCPU", "MEMORY_MB"}
    assert state.class_ids.keys() == {"VCPU", "MEMORY_MB"}


def test_ids_of_owners_are_those_of_their_rows(store, host):
    owners = {"project_id": "p", "user_id": "u", "type": "T"}
    consumer = uuid()
    claim(store, consumer, {host: {"VCPU": 1}}, **owners, generation=None)
    other = first(uuid(), {host: {"VCPU": 1}}, project_id="other")
    state = lock(store, first(uuid(), {host: {"VCPU": 1}}, **owners), other)
    with store.read() as tx:
        row = tx.connection.execute(sa.select(tables.consumers)).one()
    assert row.uuid == consumer
    assert state.consumers.owner_ids.by_column == {
        PROJECT: {"p": row.project_id},
        USER: {"u": row.user_id},
        TYPE: {"T": row.consumer_type_id},
    }


def test_consumer_that_exists(store, host):
    consumer = uuid()
    claim(store, consumer, {host: {"VCPU": 1}})
    new = first(uuid(), {host: {"VCPU": 1}})
    assert lock(store, new) is not None
    state = lock(store, new, first(consumer, {host: {"VCPU": 1}}))
    assert state.consumers.generations == {consumer: 1}


def test_consumer_that_exists_is_not_locked_after_its_provider(store, other_store, host, backend):
    """A write that has locked it may wait for the provider."""
    if backend == "sqlite":
        pytest.skip("one transaction writes at a time")
    consumer = uuid()
    claim(store, consumer, {host: {"VCPU": 1}})

    def lock_consumer(tx):
        tx.connection.execute(sa.select(tables.consumers.c.id).with_for_update()).all()
        with pytest.raises(exception.StaleConsumerGeneration):
            claim(other_store, consumer, {host: {"VCPU": 1}}, generation=None)

    store.write(lock_consumer)


def test_consumer_without_row_that_has_allocations(store, host):
    consumer = uuid()
    claim(store, consumer, {host: {"VCPU": 1}})
    store.write(lambda tx: tx.connection.execute(tables.consumers.delete()))
    assert lock(store, first(consumer, {host: {"VCPU": 1}})) is None


@pytest.mark.parametrize("values", [{"generation": 1}, {"check_generation": False}])
def test_claims_that_do_not_say_that_the_consumer_is_new(store, host, values):
    resources = {host: {"VCPU": 1}}
    assert lock(store, first(uuid(), resources), first(uuid(), resources, **values)) is None


def test_claims_without_existing_providers(store):
    assert lock(store, first(uuid(), {})) is None
    assert lock(store, first(uuid(), {uuid(): {"VCPU": 1}})) is None
    assert lock(store, first("half \ud800", {uuid(): {"VCPU": 1}})) is None


def test_stale_generation_is_reported_before_a_missing_provider(store, host):
    consumer = uuid()
    claim(store, consumer, {host: {"VCPU": 1}})
    with pytest.raises(exception.StaleConsumerGeneration):
        claim(store, consumer, {uuid(): {"VCPU": 1}}, generation=None)
    with pytest.raises(exception.ProviderToAllocateNotFound):
        claim(store, uuid(), {host: {"VCPU": 1}, uuid(): {"VCPU": 1}}, generation=None)


@pytest.mark.parametrize("owners", [1, 4, 60])
def test_many_consumers_providers_and_owners(store, owners):
    hosts = [new_provider(store, VCPU=1000, DISK_GB=1000) for _ in range(3)]
    resources = {host: {"VCPU": 1, "DISK_GB": 2} for host in hosts}
    for _ in range(2):  # the owners exist the second time
        claims = [
            first(uuid(), resources, project_id=f"p{number % owners}", user_id=f"u{number % 2}")
            for number in range(70)
        ]
        allocation.replace(store, ReplaceAllocations(tuple(claims)))
        for each in claims[::20]:
            stored = allocation.of_consumer(store, each.consumer_uuid)
            assert stored.consumer.project_id == each.project_id
            assert stored.consumer.user_id == each.user_id
            assert allocations_of(store, each.consumer_uuid) == resources
    assert_sound(store)


def test_owners_in_other_letters_are_those_that_the_collation_treats_as_equal(store, host):
    claim(store, uuid(), {host: {"VCPU": 1}}, project_id="p", user_id="Émile", generation=None)
    same = [
        first(uuid(), {host: {"VCPU": 1}}, project_id=project, user_id=user, type=type_)
        for project, user, type_ in [
            ("p", "émile", "NEW"),
            ("P ", "EMILE", "New"),
            ("x", "y", "z"),
        ]
    ]
    for claims in (same, [first(uuid(), {host: {"VCPU": 1}}, project_id="P", user_id="É")]):
        allocation.replace(store, ReplaceAllocations(tuple(claims)))
    for each in same:
        stored = allocation.of_consumer(store, each.consumer_uuid).consumer
        assert stored.project_id.strip().lower() == each.project_id.strip().lower()
    assert_sound(store)


def test_locks_no_rows_but_those_of_providers(store, other_store, host, backend):
    """Another transaction may have to lock an owner or a class."""
    if backend == "sqlite":
        pytest.skip("one transaction writes at a time")
    claim(store, uuid(), {host: {"VCPU": 1}}, type="INSTANCE")
    others = (
        *(tables.projects, tables.users, tables.consumer_types, tables.resource_classes),
        *(tables.consumers, tables.allocations),
    )

    def lock_everything_else(tx):
        for table in others:
            tx.connection.execute(sa.select(table.c.id).with_for_update()).all()
        return lock(other_store, first(uuid(), {host: {"VCPU": 1}}))

    assert store.write(lock_everything_else) is not None


def test_first_claim_takes_seven_statements(store, host):
    claim(store, uuid(), {host: {"VCPU": 1}}, type="INSTANCE")
    with statements(store) as executed:
        claim(store, uuid(), {host: {"VCPU": 1, "MEMORY_MB": 1}}, generation=None, type="INSTANCE")
    parts = (
        *("FROM projects", "resource_providers.uuid ="),
        *("INSERT INTO consumers", "INSERT INTO allocations"),
        *("UPDATE inventories", "UPDATE clocks", "UPDATE resource_providers"),
    )
    assert {"; ".join(executed).count(part) for part in parts} == {1}
    assert len(executed) <= len(["BEGIN"]) + 7 + len(["COMMIT"])
