"""Parses bodies that write allocations, reshapes, and the query of GET /usages.

The store checks whether the providers and resource classes exist.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from placement import exception
from placement.core.claims import Amounts
from placement.core.model import ConsumerClaim, IncompleteConsumer, ReplaceInventories
from placement.core.text import canonical, canonical_uuid
from placement.microversion import Version
from placement.parse import inventory, validation
from placement.schemas import allocation, queries

_REPLACE = validation.body_validators(allocation.REPLACE)
_MANAGE = validation.body_validators(allocation.MANAGE)

ValueT = TypeVar("ValueT")

_RESHAPE = validation.body_validators(allocation.RESHAPE)

_OF_PROJECT = validation.query_validators(queries.OF_PROJECT_QUERY)


def consumer_uuid(text: str) -> str:
    """Return a consumer's UUID in canonical form.  Raises: BadRequest."""
    canonical = canonical_uuid(text)
    if canonical is None:
        raise exception.BadRequest(f"Malformed consumer_uuid: {text}")
    return canonical


def replacement(
    consumer_uuid: str, document: Any, version: Version, default_owner: IncompleteConsumer
) -> tuple[ConsumerClaim, ...]:
    """Return the new allocations of one consumer.

    ``default_owner`` applies to a consumer whose body has no owner, as below 1.8.

    Raises: BadRequest.
    Source: API reference, "Update allocations".
    """
    validation.validate(_REPLACE, document, version)
    owner = {"project_id": default_owner.project_id, "user_id": default_owner.user_id}
    return (_claim(consumer_uuid, {**owner, **document}, version),)


def replacements(document: Any, version: Version) -> tuple[ConsumerClaim, ...]:
    """Return the new allocations of several consumers.

    Raises: BadRequest.
    Source: API reference, "Manage allocations".
    """
    validation.validate(_MANAGE, document, version)
    return claims(document, version)


def claims(document: Any, version: Version) -> tuple[ConsumerClaim, ...]:
    """Return the claims in a validated document."""
    return tuple(_claim(uuid, entry, version) for uuid, entry in canonical_keys(document).items())


def _claim(consumer_uuid: str, entry: Mapping[str, Any], version: Version) -> ConsumerClaim:
    generation = entry.get("consumer_generation")
    return ConsumerClaim(
        consumer_uuid=consumer_uuid,
        resources=_resources(entry["allocations"]),
        project_id=entry["project_id"],
        user_id=entry["user_id"],
        generation=None if generation is None else int(generation),
        check_generation=version >= (1, 28),
        type=entry.get("consumer_type"),
    )


def _resources(allocations: Any) -> Amounts:
    """Return amounts by provider and class; of two items for one provider the last one applies."""
    if isinstance(allocations, list):
        pairs = [(canonical(item["resource_provider"]["uuid"]), item) for item in allocations]
    else:
        pairs = list(canonical_keys(allocations).items())
    return {uuid: _integers(item["resources"]) for uuid, item in pairs}


def _integers(amounts: Mapping[str, float]) -> dict[str, int]:
    return {name: int(amount) for name, amount in amounts.items()}


def canonical_keys(items: Mapping[str, ValueT]) -> dict[str, ValueT]:
    """Return a mapping with its keys in canonical form.

    >>> canonical_keys({"AAAAAAAA-1111-2222-3333-444444444444": 1})
    {'aaaaaaaa-1111-2222-3333-444444444444': 1}

    Raises: BadRequest if two keys are spellings of one UUID.
    """
    by_uuid: dict[str, ValueT] = {}
    for key, value in items.items():
        uuid = canonical(key)
        if uuid in by_uuid:
            raise exception.BadRequest(
                f"JSON does not validate: the UUID {uuid} occurs more than once, in different "
                "spellings. Name each provider and consumer once."
            )
        by_uuid[uuid] = value
    return by_uuid


def reshape(
    document: Any, version: Version
) -> tuple[Sequence[ReplaceInventories], Sequence[ConsumerClaim]]:
    """Return the new inventories and allocations. Reserved amounts may exceed the total here.

    Raises: BadRequest.
    Source: API reference, "Reshaper".
    """
    validation.validate(_RESHAPE, document, version)
    inventories = [
        inventory.all_of_provider(uuid, entry)
        for uuid, entry in canonical_keys(document["inventories"]).items()
    ]
    return inventories, claims(document["allocations"], version)


class UsageQuery(NamedTuple):
    """A project, optionally with one of its users and one consumer type (1.38)."""

    project_id: str
    user_id: str | None
    consumer_type: str | None


def of_project(pairs: validation.QueryPairs, version: Version) -> UsageQuery:
    """Return the project, user and consumer type of a query.  Raises: BadRequest."""
    validation.check(_OF_PROJECT, pairs, version)
    values = validation.effective(pairs)
    return UsageQuery(values["project_id"], values.get("user_id"), values.get("consumer_type"))
