"""Errors of the HTTP layer, raised before a handler runs."""

from placement.exception.base import PlacementException, mistake


class RouteNotFound(PlacementException):
    """Nothing is at this path, at this version."""

    def __str__(self) -> str:
        return ""


@mistake
class MethodNotAllowed(PlacementException):
    """Something is at this path, but not with this method; ``allowed`` are those that are."""

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
    """The caller wants an answer in another form than JSON."""

    def __str__(self) -> str:
        return "Only application/json is provided"


@mistake
class UnsupportedMediaType(PlacementException):
    """The body is said to be something else than JSON."""

    media_type: str | None

    def __str__(self) -> str:
        return f"The media type {self.media_type} is not supported, use application/json"


@mistake
class PolicyNotAuthorized(PlacementException):
    """The policy does not let this caller do this."""

    rule: str

    def __str__(self) -> str:
        return f"Policy does not allow {self.rule} to be performed."


class ScopeNotAuthorized(PolicyNotAuthorized):
    """The caller's token is for a system or a domain, where only projects are served."""

    def __str__(self) -> str:
        return self.rule
