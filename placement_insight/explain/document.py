"""An explanation as a JSON document.

Field names and codes are stable; later releases may add fields. Rows, unmet requirements and
remedies have the field ``text`` with their sentence; it names providers that the requirement
identifies by UUID.
"""

from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from placement.core.text import Names, timestamp
from placement_insight.documents import Json, Response, document
from placement_insight.explain.facts import Facts, ProviderName, UnmetFacts
from placement_insight.explain.model import Completeness, Explanation, FunnelRow, Unmet


def as_json(explanation: Explanation) -> Json:
    """Return the JSON document of an explanation that was computed now."""
    names, root = explanation.names, explanation.root
    return document(
        query=explanation.query,
        microversion=explanation.microversion,
        at=timestamp(datetime.now(UTC)),
        roots=explanation.roots,
        fits=explanation.fits,
        funnel=[
            {
                "code": row.requirement.code,
                "group": row.group,
                "requirement": row.requirement.spelled(row.group),
                "lost": row.lost,
                "left": row.left,
                "detail": _fields(row.facts, row.group),
                "text": row.text(names),
                "note": row.facts.note(names),
                **_change(row),
            }
            for row in explanation.funnel
        ],
        near_misses=[
            {
                **_fields(miss.root),
                "unmet": [_unmet(unmet, names) for unmet in miss.unmet],
                "text": miss.text(names),
                "complete": miss.completeness is Completeness.CONFIRMED,
                **({"cut": True} if miss.completeness is Completeness.CUT else {}),
            }
            for miss in explanation.near_misses
        ],
        remedies=[
            {
                **remedy.change.document(),
                "roots": remedy.roots,
                "query": remedy.query,
                "text": remedy.change.text(names),
            }
            for remedy in explanation.remedies
        ],
        undetermined=explanation.undetermined,
        **({"groups": groups} if (groups := [*_numbered(explanation)]) else {}),
        **({"root": {**_fields(root), "fits": explanation.root_fits}} if root else {}),
    )


def _numbered(explanation: Explanation) -> Iterator[Json]:
    names = explanation.names
    for group in explanation.numbered:
        number, parameters = names[group.suffix], replace(group, suffix="").spelled(names)
        text = f"group {number}: {'&'.join(parameters)}, suffix {group.suffix}"
        yield {"group": group.suffix, "number": number, "text": text}


def _fields(value: Facts | ProviderName | UnmetFacts, suffix: str = "") -> Json:
    """Return the fields that are not None; the requirement of a fact is spelled."""
    if isinstance(value, Facts) and value.excluded:
        provider, requirement = value.excluded.provider, value.excluded.requirement
        spelled = {"code": requirement.code, "requirement": requirement.spelled(suffix)}
        excluded = {"provider": _fields(provider), **spelled}
        return {**_fields(replace(value, excluded=None)), "excluded": excluded}
    return asdict(
        value, dict_factory=lambda pairs: {name: each for name, each in pairs if each is not None}
    )


def _change(explained: FunnelRow | Unmet) -> Json:
    return {"change": explained.change} if explained.change else {}


def without_changes(explanation: Response) -> dict[str, Any]:
    """Return a document for a reader who may not read what changed."""
    misses = [
        {**miss, "unmet": [_without_change(unmet) for unmet in miss["unmet"]]}
        for miss in explanation.get("near_misses", ())
    ]
    rows = [_without_change(row) for row in explanation.get("funnel", ())]
    parts = {"funnel": rows, "near_misses": misses}
    present = {name: part for name, part in parts.items() if name in explanation}
    return {**_without_change(explanation), **present}


def _without_change(explained: Response) -> dict[str, Any]:
    return {name: value for name, value in explained.items() if name != "change"}


def _unmet(unmet: Unmet, names: Names) -> Json:
    facts: dict[str, Any] = {**_fields(unmet.facts)}
    amounts = facts.pop("amounts", {})
    return {
        "code": unmet.requirement.code,
        "group": unmet.group,
        "requirement": unmet.requirement.spelled(unmet.group),
        "provider": _fields(unmet.provider),
        **({unmet.requirement.subject: unmet.names} if unmet.names else {}),
        **({"shared": True} if unmet.shared else {}),
        **facts,
        **amounts,
        "text": unmet.text(names),
        **_change(unmet),
    }
