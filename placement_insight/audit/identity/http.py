"""``GET /insight/identity``: which providers a name could mean."""

import webob

from placement.http.request import Request, accepts_json
from placement.http.response import json_response
from placement.parse import validation
from placement.schemas.base import Schema, always, closed
from placement_insight import policies, queries
from placement_insight.audit.identity.model import DAYS
from placement_insight.audit.identity.sql import identify
from placement_insight.documents import document

_NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
_CONFLICT_DAYS = queries.described("a number of days", "^[1-9][0-9]{0,2}$")

IDENTITY_QUERY = always(closed({"name": _NAME, "days": _CONFLICT_DAYS}, "name"))
_VALIDATORS = validation.query_validators(IDENTITY_QUERY)


@accepts_json
def show_identity(request: Request) -> webob.Response:
    """Return the providers that a name or UUID could mean, and recorded conflicts."""
    request.can(policies.IDENTITY)
    values = queries.values(request, _VALIDATORS)
    days = int(values.get("days", DAYS))
    identity = identify(request.services.store, values["name"], days)
    return json_response(request, document(**identity.as_json()))
