"""Whose usage is asked for."""

from typing import NamedTuple

from placement.microversion import Version
from placement.parse import query
from placement.schemas import usage

_OF_PROJECT = query.validators(usage.OF_PROJECT_QUERY)


class ProjectUsage(NamedTuple):
    """A project, perhaps one of its users, perhaps one type of consumers (1.38)."""

    project_id: str
    user_id: str | None
    consumer_type: str | None


def of_project(pairs: query.QueryPairs, version: Version) -> ProjectUsage:
    """Return whose usage a query asks for.  Raises: BadRequest."""
    query.check(_OF_PROJECT, pairs, version)
    values = query.used(pairs)
    return ProjectUsage(values["project_id"], values.get("user_id"), values.get("consumer_type"))
