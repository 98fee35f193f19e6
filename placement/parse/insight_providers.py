"""The query of ``GET /insight/providers``."""

from typing import NamedTuple

from placement import exception
from placement.core.request import ProviderFilter
from placement.microversion import Version
from placement.parse import query
from placement.parse.provider_list import provider_filter
from placement.schemas import insight_cloud

_VALIDATORS = query.validators(insight_cloud.PROVIDERS_QUERY)
_OWN = frozenset({"fields", "changed_since"})


class ProvidersQuery(NamedTuple):
    """Which providers, which of their fields (None is all), and since when."""

    criteria: ProviderFilter
    fields: tuple[str, ...] | None
    changed_since: str | None


def providers_query(
    pairs: query.QueryPairs, version: Version, available: tuple[str, ...]
) -> ProvidersQuery:
    """Return what is asked for; ``available`` are the fields that exist.

    Any text is a token: one that leads nowhere gives everything.
    Raises: BadRequest, and what ``provider_filter`` raises.
    """
    query.check(_VALIDATORS, pairs, version)
    own = query.effective([pair for pair in pairs if pair[0] in _OWN])
    return ProvidersQuery(
        criteria=provider_filter([pair for pair in pairs if pair[0] not in _OWN], version),
        fields=_fields(own["fields"], available) if "fields" in own else None,
        changed_since=own.get("changed_since"),
    )


def _fields(text: str, available: tuple[str, ...]) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in available:
            raise exception.BadRequest(
                f"{query.PREFIX}providers have no field '{name}'. "
                f"Use some of: {', '.join(available)}."
            )
    return names
