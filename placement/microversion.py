"""Negotiation of the microversion of a request, and handlers that depend on it.

A version is a plain value that can be compared: ``request.version >= (1, 14)``.

Source: API reference, "Microversions"; the header is ``OpenStack-API-Version: placement 1.N``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from placement import exception

HEADER = "openstack-api-version"
SERVICE_TYPE = "placement"
LATEST = "latest"


UNVERSIONED: Final = "/insight"
"""The routes below this path have no microversions; their default is the newest."""


def is_versioned(path: str) -> bool:
    """Return whether the path has microversions.

    >>> is_versioned("/insight/explanation"), is_versioned("/insights")
    (False, True)
    """
    return path != UNVERSIONED and not path.startswith(f"{UNVERSIONED}/")


class Version(NamedTuple):
    """A microversion such as ``1.39``."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


VERSIONS = tuple(Version(1, minor) for minor in range(40))
MIN_VERSION = VERSIONS[0]
MAX_VERSION = VERSIONS[-1]
_KNOWN = frozenset(VERSIONS)


def parse(text: str) -> Version:
    """Return the version written as ``X.Y``, whether or not it is supported.

    >>> parse("1.05")
    Version(major=1, minor=5)

    Raises: InvalidVersion.
    """
    try:
        major, minor = text.split(".")
        return Version(int(major), int(minor))
    except ValueError:
        raise exception.InvalidVersion(text) from None


def negotiate(header: str | None, default: Version = MIN_VERSION) -> Version:
    """Return the version that the header requests; the default without a request.

    The header may have several elements separated by commas, also for other services; the last
    element for this service applies.

    >>> str(negotiate("compute 2.1, Placement 1.7"))
    '1.7'

    Raises: InvalidVersion, UnacceptableVersion.
    """
    requested = _requested_version(header or "")
    if requested is None:
        return default
    if requested == LATEST:
        return MAX_VERSION
    version = parse(requested)
    if version not in _KNOWN:
        raise exception.UnacceptableVersion(requested, str(MIN_VERSION), str(MAX_VERSION))
    return version


def exists_from(first: tuple[int, int], version: tuple[int, int]) -> str:
    """Return the end of a sentence about a request that an older version does not know.

    >>> print("required", exists_from((1, 18), (1, 14)))
    required exists from 1.18; this request was handled at 1.14.
    """
    header = f"without the header OpenStack-API-Version: {SERVICE_TYPE} 1.N"
    reason = "" if version > MIN_VERSION else f", which applies {header}"
    handled = f"this request was handled at {Version(*version)}"
    return f"exists from {Version(*first)}; {handled}{reason}."


def _requested_version(header: str) -> str | None:
    """Return the version in the last element for this service type, None without one."""
    for element in reversed(header.split(",")):
        words = element.split(maxsplit=1)  # a folded header has a line break
        if len(words) == 2 and words[0].lower() == SERVICE_TYPE:
            return words[1].strip()
    return None


Handler = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Window:
    """A handler and the versions that it serves, ``first`` to ``last``, both included."""

    first: Version
    last: Version
    handler: Handler


@dataclass(frozen=True)
class Versioned:
    """A handler composed of handlers, each for a window of versions.

    Outside of the windows the response is ``status``, 404 or 405. The OpenAPI document is
    generated from them.
    """

    windows: tuple[Window, ...]
    newer_form: str = ""
    status: int = 404

    def __call__(self, request: Any) -> Any:
        """Return the response of the handler for the version of the request."""
        first = next((each.first for each in self.windows if each.first > request.version), None)
        for window in self.windows:
            if window.first <= request.version <= window.last:
                try:
                    return window.handler(request)
                except (exception.BadRequest, exception.UnsupportedMediaType) as error:
                    if first and self.newer_form:
                        error.newer = exception.Newer(self.newer_form, first)
                    raise
        since = first and exists_from(first, request.version)
        reason = f"{request.method} of this resource {since}" if since else ""
        if self.status == 405:
            raise exception.MethodNotAllowed(reason=f" {reason}")
        raise exception.RouteNotFound(reason)


def version_handler(first: str, *, status: int = 404) -> Callable[[Handler], Versioned]:
    """Return a decorator that limits a handler to these versions and newer ones.

    Older versions get ``status``: 404, or 405 without an ``allow`` header.
    """
    return lambda handler: by_version({(first, None): handler}, status=status)


def by_version(
    handlers: Mapping[tuple[str, str | None], Handler], newer_form: str = "", *, status: int = 404
) -> Versioned:
    """Return a handler composed of several: ``{("1.2", "1.6"): _rename, ...}``.

    Errors of the older one say from which version ``newer_form`` exists.
    """
    windows = tuple(
        Window(parse(first), parse(last) if last else MAX_VERSION, handler)
        for (first, last), handler in handlers.items()
    )
    return Versioned(windows, newer_form, status)
