"""Claims of consumers that do not exist: what they lock, and how they are refused."""

import pytest
import sqlalchemy as sa

from placement import exception
from placement.db import tables
from placement.objects import allocation
from placement.tests.support.factories import (
    a_claim,
    allocations_of,
    assert_sound,
    claim,
    new_provider,
    uuid,
)


@pytest.fixture
def host(store):
    return new_provider(store, VCPU=80, MEMORY_MB=1024)


def first(consumer, resources, **values):
    return a_claim(consumer, resources, **{"generation": None, "type": "INSTANCE", **values})


def test_consumer_that_exists_keeps_its_allocations(store, host):
    consumer = uuid()
    claim(store, consumer, {host: {"VCPU": 1}})
    new = first(uuid(), {host: {"VCPU": 1}})
    with pytest.raises(exception.StaleConsumerGeneration):
        allocation.replace(store, (new, first(consumer, {host: {"VCPU": 2}})))
    assert allocations_of(store, new.consumer_uuid) == {}
    assert allocations_of(store, consumer) == {host: {"VCPU": 1}}


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
        allocation.replace(store, tuple(claims))
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
        allocation.replace(store, tuple(claims))
    for each in same:
        stored = allocation.of_consumer(store, each.consumer_uuid).consumer
        assert stored.project_id.strip().lower() == each.project_id.strip().lower()
    assert_sound(store)


def test_owners_and_classes_are_not_locked(store, other_store, host, backend):
    """Another transaction may have locked an owner or a class."""
    if backend == "sqlite":
        pytest.skip("one transaction writes at a time")
    claim(store, uuid(), {host: {"VCPU": 1}}, type="INSTANCE")
    consumer = uuid()
    others = (tables.projects, tables.users, tables.consumer_types, tables.resource_classes)

    def lock_everything_else(tx):
        for table in (*others, tables.consumers):
            tx.connection.execute(sa.select(table.c.id).with_for_update(read=True)).all()
        claim(other_store, consumer, {host: {"VCPU": 1}}, generation=None, type="INSTANCE")

    store.write(lock_everything_else)
    assert allocations_of(store, consumer) == {host: {"VCPU": 1}}
