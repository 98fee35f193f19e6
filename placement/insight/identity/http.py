"""What GET /insight/identity takes and returns.

The query of GET /insight/identity.

``GET /insight/identity``: which providers a name could mean.
"""

from typing import NamedTuple

import webob

from placement.http.request import Request, accepts_json, json_response
from placement.insight.identity import documents as render
from placement.insight.identity.model import MATCHES
from placement.insight.identity.sql import DAYS, identify
from placement.insight.schemas import answer, opened
from placement.microversion import Version
from placement.parse import validation
from placement.policies import insight as policies
from placement.schemas.base import TEXT, Schema, always, closed

_COUNT: Schema = {"type": "integer", "minimum": 0}
_TEXT_OR_NONE: Schema = {"type": ["string", "null"]}
_NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
_CONFLICT_DAYS: Schema = {"type": "string", "pattern": "^[1-9][0-9]{0,2}$"}

IDENTITY_QUERY = always(closed({"name": _NAME, "days": _CONFLICT_DAYS}, "name"))

_PROVIDER_SUMMARY = {
    "uuid": TEXT,
    "name": TEXT,
    "generation": _COUNT,
    "parent_provider_uuid": _TEXT_OR_NONE,
    "root_provider_uuid": _TEXT_OR_NONE,
    "updated_at": _TEXT_OR_NONE,
    "consumers": _COUNT,
    "inventories": _COUNT,
    "children": _COUNT,
}
_MATCH = opened(
    match={"type": "string", "enum": list(MATCHES)},
    **_PROVIDER_SUMMARY,
    descendants={"type": "array", "items": opened(**_PROVIDER_SUMMARY)},
)
_CONFLICT = opened(
    at={"type": "string", "format": "date-time"},
    reason={"type": "string", "enum": ["duplicate_name", "duplicate_uuid"]},
    name=TEXT,
    uuid=TEXT,
    holder=TEXT,
    request_id=_TEXT_OR_NONE,
    user_id=_TEXT_OR_NONE,
)
IDENTITY = always(
    answer(
        name=TEXT,
        database=TEXT,
        at={"type": "string", "format": "date-time"},
        providers={"type": "array", "items": _MATCH},
        conflicts={"type": "array", "items": _CONFLICT},
    )
)


_VALIDATORS = validation.query_validators(IDENTITY_QUERY)


class IdentityQuery(NamedTuple):
    """A name or UUID, and of how many days conflicts are shown; None is the default."""

    name: str
    days: int | None


def identity_query(pairs: validation.QueryPairs, version: Version) -> IdentityQuery:
    """Return which name a query asks about.  Raises: BadRequest."""
    validation.check(_VALIDATORS, pairs, version)
    values = validation.effective(pairs)
    return IdentityQuery(values["name"], int(values["days"]) if "days" in values else None)


@accepts_json
def show_identity(request: Request) -> webob.Response:
    """Return the providers that a name or UUID could mean, and recorded conflicts."""
    request.context.can(policies.IDENTITY)
    query = identity_query(request.query_pairs, request.version)
    matched = identify(request.services.store, query.name, query.days or DAYS)
    return json_response(request, render.identity(matched))
