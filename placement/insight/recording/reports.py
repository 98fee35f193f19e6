"""What operators learn of requests: empty responses, refusals, and mixed consumers.

Empty responses and refusals are logged and recorded after the response.

*Mixed consumers* are written both with and without their generation. A write below microversion
1.28 does not compare the generation of the consumer, so it replaces without an error the
allocations that another client wrote at 1.28 or newer. The database does not have the microversion
of a write. Each process therefore keeps the recent writes that it served in memory: it can miss a
consumer whose writes were served by different processes.
"""

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Final

from placement import events, exception
from placement.core.model import ConsumerClaim
from placement.core.request import CandidateRequest
from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import printable
from placement.http.request import REQUEST_ID, Request
from placement.insight.explanation import explain, unknown_names
from placement.insight.explanation.model import CODES, NO_PROVIDERS, UNDETERMINED
from placement.insight.explanation.query import Question
from placement.insight.explanation.text import as_line
from placement.insight.queries import text
from placement.insight.recording import refusals, summary
from placement.insight.recording.model import (
    INVALID_REQUEST,
    NAME_CONFLICT,
    NO_CANDIDATES,
    REFUSED_CLAIM,
    RecordedRequest,
    new_id,
)
from placement.insight.recording.recorder import Recorder

LOG = logging.getLogger(__name__)

MOST_CONSUMERS: Final = 10_000
NOT_EXPLAINED: Final = "not_explained"

KNOWN_EVENTS: Final[Sequence[tuple[events.Metric, Sequence[str]]]] = (
    *((events.EMPTY_RESPONSES, [code]) for code in CODES),
    *((events.EMPTY_RESPONSES, [code]) for code in (NO_PROVIDERS, UNDETERMINED, NOT_EXPLAINED)),
    *((events.REFUSED_CLAIMS, [code, ""]) for code in refusals.CODES),
    *((events.REFUSED_CLAIMS, ["capacity", name]) for name in ("VCPU", "MEMORY_MB", "DISK_GB")),
    (events.MIXED_CONSUMERS, [events.OTHER, events.OTHER]),
)
"""Counters with labels that exist before their first event."""

_LONGEST_USER_AGENT = 200
_LONGEST_ID = 255
_LONGEST_QUERY = 16_000
_LONGEST_DOCUMENT = 60_000  # a TEXT of MySQL has 65,535 bytes


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
    ) -> list[tuple[str, str]]:
        """Add the successful claims of a request; log new mixtures, each once.

        Returns the User-Agents that write with and without the generation.
        """
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


def _mixture(consumer_uuid: str, earlier: Writer, writer: Writer) -> tuple[str, str]:
    comparing, other = (writer, earlier) if writer.compares_generation else (earlier, writer)
    LOG.warning(
        "Consumer %s is written with its generation (%s) and without (%s). Writes below 1.28 "
        "replace concurrent writes without an error: upgrade the client that sends them.",
        consumer_uuid,
        comparing,
        other,
    )
    return comparing.user_agent, other.user_agent


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
        observer = request.services.observer

        def report() -> None:
            reason = self._empty_response(request, snapshot, candidate_request)
            observer.count(events.EMPTY_RESPONSES, reason)

        request.after_response(report)

    def _empty_response(
        self, request: Request, snapshot: Snapshot, candidate_request: CandidateRequest
    ) -> str:
        """Log and record why the request has no candidates on this snapshot; return the code.

        Cost: one explanation, if the rate admits it and the result is logged or recorded.
        """
        if not (LOG.isEnabledFor(logging.INFO) or self.is_recording):
            return NOT_EXPLAINED
        question = Question(candidate_request, text(request.query_pairs), str(request.version))
        with self.recorder.explanation(NO_CANDIDATES) as is_admitted:
            if not is_admitted:
                line = "not explained: too many, or explanations that take too long"
                LOG.info("No allocation candidates for %s: %s", _id(request), line)
                return NOT_EXPLAINED
            explanation = explain.explained(snapshot, question)
        document = explain.document(explanation, question)
        LOG.info("No allocation candidates for %s: %s", _id(request), as_line(document))
        subject = summary.subject(explanation.last.names if explanation.last else ())
        facts = (NO_CANDIDATES, explanation.reason, json.dumps(document))
        self._record(request, *facts, query=_query(request), subject=subject)
        return explanation.reason

    @contextmanager
    def invalid_names_of(
        self, request: Request, snapshot: Snapshot, candidate_request: CandidateRequest
    ) -> Iterator[None]:
        """A context that logs and records that a trait or class does not exist, and raises it."""
        try:
            yield
        except exception.UnknownClassOrTrait as error:
            facts = (error, snapshot, candidate_request)
            request.after_response(partial(self._invalid_request, request, *facts))
            raise

    def _invalid_request(
        self,
        request: Request,
        error: exception.UnknownClassOrTrait,
        snapshot: Snapshot,
        candidate_request: CandidateRequest,
    ) -> None:
        with self.recorder.explanation(INVALID_REQUEST) as is_admitted:
            if not is_admitted:
                return
            unknown = unknown_names.unknown(error, snapshot, candidate_request)
        sentence = printable(unknown.sentence)
        LOG.info("Invalid request for candidates %s: %s", _id(request), sentence)
        facts = (INVALID_REQUEST, unknown.code, json.dumps(unknown.document()))
        subject = summary.subject([error.name])
        self._record(request, *facts, query=_query(request), subject=_shortened(subject))

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
            request.services.observer.count(events.REFUSED_CLAIMS, refusal.code, resource_class)
            request.after_response(partial(self._refused_claim, request, refusal, claims))
            raise
        user_agent = request.environ.get("HTTP_USER_AGENT", "")
        for agents in self.writes.add(claims, user_agent, str(request.version)):
            programs = map(events.client_of, agents)
            request.services.observer.count(events.MIXED_CONSUMERS, *programs)

    def _refused_claim(
        self, request: Request, refusal: refusals.Refusal, claims: Sequence[ConsumerClaim]
    ) -> None:
        names = self.recorder.provider_names(
            {uuid for claim in claims for uuid in claim.resources}
        )
        explanation = refusal.document(names)
        claim = refusals.claim(refusal, claims, names)
        if self.is_recording and self.recorder.admits(REFUSED_CLAIM):
            facts = (REFUSED_CLAIM, refusal.code, json.dumps(explanation))
            subject = summary.subject_of_refusal(refusal.facts)
            self._record(request, *facts, claim=_bounded(json.dumps(claim)), subject=subject)
        sentence = printable(refusals.sentence(explanation, claim) or "")
        LOG.warning("Claim refused, %s: %s (%s)", _id(request), sentence, refusal.line())

    @contextmanager
    def name_conflicts_of(self, request: Request, name: str, uuid: str) -> Iterator[None]:
        """A context that logs and records that the name or the UUID of a provider is taken."""
        try:
            yield
        except exception.DuplicateProvider as error:
            LOG.info("Provider %s (%s) refused, %s: %s", name, uuid, _id(request), error)
            request.after_response(partial(self._name_conflict, request, error, name, uuid))
            raise

    def _name_conflict(
        self, request: Request, error: exception.DuplicateProvider, name: str, uuid: str
    ) -> None:
        """Record the conflict: once an hour, because clients repeat such requests every minute."""
        holder = error.holder
        if holder is None or not self.is_recording:
            return
        key = f"{name} {uuid} {holder.uuid}"
        if self.recorder.is_new(key) and self.recorder.admits(NAME_CONFLICT):
            reason = f"duplicate_{error.attribute}"
            facts = {"name": name, "uuid": uuid, "holder": holder._asdict()}
            self._record(request, NAME_CONFLICT, reason, json.dumps(facts))

    def _record(
        self, request: Request, kind: str, reason: str, explanation: str, **columns: str | None
    ) -> None:
        now, context = datetime.now(UTC), request.context
        record = RecordedRequest(
            id=new_id(now),
            created_at=now.replace(microsecond=0, tzinfo=None),
            kind=kind,
            reason=reason,
            request_id=_id(request),
            global_request_id=context.global_request_id,
            project_id=_shortened(context.project_id),
            user_id=_shortened(context.user_id),
            microversion=str(request.version),
            explanation=_bounded(explanation),
            **columns,
        )
        self.recorder.record(record)


def _query(request: Request) -> str:
    return text(request.query_pairs)[:_LONGEST_QUERY]


def _id(request: Request) -> str | None:
    request_id: str | None = request.environ.get(REQUEST_ID)
    return request_id


def _shortened(name: str | None) -> str | None:
    """Return an id or names in ASCII, which databases of any character set can store."""
    if name is None:
        return None
    ascii_name = name.encode("ascii", "backslashreplace").decode("ascii")
    return ascii_name.replace("\0", "\\0")[:_LONGEST_ID]


def _bounded(document: str) -> str:
    """Return the JSON text, or a document with its length if the text is too long to store."""
    if len(document) <= _LONGEST_DOCUMENT:
        return document
    return json.dumps({"truncated": True, "length": len(document)})
