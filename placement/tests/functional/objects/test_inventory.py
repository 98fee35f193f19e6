"""Inventories, on each database."""

import pytest

from placement import exception
from placement.core.model import CreateInventory, Inventory, ReplaceInventories, UpdateInventory
from placement.db import tables
from placement.objects import allocation, inventory, resource_class, usage
from placement.tests.support.factories import (
    assert_sound,
    claim,
    generation,
    new_provider,
    rows,
    set_inventories,
    uuid,
)

FULL = Inventory(total=64, reserved=2, min_unit=2, max_unit=32, step_size=2, allocation_ratio=1.5)


def inventories(store, provider):
    return dict(inventory.list_of(store, provider).inventories)


def test_replace_inventories_stores_all_values(store):
    provider = new_provider(store)
    replaced = set_inventories(store, provider, MEMORY_MB=2048, VCPU=FULL)
    assert replaced.generation == 1
    listed = inventory.list_of(store, provider)
    assert listed.generation == 1
    assert listed.inventories == {"VCPU": FULL, "MEMORY_MB": Inventory(total=2048)}
    assert list(listed.inventories) == ["VCPU", "MEMORY_MB"]
    assert listed.modified_at is not None


def test_a_provider_without_inventory_has_none_and_no_time(store):
    listed = inventory.list_of(store, new_provider(store))
    assert (listed.inventories, listed.modified_at) == ({}, None)


def test_replacement_replaces_all_rows(store):
    provider = new_provider(store, VCPU=FULL, DISK_GB=10)
    set_inventories(store, provider, VCPU=4, MEMORY_MB=1)
    assert inventories(store, provider) == {
        "VCPU": Inventory(total=4),
        "MEMORY_MB": Inventory(total=1),
    }


def test_each_replacement_increases_the_generation(store):
    provider = new_provider(store)
    set_inventories(store, provider)
    set_inventories(store, provider)
    set_inventories(store, provider, VCPU=4)
    set_inventories(store, provider, VCPU=4)
    assert generation(store, provider) == 4


def test_a_replacement_with_an_old_generation_is_refused(store):
    provider = new_provider(store, VCPU=4)
    with pytest.raises(exception.StaleProviderGeneration, match="actual: 1, given: 0"):
        inventory.replace(store, ReplaceInventories(provider, 0, {}))
    with pytest.raises(exception.StaleProviderGeneration):
        inventory.replace(store, ReplaceInventories(provider, 10**30, {}))
    assert inventories(store, provider) == {"VCPU": Inventory(total=4)}


@pytest.mark.parametrize("name", ["CUSTOM_NONE", "COW", "vcpu"])
def test_an_unknown_class_is_refused_and_nothing_changes(store, name):
    provider = new_provider(store, VCPU=4)
    with pytest.raises(exception.UnknownResourceClass, match="Unknown resource class in inventor"):
        set_inventories(store, provider, DISK_GB=1, **{name: 1})
    with pytest.raises(exception.UnknownResourceClass, match="Unable to create inventory"):
        inventory.create(store, CreateInventory(provider, name, FULL))
    with pytest.raises(exception.ResourceClassNotFound):
        inventory.update(store, UpdateInventory(provider, 1, name, FULL))
    assert inventories(store, provider) == {"VCPU": Inventory(total=4)}
    assert generation(store, provider) == 1


def test_a_class_in_use_stays(store):
    resource_class.create(store, "CUSTOM_B")
    provider = new_provider(store, CUSTOM_B=4, DISK_GB=4, VCPU=4)
    consumer = uuid()
    claim(store, consumer, {provider: {"CUSTOM_B": 1, "VCPU": 1}})
    obstacle = rf"in use\. .* first: 1 in all, among them {consumer}\."
    text = f"Inventory for 'VCPU, CUSTOM_B' on resource provider '{provider}' {obstacle}"
    with pytest.raises(exception.InventoryInUse, match=text):
        set_inventories(store, provider, DISK_GB=4)
    with pytest.raises(exception.InventoryInUse, match=text):
        inventory.delete_all(store, provider)
    of_class = f"class VCPU: Inventory for 'VCPU' .* {obstacle}"
    with pytest.raises(exception.SingleInventoryInUse, match=of_class):
        inventory.delete(store, provider, "VCPU")
    assert len(inventories(store, provider)) == 3
    set_inventories(store, provider, CUSTOM_B=4, VCPU=4)
    assert_sound(store)


def test_usage_is_kept_when_the_total_is_set_below_it(store):
    provider = new_provider(store, VCPU=4)
    claim(store, uuid(), {provider: {"VCPU": 4}})
    set_inventories(store, provider, VCPU=1)
    assert usage.of_provider(store, provider).usages == {"VCPU": 4}


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_less_than_is_used_is_logged(store, caplog):
    provider = new_provider(store, "cn1", VCPU=4, DISK_GB=4)
    claim(store, uuid(), {provider: {"VCPU": 3, "DISK_GB": 1}})
    set_inventories(store, provider, VCPU=3, DISK_GB=1)
    assert caplog.messages == []
    set_inventories(store, provider, VCPU=2, DISK_GB=1)
    assert caplog.messages == [
        f"Inventory change leaves less than is used: provider cn1 ({provider}), "
        "resource_class VCPU, used 3, reserved 0, capacity 2"
    ]


def test_one_inventory_is_shown(store):
    provider = new_provider(store, VCPU=FULL, DISK_GB=1)
    shown = inventory.show(store, provider, "VCPU")
    assert shown.inventories == {"VCPU": FULL}
    assert shown.modified_at is not None
    for name in ("MEMORY_MB", "vcpu"):
        with pytest.raises(exception.InventoryNotFound):
            inventory.show(store, provider, name)


def test_one_inventory_is_added_whatever_the_generation(store):
    provider = new_provider(store, DISK_GB=1)
    assert inventory.create(store, CreateInventory(provider, "VCPU", FULL)).generation == 2
    assert inventories(store, provider)["VCPU"] == FULL
    with pytest.raises(exception.InventoryExists, match="Update conflict"):
        inventory.create(store, CreateInventory(provider, "VCPU", FULL))
    assert generation(store, provider) == 2


def test_one_inventory_is_changed(store):
    provider = new_provider(store, VCPU=4, DISK_GB=1)
    assert inventory.update(store, UpdateInventory(provider, 1, "VCPU", FULL)).generation == 2
    assert inventories(store, provider) == {"VCPU": FULL, "DISK_GB": Inventory(total=1)}
    with pytest.raises(exception.StaleProviderGeneration):
        inventory.update(store, UpdateInventory(provider, 1, "VCPU", FULL))
    with pytest.raises(exception.NoInventoryRecord):
        inventory.update(store, UpdateInventory(provider, 2, "MEMORY_MB", FULL))


def test_a_stale_generation_is_reported_before_too_many_reserved(store):
    provider = new_provider(store, VCPU=4)
    too_many_reserved = Inventory(total=4, reserved=5)
    for write in (
        lambda at: inventory.replace(
            store, ReplaceInventories(provider, at, {"VCPU": too_many_reserved})
        ),
        lambda at: inventory.update(
            store, UpdateInventory(provider, at, "VCPU", too_many_reserved)
        ),
    ):
        with pytest.raises(exception.StaleProviderGeneration):
            write(0)
        with pytest.raises(exception.NegativeCapacity, match="is greater than total"):
            write(1)
    assert inventories(store, provider) == {"VCPU": Inventory(total=4)}


def test_writes_return_the_stored_values(store):
    """MySQL's FLOAT has seven digits."""
    provider = new_provider(store)
    odd = Inventory(total=8, allocation_ratio=1.23456789)
    for write in (
        lambda: inventory.create(store, CreateInventory(provider, "VCPU", odd)),
        lambda: inventory.update(store, UpdateInventory(provider, 1, "VCPU", odd)),
        lambda: inventory.replace(store, ReplaceInventories(provider, 2, {"VCPU": odd})),
    ):
        written, listed = write(), inventory.list_of(store, provider)
        assert written.inventories == listed.inventories
        assert written.generation == listed.generation


def test_too_many_reserved_is_reported_before_an_unknown_class_and_an_existing_inventory(store):
    provider = new_provider(store, VCPU=4)
    for name in ("VCPU", "CUSTOM_UNKNOWN"):
        with pytest.raises(exception.NegativeCapacity, match="or equal to total"):
            inventory.create(
                store,
                CreateInventory(provider, name, Inventory(4, reserved=4), minimum_capacity=1),
            )
    assert generation(store, provider) == 1


def test_one_inventory_is_removed(store):
    provider = new_provider(store, VCPU=4, DISK_GB=1)
    inventory.delete(store, provider, "VCPU")
    assert inventories(store, provider) == {"DISK_GB": Inventory(total=1)}
    assert generation(store, provider) == 2
    for name in ("VCPU", "NONE"):
        with pytest.raises(exception.InventoryNotFoundForDelete):
            inventory.delete(store, provider, name)


def test_an_inventory_is_removed_beside_others_in_use(store):
    provider = new_provider(store, VCPU=4, DISK_GB=4, MEMORY_MB=4)
    consumers = {name: uuid() for name in ("VCPU", "MEMORY_MB")}
    for name, consumer in consumers.items():
        claim(store, consumer, {provider: {name: 1}})
    inventory.delete(store, provider, "DISK_GB")
    for name, consumer in consumers.items():
        text = f"1 in all, among them {consumer}"
        with pytest.raises(exception.SingleInventoryInUse, match=text):
            inventory.delete(store, provider, name)
    assert inventories(store, provider).keys() == consumers.keys()


def test_removing_all_inventories_always_increases_the_generation(store):
    provider = new_provider(store, VCPU=4, DISK_GB=1)
    inventory.delete_all(store, provider)
    inventory.delete_all(store, provider)
    assert inventories(store, provider) == {}
    assert generation(store, provider) == 3


def test_missing_provider_has_no_inventories(store):
    provider = uuid()
    for attempt in (
        lambda: inventory.list_of(store, provider),
        lambda: inventory.show(store, provider, "VCPU"),
        lambda: inventory.create(store, CreateInventory(provider, "VCPU", FULL)),
        lambda: inventory.replace(store, ReplaceInventories(provider, 0, {})),
        lambda: inventory.update(store, UpdateInventory(provider, 0, "VCPU", FULL)),
        lambda: inventory.delete(store, provider, "VCPU"),
        lambda: inventory.delete_all(store, provider),
        lambda: usage.of_provider(store, provider),
        lambda: allocation.of_provider(store, provider),
    ):
        with pytest.raises(exception.ProviderNotFound):
            attempt()


def test_every_ratio_valid_in_the_api_is_stored(store):
    for ratio in (3.40282e38, -1e300, 1e-300, 0, -0.5, -(10**400), 1.15):
        provider = new_provider(store, VCPU=Inventory(total=1, reserved=1, allocation_ratio=ratio))
        stored = inventories(store, provider)["VCPU"].allocation_ratio
        expected = max(float(max(ratio, -(10**300))), -3.40282e38)
        assert stored == pytest.approx(expected, rel=1e-6), ratio


def test_existing_allocations_count_in_a_new_inventory(store):
    provider = new_provider(store, VCPU=1)
    claim(store, uuid(), {provider: {"VCPU": 1}})
    store.write(lambda tx: tx.connection.execute(tables.inventories.delete()))
    set_inventories(store, provider, VCPU=4)
    assert usage.of_provider(store, provider).usages == {"VCPU": 1}


def test_reused_class_id_has_the_new_name(store):
    """A class id is reused; no cache may return its former name."""
    resource_class.create(store, "CUSTOM_A")
    provider = new_provider(store, CUSTOM_A=1)
    set_inventories(store, provider)
    resource_class.delete(store, "CUSTOM_A")
    resource_class.create(store, "CUSTOM_B")
    set_inventories(store, provider, CUSTOM_B=1)
    assert list(inventories(store, provider)) == ["CUSTOM_B"]
    with pytest.raises(exception.UnknownResourceClass):
        claim(store, uuid(), {provider: {"CUSTOM_A": 1}})
    assert [row.name for row in rows(store, tables.resource_classes) if row.id >= 10000] == [
        "CUSTOM_B"
    ]
