"""Parses the query of GET /resource_providers."""

from placement.core.request import ProviderFilter, RequestGroup
from placement.microversion import Version
from placement.parse import group, query
from placement.schemas import resource_provider_query

_VALIDATORS = query.validators(resource_provider_query.LIST_QUERY)


def provider_filter(pairs: query.QueryPairs, version: Version) -> ProviderFilter:
    """Return the conditions on the listed providers; absent parameters set no condition.

    Raises: BadRequest.
    Source: API reference, "List resource providers".
    """
    query.check(_VALIDATORS, pairs, version)
    values = query.grouped(pairs)
    return ProviderFilter(
        name=values.get("name", [""])[-1] or None,
        uuid=values["uuid"][-1].lower() if "uuid" in values else None,
        group=_group(values, version),
    )


def _group(values: query.Values, version: Version) -> RequestGroup:
    """Return the conditions shared with request groups, parsed in the order of their errors."""
    member_of, not_member_of = group.aggregates("member_of", values.get("member_of", ()), version)
    required, forbidden = group.traits(values.get("required", ()), version)
    return RequestGroup(
        resources=group.resources(values["resources"][-1]) if "resources" in values else {},
        required=required,
        forbidden=forbidden,
        member_of=member_of,
        not_member_of=not_member_of,
        in_tree=values["in_tree"][-1].lower() if "in_tree" in values else None,
    )
