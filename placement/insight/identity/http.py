"""``GET /insight/identity``: which providers a name could mean."""

from typing import NamedTuple

import webob

from placement.http.request import Request, accepts_json, json_response
from placement.insight.identity import documents as render
from placement.insight.identity.model import MATCHES
from placement.insight.identity.sql import DAYS, identify
from placement.insight.schemas import TIME, answer, opened
from placement.microversion import Version
from placement.parse import validation
from placement.policies import insight as policies
from placement.schemas.base import COUNT, TEXT, TEXT_OR_NONE, Schema, always, closed, list_of

_NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
_CONFLICT_DAYS: Schema = {
    "type": "string",
    "pattern": "^[1-9][0-9]{0,2}$",
    "description": "a number of days",
}

IDENTITY_QUERY = always(closed({"name": _NAME, "days": _CONFLICT_DAYS}, "name"))

_PROVIDER_SUMMARY = {
    "uuid": TEXT,
    "name": TEXT,
    "generation": COUNT,
    "parent_provider_uuid": TEXT_OR_NONE,
    "root_provider_uuid": TEXT_OR_NONE,
    "updated_at": TEXT_OR_NONE,
    "consumers": COUNT,
    "inventories": COUNT,
    "children": COUNT,
}
_MATCH = opened(
    match={"type": "string", "enum": list(MATCHES)},
    **_PROVIDER_SUMMARY,
    descendants=list_of(opened(**_PROVIDER_SUMMARY)),
)
_CONFLICT = opened(
    at=TIME,
    reason={"type": "string", "enum": ["duplicate_name", "duplicate_uuid"]},
    name=TEXT,
    uuid=TEXT,
    holder=TEXT,
    request_id=TEXT_OR_NONE,
    user_id=TEXT_OR_NONE,
)
IDENTITY = always(
    answer(
        name=TEXT,
        database=TEXT,
        at=TIME,
        providers=list_of(_MATCH),
        conflicts=list_of(_CONFLICT),
    )
)


_VALIDATORS = validation.query_validators(IDENTITY_QUERY)


class IdentityQuery(NamedTuple):
    """A name or UUID, and the number of days with conflicts to show."""

    name: str
    days: int


def identity_query(pairs: validation.QueryPairs, version: Version) -> IdentityQuery:
    """Return the name and the days in a query.  Raises: BadRequest."""
    validation.check_in_words(_VALIDATORS, pairs, version)
    values = validation.effective(pairs)
    return IdentityQuery(values["name"], int(values.get("days", DAYS)))


@accepts_json
def show_identity(request: Request) -> webob.Response:
    """Return the providers that a name or UUID could mean, and recorded conflicts."""
    request.context.can(policies.IDENTITY)
    query = identity_query(request.query_pairs, request.version)
    matched = identify(request.services.store, query.name, query.days)
    return json_response(request, render.identity(matched))
