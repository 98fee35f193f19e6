"""The body of a reshape: inventories by provider, and allocations by consumer."""

from placement.schemas import allocation
from placement.schemas.base import UUID_KEY, Windows, closed, keyed
from placement.schemas.inventory import ALL_OF_PROVIDER

_INVENTORIES = keyed(UUID_KEY, ALL_OF_PROVIDER, at_least=1)

RESHAPE: Windows = tuple(
    (
        max(since, (1, 30)),
        closed(
            {"inventories": _INVENTORIES, "allocations": allocations},
            "inventories",
            "allocations",
        ),
    )
    for since, allocations in allocation.RESHAPE_ALLOCATIONS
    if since >= (1, 28)
)
