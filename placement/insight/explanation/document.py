"""An explanation as a JSON document.

Field names and codes are stable; later releases may add fields. Rows, unmet requirements and
remedies have their words, too: the field ``text``. In the words, providers have their names, which
the requirements do not have.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from placement.insight.documents import VERSION
from placement.insight.explanation import words
from placement.insight.explanation.model import Explanation, FunnelRow, NearMiss, Remedy, Unmet

Json = dict[str, Any]
Names = Mapping[str, str]


def as_json(explanation: Explanation, *, microversion: str = "", at: str = "") -> Json:
    """Return the JSON document of an explanation, ready for ``json.dumps``.

    ``microversion`` is the microversion of the query. ``at`` is the time of the explanation in
    ISO 8601.
    """
    names = explanation.names
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
        **({"root": explanation.root} if explanation.root else {}),
    }


def _with_names(text: str, names: Names) -> str:
    for uuid, name in names.items():
        text = text.replace(uuid, name)
    return text


def _row(row: FunnelRow, names: Names) -> Json:
    document = asdict(row)
    text, note = words.phrase(document), words.note(document)
    return {**document, "text": _with_names(text, names), "note": _with_names(note, names)}


def _near_miss(miss: NearMiss, names: Names) -> Json:
    return {
        **asdict(miss.root),
        "unmet": [_unmet(unmet, miss.root.uuid, names) for unmet in miss.unmet],
        "complete": miss.complete,
    }


def _unmet(unmet: Unmet, root: str, names: Names) -> Json:
    document: Json = {
        name: value for name, value in asdict(unmet).items() if value or name == "group"
    }
    document |= document.pop("amounts", {})
    return {**document, "text": _with_names(words.lack(document, root), names)}


def _remedy(remedy: Remedy, names: Names) -> Json:
    change = _change_document(remedy)
    return {
        **change,
        "roots": remedy.roots,
        "query": remedy.query,
        "text": _with_names(words.change_text(change), names),
    }


def _change_document(remedy: Remedy) -> Json:
    if remedy.change == "both":
        return {"change": "both", "changes": list(map(_change_document, remedy.changes))}
    alike: Json = {"alike": list(remedy.alike)} if remedy.alike else {}
    if remedy.change in ("amount", "split"):
        names = ("change", "group", "resource_class", "to", *(["parts"] if remedy.parts else []))
        return {**{name: getattr(remedy, name) for name in names}, **alike}
    document: Json = {"change": remedy.change, "requirement": remedy.requirement, **alike}
    return document | ({"instead": remedy.instead} if remedy.instead else {})
