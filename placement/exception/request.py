"""Errors of queries and bodies."""

from placement.exception.base import PlacementException, mistake


@mistake
class BadRequest(PlacementException):
    """A query string or body is invalid; ``message`` is the text for the client."""

    message: str

    def __str__(self) -> str:
        return self.message


class DuplicateQueryKey(BadRequest):
    """A query parameter that is allowed once occurs more than once."""


class BadQueryValue(BadRequest):
    """A query parameter is inconsistent with another one, or in itself."""


class MissingQueryValue(BadRequest):
    """The query requests no resources."""


class MalformedJson(BadRequest):
    """The body is not valid JSON."""
