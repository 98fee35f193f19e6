"""The services available to request handlers, created by ``deploy``."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from placement.core.model import ConsumerClaim, IncompleteConsumer
from placement.core.request import CandidateRequest, SearchSettings
from placement.core.snapshot.snapshot import Snapshot
from placement.db.store import Store
from placement.engine.engine import Engine
from placement.observability.events import Observer, ignore
from placement.policy import Policy

if TYPE_CHECKING:
    from placement.wsgi_wrapper import Request


class Reports(Protocol):
    """Reports requests without result to operators; implemented by ``insight``."""

    @property
    def is_recording(self) -> bool:
        """Whether requests are recorded."""

    def empty_response(
        self, request: "Request", snapshot: Snapshot, candidate_request: CandidateRequest
    ) -> None:
        """Report, after the response, why there are no candidates."""

    def refusals_of(
        self, request: "Request", claims: Sequence[ConsumerClaim]
    ) -> AbstractContextManager[None]:
        """Return a context that reports a refusal of the claims, and raises it."""

    def name_conflicts_of(
        self, request: "Request", name: str, uuid: str
    ) -> AbstractContextManager[None]:
        """Return a context that reports that the name or UUID of a provider is taken."""


@dataclass(frozen=True, slots=True)
class Services:
    """The services of one process: ``request.services`` of each request."""

    store: Store
    store_for_allocations: Store  # retries as [placement]allocation_conflict_retry_count says
    engine: Engine
    policy: Policy
    search: SearchSettings
    incomplete_consumer: IncompleteConsumer
    reports: Reports
    observe: Observer = ignore
    max_body_bytes: int = 16 * 2**20
