"""What operators learn of requests: empty responses and refusals.

They are logged and recorded after the response.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Final, NamedTuple, cast
from weakref import ReferenceType, ref

from placement import exception
from placement.core.model import ConsumerClaim
from placement.core.request import CandidateRequest
from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import Names, printable
from placement.db.resources.providers import provider_names
from placement.events import Metric
from placement.http.request import REQUEST_ID, Request
from placement.surface import Reports
from placement_insight import queries
from placement_insight.documents import Json, document
from placement_insight.explain import explain, unknown_names
from placement_insight.explain.causes import change_of_refusal, with_changes
from placement_insight.explain.explain import Question, comparable
from placement_insight.explain.records import refusals, summary
from placement_insight.explain.records.model import (
    INVALID_REQUEST,
    LOST_RACE,
    NAME_CONFLICT,
    NO_CANDIDATES,
    NOT_EXPLAINED,
    REFUSED_CLAIM,
    REFUSED_WRITE,
    Occurrence,
    RecordedRequest,
    equal_key,
    new_id,
)
from placement_insight.explain.records.recorder import Recorder
from placement_insight.explain.requirements import CODES, NO_PROVIDERS, UNDETERMINED
from placement_insight.explain.text import as_line

LOG = logging.getLogger(__name__)

MOST_EXPLAINED: Final = 200

EMPTY_RESPONSES: Final = Metric(
    "placement_empty_responses",
    "Requests for candidates that found none, by the requirement that removed the last.",
    ("reason",),
)
REFUSED_CLAIMS: Final = Metric(
    "placement_refused_claims",
    "Claims, and writes of inventories, that were refused.",
    ("reason", "resource_class"),
)
LOST_RACES: Final = Metric(
    "placement_lost_races",
    "Writes with a generation that was not the current one, or with conflicts in every retry.",
    ("reason",),
)
METRICS: Final[Mapping[Metric, Sequence[Sequence[str]]]] = {
    EMPTY_RESPONSES: [[code] for code in (*CODES, NO_PROVIDERS, UNDETERMINED, NOT_EXPLAINED)],
    REFUSED_CLAIMS: [
        *([code, ""] for code in refusals.CODES),
        *(["capacity", name] for name in ("VCPU", "MEMORY_MB", "DISK_GB")),
    ],
    LOST_RACES: [[code] for code in refusals.RACES],
}
"""The counters, and labels that exist before their first event."""

_LONGEST_ID = 255
_LONGEST_QUERY = 16_000
_LONGEST_DOCUMENT = 60_000  # a TEXT of MySQL has 65,535 bytes
_LINES: Final = {
    REFUSED_CLAIM: "Claim refused",
    REFUSED_WRITE: "Write refused",
    LOST_RACE: "Lost race",
}
_SENTENCE: Final = "not explained: too many, or explanations that take too long"


class _Facts(NamedTuple):
    """What is recorded of a request.

    Requests of one caller with the same reason, project and ``equal`` values are equal.
    ``explanation`` and ``claim`` are JSON text. ``owner`` is a claim with its project and user.
    ``line`` is the log line of a request without candidates. ``written`` is the consumer or the
    provider of a lost race.
    """

    kind: str
    reason: str
    explanation: str
    equal: tuple[str | None, ...]
    query: str | None = None
    claim: str | None = None
    subject: str | None = None
    owner: ConsumerClaim | None = None
    line: str = ""
    written: str | None = None


_Explained = tuple[ReferenceType[Snapshot], _Facts]
"""The last explanation of equal requests without candidates, and its snapshot."""


@dataclass(frozen=True, slots=True)
class OperatorReports(Reports):
    """``Reports`` that logs, counts and records."""

    recorder: Recorder
    explained: dict[tuple[str, str], _Explained] = field(default_factory=dict)
    refused: set[tuple[str | None, ...]] = field(default_factory=set)

    @property
    def records_changes(self) -> bool:
        """Whether records have changes, which have the ids of users."""
        return self.is_recording and self.recorder.records_users

    @property
    def is_recording(self) -> bool:
        """Whether requests are recorded."""
        return self.recorder.is_enabled

    def write_counts(self) -> None:
        """Write what this process has counted, before it is read."""
        self.recorder.flush()

    def candidates_found(self, request: Request) -> None:
        """Earlier requests with the same global request id are superseded by this one."""
        if global_request_id := request.context.global_request_id:
            self.recorder.found(global_request_id, at=datetime.now(UTC))

    def empty_response(
        self, request: Request, snapshot: Snapshot, candidate_request: CandidateRequest
    ) -> None:
        """After the response, log, record and count the reason of the empty response."""
        self._after(request, self._empty_response, snapshot, candidate_request)

    def _empty_response(
        self, request: Request, at: datetime, snapshot: Snapshot, candidates: CandidateRequest
    ) -> None:
        """Log, record and count why the request has no candidates on this snapshot.

        Cost: one explanation, if the rate admits it and the result is logged or recorded.
        """
        reason = NOT_EXPLAINED
        if LOG.isEnabledFor(logging.INFO) or self.is_recording:
            facts = self._reason(request, snapshot, candidates)
            LOG.info("No allocation candidates for %s: %s", _id(request), facts.line)
            self._record(request, at, facts)
            reason = facts.reason
        request.services.observer.count(EMPTY_RESPONSES, reason)

    def _reason(
        self, request: Request, snapshot: Snapshot, candidate_request: CandidateRequest
    ) -> _Facts:
        """Return why the request has no candidates.

        Equal requests are explained once for a snapshot, others have the last explanation of an
        equal request if the rate does not admit another one.
        """
        query, key = _asked(request, candidate_request)
        last_snapshot, facts = self.explained.get(key, (None, None))
        if last_snapshot is None or last_snapshot() is not snapshot:
            kind = f"{NO_CANDIDATES}{' again' if facts else ''}"
            with self.recorder.explanation(kind) as is_admitted:
                if is_admitted:
                    if len(self.explained) >= MOST_EXPLAINED:
                        self.explained.clear()
                    question = Question(candidate_request, query, request.version)
                    facts = self._explained(snapshot, question, key)
                    self.explained[key] = ref(snapshot), facts
        if facts:
            return facts
        explanation = document(sentence=_SENTENCE)
        not_explained = _of_query(NO_CANDIDATES, NOT_EXPLAINED, explanation, query, key)
        return not_explained._replace(line=_SENTENCE)

    def _explained(self, snapshot: Snapshot, question: Question, key: tuple[str, str]) -> _Facts:
        explanation = explain.explained(snapshot, question)
        if self.records_changes:
            read = partial(with_changes, snapshot=snapshot, explanation=explanation)
            explanation = self.recorder.read(read, explanation)
        explained = explanation.document()
        last = explanation.last
        subject = summary.subject(last.names if last else ())
        facts = _of_query(NO_CANDIDATES, explanation.reason, explained, question.query, key)
        return facts._replace(subject=subject, line=as_line(explained))

    @contextmanager
    def invalid_names_of(
        self, request: Request, snapshot: Snapshot, candidate_request: CandidateRequest
    ) -> Iterator[None]:
        """A context that logs and records that a trait or class does not exist, and raises it."""
        try:
            yield
        except exception.UnknownClassOrTrait as error:
            self._after(request, self._invalid_request, error, snapshot, candidate_request)
            raise

    def _invalid_request(
        self,
        request: Request,
        at: datetime,
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
        subject = _shortened(summary.subject([error.name]))
        query, key = _asked(request, candidate_request)
        facts = _of_query(INVALID_REQUEST, unknown.code, unknown.document(), query, key)
        self._record(request, at, facts._replace(subject=subject))

    @contextmanager
    def results_of(
        self,
        request: Request,
        claims: Sequence[ConsumerClaim] = (),
        providers: Sequence[str] = (),
    ) -> Iterator[None]:
        """A context that logs, records and counts the refusal of a write, and raises it.

        It is logged after the response, because names of providers that the write did not read are
        read from the database. A write that is accepted supersedes the lost races of its
        consumers and providers that were lost before it began.
        """
        began = datetime.now(UTC)
        try:
            yield
        except refusals.REFUSALS as error:
            refusal = refusals.described(error)
            if refusal.is_race:
                request.services.observer.count(LOST_RACES, refusal.code)
            else:  # a refusal about several classes has the label ""
                resource_class = str(refusal.facts.get("resource_class", ""))
                request.services.observer.count(REFUSED_CLAIMS, refusal.code, resource_class)
            self._after(request, self._refused, refusal, claims, error.provider_names)
            raise
        consumers = (claim.consumer_uuid for claim in claims)
        self.recorder.found(*consumers, *providers, *request.route.values(), at=began)

    def _refused(
        self,
        request: Request,
        at: datetime,
        refusal: refusals.Refusal,
        claims: Sequence[ConsumerClaim],
        names: Names,
    ) -> None:
        provider = str(refusal.facts.get("provider", ""))
        claimed = {uuid for claim in claims for uuid in claim.resources}
        if missing := (claimed | {provider} - {""}) - names.keys():
            unnamed = dict[str, str]()
            read = self.recorder.read(lambda tx: provider_names(tx.connection, missing), unnamed)
            names = {**names, **read}
        subject = summary.subject(refusals.classes(refusal))
        owner = refusals.refused_claim(refusal, claims)
        user = (owner or request.context).project_id, request.context.user_id
        equal = (f"{at:%Y-%m-%dT%H}", refusal.code, provider, subject, *user)
        explanation = refusal.document(names) | self._change(refusal, equal)
        claim = refusals.claim(refusal, claims, names)
        if not self.recorder.records_users:
            claim.pop("user_id", None)
        sentence = printable(refusals.sentence(explanation, claim) or "")
        kind = REFUSED_CLAIM if claims else REFUSED_WRITE
        kind, level = (LOST_RACE, logging.INFO) if refusal.is_race else (kind, logging.WARNING)
        LOG.log(level, "%s, %s: %s (%s)", _LINES[kind], _id(request), sentence, refusal.line())
        raced = (provider, owner.consumer_uuid if owner else "", *request.route.values())
        written = next(filter(None, raced), None) if refusal.is_race else None
        facts = _Facts(
            *(kind, refusal.code, json.dumps(explanation)),
            equal=(written or provider or None, subject),
            claim=_bounded(json.dumps(claim)),
            subject=subject,
            owner=owner,
            written=written,
        )
        self._record(request, at, facts)

    def _change(self, refusal: refusals.Refusal, equal: tuple[str | None, ...]) -> Json:
        """Return the change that explains a refusal, if it is recorded and the rate admits it.

        It is read for the first of equal refusals, whose record has the number of all.
        """
        change = ""
        if self.records_changes and not refusal.is_race and equal not in self.refused:
            if len(self.refused) >= MOST_EXPLAINED:
                self.refused.clear()
            self.refused.add(equal)
            with self.recorder.explanation(refusal.code) as is_admitted:
                if is_admitted:
                    change = self.recorder.read(partial(change_of_refusal, refusal=refusal), "")
        return {"change": change} if change else {}

    @contextmanager
    def name_conflicts_of(self, request: Request, name: str, uuid: str) -> Iterator[None]:
        """A context that logs and records that the name or the UUID of a provider is taken."""
        try:
            yield
        except exception.DuplicateProvider as error:
            LOG.info("Provider %s (%s) refused, %s: %s", name, uuid, _id(request), error)
            if (holder := error.holder) is not None:
                reason = f"duplicate_{error.attribute}"
                text = json.dumps({"name": name, "uuid": uuid, "holder": holder._asdict()})
                equal = (name, uuid, holder.uuid)
                self._after(request, self._record, _Facts(NAME_CONFLICT, reason, text, equal))
            raise

    def _after(self, request: Request, report: Callable[..., None], *facts: object) -> None:
        """Report after the response what happened now."""
        task = partial(report, request, datetime.now(UTC), *facts)
        request.after_response(self.recorder.awaited(task))

    def _record(self, request: Request, at: datetime, facts: _Facts) -> None:
        context, second = request.context, at.replace(microsecond=0, tzinfo=None)
        owner = facts.owner or context
        project_id, user_id, caller_id = owner.project_id, owner.user_id, context.user_id
        if not self.recorder.records_users:
            user_id = caller_id = None
        ids = _id(request), context.global_request_id
        latest = Occurrence(at.replace(tzinfo=None), *ids, written=facts.written)
        parts = (facts.kind, facts.reason, *facts.equal, project_id, caller_id)
        record = RecordedRequest(
            *(new_id(at), second, facts.kind, facts.reason, *ids),
            project_id=_shortened(project_id),
            user_id=_shortened(user_id),
            microversion=str(request.version),
            explanation=_bounded(facts.explanation),
            query=facts.query,
            claim=facts.claim,
            subject=facts.subject,
            equal_key=equal_key(at, *parts),
            last_at=second,
            latest=(latest,),
        )
        self.recorder.record(record)


def reports_of(request: Request) -> OperatorReports:
    """Return the reports of the process; the routes of this package are served with them only."""
    return cast("OperatorReports", request.services.reports)


def _of_query(
    kind: str, reason: str, explanation: Json, query: str, key: tuple[str, str]
) -> _Facts:
    return _Facts(kind, reason, json.dumps(explanation), key, query=query[:_LONGEST_QUERY])


def _asked(request: Request, candidates: CandidateRequest) -> tuple[str, tuple[str, str]]:
    """Return the query, and what equal queries have in common."""
    query = queries.text(request.query_pairs)
    return query, (comparable(candidates, query), str(request.version))


def _id(request: Request) -> str | None:
    return cast("str | None", request.environ.get(REQUEST_ID))


def _shortened(name: str | None) -> str | None:
    """Return an id or names in ASCII, which databases of any character set can store."""
    if name is None:
        return None
    ascii_name = name.encode("ascii", "backslashreplace").decode("ascii")
    return ascii_name.replace("\0", "\\0")[:_LONGEST_ID]


def _bounded(document_text: str) -> str:
    """Return the JSON text, or a document with its length if the text is too long to store."""
    if len(document_text) <= _LONGEST_DOCUMENT:
        return document_text
    return json.dumps({"truncated": True, "length": len(document_text)})
