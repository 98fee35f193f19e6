"""The query parameters of GET /usages, by microversion."""

from placement.schemas.base import OWNER, Schema, Windows, closed

# ``all`` and ``unknown`` are no names of types: all consumers, and consumers without a type.
_TYPE: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": 255,
    "pattern": "^[A-Z0-9_]+$|^all|^unknown$",
}

OF_PROJECT_QUERY: Windows = (
    ((1, 9), closed({"project_id": OWNER, "user_id": OWNER}, "project_id")),
    (
        (1, 38),
        closed({"project_id": OWNER, "user_id": OWNER, "consumer_type": _TYPE}, "project_id"),
    ),
)
