"""Values of recorded requests: requests without candidates, and refused claims."""

import hashlib
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

NO_CANDIDATES = "no_candidates"
REFUSED_CLAIM = "refused_claim"
REFUSED_WRITE = "refused_write"
"""A write of inventories, or the deletion of a provider, that was refused."""
LOST_RACE = "lost_race"
"""A write whose generation was not the current one, or that met concurrent writes: no refusal."""
OF_WRITES = (REFUSED_CLAIM, REFUSED_WRITE, LOST_RACE)
INVALID_REQUEST = "invalid_request"
"""A request for candidates that names a trait or a class that does not exist."""
NAME_CONFLICT = "name_conflict"
"""A provider whose name or UUID is taken; listed by ``/insight/identity`` only."""

NOT_EXPLAINED = "not_explained"
"""The reason of a request for candidates that the rate of explanations did not admit."""

# An id is a time (milliseconds, and 10 bits for the microseconds within the millisecond) followed
# by a random number. Ids are in the order of time on every host, and an age is a range of the
# primary key. Ids stay below 2**63 until 2109.
_RANDOM_BITS = 11
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
LARGEST_ID = 2**63 - 1
MOST_LATEST: Final = 200
"""The number of latest requests of which a record has the ids."""
IDS_OF_AN_HOUR = timedelta(hours=1) // _MILLISECOND << 10 + _RANDOM_BITS


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One of the equal requests of a record; ``at`` is naive UTC.

    ``superseded``: a later request with the same global request id had candidates; or a later
    write of the ``written`` consumer or provider, of a lost race, was accepted.
    """

    at: datetime
    request_id: str | None
    global_request_id: str | None
    superseded: bool = False
    written: str | None = None

    def is_superseded_by(self, found: "Found") -> bool:
        """Return whether one of the later requests supersedes this one first."""
        at = found.get(self.written or self.global_request_id or "")
        return not self.superseded and at is not None and self.at <= at


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """Equal requests of one hour, or equal conflicts of names of providers.

    The first one has the id, the time, the request ids and the explanation. Times are naive UTC in
    whole seconds. ``query`` is the query of a request for candidates. ``claim`` and
    ``explanation`` are JSON text. ``project_id`` and ``user_id`` are those of the claim, else
    those of the caller. ``subject`` has the names that the reason is about, see ``summary``.
    ``requests`` is the number of requests, and ``latest`` has the last ones, the newest first.
    Requests with the same ``equal_key`` are equal.
    """

    id: int
    created_at: datetime
    kind: str
    reason: str
    request_id: str | None
    global_request_id: str | None
    project_id: str | None
    user_id: str | None
    microversion: str
    explanation: str
    equal_key: str
    last_at: datetime
    latest: tuple[Occurrence, ...]
    query: str | None = None
    claim: str | None = None
    subject: str | None = None
    requests: int = 1
    superseded: int = 0

    @property
    def is_superseded(self) -> bool:
        """Whether all of the requests were superseded."""
        return self.superseded == self.requests

    def with_equal(self, other: "RecordedRequest") -> "RecordedRequest":
        """Return the record with the requests of an equal record."""
        latest = sorted((*self.latest, *other.latest), key=lambda each: each.at, reverse=True)
        return replace(
            self,
            requests=self.requests + other.requests,
            superseded=self.superseded + other.superseded,
            last_at=max(self.last_at, other.last_at),
            latest=tuple(latest[:MOST_LATEST]),
        )

    def superseded_by(self, found: "Found") -> "RecordedRequest":
        """Return the record after later requests had candidates, or were accepted."""
        latest = tuple(
            replace(each, superseded=True) if each.is_superseded_by(found) else each
            for each in self.latest
        )
        number = sum(each.superseded for each in latest)
        before = sum(each.superseded for each in self.latest)
        return replace(self, superseded=self.superseded + number - before, latest=latest)

    def of(self, request_id: str) -> Occurrence | None:
        """Return the request with this id or global id, the last one if several have it."""
        first = Occurrence(self.created_at, self.request_id, self.global_request_id)
        with_id = (
            each
            for each in (*self.latest, first)
            if request_id in (each.request_id, each.global_request_id)
        )
        return next(with_id, None)


Found = Mapping[str, datetime]
"""When requests had candidates, by global request id, and when writes were accepted, by the UUID
of the consumer or provider; naive UTC."""


def equal_key(at: datetime, *parts: str | None) -> str:
    """Return a key that requests with these parts have in the hour of a time.

    >>> hour = datetime(2026, 11, 21, 2)
    >>> equal_key(hour, "a", None) == equal_key(hour + timedelta(minutes=59), "a", None)
    True
    """
    text = json.dumps([f"{at:%Y-%m-%dT%H}", *parts])
    return hashlib.sha256(text.encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class RecordedFilter:
    """The recorded requests to list: at most ``limit``, and with ids below ``before`` if set.

    ``since`` is compared with the last of equal requests.
    """

    since: datetime | None = None
    project_id: str | None = None
    reason: str | None = None
    before: int | None = None
    limit: int = 100


def first_id(at: datetime) -> int:
    """Return the smallest id of this time (aware), at most the largest integer of databases.

    >>> first_id(datetime(2026, 11, 21, tzinfo=UTC)) < first_id(datetime(2026, 11, 22, tzinfo=UTC))
    True
    """
    milliseconds, rest = divmod(max(at - _EPOCH, timedelta(0)), _MILLISECOND)
    return min((milliseconds << 10 | rest.microseconds) << _RANDOM_BITS, LARGEST_ID)


def new_id(at: datetime) -> int:
    """Return an id of this time with random low bits, to differ from other ids of the time."""
    return first_id(at) + random.getrandbits(_RANDOM_BITS)
