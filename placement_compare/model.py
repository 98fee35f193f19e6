"""Values of a comparison: requests, responses, differences and results."""

import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

Microversion = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Read:
    """A GET request: path with query, below the base URL of the service, and microversion."""

    path: str
    microversion: Microversion

    @property
    def version(self) -> str:
        """Return the microversion as the header contains it: ``1.39``."""
        return ".".join(map(str, self.microversion))

    @property
    def encoded_path(self) -> str:
        """Return the path with the characters encoded that a request line may not contain."""
        return quote(self.path, safe=string.punctuation)

    @property
    def is_candidates(self) -> bool:
        """Return whether the request is for allocation candidates."""
        return self.path.startswith("/allocation_candidates?")


@dataclass(frozen=True, slots=True)
class Response:
    """A response. ``status`` is 0 if there was none; ``body`` is then the reason."""

    status: int
    body: bytes
    seconds: float


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of one request.

    ``kind`` is ``status``, ``error code``, ``body``, ``candidates`` or ``no response``. ``where``
    is the place in the body, with ``*`` for names and positions. Differences of one route with
    equal ``kind`` and ``where`` are reported together.
    """

    kind: str
    where: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one request; without differences the responses are equivalent.

    ``by_limit`` is true if the limit selected different candidates of equal sets.
    """

    read: Read
    old_seconds: float
    new_seconds: float
    differences: Sequence[Difference] = field(default=())
    by_limit: bool = False
