"""Query parameters by microversion: allocation candidates, resource providers and usages."""

from placement.schemas.base import NAME, TEXT, UUID, Schema, Windows, closed, merged

_LIMIT: Schema = {"type": "string", "pattern": "^[1-9][0-9]*$"}
_GROUP_POLICY: Schema = {"type": "string", "enum": ["none", "isolate"]}
_NUMBER = "[1-9][0-9]*"
_SUFFIX = "[a-zA-Z0-9_-]{1,64}"


def _plain(**parameters: Schema) -> Schema:
    """Return the schema of a query without groups: ``resources`` and these parameters."""
    return closed({"resources": TEXT, **parameters}, "resources")


def _grouped(suffix: str, suffixable: tuple[str, ...], *parameters: str) -> Schema:
    """Return the schema of a query whose group parameters may end in a suffix."""
    fixed = {"limit": _LIMIT, "group_policy": _GROUP_POLICY} | dict.fromkeys(parameters, TEXT)
    patterns = {f"^{name}({suffix})?$": TEXT for name in suffixable}
    return {**closed(fixed), "patternProperties": patterns}


_GROUPED = ("resources", "required", "member_of")

CANDIDATES_QUERY: Windows = (
    ((1, 10), _plain()),
    ((1, 16), _plain(limit=_LIMIT)),
    ((1, 17), _plain(limit=_LIMIT, required=TEXT)),
    ((1, 21), _plain(limit=_LIMIT, required=TEXT, member_of=TEXT)),
    ((1, 25), _grouped(_NUMBER, _GROUPED)),
    ((1, 31), _grouped(_NUMBER, (*_GROUPED, "in_tree"))),
    ((1, 33), _grouped(_SUFFIX, (*_GROUPED, "in_tree"))),
    ((1, 35), _grouped(_SUFFIX, (*_GROUPED, "in_tree"), "root_required")),
    ((1, 36), _grouped(_SUFFIX, (*_GROUPED, "in_tree"), "root_required", "same_subtree")),
)
"""Schemas of the query, with the first microversion of the schema."""


_ADDED: Windows = (
    ((1, 0), {"name": TEXT, "uuid": UUID}),
    ((1, 3), {"member_of": TEXT}),
    ((1, 4), {"resources": TEXT}),
    ((1, 14), {"in_tree": UUID}),
    ((1, 18), {"required": TEXT}),
)

PROVIDERS_QUERY: Windows = tuple(
    (since, closed(parameters)) for since, parameters in merged(_ADDED)
)
"""Schemas of the query, with the first microversion of the schema."""


# ``all`` and ``unknown`` are no names of types: all consumers, and consumers without a type.
_TYPE: Schema = {**NAME, "pattern": "^[A-Z0-9_]+$|^all|^unknown$"}

OF_PROJECT_QUERY: Windows = (
    ((1, 9), closed({"project_id": NAME, "user_id": NAME}, "project_id")),
    (
        (1, 38),
        closed({"project_id": NAME, "user_id": NAME, "consumer_type": _TYPE}, "project_id"),
    ),
)
