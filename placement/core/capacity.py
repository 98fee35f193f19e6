"""The free capacity of an inventory: the arithmetic that the search and claims share.

Source: API reference, "Update resource provider inventory". Capacities are
computed in double precision and compared without rounding; as amounts are
integers, "at most the product" and "at most the truncated product" are equivalent.
"""

from collections.abc import Mapping

from placement import exception
from placement.core.model import Inventory


def capacity(inventory: Inventory) -> float:
    """Return the amount that can be allocated in total: an integer times an IEEE double.

    >>> capacity(Inventory(total=16, reserved=4, allocation_ratio=2.0))
    24.0
    """
    return (inventory.total - inventory.reserved) * inventory.allocation_ratio


def integer_capacity(inventory: Inventory) -> int:
    """Return the capacity as the API reports it: truncated.

    >>> integer_capacity(Inventory(total=100, allocation_ratio=1.15))  # 114.99...
    114
    """
    return int(capacity(inventory))


def full_capacity(inventory: Inventory) -> float:
    """Return the capacity as if nothing was reserved.

    >>> full_capacity(Inventory(total=16, reserved=4, allocation_ratio=2.0))
    32.0
    """
    return inventory.total * inventory.allocation_ratio


def is_reserved_in_use(inventory: Inventory, used: int) -> bool:
    """Return whether usage exceeds the capacity only through the reserved amount.

    Nova reserves a bare metal node, or a one-time-use device, when a server uses it.

    >>> is_reserved_in_use(Inventory(total=1, reserved=1), used=1)
    True
    >>> is_reserved_in_use(Inventory(total=1, reserved=1), used=0)  # in maintenance
    False
    """
    return capacity(inventory) < used <= full_capacity(inventory) and used > 0


def occupation(inventory: Inventory, used: int) -> str:
    """Return why nothing is free: "in use", "reserved", or "in use, reserved"; else nothing.

    >>> occupation(Inventory(total=1, reserved=1), used=1), occupation(Inventory(total=1), used=1)
    ('in use, reserved', 'in use')
    >>> occupation(Inventory(total=1, reserved=1), used=0)  # in maintenance
    'reserved'
    """
    if free(inventory, used):
        return ""
    if is_reserved_in_use(inventory, used):
        return "in use, reserved"
    if used:
        return "in use"
    return "reserved" if inventory.reserved else ""


def usable(inventory: Inventory, used: int) -> float:
    """Return the amount that ``used`` is a share of: what is not reserved, or in use.

    The reserved amount that is in use counts as usable, so that the share is at most 1, except
    if usage exceeds total x allocation_ratio.

    >>> usable(Inventory(total=1, reserved=1), used=1), usable(Inventory(total=1, reserved=1), 0)
    (1.0, 0.0)
    >>> usable(Inventory(total=8, reserved=2, allocation_ratio=2.0), used=3)
    12.0
    """
    return max(capacity(inventory), min(float(used), full_capacity(inventory)), 0.0)


def check_minimum(
    inventories: Mapping[str, Inventory], minimum: int, *, uuid: str, action: str
) -> None:
    """Check that the capacity of each inventory is at least ``minimum``, 0 or 1.

    It is negative if more than the total is reserved, and 0 if all of it is.
    Raises: NegativeCapacity with the provider's ``uuid`` and the ``action``, "create" or "update".
    """
    comparison = "greater than or equal to" if minimum else "greater than"
    for name, inventory in inventories.items():
        if (amount := integer_capacity(inventory)) < minimum:
            kind = exception.NegativeCapacity if amount else exception.TotalIsReserved
            raise kind(uuid, name, action, comparison)


def is_within_capacity(inventory: Inventory, used: int, amount: int) -> bool:
    """Return whether the amount is free beside the used amount."""
    return used + amount <= capacity(inventory)


def is_valid_amount(inventory: Inventory, amount: int) -> bool:
    """Return whether one allocation may have the amount, independent of usage."""
    return inventory.min_unit <= amount <= inventory.max_unit and amount % inventory.step_size == 0


def fits(inventory: Inventory, used: int, amount: int) -> bool:
    """Return whether one more allocation of the amount is possible.

    >>> fits(Inventory(total=8, max_unit=4), used=4, amount=4)
    True
    >>> fits(Inventory(total=8, step_size=3), used=0, amount=4)
    False
    """
    return is_within_capacity(inventory, used, amount) and is_valid_amount(inventory, amount)


def allocatable(inventory: Inventory, used: int) -> int:
    """Return the largest amount that one consumer can allocate; below 1 if none.

    ``min_unit`` and ``step_size`` are not considered: the amounts of several groups
    that use one provider are limited by this sum alone.

    >>> allocatable(Inventory(total=100, max_unit=16), used=90)
    10
    """
    return min(integer_capacity(inventory) - used, inventory.max_unit)


def free(inventory: Inventory, used: int) -> int:
    """Return how much is left for all future allocations together, 0 if more is used.

    >>> free(Inventory(total=8, allocation_ratio=2.0, max_unit=4), used=3)
    13
    """
    return max(integer_capacity(inventory) - used, 0)
