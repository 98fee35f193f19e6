"""Parses the query of GET /usages."""

from typing import NamedTuple

from placement.microversion import Version
from placement.parse import query
from placement.schemas import usage

_OF_PROJECT = query.validators(usage.OF_PROJECT_QUERY)


class UsageQuery(NamedTuple):
    """A project, optionally with one of its users and one consumer type (1.38)."""

    project_id: str
    user_id: str | None
    consumer_type: str | None


def of_project(pairs: query.QueryPairs, version: Version) -> UsageQuery:
    """Return the project, user and consumer type of a query.  Raises: BadRequest."""
    query.check(_OF_PROJECT, pairs, version)
    values = query.effective(pairs)
    return UsageQuery(values["project_id"], values.get("user_id"), values.get("consumer_type"))
