"""What the parts of the service tell the observer, as values.

What becomes of them is not their business: see ``placement.observability.metrics``.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SnapshotLoaded:
    """All providers were read, because there was no snapshot or it could not be brought on."""

    providers: int
    seconds: float


@dataclass(frozen=True, slots=True)
class SnapshotRefreshed:
    """What others had written was read."""

    changed: int
    removed: int
    seconds: float


@dataclass(frozen=True, slots=True)
class CandidatesReturned:
    """A search was answered."""

    count: int


@dataclass(frozen=True, slots=True)
class WriteRetried:
    """A transaction lost a race, and was run again or given up."""


@dataclass(frozen=True, slots=True)
class RequestCompleted:
    """A request came to its end; the route is as it is declared, empty if there is none."""

    method: str
    route: str
    status: int
    seconds: float


Event = SnapshotLoaded | SnapshotRefreshed | CandidatesReturned | WriteRetried | RequestCompleted
Observer = Callable[[Event], None]


def ignore(_event: Event) -> None:
    """Observe nothing."""
