"""What operators learn of requests: empty responses, refusals, and mixed consumers.

Empty responses and refusals are logged and recorded after the response.

*Mixed consumers* are written both with and without their generation. A write below microversion
1.28 does not compare the generation of the consumer, so it replaces without an error the
allocations that another client wrote at 1.28 or newer. The database does not have the microversion
of a write. Each process therefore keeps the recent writes that it served in memory: it can miss a
consumer whose writes were served by different processes.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from placement import exception
from placement.core.model import ConsumerClaim
from placement.core.request import CandidateRequest
from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import printable
from placement.events import ClaimRefused, EmptyResponse, MixedConsumer
from placement.http.request import REQUEST_ID, Request
from placement.insight.explanation.query import Question
from placement.insight.queries import text
from placement.insight.recording import recorder as recorders
from placement.insight.recording import refusals
from placement.insight.recording.recorder import Recorder

LOG = logging.getLogger(__name__)

MOST_CONSUMERS: Final = 10_000
_LONGEST_USER_AGENT = 200


@dataclass(frozen=True, slots=True)
class Writer:
    """The client and the microversion of a write, and whether it compared the generation."""

    user_agent: str
    microversion: str
    compares_generation: bool

    def __str__(self) -> str:
        user_agent = printable(self.user_agent) or "a client without name"
        return f"{user_agent} at {self.microversion}"


class RecentWrites:
    """The first writer of each of the consumers that this process wrote last; thread-safe."""

    def __init__(self, most_consumers: int = MOST_CONSUMERS) -> None:
        self._most = most_consumers
        self._lock = threading.Lock()
        # None for consumers that are reported
        self._writers: OrderedDict[str, Writer | None] = OrderedDict()

    def add(
        self, claims: Iterable[ConsumerClaim], user_agent: str, microversion: str
    ) -> list[MixedConsumer]:
        """Add the successful claims of a request; log and return new mixtures, each once."""
        mixtures = []
        for claim in claims:
            writer = Writer(user_agent[:_LONGEST_USER_AGENT], microversion, claim.check_generation)
            earlier = self._earlier_writer(claim.consumer_uuid, writer)
            if earlier is not None:
                mixtures.append(_mixture(claim.consumer_uuid, earlier, writer))
        return mixtures

    def _earlier_writer(self, consumer_uuid: str, writer: Writer) -> Writer | None:
        """Return the stored writer if it wrote the other way; keep the consumer as reported."""
        with self._lock:
            earlier = self._writers.setdefault(consumer_uuid, writer)
            self._writers.move_to_end(consumer_uuid)
            if len(self._writers) > self._most:
                self._writers.popitem(last=False)
            if earlier is None or earlier.compares_generation == writer.compares_generation:
                return None
            self._writers[consumer_uuid] = None
            return earlier


def _mixture(consumer_uuid: str, earlier: Writer, writer: Writer) -> MixedConsumer:
    comparing, other = (writer, earlier) if writer.compares_generation else (earlier, writer)
    LOG.warning(
        "Consumer %s is written with its generation (%s) and without (%s). Writes below 1.28 "
        "replace concurrent writes without an error: upgrade the client that sends them.",
        consumer_uuid,
        comparing,
        other,
    )
    return MixedConsumer(comparing.user_agent, other.user_agent)


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
        except exception.DuplicateProvider as error:
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
