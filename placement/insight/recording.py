"""What is logged and recorded of a request that found nothing, and of a claim that was refused."""

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from placement.core.insight.recorded import (
    NAME_CONFLICT,
    NO_CANDIDATES,
    REFUSED_CLAIM,
    RecordedRequest,
)
from placement.core.model import ConsumerClaim
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import DuplicateProviderName, DuplicateProviderUuid, PlacementException
from placement.insight import refusals
from placement.insight.question import Question
from placement.insight.recorder import Recorder, new_id

LOG = logging.getLogger(__name__)

NOT_EXPLAINED = "not_explained"
DUPLICATE_NAME = "duplicate_name"
DUPLICATE_UUID = "duplicate_uuid"
_LONGEST_ID = 255
_LONGEST_QUERY = 16_000
_LONGEST_DOCUMENT = 60_000  # a TEXT of MySQL has 65,535 bytes


@dataclass(frozen=True, slots=True)
class Origin:
    """Who sent a request, under which ids, and at which microversion."""

    request_id: str | None
    global_request_id: str | None
    project_id: str | None
    user_id: str | None
    microversion: str


def empty_response(
    recorder: Recorder, snapshot: Snapshot, question: Question, origin: Origin
) -> str:
    """Log and record why the request has no candidates on this snapshot; return the code.

    Costs an explanation, if one is admitted by the rate and somebody reads it.
    """
    is_logged = LOG.isEnabledFor(logging.INFO)
    if not (is_logged or recorder.is_enabled):
        return NOT_EXPLAINED
    if not recorder.admits(NO_CANDIDATES):
        limit = recorder.settings.per_second
        line = f"not explained: more than {limit} empty responses a second, or large explanations"
        LOG.info("No allocation candidates for %s: %s", origin.request_id, line)
        return NOT_EXPLAINED
    from placement.insight import explaining  # noqa: PLC0415  see its docstring

    began = time.thread_time()
    reason = explaining.reason(snapshot, question)
    recorder.charge(NO_CANDIDATES, time.thread_time() - began)
    LOG.info("No allocation candidates for %s: %s", origin.request_id, reason.line)
    record = _recorded(origin, NO_CANDIDATES, reason.code, reason.document)
    recorder.record(replace(record, query=_ascii(question.query)[:_LONGEST_QUERY]))
    return reason.code


def refused_claim(
    recorder: Recorder,
    error: PlacementException,
    claims: Sequence[ConsumerClaim],
    origin: Origin,
) -> None:
    """Record why the claims were refused."""
    if recorder.is_enabled and recorder.admits(REFUSED_CLAIM):
        refusal = refusals.described(error)
        record = _recorded(origin, REFUSED_CLAIM, refusal.code, json.dumps(refusal.document()))
        claim = json.dumps(refusals.claim(error, claims))
        recorder.record(replace(record, claim=_bounded(claim)))


NameTaken = DuplicateProviderName | DuplicateProviderUuid


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


def _recorded(origin: Origin, kind: str, reason: str, explanation: str) -> RecordedRequest:
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
    )


def _shortened(text: str | None) -> str | None:
    return None if text is None else _ascii(text)[:_LONGEST_ID]


def _ascii(text: str) -> str:
    """Return the text as every database can hold it, whatever its character set."""
    return text.encode("ascii", "backslashreplace").decode("ascii").replace("\0", "\\0")


def _bounded(document: str) -> str:
    """Return the JSON text, or a document that says that it was too long to keep."""
    if len(document) <= _LONGEST_DOCUMENT:
        return document
    return json.dumps({"truncated": True, "length": len(document)})
