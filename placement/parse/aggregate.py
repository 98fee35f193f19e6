"""Parses the body that replaces the aggregates of a provider."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from placement.core.uuids import canonical
from placement.microversion import Version
from placement.parse import body
from placement.schemas import aggregate

_REPLACE = body.validators(aggregate.REPLACE)


class ReplaceAggregates(NamedTuple):
    """The aggregates, and the provider generation, None below 1.19."""

    aggregates: Sequence[str]
    generation: int | None


def of_provider(document: Any, version: Version) -> ReplaceAggregates:
    """Return the aggregates in a body.  Raises: BadRequest."""
    body.validate(_REPLACE, document, version)
    if version < (1, 19):
        return ReplaceAggregates(_canonical(document), None)
    return ReplaceAggregates(
        _canonical(document["aggregates"]), int(document["resource_provider_generation"])
    )


def _canonical(uuids: Sequence[str]) -> Sequence[str]:
    """Return the UUIDs in canonical form, in their order, without duplicates."""
    return list(dict.fromkeys(map(canonical, uuids)))
