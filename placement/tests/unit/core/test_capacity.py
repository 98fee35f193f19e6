"""What an inventory can still give."""

import pytest

from placement.core.capacity import allocatable, capacity, fits, integer_capacity
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
