"""Events that components report to an observer.

The observer processes them; see ``placement.observability.metrics``.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

TEMPLATE: Final = "placement.route.template"
"""The key of the WSGI environment under which the router stores the declared path."""

VERSION: Final = "placement.version"
"""The key under which the microversion of the request is stored."""

CLIENT_REQUESTS: Final = "placement_client_requests"
"""The metric of requests by ``client`` and ``microversion``."""

MIXED_CONSUMERS: Final = "placement_mixed_consumers"
"""The metric of consumers ``with_generation`` and ``without_generation``."""

Total = tuple[Mapping[str, str], int]
"""The labels and the value of a counter."""

Totals = Callable[[Collection[str]], Mapping[str, Sequence[Total]]]
"""Returns the values of counters by name, each the sum over all processes of the host."""


@dataclass(frozen=True, slots=True)
class SnapshotLoaded:
    """All providers were read, because there was no snapshot or it could not be refreshed."""

    providers: int
    seconds: float


@dataclass(frozen=True, slots=True)
class SnapshotDiscarded:
    """The snapshot was dropped: another lineage or epoch of the database, or a renamed class."""


@dataclass(frozen=True, slots=True)
class SnapshotRefreshed:
    """The snapshot was updated with the changes of other writers."""

    changed: int
    removed: int
    seconds: float


@dataclass(frozen=True, slots=True)
class CandidatesReturned:
    """A candidate search returned this many candidates."""

    count: int


@dataclass(frozen=True, slots=True)
class EmptyResponse:
    """A search found nothing; ``reason`` is a code of explanations, or "not_explained"."""

    reason: str


@dataclass(frozen=True, slots=True)
class ClaimRefused:
    """A claim was refused; ``resource_class`` is empty if the reason is not an amount."""

    reason: str
    resource_class: str


@dataclass(frozen=True, slots=True)
class MixedConsumer:
    """A consumer was written with and without its generation, by these User-Agents."""

    with_generation: str
    without_generation: str


@dataclass(frozen=True, slots=True)
class WriteRetried:
    """A transaction failed because of a concurrent update; it was retried or abandoned."""


@dataclass(frozen=True, slots=True)
class RequestCompleted:
    """A request was completed.

    ``route`` is the declared path, empty if none matched. ``microversion`` is empty if the request
    has none.
    """

    method: str
    route: str
    status: int
    seconds: float
    client: str
    microversion: str


Event = (
    SnapshotLoaded
    | SnapshotDiscarded
    | SnapshotRefreshed
    | CandidatesReturned
    | EmptyResponse
    | ClaimRefused
    | MixedConsumer
    | WriteRetried
    | RequestCompleted
)
Observer = Callable[[Event], None]


def ignore(_event: Event) -> None:
    """Discard the event."""
