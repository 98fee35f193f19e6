"""Queries for traits, names of custom ones, and the traits that a provider is to have."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict

from placement import exception
from placement.microversion import Version
from placement.parse import body, query, validation
from placement.schemas import trait

_LIST_QUERY = query.validators(trait.LIST_QUERY)
_CUSTOM = body.validators(trait.CUSTOM)
_REPLACE = body.validators(trait.REPLACE)


class TraitFilter(TypedDict, total=False):
    """Which traits are asked for; what is not there does not filter."""

    names: Sequence[str]
    prefix: str
    associated: bool


class ProviderTraits(NamedTuple):
    """The traits that a provider, at the generation given, is to have."""

    generation: int
    traits: frozenset[str]


def trait_filter(pairs: query.QueryPairs, version: Version) -> TraitFilter:
    """Return what a query asks of the listed traits.

    Raises: BadRequest.
    Source: API reference, "List traits".
    """
    query.check(_LIST_QUERY, pairs, version)
    values = query.used(pairs)
    wanted = _named(values["name"]) if "name" in values else TraitFilter()
    if "associated" in values:
        wanted["associated"] = _associated(values["associated"])
    return wanted


def _named(value: str) -> TraitFilter:
    operator, colon, operand = value.partition(":")
    if not colon:
        raise exception.BadRequest(
            "Badly formatted name parameter. Expected name query string parameter in form: "
            f'?name=[in|startswith]:[name1,name2|prefix]. Got: "{value}"'
        )
    if operator == "in":
        return TraitFilter(names=operand.split(","))
    return TraitFilter(prefix=operand) if operator == "startswith" else TraitFilter()


def _associated(value: str) -> bool:
    try:
        return {"true": True, "false": False}[value.lower()]
    except KeyError:
        raise exception.BadRequest(
            f'The query parameter "associated" only accepts "true" or "false". Got: "{value}"'
        ) from None


def custom_name(name: str, version: Version) -> str:
    """Return the name if a custom trait may have it.  Raises: BadRequest."""
    if validation.mistake(_CUSTOM, name, version) is not None:
        raise exception.BadRequest(
            "The trait is invalid. A valid trait must be no longer than 255 characters, start "
            'with the prefix "CUSTOM_" and use following characters: "A"-"Z", "0"-"9" and "_"'
        )
    return name


def of_provider(document: Any, version: Version) -> ProviderTraits:
    """Return the traits that a body gives to a provider.  Raises: BadRequest."""
    body.checked(_REPLACE, document, version)
    return ProviderTraits(
        int(document["resource_provider_generation"]), frozenset(document["traits"])
    )
