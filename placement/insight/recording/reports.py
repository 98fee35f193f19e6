"""Logging and recording of empty responses and refusals, as tasks that run after the response."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from placement import exception
from placement.core.model import ConsumerClaim
from placement.core.request import CandidateRequest
from placement.core.snapshot.snapshot import Snapshot
from placement.events import ClaimRefused, EmptyResponse
from placement.http.request import REQUEST_ID, Request
from placement.insight.explanation.query import Question
from placement.insight.queries import text
from placement.insight.recording import recorder as recorders
from placement.insight.recording import refusals
from placement.insight.recording.mixed_writes import RecentWrites
from placement.insight.recording.recorder import Recorder

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OperatorReports:
    """``Reports`` that logs, counts and records."""

    recorder: Recorder
    writes: RecentWrites = field(default_factory=RecentWrites)

    @property
    def is_recording(self) -> bool:
        """Whether requests are recorded."""
        return self.recorder.is_enabled

    def empty_response(
        self, request: Request, snapshot: Snapshot, candidate_request: CandidateRequest
    ) -> None:
        """After the response, log, record and count the reason of the empty response."""
        question, source = _question(request, candidate_request), origin(request)
        observe = request.services.observe

        def report() -> None:
            reason = recorders.empty_response(self.recorder, snapshot, question, source)
            observe(EmptyResponse(reason))

        request.after_response(report)

    @contextmanager
    def invalid_names_of(
        self, request: Request, snapshot: Snapshot, candidate_request: CandidateRequest
    ) -> Iterator[None]:
        """A context that logs and records that a trait or class does not exist, and raises it."""
        try:
            yield
        except (exception.UnknownTrait, exception.UnknownResourceClass) as error:
            question = _question(request, candidate_request)
            facts = (self.recorder, error, snapshot, question, origin(request))
            request.after_response(partial(recorders.invalid_request, *facts))
            raise

    @contextmanager
    def results_of(self, request: Request, claims: Sequence[ConsumerClaim]) -> Iterator[None]:
        """A context that logs, records and counts a refusal of the claims, and raises it.

        It is logged after the response, because the names of the providers are read from the
        database. Of accepted claims, it logs and counts consumers that are written both with and
        without their generation.
        """
        try:
            yield
        except refusals.REFUSALS as error:
            refusal = refusals.described(error)
            # a refusal about several classes has the label ""
            resource_class = refusal.facts.get("resource_class", "")
            request.services.observe(ClaimRefused(refusal.code, resource_class))
            facts = (self.recorder, error, claims, origin(request))
            request.after_response(partial(recorders.refused_claim, *facts))
            raise
        user_agent = request.environ.get("HTTP_USER_AGENT", "")
        for mixture in self.writes.add(claims, user_agent, str(request.version)):
            request.services.observe(mixture)

    @contextmanager
    def name_conflicts_of(self, request: Request, name: str, uuid: str) -> Iterator[None]:
        """A context that logs and records that the name or the UUID of a provider is taken."""
        try:
            yield
        except (exception.DuplicateProviderName, exception.DuplicateProviderUuid) as error:
            LOG.info("Provider %s (%s) refused, %s: %s", name, uuid, _id(request), error)
            facts = (self.recorder, error, (name, uuid), origin(request))
            request.after_response(partial(recorders.name_conflict, *facts))
            raise


def _question(request: Request, candidate_request: CandidateRequest) -> Question:
    return Question(candidate_request, text(request.query_pairs), str(request.version))


def origin(request: Request) -> recorders.Origin:
    """Return the project and user of the caller, and the ids of the request."""
    context = request.context
    return recorders.Origin(
        request_id=_id(request),
        global_request_id=context.global_request_id,
        project_id=context.project_id,
        user_id=context.user_id,
        microversion=str(request.version),
    )


def _id(request: Request) -> str | None:
    request_id: str | None = request.environ.get(REQUEST_ID)
    return request_id
