"""Parses bodies that write resource providers or aggregates, and queries that list providers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from placement.core.model import UpdateProvider
from placement.core.request import ProviderFilter, RequestGroup
from placement.core.requirement import InTree, in_order
from placement.core.text import canonical
from placement.microversion import Version
from placement.parse import group, validation
from placement.schemas import queries, resource_provider

_CREATE = validation.body_validators(resource_provider.CREATE)
_UPDATE = validation.body_validators(resource_provider.UPDATE)
_PARENT = "parent_provider_uuid"

_VALIDATORS = validation.query_validators(queries.PROVIDERS_QUERY)

_REPLACE = validation.body_validators(resource_provider.REPLACE_AGGREGATES)


class NewProvider(NamedTuple):
    """A provider to create; if ``uuid`` is None, the service chooses one."""

    uuid: str | None
    name: str
    parent_uuid: str | None


def creation(document: Any, version: Version) -> NewProvider:
    """Return the provider to create.

    Raises: BadRequest.
    """
    validation.validate(_CREATE, document, version)
    uuid = document.get("uuid")
    return NewProvider(uuid and canonical(uuid), document["name"], _parent(document))


def update(uuid: str, document: Any, version: Version) -> UpdateProvider:
    """Return the new attributes of a provider.  Raises: BadRequest."""
    validation.validate(_UPDATE, document, version)
    return UpdateProvider(
        uuid,
        document["name"],
        _parent(document),
        has_parent=_PARENT in document,
        may_move=version >= (1, 37),
    )


def _parent(document: Any) -> str | None:
    uuid: str | None = document.get(_PARENT)
    return uuid and canonical(uuid)


def provider_filter(pairs: validation.QueryPairs, version: Version) -> ProviderFilter:
    """Return the conditions on the listed providers; absent parameters set no condition.

    Raises: BadRequest.
    Source: API reference, "List resource providers".
    """
    validation.check(_VALIDATORS, pairs, version)
    values = validation.grouped(pairs)
    return ProviderFilter(
        name=values.get("name", [""])[-1] or None,
        uuid=values["uuid"][-1].lower() if "uuid" in values else None,
        group=_group(values, version),
    )


def _group(values: validation.Values, version: Version) -> RequestGroup:
    """Return the conditions shared with request groups, parsed in the order of their errors."""
    aggregates = group.aggregates("member_of", values.get("member_of", ()), version)
    traits = group.traits(values.get("required", ()), version)
    trees = [InTree(values["in_tree"][-1].lower())] if "in_tree" in values else []
    return RequestGroup(
        resources=group.resources(values["resources"][-1]) if "resources" in values else {},
        requirements=in_order([*aggregates, *trees, *traits]),
    )


class ReplaceAggregates(NamedTuple):
    """The aggregates, and the provider generation, None below 1.19."""

    aggregates: Sequence[str]
    generation: int | None


def of_provider(document: Any, version: Version) -> ReplaceAggregates:
    """Return the aggregates in a body.  Raises: BadRequest."""
    validation.validate(_REPLACE, document, version)
    if version < (1, 19):
        return ReplaceAggregates(_canonical(document), None)
    return ReplaceAggregates(
        _canonical(document["aggregates"]), int(document["resource_provider_generation"])
    )


def _canonical(uuids: Sequence[str]) -> Sequence[str]:
    """Return the UUIDs in canonical form, in their order, without duplicates."""
    return list(dict.fromkeys(map(canonical, uuids)))
