"""What an inventory can still give."""

import pytest

from placement import exception
from placement.core.capacity import (
    allocatable,
    capacity,
    check_minimum,
    fits,
    integer_capacity,
    is_reserved_in_use,
    occupation,
    usable,
)
from placement.core.model import Inventory


@pytest.mark.parametrize(
    ("inventory", "shown"),
    [
        (Inventory(16, reserved=4, allocation_ratio=2.0), 24),
        (Inventory(100, allocation_ratio=1.15), 114),
        (Inventory(50, allocation_ratio=0.58), 28),
        (Inventory(10, allocation_ratio=1.1), 11),
        (Inventory(50, reserved=50), 0),
    ],
)
def test_capacity_is_the_product_truncated(inventory, shown):
    assert integer_capacity(inventory) == shown


def test_the_last_unit_fits_and_one_more_does_not():
    inventory = Inventory(100, allocation_ratio=1.15)
    assert fits(inventory, 0, 114)
    assert not fits(inventory, 0, 115)
    assert fits(inventory, 110, 4)
    assert not fits(inventory, 110, 5)


def test_usage_may_exceed_capacity_and_then_nothing_fits():
    assert not fits(Inventory(4), 9, 1)
    assert allocatable(Inventory(4), 9) < 1


def test_portions_are_bounded_and_stepped():
    inventory = Inventory(100, min_unit=4, max_unit=16, step_size=4)
    assert [n for n in range(1, 30) if fits(inventory, 0, n)] == [4, 8, 12, 16]


def test_room_is_bounded_by_max_unit():
    assert allocatable(Inventory(100, max_unit=16), 0) == 16
    assert allocatable(Inventory(100, max_unit=16), 90) == 10


def test_the_product_of_large_numbers_stays_exact_enough_to_compare():
    inventory = Inventory(2**31 - 1, allocation_ratio=1e6)
    assert capacity(inventory) > 2**50
    assert fits(inventory, 2**40, 2**31 - 1)


@pytest.mark.parametrize(
    ("inventory", "used", "is_in_use"),
    [
        (Inventory(4, reserved=2), 0, False),
        (Inventory(4, reserved=2), 2, False),
        (Inventory(4, reserved=2), 3, True),
        (Inventory(4, reserved=2), 4, True),
        (Inventory(4, reserved=2), 5, False),
        (Inventory(4), 5, False),
        (Inventory(1, reserved=1), 1, True),
    ],
)
def test_a_reserved_amount_is_in_use_up_to_the_total(inventory, used, is_in_use):
    assert is_reserved_in_use(inventory, used) == is_in_use


@pytest.mark.parametrize(
    ("inventory", "used", "reason"),
    [
        (Inventory(4, reserved=2), 1, ""),
        (Inventory(4, reserved=2), 2, "in use"),
        (Inventory(4, reserved=2), 3, "in use, reserved"),
        (Inventory(4, reserved=2), 5, "in use"),
        (Inventory(4, reserved=4), 0, "reserved"),
        (Inventory(4, allocation_ratio=0.1), 0, ""),
    ],
)
def test_occupation_says_why_nothing_is_free(inventory, used, reason):
    assert occupation(inventory, used) == reason


@pytest.mark.parametrize(
    ("inventory", "used", "amount"),
    [
        (Inventory(8, reserved=2, allocation_ratio=2.0), 3, 12),
        (Inventory(8, reserved=2), 7, 7),
        (Inventory(8, reserved=2), 9, 8),
        (Inventory(8, reserved=10), 0, 0),
    ],
)
def test_usable_is_not_reserved_or_in_use(inventory, used, amount):
    assert usable(inventory, used) == amount


@pytest.mark.parametrize(
    ("minimum", "reserved", "kind", "comparison"),
    [
        (0, 5, exception.NegativeCapacity, "greater than total."),
        (1, 5, exception.NegativeCapacity, "greater than or equal to total."),
        (1, 4, exception.TotalIsReserved, "greater than or equal to total."),
    ],
)
def test_a_capacity_below_the_minimum_is_refused(minimum, reserved, kind, comparison):
    inventories = {"VCPU": Inventory(4), "DISK_GB": Inventory(4, reserved=reserved)}
    with pytest.raises(exception.NegativeCapacity) as refusal:
        check_minimum(inventories, minimum, uuid="a", action="update")
    assert type(refusal.value) is kind
    assert str(refusal.value) == (
        "Unable to update inventory for resource provider a: Invalid inventory for 'DISK_GB' on "
        f"resource provider 'a'. The reserved value is {comparison}"
    )
