"""Claims that wait for a provider decide on its inventories as they are after the wait."""

import pytest

from placement import exception
from placement.core.model import Inventory
from placement.objects import inventory, provider
from placement.tests.support.factories import (
    allocations_of,
    assert_sound,
    claim,
    new_provider,
    set_inventories,
    used,
    uuid,
)


@pytest.fixture
def host(store):
    return new_provider(store, VCPU=2, MEMORY_MB=64, DISK_GB=100)


@pytest.fixture(params=["new consumer", "existing consumer"])
def waiting_claim(store, request, stopped_at):
    """Return a function that claims while a write holds the lock of the host; the outcome."""

    def run(host, write, resources):
        consumer = uuid()
        if request.param == "existing consumer":
            elsewhere = new_provider(store, VCPU=1)
            claim(store, consumer, {elsewhere: {"VCPU": 1}}, generation=None)
        generation = 1 if request.param == "existing consumer" else None
        _, outcome = stopped_at(
            "UPDATE clocks",
            lambda: write(host),
            lambda: claim(store, consumer, {host: resources}, generation=generation),
        )
        assert_sound(store)
        assert outcome is not None or allocations_of(store, consumer) == {host: resources}
        return outcome

    return run


def test_a_claim_succeeds_after_another_that_leaves_enough(store, host, waiting_claim):
    def take_one(host):
        claim(store, uuid(), {host: {"VCPU": 1, "MEMORY_MB": 1}})

    assert waiting_claim(host, take_one, {"VCPU": 1, "DISK_GB": 10}) is None
    assert used(store, host) == {"VCPU": 2, "MEMORY_MB": 1, "DISK_GB": 10}


def test_a_claim_fails_after_another_of_the_last_units(store, host, waiting_claim):
    def take_all(host):
        claim(store, uuid(), {host: {"VCPU": 2}})

    outcome = waiting_claim(host, take_all, {"MEMORY_MB": 1, "VCPU": 1})
    assert isinstance(outcome, exception.CapacityExceeded)


def test_a_claim_uses_an_inventory_that_was_added(store, host, waiting_claim):
    def add(host):
        set_inventories(store, host, VCPU=2, MEMORY_MB=64, DISK_GB=100, VGPU=1)

    assert waiting_claim(host, add, {"VCPU": 1, "VGPU": 1}) is None


def test_a_claim_uses_the_first_inventory_of_a_provider(store, waiting_claim):
    def add(host):
        set_inventories(store, host, VCPU=1)

    assert waiting_claim(new_provider(store), add, {"VCPU": 1}) is None


def test_a_claim_of_a_removed_inventory_fails(store, host, waiting_claim):
    outcome = waiting_claim(
        host, lambda host: inventory.delete(store, host, "VCPU"), {"VCPU": 1, "DISK_GB": 1}
    )
    assert isinstance(outcome, exception.NoSuchInventory)


def test_a_claim_outside_of_changed_limits_fails(store, host, waiting_claim):
    def raise_minimum(host):
        set_inventories(store, host, VCPU=2, DISK_GB=Inventory(total=100, min_unit=50))

    outcome = waiting_claim(host, raise_minimum, {"DISK_GB": 1})
    assert isinstance(outcome, exception.InventoryConstraintsViolated)


def test_a_claim_of_a_removed_provider_fails(store, host, waiting_claim):
    outcome = waiting_claim(host, lambda host: provider.delete(store, host), {"VCPU": 1})
    assert isinstance(outcome, exception.ProviderToAllocateNotFound)
