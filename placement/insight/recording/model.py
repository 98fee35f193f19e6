"""Values of recorded requests: requests without candidates, and refused claims."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

NO_CANDIDATES = "no_candidates"
REFUSED_CLAIM = "refused_claim"
INVALID_REQUEST = "invalid_request"
"""A request for candidates that names a trait or a class that does not exist."""
NAME_CONFLICT = "name_conflict"
"""A provider whose name or UUID is taken; listed by ``/insight/identity`` only."""

# An id is a time (milliseconds, and 10 bits for the microseconds within the millisecond) followed
# by a random number. Ids are in the order of time on every host, and an age is a range of the
# primary key. Ids stay below 2**63 until 2109.
_RANDOM_BITS = 11
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
LARGEST_ID = 2**63 - 1
IDS_OF_AN_HOUR = timedelta(hours=1) // _MILLISECOND << 10 + _RANDOM_BITS


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One recorded request, or a conflict of names of providers.

    ``created_at`` is naive UTC in whole seconds. ``query`` is the query of a request for
    candidates. ``claim`` and ``explanation`` are JSON text. ``project_id`` and ``user_id``
    identify the caller. ``subject`` has the names that the reason is about, see ``summary``.
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
    query: str | None = None
    claim: str | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedFilter:
    """The recorded requests to list: at most ``limit``, and with ids below ``before`` if set."""

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
