"""What components report to an observer; and names that they have in common."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

TEMPLATE: Final = "placement.route.template"
"""The key of the WSGI environment under which the router stores the declared path."""

VERSION: Final = "placement.version"
"""The key under which the microversion of the request is stored."""

CLIENT_REQUESTS: Final = "placement_client_requests"
"""The metric of requests by ``client`` and ``microversion``."""

MIXED_CONSUMERS: Final = "placement_mixed_consumers"
"""The metric of consumers ``with_generation`` and ``without_generation``."""

CUT_RESPONSES: Final = "placement_candidates_cut"
"""The metric of requests for candidates whose limit left out roots."""

ROOTS_LEFT_OUT: Final = "placement_candidates_roots_left_out"
"""The metric of the roots that these requests left out together."""

Total = tuple[Mapping[str, str], int]
"""The labels and the value of a counter."""

Totals = Callable[[Collection[str]], Mapping[str, Sequence[Total]]]
"""Returns the values of counters by name, each the sum over all processes of the host."""


class Observer:
    """Is called when something happens; this one does nothing.

    ``placement.observability.metrics`` has one that counts the calls.
    """

    def snapshot_read(self, kind: str, seconds: float) -> None:
        """All providers were read (``load``), or the changes of other writers (``refresh``)."""

    def snapshot_discarded(self) -> None:
        """The snapshot was dropped: another lineage or epoch of the database."""

    def candidates_returned(self, count: int, roots_left_out: int) -> None:
        """A candidate search returned this many candidates; its limit left out this many roots."""

    def empty_response(self, reason: str) -> None:
        """A search found nothing; ``reason`` is a code of explanations, or "not_explained"."""

    def claim_refused(self, reason: str, resource_class: str) -> None:
        """A claim was refused; ``resource_class`` is empty if the reason is not an amount."""

    def consumer_mixed(self, with_generation: str, without_generation: str) -> None:
        """A consumer was written with and without its generation, by these User-Agents."""

    def write_retried(self) -> None:
        """A transaction failed because of a concurrent update; it was retried or abandoned."""
