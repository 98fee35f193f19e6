"""``GET /insight/identity``: which providers a name could mean."""

from typing import NamedTuple

import webob

from placement.http.request import Request, accepts_json, json_response
from placement.insight.identity.model import identity_document
from placement.insight.identity.sql import DAYS, identify
from placement.insight.queries import described
from placement.microversion import Version
from placement.parse import validation
from placement.policies import rules as policies
from placement.schemas.base import Schema, always, closed

_NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
_CONFLICT_DAYS = described("a number of days", "^[1-9][0-9]{0,2}$")

IDENTITY_QUERY = always(closed({"name": _NAME, "days": _CONFLICT_DAYS}, "name"))
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
    return json_response(request, identity_document(matched))
