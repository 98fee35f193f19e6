"""Parses the body of POST /reshaper."""

from typing import Any

from placement.core.model import Reshape
from placement.microversion import Version
from placement.parse import allocation, body, inventory
from placement.parse.keys import canonical_keys
from placement.schemas import reshaper

_RESHAPE = body.validators(reshaper.RESHAPE)


def reshape(document: Any, version: Version) -> Reshape:
    """Return the new inventories and allocations. Reserved amounts may exceed the total here.

    Raises: BadRequest.
    Source: API reference, "Reshaper".
    """
    body.validate(_RESHAPE, document, version)
    return Reshape(
        inventories=tuple(
            inventory.all_of_provider(uuid, entry)
            for uuid, entry in canonical_keys(document["inventories"]).items()
        ),
        claims=allocation.claims(document["allocations"], version),
    )
