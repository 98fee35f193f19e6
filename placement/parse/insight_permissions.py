"""The query of GET /insight/permissions."""

from typing import NamedTuple

from placement.core.insight.permissions import role_names
from placement.microversion import Version
from placement.parse import query
from placement.schemas import insight_permissions

_VALIDATORS = query.validators(insight_permissions.PERMISSIONS_QUERY)


class PermissionsQuery(NamedTuple):
    """The roles of a token, its project, and the service whose calls are checked, all if None."""

    roles: tuple[str, ...]
    project_id: str | None
    service: str | None


def permissions_query(pairs: query.QueryPairs, version: Version) -> PermissionsQuery:
    """Return which permissions a query asks for.  Raises: BadRequest."""
    query.check(_VALIDATORS, pairs, version)
    values = query.effective(pairs)
    return PermissionsQuery(
        role_names(values["roles"]), values.get("project_id"), values.get("service")
    )
