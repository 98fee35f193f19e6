"""An explanation as a JSON document.

Field names and codes are stable; later releases may add fields. Rows, unmet requirements and
remedies have the field ``text`` with their sentence; it names providers that the requirement
identifies by UUID.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from placement.core.text import Names, timestamp
from placement_insight.documents import Json, document
from placement_insight.explain.facts import Facts, ProviderName, TraitFacts, UnmetFacts
from placement_insight.explain.model import Completeness, Explanation, Unmet


def as_json(
    explanation: Explanation, added: Mapping[tuple[str, str], str] = MappingProxyType({})
) -> Json:
    """Return the JSON document of an explanation that was computed now.

    ``added`` says when traits that a near miss must not have were added, by provider and trait.
    """
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
            }
            for row in explanation.funnel
        ],
        near_misses=[
            {
                **_fields(miss.root),
                "unmet": [_unmet(unmet, names, added) for unmet in miss.unmet],
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
    if isinstance(value, TraitFacts) and value.excluded:
        provider, requirement = value.excluded.provider, value.excluded.requirement
        spelled = {"code": requirement.code, "requirement": requirement.spelled(suffix)}
        excluded = {"provider": _fields(provider), **spelled}
        return {**_fields(replace(value, excluded=None)), "excluded": excluded}
    return asdict(
        value, dict_factory=lambda pairs: {name: each for name, each in pairs if each is not None}
    )


def _unmet(unmet: Unmet, names: Names, added: Mapping[tuple[str, str], str]) -> Json:
    notes = [added[key] for name in unmet.names if (key := (unmet.provider.uuid, name)) in added]
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
        **({"note": "; ".join(notes)} if notes else {}),
    }
