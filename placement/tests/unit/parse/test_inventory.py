from contextlib import nullcontext

import pytest

from placement import exception
from placement.core.capacity import check_minimum
from placement.core.model import (
    MAX_INT,
    CreateInventory,
    Inventory,
    ReplaceInventories,
    UpdateInventory,
)
from placement.microversion import MAX_VERSION, Version
from placement.parse import inventory

A = "aaaaaaaa-1111-2222-3333-444444444444"


def created(version=MAX_VERSION, **fields):
    return inventory.creation(A, {"resource_class": "VCPU", **fields}, version)


def updated(version=MAX_VERSION, **fields):
    document = {"resource_provider_generation": 7, **fields}
    return inventory.update(A, "VCPU", document, version)


def replaced(generation=7, version=MAX_VERSION, **inventories):
    document = {"resource_provider_generation": generation, "inventories": inventories}
    return inventory.replacement(A, document, version)


def test_missing_fields_have_defaults():
    assert created(total=4) == CreateInventory(A, "VCPU", Inventory(4, 0, 1, MAX_INT, 1, 1.0))


def test_integral_floats_are_integers_and_ratios_are_floats():
    new = created(total=4.0, allocation_ratio=2).inventory
    assert (repr(new.total), repr(new.allocation_ratio)) == ("4", "2.0")


def test_an_update_names_the_generation():
    new = Inventory(4, reserved=1)
    assert updated(total=4, reserved=1) == UpdateInventory(A, 7, "VCPU", new)


def test_all_inventories_are_replaced_at_a_generation():
    command = replaced(VCPU={"total": 4, "resource_provider_generation": 99})
    assert command == ReplaceInventories(A, 7, {"VCPU": Inventory(4)})


@pytest.mark.parametrize("generation", [6, 8, 1e308, -1])
def test_any_number_is_a_generation(generation):
    assert replaced(generation=generation, VCPU={"total": 1}).generation == int(generation)


@pytest.mark.parametrize(
    ("minor", "fields", "ok"),
    [
        (25, {"total": 4, "reserved": 3}, True),
        (25, {"total": 4, "reserved": 4}, False),
        (25, {"total": 4, "allocation_ratio": 0.2}, False),
        (25, {"total": 4, "allocation_ratio": 0.25}, True),
        (26, {"total": 4, "reserved": 4}, True),
        (26, {"total": 4, "allocation_ratio": 0}, True),
        (26, {"total": 4, "reserved": 5}, False),
        (26, {"total": 4, "reserved": 5, "allocation_ratio": 0.9}, True),
        (26, {"total": 4, "allocation_ratio": -1}, False),
    ],
)
def test_what_is_reserved_is_less_than_there_is(minor, fields, ok):
    version = Version(1, minor)
    creation, update = created(version=version, **fields), updated(version=version, **fields)
    replacement = replaced(version=version, VCPU=fields)
    for command, inventories in (
        (creation, {"VCPU": creation.inventory}),
        (update, {"VCPU": update.inventory}),
        (replacement, replacement.inventories),
    ):
        with nullcontext() if ok else pytest.raises(exception.NegativeCapacity) as refusal:
            check_minimum(inventories, command.minimum_capacity, uuid=A, action="update")
        assert ok or ("or equal to" in str(refusal.value)) is (minor < 26)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"total": 0},
        {"total": MAX_INT + 1},
        {"total": 1e308},
        {"total": float("inf")},
        {"total": True},
        {"total": "1"},
        {"total": 1, "reserved": -1},
        {"total": 1, "allocation_ratio": 1e39},
        {"total": 1, "allocation_ratio": -1e39},
        {"total": 1, "allocation_ratio": float("-inf")},
        {"total": 1, "pony": 1},
    ],
)
def test_other_numbers_are_refused(fields):
    for write in (created, updated, lambda **own: replaced(VCPU=own, other=own)):
        with pytest.raises(exception.BadRequest, match="JSON does not validate: "):
            write(**fields)


def test_a_class_of_another_form_is_not_refused_among_others():
    assert replaced(gold={"total": 1}).inventories == {"gold": Inventory(1)}
