"""The query of GET /insight/identity."""

from typing import NamedTuple

from placement.microversion import Version
from placement.parse import query
from placement.schemas import insight_identity

_VALIDATORS = query.validators(insight_identity.IDENTITY_QUERY)


class IdentityQuery(NamedTuple):
    """A name or UUID, and of how many days conflicts are shown; None is the default."""

    name: str
    days: int | None


def identity_query(pairs: query.QueryPairs, version: Version) -> IdentityQuery:
    """Return which name a query asks about.  Raises: BadRequest."""
    query.check(_VALIDATORS, pairs, version)
    values = query.effective(pairs)
    return IdentityQuery(values["name"], int(values["days"]) if "days" in values else None)
