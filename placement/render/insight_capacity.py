"""Capacity in shapes as JSON."""

from collections.abc import Iterable, Mapping
from typing import Any

from placement.core.insight.capacity import FORMULA, Capacity
from placement.core.insight.document import document

Group = tuple[Mapping[str, str], Capacity]
"""What the roots of a group have in common, and their capacity."""


def capacity(
    total: Capacity, groups: Iterable[Group], *, query: str, microversion: str, is_complete: bool
) -> bytes:
    """Return the body of GET /insight/capacity."""
    return document(
        query=query,
        microversion=microversion,
        formula=FORMULA,
        complete=is_complete,
        **_fields(total),
        by=[{**name, **_fields(each)} for name, each in groups],
    )


def _fields(capacity: Capacity) -> dict[str, Any]:
    return {
        "claims": capacity.claims,
        "at_most": capacity.at_most,
        "roots": capacity.roots,
        "exact": capacity.is_exact,
        "largest": capacity.largest,
        "free": capacity.free,
        "stranded": capacity.stranded,
        "limited_by": capacity.limited_by,
    }
