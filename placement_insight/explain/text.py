"""The parts of an explanation in words, and an explanation as one line for a log.

The texts are written from the document and not from the value, because a client has only the
document, and recorded requests are documents. Control characters in names are escaped.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final
from urllib.parse import parse_qsl

from placement.core.text import printable
from placement_insight.documents import Response

SUPERSEDED: Final = "Superseded: a later request found candidates or was accepted"


def as_line(document: Response) -> str:
    """Return why a request has no candidates, in one line that begins with the cause.

    The cause is the requirement that removed the last roots.
    """
    rows, roots, fits = document["funnel"], document["roots"], document["fits"]
    if fits is None:
        return "not explained within the time limit"
    if not roots:
        return "there are no resource providers"
    if fits or not rows:
        return f"{fits} of {roots} hosts fit"
    *earlier, last = rows
    which = (
        f"all {roots} hosts" if last["lost"] == roots else f"the last {last['lost']} of {roots}"
    )
    note = f" ({last['note']})" if last["note"] else ""
    parts = [f"{last['text']}{note}: {which}"]
    if earlier:
        parts.append("before: " + ", ".join(f"{row['lost']} {row['text']}" for row in earlier))
    if closest := ", ".join(_closest(document["near_misses"][:3])):
        parts.append(f"closest: {closest}")
    parts += [group["text"] for group in document.get("groups", ())]
    return printable("; ".join(parts))


def fitting_lines(document: Response) -> Iterator[str]:
    """Yield how many roots fit, which of them a limited response has, and what Nova decides."""
    fits, roots = document["fits"], document["roots"]
    limit = int(dict(parse_qsl(document["query"])).get("limit", 0))
    if fits is None:
        yield "Not determined within the time allowed: how many hosts fit."
    else:
        yield f"{fits:,} of {roots:,} hosts fit."
    if fits is not None and fits <= limit:
        yield f"The limit is {limit:,}: a response has a candidate of each."
    else:
        of_nova = "Nova's limit is [scheduler]max_placement_results, 1000 by default"
        yield (
            f"{f'The limit is {limit:,}' if limit else of_nova}: a response that leaves out hosts "
            "begins at another host after each change, so that every host gets its turn "
            "(unless [placement]rotate_limited_candidates is false)."
        )
    yield (
        "Of the hosts in the response, Nova decides: see its filters and weighers in the log of "
        "nova-scheduler."
    )


def funnel_lines(rows: Sequence[Response]) -> Iterator[str]:
    """Yield the rows of a funnel as lines with aligned columns."""
    cells = [(f"{row['lost']:,}", row["text"], f"{row['left']:,}", _note(row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for lost, text, left, note in cells:
        line = f"  {lost:>{widths[0]}}  {text:<{widths[1]}}  {left:>{widths[2]}} left   {note}"
        yield printable(line.rstrip())


def _note(row: Response) -> str:
    return "; ".join(filter(None, (row["note"], row.get("change"))))


# --- the roots and the changes


def closest_line(miss: Response) -> str:
    """Return the name of a near miss, what it does not meet, and in further lines since when."""
    return _lines([f"{miss['name']} ({miss['text']})", *_changes(miss)])


def unmet_lines(miss: Response) -> str:
    """Return the requirements that a root does not meet, and what changed, equal ones once."""
    return _lines([*(unmet["text"] for unmet in miss["unmet"]), *_changes(miss)])


def _changes(miss: Response) -> Iterator[str]:
    yield from (unmet["change"] for unmet in miss["unmet"] if "change" in unmet)


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(dict.fromkeys(map(printable, texts)))


def _closest(misses: Sequence[Response]) -> Iterator[str]:
    """Yield the near misses. Adjacent near misses with the same unmet requirements are joined."""
    for lacking, group in groupby(misses, itemgetter("text")):
        yield f"{', '.join(miss['name'] for miss in group)} ({lacking})"


def remedy_line(document: Response) -> str:
    """Return a remedy in words."""
    roots = document["roots"]
    return printable(f"{roots:,} {'host' if roots == 1 else 'hosts'} {document['text']}")


def recorded_line(recorded: Response) -> str:
    """Return a record in one line, for the records after the decisive one.

    >>> facts = {"at": "02:14", "reason": "no_inventory", "query": "resources=PCPU:1"}
    >>> recorded_line({**facts, "count": 1, "is_superseded": True, "explanation": {}})
    '02:14 no_inventory: resources=PCPU:1 (superseded)'
    """
    sentence = recorded["explanation"].get("sentence") or recorded.get("claim") or ""
    superseded = " (superseded)" if recorded["is_superseded"] else ""
    return (
        f"{recorded['at']} {recorded['reason']}: {recorded.get('query') or sentence}{superseded}"
    )
