"""Parses the parameters ``resources``, ``required``, ``member_of`` and ``in_tree``."""

from collections.abc import Mapping, Sequence

from placement import exception
from placement.core.requirement import (
    ForbiddenTrait,
    InTree,
    MemberOf,
    NotMemberOf,
    ProviderRequirement,
    RequiredTrait,
)
from placement.core.text import canonical_uuid
from placement.microversion import MAX_VERSION, Version, exists_from
from placement.parse.validation import PREFIX

_RESOURCES_FORM = (
    "Badly formed resources parameter. Expected resources query string parameter in form: "
    "?resources=VCPU:2,MEMORY_MB:1024. Got: "
)
_FORBIDDING = (1, 22)
_ANY_OF_FORM = "in:HW_CPU_X86_VMX,CUSTOM_MAGIC"

Requirements = list[ProviderRequirement]


def resources(value: str) -> Mapping[str, int]:
    """Return the amounts by class of a value such as ``VCPU:2,MEMORY_MB:1024``.

    Of two amounts for one class the last one applies. Whether the class exists is
    checked by the search.

    Raises: BadRequest.
    """
    if not value.strip():
        raise exception.BadRequest(_RESOURCES_FORM + "empty string.")
    return dict(map(_class_and_amount, value.split(",")))


def _class_and_amount(piece: str) -> tuple[str, int]:
    parts = piece.split(":")
    if len(parts) != 2:
        raise exception.BadRequest(f"{_RESOURCES_FORM}{piece}.")
    return parts[0], _amount(*parts)


def _amount(resource_class: str, text: str) -> int:
    try:
        amount = int(text)
    except ValueError:
        raise exception.BadRequest(
            f"Requested resource {resource_class} expected positive integer amount. Got: {text}."
        ) from None
    if amount < 1:
        raise exception.BadRequest(
            f"Requested resource {resource_class} requires amount >= 1. Got: {text}."
        )
    return amount


def traits(values: Sequence[str], version: Version) -> Requirements:
    """Return the requirements in all values of one ``required`` parameter.

    Up to 1.38 only the last value applies. Forbidden traits exist since 1.22, the
    ``in:`` form since 1.39.

    Raises: BadRequest.
    """
    any_of = version >= (1, 39)
    required: dict[frozenset[str], None] = {}
    forbidden: set[str] = set()
    for value in values if any_of else values[-1:]:
        if value.startswith("in:"):
            required[_any_of_traits(value, supported=any_of)] = None
        else:
            names, forbidden_names = plain_traits(value, version)
            required |= dict.fromkeys(frozenset({name}) for name in names)
            forbidden |= forbidden_names
    return [*map(RequiredTrait, required), *map(ForbiddenTrait.one, sorted(forbidden))]


def _any_of_traits(value: str, *, supported: bool) -> frozenset[str]:
    if not supported:
        raise exception.BadRequest(
            f"{PREFIX}The format '{_ANY_OF_FORM}' only supported since microversion 1.39. "
            f"Got: {value}"
        )
    names = _names(value.removeprefix("in:"))
    if not all(names):
        raise _malformed_traits(_ANY_OF_FORM, f"Got an empty trait in: {value}")
    if any(name.startswith("!") for name in names):
        raise exception.BadRequest(
            f"{PREFIX}The format '{_ANY_OF_FORM}' does not support forbidden traits. Got: {value}"
        )
    return frozenset(names)


def plain_traits(value: str, version: Version) -> tuple[Sequence[str], frozenset[str]]:
    """Return the required traits, in order, and the forbidden traits of a list without ``in:``.

    Raises: BadRequest.
    """
    forbidding = version >= _FORBIDDING
    form = f"HW_CPU_X86_VMX,{'!' if forbidding else ''}CUSTOM_MAGIC"
    names = _names(value)
    if not all(name.lstrip("!") for name in names):
        raise _malformed_traits(form, f"Got an empty trait in: {value}")
    forbidden = frozenset(name.lstrip("!") for name in names if name.startswith("!"))
    if forbidden and not forbidding:
        since = exists_from(_FORBIDDING, version)
        raise _malformed_traits(form, f"Got: {value}. A forbidden trait {since}")
    return [name for name in names if not name.startswith("!")], forbidden


def root_traits(value: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the required and the forbidden traits of a ``root_required`` value.

    Raises: BadRequest.
    """
    if value.startswith("in:"):
        _any_of_traits(value, supported=False)
    required, forbidden = plain_traits(value, MAX_VERSION)
    return frozenset(required), forbidden


def _names(value: str) -> list[str]:
    return [piece.strip() for piece in value.split(",")]


def _malformed_traits(form: str, actual: str) -> exception.BadRequest:
    return exception.BadRequest(
        f"{PREFIX}Expected 'required' parameter value of the form: {form}. {actual}"
    )


def aggregates(key: str, values: Sequence[str], version: Version) -> Requirements:
    """Return the requirements in all values of the ``member_of`` parameter with this key.

    Raises: BadRequest.
    """
    if len(values) > 1 and version < (1, 24):
        since = f"A repeated {key} {exists_from((1, 24), version)}"
        raise exception.BadRequest(f"Multiple {key} parameters are not supported. {since}")
    required: dict[frozenset[str], None] = {}
    forbidden: frozenset[str] = frozenset()
    for value in values:
        if value.startswith("!"):
            forbidden |= _forbidden_aggregates(key, value, version)
        else:
            required[_listed_aggregates(key, value, value)] = None
    return [*([NotMemberOf(forbidden)] if forbidden else []), *map(MemberOf, required)]


def _forbidden_aggregates(key: str, value: str, version: Version) -> frozenset[str]:
    if version < (1, 32):
        raise exception.BadRequest(
            f"Forbidden {key} parameters are not supported in the specified microversion. "
            f"A forbidden {key} {exists_from((1, 32), version)}"
        )
    return _listed_aggregates(key, value.removeprefix("!"), value)


def _listed_aggregates(key: str, listed: str, value: str) -> frozenset[str]:
    if "," in listed and not listed.startswith("in:"):
        raise exception.BadRequest(
            f"Multiple values for '{key}' must be prefixed with the 'in:' or '!in:' keyword "
            f"using the valid microversion. Got: {value}"
        )
    pieces = listed.removeprefix("in:").split(",")
    return frozenset(
        _canonical(piece, "'member_of' parameter to contain valid UUID(s)") for piece in pieces
    )


def tree(value: str) -> InTree:
    """Return the requirement of an ``in_tree``.

    Raises: BadRequest.
    """
    return InTree(_canonical(value.strip(), "'in_tree' parameter to be a format of uuid"))


def _canonical(text: str, expected: str) -> str:
    canonical = canonical_uuid(text)
    if canonical is None:
        raise exception.BadRequest(f"{PREFIX}Expected {expected}. Got: {text}")
    return canonical
