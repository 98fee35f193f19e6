"""A summary of recorded requests as the rows of a table."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

MOST_BARS: Final = 48
_NONE = "·"
_BARS = "▁▂▃▄▅▆▇█"
_BY: Final = {
    "kinds": "kind",
    "reasons": "reason",
    "resource_classes": "class",
    "traits": "trait",
    "aggregates": "aggregate",
    "projects": "project",
}


class SummaryRow(NamedTuple):
    """The number of requests with one name, in total and in each hour."""

    by: str
    name: str
    requests: int
    per_hour: Sequence[int]


def summary_rows(document: Mapping[str, Any]) -> Iterator[SummaryRow]:
    """Yield the row of all requests, then a row for each name of each list."""
    yield SummaryRow("all", "", document["requests"], document["per_hour"])
    for name, by in _BY.items():
        for row in document[name]:
            yield SummaryRow(by, row["name"], row["requests"], row["per_hour"])


def period_line(document: Mapping[str, Any]) -> str:
    """Return the period of a summary, and how many names it does not list.

    >>> since, per_hour = "2026-11-21T00:00:00Z", [0] * 100
    >>> period_line({"since": since, "per_hour": per_hour, "omitted": {"traits": 3}})
    'From 2026-11-21T00:00:00Z, a bar for 3 hours. Not listed: 3 more traits.'
    """
    hours = _hours_of_bar(document["per_hour"])
    bar = "each hour" if hours == 1 else f"{hours} hours"
    line = f"From {document['since']}, a bar for {bar}."
    omitted = [
        f"{number} more {name.replace('_', ' ')}" for name, number in document["omitted"].items()
    ]
    return f"{line} Not listed: {', '.join(omitted)}." if omitted else line


def _hours_of_bar(per_hour: Sequence[int]) -> int:
    return -(-len(per_hour) // MOST_BARS)


def bars(per_hour: Sequence[int]) -> str:
    """Return a bar for each hour, relative to the largest number; or for some hours if many.

    >>> bars([0, 1, 16, 8, 0])
    '·▁█▄·'
    >>> len(bars([1] * 100))
    34
    """
    hours = _hours_of_bar(per_hour)
    first = len(per_hour) % hours  # the last bar has the current hour, and as many as the others
    sums = [sum(per_hour[:first])] if first else []
    sums += [sum(per_hour[at : at + hours]) for at in range(first, len(per_hour), hours)]
    return "".join(_bar(number, max(sums)) for number in sums)


def _bar(number: int, largest: int) -> str:
    return _BARS[(number * len(_BARS) - 1) // largest] if number else _NONE
