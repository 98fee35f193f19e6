"""An explanation as a JSON document.

Field names and codes are stable; later releases may add fields. Rows, unmet requirements and
remedies have the field ``text`` with their sentence; it names providers that the requirement
identifies by UUID.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import assert_never

from placement.core.text import Names, timestamp
from placement.insight.documents import Json, document
from placement.insight.explanation import words
from placement.insight.explanation.changes import (
    Both,
    Change,
    Drop,
    GroupParameters,
    Lower,
    Split,
    Unsuffix,
)
from placement.insight.explanation.facts import (
    Beside,
    CapacityFacts,
    Facts,
    ProviderName,
    ProviderNames,
    Shortage,
    TraitFacts,
    TreeAmounts,
)
from placement.insight.explanation.model import Completeness, Explanation, Unmet


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
                "detail": _fields(row.facts, row.group) if row.facts else {},
                "text": words.phrase(row, names),
                "note": row.facts.note(names) if row.facts else "",
            }
            for row in explanation.funnel
        ],
        near_misses=[
            {
                **_fields(miss.root),
                "unmet": [_unmet(unmet, miss.root.uuid, names) for unmet in miss.unmet],
                "complete": miss.complete,
                **({"cut": True} if miss.completeness is Completeness.CUT else {}),
            }
            for miss in explanation.near_misses
        ],
        remedies=[
            {
                **_change(remedy.change),
                "roots": remedy.roots,
                "query": remedy.query,
                "text": words.change_text(remedy.change, names),
            }
            for remedy in explanation.remedies
        ],
        undetermined=explanation.undetermined,
        **({"root": {**_fields(root.provider), "fits": root.fits}} if root else {}),
    )


def _fields(
    value: Facts | ProviderName | CapacityFacts | TreeAmounts | Beside, suffix: str = ""
) -> Json:
    """Return the fields that are not None; the requirement of a fact is spelled."""
    if isinstance(value, TraitFacts) and value.excluded:
        provider, requirement = value.excluded.provider, value.excluded.requirement
        spelled = {"code": requirement.code, "requirement": requirement.spelled(suffix)}
        excluded = {"provider": _fields(provider), **spelled}
        return {**_fields(replace(value, excluded=None)), "excluded": excluded}
    return asdict(
        value, dict_factory=lambda pairs: {name: each for name, each in pairs if each is not None}
    )


def _unmet(unmet: Unmet, root: str, names: Names) -> Json:
    facts = unmet.facts
    shortage: Json = {}
    if isinstance(facts, Shortage):
        others = {"tree": facts.tree, "beside": facts.beside}
        shortage = {name: _fields(each) for name, each in others.items() if each}
        shortage |= _fields(facts.amounts)
    return {
        "code": unmet.requirement.code,
        "group": unmet.group,
        "requirement": unmet.requirement.spelled(unmet.group),
        "provider": _fields(unmet.provider),
        **({unmet.requirement.subject: facts.names} if isinstance(facts, ProviderNames) else {}),
        **({"shared": True} if unmet.shared else {}),
        **shortage,
        "text": words.lack(unmet, root, names),
    }


def _change(change: Change) -> Json:
    match change:
        case Both(first, second):
            return {"change": "both", "changes": [_change(first), _change(second)]}
        case Drop(parameters, suffix, instead):
            dropped = {"change": "drop", "requirement": parameters.spelled(suffix)}
            others = "&".join(each.spelled() for each in instead)
            return {**dropped, **_alike(change), **({"instead": others} if others else {})}
        case Unsuffix(group):
            parameters = GroupParameters(group)
            before, after = parameters.spelled(group.suffix), parameters.spelled()
            return {"change": "unsuffix", "requirement": before, "instead": after}
        case Lower(group, name, to):
            lowered = {"change": "amount", "group": group, "resource_class": name, "to": to}
            return {**lowered, **_alike(change)}
        case Split(group, name, to, parts):
            divided = {"change": "split", "group": group, "resource_class": name, "to": to}
            return {**divided, "parts": parts, **_alike(change)}
    assert_never(change)


def _alike(change: Drop | Lower | Split) -> Mapping[str, Sequence[str]]:
    return {"alike": change.alike} if change.alike else {}
