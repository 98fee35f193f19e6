"""Errors of the HTTP layer, raised before a handler runs."""

from placement.exception.base import PlacementException, mistake


class RouteNotFound(PlacementException):
    """The path does not exist at the requested version."""

    def __str__(self) -> str:
        return ""


@mistake
class MethodNotAllowed(PlacementException):
    """The path does not support the method; ``allowed`` has those that it supports."""

    allowed: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ""


@mistake
class InvalidVersion(PlacementException):
    """The requested version is malformed."""

    version: str

    def __str__(self) -> str:
        return f"invalid version string: {self.version}"


@mistake
class UnacceptableVersion(PlacementException):
    """The requested version is not supported."""

    version: str
    min_version: str
    max_version: str

    def __str__(self) -> str:
        return f"Unacceptable version header: {self.version}"


class NotAcceptable(PlacementException):
    """The client does not accept JSON responses."""

    def __str__(self) -> str:
        return "Only application/json is provided"


@mistake
class UnsupportedMediaType(PlacementException):
    """The content type of the request body is not JSON."""

    media_type: str | None

    def __str__(self) -> str:
        return f"The media type {self.media_type} is not supported, use application/json"


@mistake
class PolicyNotAuthorized(PlacementException):
    """The policy does not allow the caller this operation."""

    rule: str

    def __str__(self) -> str:
        return f"Policy does not allow {self.rule} to be performed."


class ScopeNotAuthorized(PolicyNotAuthorized):
    """The token is scoped to a system or a domain; the operation requires a project scope."""

    def __str__(self) -> str:
        return self.rule
