"""Errors of requests: paths, headers, callers, queries and bodies."""

from placement.exception.base import PlacementException, listed


class RouteNotFound(PlacementException):
    """The path does not exist, or not at the requested version: ``reason`` says since when."""

    reason: str = ""
    template = "{reason}"


class MethodNotAllowed(PlacementException):
    """The path does not support the method; ``allowed`` has the supported methods."""

    allowed: tuple[str, ...] = ()
    reason: str = ""
    template = "The method specified is not allowed for this resource.{reason}"


class RequestBodyTooLarge(PlacementException):
    limit_bytes: int
    template = "The request body exceeds {limit_bytes} bytes. Send several smaller requests."


class RequestUriTooLong(PlacementException):
    limit_bytes: int
    template = "The request line exceeds {limit_bytes} bytes. Send fewer query parameters."


class RequestHeadTooLarge(PlacementException):
    limit_bytes: int
    template = "The request line and headers exceed {limit_bytes} bytes."


class InvalidVersion(PlacementException):
    version: str
    template = "Invalid microversion: invalid version string: {version}"


class UnacceptableVersion(PlacementException):
    version: str
    min_version: str
    max_version: str
    template = "Invalid microversion: Unacceptable version header: {version}"


class NotAcceptable(PlacementException):
    template = "Only application/json is provided"


class UnsupportedMediaType(PlacementException):
    media_type: str | None
    template = "The media type {media_type} is not supported, use application/json"


class PolicyNotAuthorized(PlacementException):
    """The policy does not allow the caller this operation.

    ``requirement`` describes the requirement of the rule, ``roles`` are the roles of the caller.
    Clients match the text up to the first period.
    """

    rule: str
    requirement: str
    roles: tuple[str, ...]

    def __str__(self) -> str:
        role_names = f"the roles {listed(self.roles)}" if self.roles else "no roles"
        role_names = role_names if len(self.roles) != 1 else f"the role {self.roles[0]}"
        return (
            f"Policy does not allow {self.rule} to be performed. "
            f"It needs {self.requirement}; this token has {role_names}."
        )


class ScopeNotAuthorized(PolicyNotAuthorized):
    """The token is scoped to a system or a domain; the operation requires a project scope.

    Clients match the rule at the beginning of the text.
    """

    def __str__(self) -> str:
        return (
            f"{self.rule} needs a token with project scope, which this token does not have. "
            f"It also needs {self.requirement}."
        )


class BadRequest(PlacementException):
    """A query string or body is invalid; ``message`` is the text for the client."""

    message: str
    template = "{message}"


class DuplicateQueryKey(BadRequest):
    """A query parameter that is allowed once occurs more than once."""


class BadQueryValue(BadRequest):
    """A query parameter is inconsistent with another one, or in itself."""


class MissingQueryValue(BadRequest):
    """The query requests no resources."""


class MalformedJson(BadRequest):
    """The body is not valid JSON."""


class RequestNotRecorded(PlacementException):
    request_id: str
    template = (
        "No request is recorded with the id {request_id}. Recorded are requests that "
        "found no candidates and claims that were refused, within the limits of [insight]; "
        "GET /insight/requests lists them. For other requests Placement may have returned "
        "candidates. Then Nova filtered them (search the log of nova-scheduler for 'Filter'), or "
        "hosts failed to build the server: GET /insight/changes?request_id={request_id}"
    )
