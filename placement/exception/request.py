"""Errors of queries and bodies."""

from placement.exception.base import PlacementException, mistake


@mistake
class BadRequest(PlacementException):
    """A query string or body breaks a rule; the text is written where the rule is."""

    message: str

    def __str__(self) -> str:
        return self.message


class DuplicateQueryKey(BadRequest):
    """A query parameter that may be given once is given more often."""


class BadQueryValue(BadRequest):
    """The value of a query parameter contradicts another one, or itself."""


class MissingQueryValue(BadRequest):
    """The query asks for no resources at all."""


class MalformedJson(BadRequest):
    """The body is not JSON that can be worked with."""
