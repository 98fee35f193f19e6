"""An explanation as JSON, as a text for terminals, and as one line for a log."""

from placement.core.insight.document import VERSION
from placement.core.insight.explanation import (
    Amounts,
    Explanation,
    FunnelRow,
    NearMiss,
    ProviderName,
    Remedy,
    Unmet,
)

Json = dict[str, object]


def as_json(explanation: Explanation, *, microversion: str = "", at: str = "") -> Json:
    """Return the JSON document of an explanation, ready for ``json.dumps``.

    ``microversion`` is that at which the query was read, ``at`` the time of the explanation in
    ISO 8601. Field names and codes are stable; fields may be added.
    """
    return {
        "version": VERSION,
        "query": explanation.query,
        "microversion": microversion,
        "at": at,
        "roots": explanation.roots,
        "fits": explanation.fits,
        "funnel": [_row(row) for row in explanation.funnel],
        "near_misses": [_near_miss(miss) for miss in explanation.near_misses],
        "remedies": [_remedy(remedy) for remedy in explanation.remedies],
        "undetermined": list(explanation.undetermined),
    }


def _row(row: FunnelRow) -> Json:
    return {
        "code": row.code,
        "group": row.group,
        "requirement": row.requirement,
        "lost": row.lost,
        "left": row.left,
        "detail": dict(row.detail),
    }


def _near_miss(miss: NearMiss) -> Json:
    return {
        **_provider(miss.root),
        "unmet": [_unmet(each) for each in miss.unmet],
        "complete": miss.complete,
    }


def _provider(provider: ProviderName) -> Json:
    return {"uuid": provider.uuid, "name": provider.name}


def _unmet(unmet: Unmet) -> Json:
    document: Json = {
        "code": unmet.code,
        "group": unmet.group,
        "requirement": unmet.requirement,
    }
    if unmet.amounts:
        document |= _amounts(unmet.amounts)
    if unmet.traits:
        document["traits"] = list(unmet.traits)
    if unmet.aggregates:
        document["aggregates"] = list(unmet.aggregates)
    if unmet.provider:
        document["provider"] = _provider(unmet.provider)
    return document


def _amounts(amounts: Amounts) -> Json:
    return {
        "resource_class": amounts.resource_class,
        "needed": amounts.needed,
        "free": amounts.free,
        "capacity": amounts.capacity,
        "used": amounts.used,
        "reserved": amounts.reserved,
        "min_unit": amounts.min_unit,
        "max_unit": amounts.max_unit,
        "step_size": amounts.step_size,
    }


def _remedy(remedy: Remedy) -> Json:
    return {**_change(remedy), "roots": remedy.roots, "query": remedy.query}


def _change(remedy: Remedy) -> Json:
    if remedy.change == "both":
        return {"change": "both", "changes": [_change(each) for each in remedy.changes]}
    if remedy.change == "amount":
        return {
            "change": "amount",
            "group": remedy.group,
            "resource_class": remedy.resource_class,
            "to": remedy.to,
        }
    document: Json = {"change": remedy.change, "requirement": remedy.requirement}
    return document | ({"instead": remedy.instead} if remedy.instead else {})
