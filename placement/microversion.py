"""Which version of the interface a request speaks, and handlers that differ by it.

A version is a plain value: compare it, ``request.version >= (1, 14)``.

Source: API reference, "Microversions"; the header is ``OpenStack-API-Version: placement 1.N``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from placement import exception

HEADER = "openstack-api-version"
SERVICE_TYPE = "placement"
LATEST = "latest"


class Version(NamedTuple):
    """A microversion; written ``1.39``."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


VERSIONS = tuple(Version(1, minor) for minor in range(40))
MIN_VERSION = VERSIONS[0]
MAX_VERSION = VERSIONS[-1]
_KNOWN = frozenset(VERSIONS)


def parse(text: str) -> Version:
    """Return the version written as ``X.Y``; it need not be one that is served.

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
    """Return the version that the header asks for: the default if it names none of ours.

    The header may hold several elements separated by commas, for other services too; our last
    one counts.

    >>> str(negotiate("compute 2.1, Placement 1.7"))
    '1.7'

    Raises: InvalidVersion, UnacceptableVersion.
    """
    asked = _asked_for(header or "")
    if asked is None:
        return default
    if asked == LATEST:
        return MAX_VERSION
    version = parse(asked)
    if version not in _KNOWN:
        raise exception.UnacceptableVersion(asked, str(MIN_VERSION), str(MAX_VERSION))
    return version


def _asked_for(header: str) -> str | None:
    """Return what stands behind our service type in the last element that names it."""
    for element in reversed(header.split(",")):
        service_type, _, version = element.strip().replace("\t", " ").partition(" ")
        if version and service_type.lower() == SERVICE_TYPE:
            return version.strip()
    return None


class HasVersion(Protocol):
    """A request, as far as this module looks at it."""

    @property
    def version(self) -> Version:
        """The version that the request speaks."""


RequestT = TypeVar("RequestT", bound=HasVersion)
AnswerT = TypeVar("AnswerT")
Handler = Callable[[RequestT], AnswerT]


@dataclass(frozen=True, slots=True)
class Window(Generic[RequestT, AnswerT]):
    """A handler, and the versions (both included) that it serves."""

    first: Version
    last: Version
    handler: Handler[RequestT, AnswerT]


@dataclass(frozen=True)
class Versioned(Generic[RequestT, AnswerT]):
    """A handler made of handlers, each for a window of versions.

    Outside of them the path is not found, or its method is not allowed. The windows can be read
    by whoever describes the interface.
    """

    windows: tuple[Window[RequestT, AnswerT], ...]
    refusal: type[exception.PlacementException] = exception.RouteNotFound

    def __call__(self, request: RequestT) -> AnswerT:
        """Return the answer of the handler for the request's version."""
        version = request.version
        for window in self.windows:
            if window.first <= version <= window.last:
                return window.handler(request)
        raise self.refusal


_REFUSALS: Mapping[int, type[exception.PlacementException]] = {
    404: exception.RouteNotFound,
    405: exception.MethodNotAllowed,
}


def version_handler(
    first: str, last: str | None = None, *, status: int = 404
) -> Callable[[Handler[RequestT, AnswerT]], Versioned[RequestT, AnswerT]]:
    """Return a decorator: the handler serves these versions, both included; the rest is refused.

    ``status`` is that of the refusal, 404 or 405 (without ``allow``).
    """

    def decorate(handler: Handler[RequestT, AnswerT]) -> Versioned[RequestT, AnswerT]:
        return Versioned((_window((first, last), handler),), _REFUSALS[status])

    return decorate


def by_version(
    handlers: Mapping[tuple[str, str | None], Handler[Any, AnswerT]],
) -> Versioned[Any, AnswerT]:
    """Return one handler made of several: ``{("1.2", "1.6"): rename, ("1.7", None): ensure}``."""
    return Versioned(tuple(_window(bounds, handler) for bounds, handler in handlers.items()))


def _window(
    bounds: tuple[str, str | None], handler: Handler[RequestT, AnswerT]
) -> Window[RequestT, AnswerT]:
    first, last = bounds
    return Window(parse(first), parse(last) if last else MAX_VERSION, handler)
