"""Summaries: how many requests were recorded in each hour, by kind, reason, names and project.

A reason can be about resource classes, traits or aggregates: the *subject* of the record. The
recorder stores it in a column, so a summary reads no explanations.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from placement.core.requirement import Subject
from placement.core.text import timestamp
from placement_insight.documents import Json, document
from placement_insight.explain.records import refusals
from placement_insight.explain.records.model import IDS_OF_AN_HOUR, LOST_RACE, first_id
from placement_insight.explain.requirements import REQUIREMENTS
from placement_insight.explain.unknown_names import UNKNOWN_CLASS, UNKNOWN_TRAIT

LONGEST: Final = timedelta(days=31)
DEFAULT: Final = timedelta(hours=23)
"""The period of a summary, before the current hour."""

MOST_NAMES: Final = 20
"""The number of names in one list of a summary."""

LISTS: Final = (
    *("kinds", "reasons", "resource_classes", "traits", "aggregates", "projects", "races"),
)

_LONGEST_SUBJECT = 255


_SUBJECTS: Final[Mapping[str, Subject]] = {
    **{requirement.code: requirement.subject for requirement in REQUIREMENTS},
    UNKNOWN_CLASS: "resource_classes",
    UNKNOWN_TRAIT: "traits",
    refusals.InUse.code: "resource_classes",
}
"""The list that counts the names of a reason."""


def subject(names: Iterable[str]) -> str | None:
    """Return the subject with these names, as many as the column can store."""
    text = ",".join(dict.fromkeys(names))
    if len(text) > _LONGEST_SUBJECT:
        text = text[: _LONGEST_SUBJECT + 1].rpartition(",")[0]
    return text or None


class RecordsOfHour(NamedTuple):
    """The number of records of one hour with the same values; ``first_id`` is the hour's."""

    first_id: int
    kind: str
    reason: str
    subject: str | None
    project_id: str | None
    requests: int

    def names(self) -> Iterator[tuple[str, str]]:
        """Yield each list that counts these records, with the name in the list."""
        if self.kind == LOST_RACE:
            yield "races", self.reason
            return
        yield "kinds", self.kind
        yield "reasons", self.reason
        if self.subject and (counted_in := _SUBJECTS.get(self.reason)):
            for name in self.subject.split(","):
                yield counted_in, name
        if self.project_id:
            yield "projects", self.project_id


def beginning(since: datetime | None, now: datetime) -> datetime:
    """Return the first hour of a summary: of ``since``, or of a day, and at most of 31 days.

    >>> beginning(None, datetime.fromisoformat("2026-11-21T02:14:07+00:00")).isoformat()
    '2026-11-20T03:00:00+00:00'
    """
    first = now - DEFAULT if since is None else min(max(since, now - LONGEST), now)
    return first.replace(minute=0, second=0, microsecond=0)


def summary(records: Iterable[RecordsOfHour], since: datetime, until: datetime) -> Json:
    """Return the counts of each hour from ``since``, the beginning of an hour, to ``until``.

    Lost races are counted in their list only.
    The lists have the most frequent names first. ``omitted`` has the number of further names.
    """
    first = first_id(since)
    hours = (first_id(until) - first) // IDS_OF_AN_HOUR + 1
    total = [0] * hours
    lists: dict[str, dict[str, list[int]]] = {
        name: defaultdict(lambda: [0] * hours) for name in LISTS
    }
    for record in records:
        requests = int(record.requests)  # a sum of MariaDB is a Decimal
        # the clock of the host that wrote the record may be ahead
        hour = min((record.first_id - first) // IDS_OF_AN_HOUR, hours - 1)
        total[hour] += requests if record.kind != LOST_RACE else 0
        for list_name, name in record.names():
            lists[list_name][name][hour] += requests
    return document(
        since=timestamp(since),
        requests=sum(total),
        per_hour=total,
        **{name: _most_frequent(counts) for name, counts in lists.items()},
        omitted={
            name: len(counts) - MOST_NAMES
            for name, counts in lists.items()
            if len(counts) > MOST_NAMES
        },
    )


def _most_frequent(counts: Mapping[str, list[int]]) -> Sequence[Mapping[str, object]]:
    names = sorted(counts, key=lambda name: (-sum(counts[name]), name))
    return [
        {"name": name, "requests": sum(counts[name]), "per_hour": counts[name]}
        for name in names[:MOST_NAMES]
    ]
