"""How much an inventory can still give: the one arithmetic of search and of claims.

Source: API reference, "Update resource provider inventory"; contract, "capacity".
Everything is computed in double precision and compared without rounding; as
amounts are integers, "at most the product" and "at most the product truncated"
are the same test.
"""

from placement.core.model import Inventory


def capacity(inventory: Inventory) -> float:
    """Return what may be used of an inventory in all: an integer times an IEEE double.

    >>> capacity(Inventory(total=16, reserved=4, allocation_ratio=2.0))
    24.0
    """
    return (inventory.total - inventory.reserved) * inventory.allocation_ratio


def integer_capacity(inventory: Inventory) -> int:
    """Return the capacity as it is shown: truncated.

    >>> integer_capacity(Inventory(total=100, allocation_ratio=1.15))  # 114.99...
    114
    """
    return int(capacity(inventory))


def within_capacity(inventory: Inventory, used: int, amount: int) -> bool:
    """Tell whether the amount is still left beside what is used."""
    return used + amount <= capacity(inventory)


def is_portion(inventory: Inventory, amount: int) -> bool:
    """Tell whether the inventory gives out the amount in one piece, however much is left."""
    return inventory.min_unit <= amount <= inventory.max_unit and amount % inventory.step_size == 0


def fits(inventory: Inventory, used: int, amount: int) -> bool:
    """Tell whether one more allocation of the amount can be made.

    >>> fits(Inventory(total=8, max_unit=4), used=4, amount=4)
    True
    >>> fits(Inventory(total=8, step_size=3), used=0, amount=4)
    False
    """
    return within_capacity(inventory, used, amount) and is_portion(inventory, amount)


def room(inventory: Inventory, used: int) -> int:
    """Return the largest amount that one consumer could get, portions aside; below 1 if none.

    Amounts of several groups that meet on one provider are bounded by this sum
    alone; ``min_unit`` and ``step_size`` hold for each group.
    """
    return min(integer_capacity(inventory) - used, inventory.max_unit)


def free(inventory: Inventory, used: int) -> int:
    """Return how much is left for all future allocations together, 0 if more is used.

    >>> free(Inventory(total=8, allocation_ratio=2.0, max_unit=4), used=3)
    13
    """
    return max(integer_capacity(inventory) - used, 0)
