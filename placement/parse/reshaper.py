"""Inventories and allocations that move together."""

from typing import Any

from placement.core.model import Reshape
from placement.microversion import Version
from placement.parse import allocation, body, inventory
from placement.schemas import reshaper

_RESHAPE = body.validators(reshaper.RESHAPE)


def reshape(document: Any, version: Version) -> Reshape:
    """Return what a body moves.  What is reserved of an inventory is not compared with its total.

    Raises: BadRequest.
    Source: API reference, "Reshaper".
    """
    body.checked(_RESHAPE, document, version)
    return Reshape(
        inventories=tuple(
            inventory.all_of_provider(uuid, own) for uuid, own in document["inventories"].items()
        ),
        claims=allocation.claims(document["allocations"], version),
    )
