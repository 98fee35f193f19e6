"""What consumers are to hold.

Providers and classes of an allocation are taken as they are written; whether there are such is
for the store to say.
"""

from collections.abc import Mapping
from typing import Any

from placement import exception
from placement.core.model import ConsumerClaim, ReplaceAllocations
from placement.microversion import Version
from placement.parse import body
from placement.parse.query import canonical_uuid
from placement.schemas import allocation

_REPLACE = body.validators(allocation.REPLACE)
_SEVERAL = body.validators(allocation.SEVERAL)

Amounts = Mapping[str, Mapping[str, int]]


def consumer_uuid(text: str) -> str:
    """Return a consumer's UUID in canonical form.  Raises: BadRequest."""
    canonical = canonical_uuid(text)
    if canonical is None:
        raise exception.BadRequest(f"Malformed consumer_uuid: {text}")
    return canonical


def replacement(
    consumer_uuid: str, document: Any, version: Version, unnamed: Mapping[str, str]
) -> ReplaceAllocations:
    """Return what a body lets one consumer hold.

    ``unnamed`` are the ``project_id`` and ``user_id`` of consumers about whom a body says
    nothing, as none does below 1.8.

    Raises: BadRequest.
    Source: API reference, "Update allocations".
    """
    body.checked(_REPLACE, document, version)
    return ReplaceAllocations((_claim(consumer_uuid, {**unnamed, **document}, version),))


def several(document: Any, version: Version) -> ReplaceAllocations:
    """Return what a body lets several consumers hold, by their UUIDs as they are written.

    Raises: BadRequest.
    Source: API reference, "Manage allocations".
    """
    body.checked(_SEVERAL, document, version)
    return ReplaceAllocations(claims(document, version))


def claims(document: Any, version: Version) -> tuple[ConsumerClaim, ...]:
    """Return the claims in a document that is known to be valid."""
    return tuple(_claim(uuid, written, version) for uuid, written in document.items())


def _claim(consumer_uuid: str, written: Mapping[str, Any], version: Version) -> ConsumerClaim:
    generation = written.get("consumer_generation")
    return ConsumerClaim(
        consumer_uuid=consumer_uuid,
        resources=_resources(written["allocations"]),
        project_id=written["project_id"],
        user_id=written["user_id"],
        generation=None if generation is None else int(generation),
        check_generation=version >= (1, 28),
        type=written.get("consumer_type"),
    )


def _resources(allocations: Any) -> Amounts:
    """Return amounts by provider and class; of two items for one provider the last counts."""
    if isinstance(allocations, list):
        pairs = ((item["resource_provider"]["uuid"], item) for item in allocations)
    else:
        pairs = allocations.items()
    return {uuid: _integers(item["resources"]) for uuid, item in pairs}


def _integers(amounts: Mapping[str, float]) -> dict[str, int]:
    return {name: int(amount) for name, amount in amounts.items()}
