"""Recorded requests in words, from their documents: the commands have only these."""

from typing import Final

from placement_insight.documents import Response

SUPERSEDED: Final = "Superseded: a later request of the same operation found candidates"


def equal_requests(recorded: Response) -> str:
    """Return how many equal requests a record has, if several.

    >>> equal_requests({"count": 200, "first_at": "02:14", "last_at": "02:57"})
    '; one of 200 equal requests from 02:14 to 02:57'
    """
    if recorded["count"] == 1:
        return ""
    period = f"from {recorded['first_at']} to {recorded['last_at']}"
    return f"; one of {recorded['count']} equal requests {period}"


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
