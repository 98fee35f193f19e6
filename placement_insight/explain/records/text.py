"""Recorded requests in words, from their documents: the commands have only these."""

from typing import Final

from placement_insight.documents import Response

SUPERSEDED: Final = "Superseded: a later request of the same operation found candidates"


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
