"""The report of a comparison: differences by kind, and latencies by route; as text or JSON."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from placement_compare.model import Difference, Result
from placement_compare.run import curl

_UUID = re.compile(r"/[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[^/?]*")
_NAME = re.compile(r"^/(traits|resource_classes)/[^?]+|(?<=/inventories)/[^?]+")

_STATISTICS = {"median": 0.5, "p95": 0.95, "max": 1.0}
"""What is reported of the latencies of a route, and where it is in the ordered latencies."""


def report(results: Sequence[Result], old_url: str, new_url: str) -> dict[str, Any]:
    """Return the report as a JSON document. Latencies are in milliseconds."""
    return {
        "version": 1,
        "old": old_url,
        "new": new_url,
        "requests": len(results),
        "equal": sum(not result.differences for result in results),
        "equal_without_limit": sum(
            result.by_limit and not result.differences for result in results
        ),
        "differences": list(_by_kind(results, old_url, new_url)),
        "latencies": list(_latencies(results)),
    }


def text(document: Mapping[str, Any]) -> str:
    """Return the report as text for a terminal."""
    return "\n".join((*_summary(document), *_difference_lines(document), *_table(document)))


def route(path: str) -> str:
    """Return a path without query, with ``{uuid}`` and ``{name}`` instead of values."""
    plain = _UUID.sub("/{uuid}", path.partition("?")[0])
    return _NAME.sub(lambda match: f"/{match[1]}/{{name}}" if match[1] else "/{name}", plain)


def _by_kind(results: Sequence[Result], old_url: str, new_url: str) -> Iterator[dict[str, Any]]:
    """Yield a document per kind, most frequent first, with the request of the first example."""
    groups: dict[tuple[str, str, str], list[tuple[Result, Difference]]] = defaultdict(list)
    for result in results:
        for difference in result.differences:
            key = difference.kind, route(result.read.path), difference.where
            groups[key].append((result, difference))
    by_frequency = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    for (kind, path, where), members in by_frequency:
        result, difference = members[0]
        yield {
            "kind": kind,
            "route": path,
            "where": where,
            "requests": len({member.read for member, _ in members}),
            "old": difference.old,
            "new": difference.new,
            "old_curl": curl(old_url, result.read),
            "new_curl": curl(new_url, result.read),
        }


def _latencies(results: Sequence[Result]) -> Iterator[dict[str, Any]]:
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[route(result.read.path)].append(result)
    for path, members in sorted(groups.items()):
        yield {
            "route": path,
            "requests": len(members),
            "old": _statistics([member.old_seconds for member in members]),
            "new": _statistics([member.new_seconds for member in members]),
        }


def _statistics(seconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {
        name: round(1000 * ordered[round(position * (len(ordered) - 1))], 2)
        for name, position in _STATISTICS.items()
    }


def _summary(document: Mapping[str, Any]) -> Iterator[str]:
    total, equal = document["requests"], document["equal"]
    yield f"Compared {total} requests: {equal} equal, {total - equal} different."
    if document["equal_without_limit"]:
        yield (
            f"{document['equal_without_limit']} of the equal ones return other candidates within "
            "the limit; without the limit their candidates are equal."
        )


def _difference_lines(document: Mapping[str, Any]) -> Iterator[str]:
    for difference in document["differences"]:
        where = f", {difference['where']}" if difference["where"] else ""
        yield ""
        yield (
            f"{difference['kind']}: GET {difference['route']}{where} "
            f"(requests: {difference['requests']})"
        )
        for name in ("old", "new", "old_curl", "new_curl"):
            yield f"  {name.replace('_curl', ''):<4}{difference[name]}"


def _table(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the latencies as a table with aligned columns."""
    statistics = [f"{service} {name}" for service in ("old", "new") for name in _STATISTICS]
    header = ("milliseconds", "requests", *statistics)
    rows = [header, *map(_row, document["latencies"])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    yield ""
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join(cells)


def _row(latency: Mapping[str, Any]) -> tuple[str, ...]:
    numbers = [
        f"{latency[service][name]:.2f}" for service in ("old", "new") for name in latency[service]
    ]
    return (f"GET {latency['route']}", str(latency["requests"]), *numbers)
