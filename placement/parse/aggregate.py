"""The aggregates that a provider is to be associated with."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from placement.microversion import Version
from placement.parse import body
from placement.schemas import aggregate

_REPLACE = body.validators(aggregate.REPLACE)


class ProviderAggregates(NamedTuple):
    """The aggregates as they are spelled, and the generation, None below 1.19."""

    aggregates: Sequence[str]
    generation: int | None


def of_provider(document: Any, version: Version) -> ProviderAggregates:
    """Return the aggregates that a body associates a provider with.  Raises: BadRequest."""
    body.checked(_REPLACE, document, version)
    if version < (1, 19):
        return ProviderAggregates(document, None)
    return ProviderAggregates(
        document["aggregates"], int(document["resource_provider_generation"])
    )
