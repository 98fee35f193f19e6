"""Reshaping: inventories and allocations move together, on each database."""

import pytest

from placement import exception
from placement.core.model import Inventory, ReplaceInventories
from placement.db import tables
from placement.engine.engine import Engine
from placement.objects import inventory, resource_class
from placement.objects.reshaper import reshape
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
    used,
    uuid,
)


def change(provider, at, **totals):
    return ReplaceInventories(
        provider, at, {name: Inventory(total=total) for name, total in totals.items()}
    )


def apply(store, *parts):
    """Reshape by changes of inventories and by claims, in any order."""
    changes = tuple(part for part in parts if isinstance(part, ReplaceInventories))
    reshape(store, changes, tuple(part for part in parts if part not in changes))


@pytest.fixture
def world(store):
    """A host at generation 5 with two consumers, and its child at 0."""
    parent = new_provider(store, VCPU=8, DISK_GB=10)
    consumers = uuid(), uuid()
    for consumer in consumers:
        claim(store, consumer, {parent: {"VCPU": 4, "DISK_GB": 5}})
    for _ in range(2):
        set_inventories(store, parent, VCPU=8, DISK_GB=10)
    return parent, new_provider(store, parent=parent), *consumers


def test_inventory_and_allocations_move_to_a_child(store, world):
    parent, child, one, two = world
    split = {parent: {"DISK_GB": 5}, child: {"VCPU": 4}}
    apply(
        store,
        change(parent, 5, DISK_GB=10),
        change(child, 0, VCPU=8),
        a_claim(one, split, generation=1),
        a_claim(two, split, generation=1),
    )
    assert (generation(store, parent), generation(store, child)) == (8, 3)
    assert allocations_of(store, one) == allocations_of(store, two) == split
    assert used(store, parent) == {"DISK_GB": 10}
    assert used(store, child) == {"VCPU": 8}
    assert dict(inventory.list_of(store, parent).inventories) == {"DISK_GB": Inventory(total=10)}
    assert consumer_generation(store, one) == 2
    assert_sound(store)


def test_without_allocations_only_inventories_change(store, world):
    parent, child, one, _ = world
    apply(store, change(parent, 5, VCPU=16, DISK_GB=10), change(child, 0))
    assert (generation(store, parent), generation(store, child)) == (7, 1)
    assert consumer_generation(store, one) == 1
    assert_sound(store)


def test_generation_of_an_allocated_provider_increases_once(store, world):
    parent, child, one, _ = world
    other = new_provider(store, VCPU=4)
    apply(store, change(child, 0, VGPU=1), a_claim(one, {other: {"VCPU": 4}}, generation=1))
    assert [generation(store, uuid_) for uuid_ in (parent, child, other)] == [5, 2, 2]
    assert_sound(store)


def test_consumer_may_release_all_allocations(store, world):
    parent, _child, one, two = world
    apply(
        store,
        change(parent, 5, DISK_GB=10),
        a_claim(one, {}, generation=1),
        a_claim(two, {}, generation=1),
        a_claim(uuid(), {}, generation=None),
    )
    assert generation(store, parent) == 8
    assert rows(store, tables.consumers) == []
    assert_sound(store)


def test_inventories_with_other_allocations_cannot_be_removed(store, world):
    parent, child, one, _two = world
    before = [rows(store, table) for table in tables.metadata.sorted_tables]
    with pytest.raises(exception.InventoryInUse, match="update conflict"):
        apply(
            store,
            change(parent, 5, DISK_GB=10),
            change(child, 0, VCPU=8),
            a_claim(one, {parent: {"DISK_GB": 5}, child: {"VCPU": 4}}, generation=1),
        )
    assert [rows(store, table) for table in tables.metadata.sorted_tables] == before


def test_reserving_all_and_more_is_stored(store, world):
    _parent, child, *_ = world
    too_much = Inventory(total=1, reserved=2)
    reshape(store, [ReplaceInventories(child, 0, {"VCPU": too_much})])
    assert inventory.show(store, child, "VCPU").inventories == {"VCPU": too_much}


def test_errors_are_reported_in_order(store, world):
    parent, child, one, _ = world
    stale = a_claim(one, {uuid(): {"COWS": 1}}, generation=7)
    lost = a_claim(one, {uuid(): {"COWS": 1}}, generation=1)
    cows = a_claim(one, {parent: {"COWS": 1}}, generation=1)
    too_much = a_claim(one, {parent: {"VCPU": 9}}, generation=1)
    steel = change(child, 0, DISK_OF_STEEL=1)
    for parts, error in (
        ((change(uuid(), 0), steel, stale), exception.ReshapedProviderNotFound),
        ((change(child, 1), stale), exception.StaleProviderGeneration),
        ((steel, stale), exception.StaleConsumerGeneration),
        ((steel, lost), exception.ProviderToAllocateNotFound),
        ((steel, cows), exception.UnknownResourceClass),
        ((change(parent, 5), cows), exception.UnknownResourceClass),
        ((change(parent, 5), too_much), exception.CapacityExceeded),
        ((change(parent, 5), change(child, 0)), exception.InventoryInUse),
    ):
        with pytest.raises(error):
            apply(store, *parts)
    assert (generation(store, parent), generation(store, child)) == (5, 0)


def test_unknown_inventory_classes_are_reported_as_malformed_data(store, world):
    with pytest.raises(exception.UnknownResourceClass, match="malformed reshaper data: No such"):
        apply(store, change(world[0], 5, DISK_OF_STEEL=1))


def test_custom_classes_move_too(store, world):
    parent, child, one, _two = world
    resource_class.create(store, "CUSTOM_GOLD")
    set_inventories(store, parent, VCPU=8, DISK_GB=10, CUSTOM_GOLD=2)
    claim(store, one, {parent: {"CUSTOM_GOLD": 2}})
    apply(
        store,
        change(parent, 7, VCPU=8, DISK_GB=10),
        change(child, 0, CUSTOM_GOLD=2),
        a_claim(one, {child: {"CUSTOM_GOLD": 2}}, generation=2),
    )
    assert used(store, child) == {"CUSTOM_GOLD": 2}
    assert_sound(store)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_running_processes_see_what_a_reshape_releases(store):
    reshaped, other = (new_provider(store, VCPU=8) for _ in range(2))
    consumer = uuid()
    claim(store, consumer, {reshaped: {"VCPU": 1}, other: {"VCPU": 2}})
    engine = Engine(store)
    assert engine.current().state(other).used == {"VCPU": 2}
    larger = change(reshaped, generation(store, reshaped), VCPU=16)
    reshape(store, [larger], [a_claim(consumer, {reshaped: {"VCPU": 3}}, generation=1)])
    states = [engine.current().state(each).used for each in (reshaped, other)]
    assert states == [{"VCPU": 3}, {}]
