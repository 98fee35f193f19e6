"""Objects whose keys are UUIDs."""

from collections.abc import Mapping
from typing import TypeVar

from placement import exception
from placement.core.uuids import canonical

ValueT = TypeVar("ValueT")


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
