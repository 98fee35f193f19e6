"""The query for what a project uses."""

from placement.schemas.base import OWNER, Schema, Windows, closed

# Unlike the names that can be given to a type, these two mean all consumers, and those without.
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
