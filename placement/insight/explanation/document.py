"""An explanation as a JSON document.

Field names and codes are stable; later releases may add fields. Rows, unmet requirements and
remedies have the field ``text`` with their sentence; it names providers that the requirement
identifies by UUID.
"""

from dataclasses import fields, is_dataclass
from typing import Any, assert_never

from placement.core.requirement import Names
from placement.insight.documents import VERSION, Json
from placement.insight.explanation import words
from placement.insight.explanation.changes import (
    Both,
    Change,
    Drop,
    GroupParameters,
    Lower,
    Remedy,
    Split,
    Unsuffix,
)
from placement.insight.explanation.facts import (
    Excluded,
    ProviderNames,
    Shortage,
)
from placement.insight.explanation.model import (
    Completeness,
    Explanation,
    FunnelRow,
    NearMiss,
    Unmet,
)


def as_json(explanation: Explanation, *, microversion: str = "", at: str = "") -> Json:
    """Return the JSON document of an explanation, ready for ``json.dumps``.

    ``microversion`` is the microversion of the query. ``at`` is the time of the explanation in
    ISO 8601.
    """
    names, asked = explanation.names, explanation.root
    root: Json = {"root": {**_fields(asked.provider), "fits": asked.fits}} if asked else {}
    return {
        "version": VERSION,
        "query": explanation.query,
        "microversion": microversion,
        "at": at,
        "roots": explanation.roots,
        "fits": explanation.fits,
        "funnel": [_row(row, names) for row in explanation.funnel],
        "near_misses": [_near_miss(miss, names) for miss in explanation.near_misses],
        "remedies": [_remedy(remedy, names) for remedy in explanation.remedies],
        "undetermined": list(explanation.undetermined),
        **root,
    }


def _fields(value: Any, suffix: str = "") -> Json:
    """Return the fields of a dataclass that are not None; requirements are spelled."""
    if isinstance(value, Excluded):
        requirement = value.requirement
        spelled = {"code": requirement.code, "requirement": requirement.spelled(suffix)}
        return {"provider": _fields(value.provider), **spelled}
    present = ((field.name, getattr(value, field.name)) for field in fields(value))
    return {name: _plain(each, suffix) for name, each in present if each is not None}


def _plain(value: object, suffix: str = "") -> object:
    if isinstance(value, tuple):
        return [_plain(each, suffix) for each in value]
    return _fields(value, suffix) if is_dataclass(value) else value


def _row(row: FunnelRow, names: Names) -> Json:
    return {
        "code": row.requirement.code,
        "group": row.group,
        "requirement": row.requirement.spelled(row.group),
        "lost": row.lost,
        "left": row.left,
        "detail": {} if row.facts is None else _fields(row.facts, row.group),
        "text": words.phrase(row, names),
        "note": "" if row.facts is None else row.facts.note(names),
    }


def _near_miss(miss: NearMiss, names: Names) -> Json:
    return {
        **_fields(miss.root),
        "unmet": [_unmet(unmet, miss.root.uuid, names) for unmet in miss.unmet],
        "complete": miss.complete,
        **({"cut": True} if miss.completeness is Completeness.CUT else {}),
    }


def _unmet(unmet: Unmet, root: str, names: Names) -> Json:
    document: Json = {
        "code": unmet.requirement.code,
        "group": unmet.group,
        "requirement": unmet.requirement.spelled(unmet.group),
        "provider": _fields(unmet.provider),
    }
    facts = unmet.facts
    if isinstance(facts, ProviderNames):
        document[unmet.requirement.subject] = list(facts.names)
    if unmet.shared:
        document["shared"] = True
    if isinstance(facts, Shortage):
        document |= {"tree": _fields(facts.tree)} if facts.tree else {}
        document |= {"beside": _fields(facts.beside)} if facts.beside else {}
        document |= _fields(facts.amounts)
    return {**document, "text": words.lack(unmet, root, names)}


def _remedy(remedy: Remedy, names: Names) -> Json:
    text = words.change_text(remedy.change, names)
    return {
        **_change(remedy.change),
        "roots": remedy.roots,
        "query": remedy.query,
        "text": text,
    }


def _change(change: Change) -> Json:
    match change:
        case Both(first, second):
            return {"change": "both", "changes": [_change(first), _change(second)]}
        case Drop(parameters, suffix, instead):
            dropped = {"change": "drop", "requirement": parameters.spelled(suffix)}
            others = "&".join(each.spelled() for each in instead)
            return dropped | _alike(change) | ({"instead": others} if others else {})
        case Unsuffix(group):
            parameters = GroupParameters(group)
            before, after = parameters.spelled(group.suffix), parameters.spelled()
            return {"change": "unsuffix", "requirement": before, "instead": after}
        case Lower(group, name, to):
            lowered = {"change": "amount", "group": group, "resource_class": name, "to": to}
            return lowered | _alike(change)
        case Split(group, name, to, parts):
            divided = {"change": "split", "group": group, "resource_class": name, "to": to}
            return divided | {"parts": parts} | _alike(change)
    assert_never(change)


def _alike(change: Drop | Lower | Split) -> Json:
    return {"alike": list(change.alike)} if change.alike else {}
