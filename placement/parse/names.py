"""Parses names of custom resource classes and traits, and queries for traits."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict

from placement import exception
from placement.microversion import Version
from placement.parse import validation
from placement.schemas import names

_LIST_QUERY = validation.query_validators(names.LIST_QUERY)
_CUSTOM = validation.body_validators(names.CUSTOM)
_REPLACE = validation.body_validators(names.REPLACE)

_NAMED = validation.body_validators(names.NAMED)


class TraitFilter(TypedDict, total=False):
    """The conditions on listed traits; absent keys set no condition."""

    names: Sequence[str]
    prefix: str
    associated: bool


class ReplaceTraits(NamedTuple):
    """The new traits of a provider, and the generation of the provider."""

    generation: int
    traits: frozenset[str]


def trait_filter(pairs: validation.QueryPairs, version: Version) -> TraitFilter:
    """Return the conditions in a query.

    Raises: BadRequest.
    Source: API reference, "List traits".
    """
    validation.check(_LIST_QUERY, pairs, version)
    values = validation.effective(pairs)
    conditions = _by_name(values["name"]) if "name" in values else TraitFilter()
    if "associated" in values:
        conditions["associated"] = _associated(values["associated"])
    return conditions


def _by_name(value: str) -> TraitFilter:
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
    """Return the name if it is valid for a custom trait.  Raises: BadRequest."""
    if validation.error_message(_CUSTOM, name, version) is not None:
        raise exception.BadRequest(
            "The trait is invalid. A valid trait must be no longer than 255 characters, start "
            'with the prefix "CUSTOM_" and use following characters: "A"-"Z", "0"-"9" and "_"'
        )
    return name


def of_provider(document: Any, version: Version) -> ReplaceTraits:
    """Return the new traits of a provider.  Raises: BadRequest."""
    validation.validate(_REPLACE, document, version)
    return ReplaceTraits(
        int(document["resource_provider_generation"]), frozenset(document["traits"])
    )


def name(document: Any, version: Version) -> str:
    """Return the name in a body, ``{"name": "CUSTOM_GOLD"}``.  Raises: BadRequest."""
    validated: str = validation.validate(_NAMED, document, version)["name"]
    return validated
