"""Records and logs requests without candidates and refused claims.

Writes are bounded in number, age and rate, and never delay the response. One thread of a process
writes at a time. If another thread is writing, that thread writes the record, so that a slow
database delays at most one thread. After a failure, writes pause for some seconds, and the records
of this time are dropped.
"""

import json
import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from placement.core.model import ConsumerClaim
from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import printable
from placement.db.connections.pools import PerProcess
from placement.db.store import Store
from placement.exception import (
    DuplicateProviderName,
    DuplicateProviderUuid,
    PlacementException,
    UnknownResourceClass,
    UnknownTrait,
)
from placement.insight.explanation import explain, unknown_names
from placement.insight.explanation.query import Question
from placement.insight.explanation.text import as_line
from placement.insight.recording import refusals, sql, summary
from placement.insight.recording.model import (
    INVALID_REQUEST,
    NAME_CONFLICT,
    NO_CANDIDATES,
    RANDOM_BITS,
    REFUSED_CLAIM,
    RecordedRequest,
    first_id,
)

LOG = logging.getLogger(__name__)

PRUNE_AFTER_ROWS: Final = 50
"""The number of rows that a process adds before it prunes."""
PRUNE_BATCH: Final = 100
"""The number of rows that one transaction removes."""

_PRUNE_BATCHES = 5
_PRUNE_AFTER_SECONDS = 600.0
_PAUSE_SECONDS = 10.0
_REPEATED_AFTER_SECONDS = 3600.0
_MOST_SEEN = 1000
_SECONDS_BETWEEN_WARNINGS = 60.0
_MOST_WAITING = 100
_ATTEMPTS = 3
_CPU_OF_EXPLANATIONS = 0.05  # seconds of CPU time per second
_MOST_CPU_AT_ONCE = 0.5

NOT_EXPLAINED = "not_explained"
DUPLICATE_NAME = "duplicate_name"
DUPLICATE_UUID = "duplicate_uuid"
_LONGEST_ID = 255
_LONGEST_QUERY = 16_000
_LONGEST_DOCUMENT = 60_000  # a TEXT of MySQL has 65,535 bytes

NameTaken = DuplicateProviderName | DuplicateProviderUuid
UnknownName = UnknownTrait | UnknownResourceClass


@dataclass(frozen=True, slots=True)
class RecorderSettings:
    """The options of [insight] that begin with ``record``."""

    enabled: bool = True
    max_rows: int = 10_000
    max_age_days: int = 30
    per_second: int = 5


class Recorder:
    """The recorder of one service; safe to share between threads, and to fork with."""

    def __init__(
        self,
        store: Store | None,
        settings: RecorderSettings,
        clock: Callable[[], float] = time.monotonic,
        thread_time: Callable[[], float] = time.thread_time,
    ) -> None:
        self.settings = settings
        self.is_enabled = settings.enabled and store is not None
        self._store = None if store is None else store.with_max_attempts(_ATTEMPTS)
        self._clock = clock
        self._thread_time = thread_time
        self._process = PerProcess(lambda: _Process(settings.per_second))

    @property
    def dropped(self) -> int:
        """The number of records that this process could not write."""
        return self._process().dropped

    def admits(self, kind: str) -> bool:
        """Return whether the rate allows one more record of this kind."""
        return self._process().admits(kind, self._clock())

    @contextmanager
    def explanation(self, kind: str) -> Iterator[bool]:
        """A context for one explanation; yields whether the rate and the CPU time allow it.

        The explanations of a kind take at most a twentieth of a processor in a process, except
        half a second at once.
        """
        process = self._process()
        if not process.admits_explanation(kind, self._clock()):
            yield False
            return
        start = self._thread_time()
        try:
            yield True
        finally:
            process.explained(kind, self._thread_time() - start)

    def is_new(self, key: str) -> bool:
        """Return whether this process did not see the key in the last hour.

        Requests that clients repeat every minute are recorded once, so that they do not displace
        other records.
        """
        return self._process().is_new(key, self._clock())

    def provider_names(self, uuids: Iterable[str]) -> Mapping[str, str]:
        """Return the names of providers by UUID, none if they cannot be read.  Never raises."""
        if self._store is None:
            return {}
        try:
            return sql.provider_names(self._store, uuids)
        except Exception:  # a line without names is better than none
            return {}

    def record(self, record: RecordedRequest) -> None:
        """Write the record, queue it for the writing thread, or drop it.  Never raises."""
        if not self.is_enabled:
            return
        process = self._process()
        if self._clock() < process.paused_until:
            process.dropped += 1
            return
        process.wait(record)
        while process.waiting and process.writing.acquire(blocking=False):
            try:
                self._write(process)
            finally:
                process.writing.release()

    def _write(self, process: "_Process") -> None:
        records = process.take()
        try:
            process.unpruned += self._transaction(sql.insert, records)
            records = []
            if process.is_pruning_due(self._clock()):
                self._prune()
                process.unpruned, process.pruned_at = 0, self._clock()
        except Exception as error:  # a failure of the recorder must not fail the request
            process.paused_until = self._clock() + _PAUSE_SECONDS
            process.dropped += len(records) + len(process.waiting)
            process.waiting.clear()
            process.warn(error, self._clock())

    def _prune(self) -> None:
        """Remove a few batches of rows that are too old or in excess of the maximum."""
        oldest = datetime.now(UTC) - timedelta(days=self.settings.max_age_days)
        for _ in range(_PRUNE_BATCHES):
            removed = self._transaction(
                sql.prune, first_id(oldest), self.settings.max_rows, PRUNE_BATCH
            )
            if removed < PRUNE_BATCH:
                return

    def _transaction(self, work: Callable[..., int], *arguments: object) -> int:
        assert self._store is not None  # noqa: S101  is_enabled
        return self._store.write(work, *arguments)


class _Allowance:
    """An amount that is added at a rate up to a maximum, and that can be overdrawn."""

    def __init__(self, per_second: float, most: float, now: float) -> None:
        self._per_second = per_second
        self._most = self._left = most
        self._at = now

    def left(self, now: float) -> float:
        """Return the amount of this time."""
        self._left = min(self._most, self._left + (now - self._at) * self._per_second)
        self._at = now
        return self._left

    def take(self, amount: float) -> None:
        """Subtract an amount."""
        self._left -= amount


@dataclass
class _Process:
    """The state of the recorder in one process."""

    per_second: int
    records: dict[str, _Allowance] = field(default_factory=dict)
    explaining: dict[str, _Allowance] = field(default_factory=dict)
    waiting: deque[RecordedRequest] = field(default_factory=lambda: deque(maxlen=_MOST_WAITING))
    writing: threading.Lock = field(default_factory=threading.Lock)
    counting: threading.Lock = field(default_factory=threading.Lock)
    unpruned: int = PRUNE_AFTER_ROWS  # a process that starts prunes with its first row
    pruned_at: float = 0.0
    paused_until: float = float("-inf")
    warned_at: float = float("-inf")
    dropped: int = 0
    seen: dict[str, float] = field(default_factory=dict)

    def admits(self, kind: str, now: float) -> bool:
        """Count a record of this kind, if the rate allows it."""
        with self.counting:
            new = _Allowance(self.per_second, self.per_second, now)
            allowance = self.records.setdefault(kind, new)
            if allowance.left(now) < 1:
                return False
            allowance.take(1)
            return True

    def admits_explanation(self, kind: str, now: float) -> bool:
        """Count a record of this kind, if the rate and the CPU time allow its explanation."""
        with self.counting:
            new = _Allowance(_CPU_OF_EXPLANATIONS, _MOST_CPU_AT_ONCE, now)
            has_time = self.explaining.setdefault(kind, new).left(now) > 0
        return has_time and self.admits(kind, now)

    def explained(self, kind: str, seconds: float) -> None:
        """Count the CPU time of an admitted explanation."""
        with self.counting:
            self.explaining[kind].take(seconds)

    def is_new(self, key: str, now: float) -> bool:
        """Store the key for an hour; return whether it was not stored already."""
        with self.counting:
            if now - self.seen.get(key, float("-inf")) < _REPEATED_AFTER_SECONDS:
                return False
            if len(self.seen) >= _MOST_SEEN:
                self.seen = {}
            self.seen[key] = now
            return True

    def wait(self, record: RecordedRequest) -> None:
        """Queue the record for the next write; if the queue is full, the oldest is dropped."""
        if len(self.waiting) == _MOST_WAITING:
            self.dropped += 1
        self.waiting.append(record)

    def take(self) -> list[RecordedRequest]:
        """Remove and return the waiting records."""
        return [self.waiting.popleft() for _ in range(len(self.waiting))]

    def is_pruning_due(self, now: float) -> bool:
        """Return whether enough rows or enough time have passed since the last pruning."""
        return self.unpruned >= PRUNE_AFTER_ROWS or now - self.pruned_at >= _PRUNE_AFTER_SECONDS

    def warn(self, error: Exception, now: float) -> None:
        """Log, once a minute, that records are dropped."""
        if now - self.warned_at >= _SECONDS_BETWEEN_WARNINGS:
            LOG.warning(
                "Requests cannot be recorded: %s. Dropped so far: %d. [insight]record = false "
                "turns the recorder off.",
                str(error).partition("\n")[0],
                self.dropped,
            )
            self.warned_at = now


def new_id(at: datetime) -> int:
    """Return an id of this time with random low bits, to differ from other ids of the time."""
    return first_id(at) + random.getrandbits(RANDOM_BITS)


@dataclass(frozen=True, slots=True)
class Origin:
    """The caller, the ids and the microversion of a request."""

    request_id: str | None
    global_request_id: str | None
    project_id: str | None
    user_id: str | None
    microversion: str


def empty_response(
    recorder: Recorder, snapshot: Snapshot, question: Question, origin: Origin
) -> str:
    """Log and record why the request has no candidates on this snapshot; return the code.

    Cost: one explanation, if the rate admits it and the result is logged or recorded.
    """
    is_logged = LOG.isEnabledFor(logging.INFO)
    if not (is_logged or recorder.is_enabled):
        return NOT_EXPLAINED
    with recorder.explanation(NO_CANDIDATES) as is_admitted:
        if not is_admitted:
            line = "not explained: too many, or explanations that take too long"
            LOG.info("No allocation candidates for %s: %s", origin.request_id, line)
            return NOT_EXPLAINED
        document = explain.document(snapshot, question)
    LOG.info("No allocation candidates for %s: %s", origin.request_id, as_line(document))
    reason = explain.reason(document)
    subject = summary.subject_of_explanation(reason, document)
    record = _recorded(origin, NO_CANDIDATES, reason, json.dumps(document), subject)
    recorder.record(replace(record, query=_query(question)))
    return reason


def invalid_request(
    recorder: Recorder,
    error: UnknownName,
    snapshot: Snapshot,
    question: Question,
    origin: Origin,
) -> None:
    """Log and record that a request for candidates has names that do not exist."""
    with recorder.explanation(INVALID_REQUEST) as is_admitted:
        if not is_admitted:
            return
        document = unknown_names.document(error, snapshot, question.request)
    sentence = printable(document["sentence"])
    LOG.info("Invalid request for candidates %s: %s", origin.request_id, sentence)
    reason, subject = document["code"], summary.subject([error.name])
    record = _recorded(origin, INVALID_REQUEST, reason, json.dumps(document), subject)
    recorder.record(replace(record, query=_query(question)))


def refused_claim(
    recorder: Recorder,
    error: PlacementException,
    claims: Sequence[ConsumerClaim],
    origin: Origin,
) -> None:
    """Log and record the reason of the refusal of the claims, with the names of providers."""
    refusal = refusals.described(error)
    names = recorder.provider_names(refusals.providers(refusal, claims))
    explanation = refusal.document(names)
    claim = refusals.claim(error, claims, names)
    if recorder.is_enabled and recorder.admits(REFUSED_CLAIM):
        subject = summary.subject_of_refusal(refusal.facts)
        document = json.dumps(explanation)
        record = _recorded(origin, REFUSED_CLAIM, refusal.code, document, subject)
        recorder.record(replace(record, claim=_bounded(json.dumps(claim))))
    sentence = printable(refusals.sentence(explanation, claim) or "")
    LOG.warning("Claim refused, %s: %s (%s)", origin.request_id, sentence, refusal.line())


def name_conflict(
    recorder: Recorder, error: NameTaken, name_and_uuid: tuple[str, str], origin: Origin
) -> None:
    """Record that a provider with this name and UUID was refused.

    Clients repeat such requests every minute: a process records the same conflict once an hour.
    """
    holder = error.holder
    if holder is None or not recorder.is_enabled:
        return
    name, uuid = name_and_uuid
    facts = {"name": name, "uuid": uuid, "holder": holder._asdict()}
    if recorder.is_new(f"{name} {uuid} {holder.uuid}") and recorder.admits(NAME_CONFLICT):
        reason = DUPLICATE_UUID if isinstance(error, DuplicateProviderUuid) else DUPLICATE_NAME
        recorder.record(_recorded(origin, NAME_CONFLICT, reason, json.dumps(facts)))


def _query(question: Question) -> str:
    return _ascii(question.query)[:_LONGEST_QUERY]


def _recorded(
    origin: Origin, kind: str, reason: str, explanation: str, subject: str | None = None
) -> RecordedRequest:
    now = datetime.now(UTC)
    return RecordedRequest(
        id=new_id(now),
        at=now.replace(microsecond=0),
        kind=kind,
        reason=reason,
        request_id=origin.request_id,
        global_request_id=origin.global_request_id,
        project_id=_shortened(origin.project_id),
        user_id=_shortened(origin.user_id),
        microversion=origin.microversion,
        query=None,
        claim=None,
        explanation=_bounded(explanation),
        subject=subject,
    )


def _shortened(text: str | None) -> str | None:
    return None if text is None else _ascii(text)[:_LONGEST_ID]


def _ascii(text: str) -> str:
    """Return the text in ASCII, which databases of any character set can store."""
    return text.encode("ascii", "backslashreplace").decode("ascii").replace("\0", "\\0")


def _bounded(document: str) -> str:
    """Return the JSON text, or a document with its length if the text is too long to store."""
    if len(document) <= _LONGEST_DOCUMENT:
        return document
    return json.dumps({"truncated": True, "length": len(document)})
