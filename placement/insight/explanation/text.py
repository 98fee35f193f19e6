"""An explanation as a JSON document, as a text for terminals, and as one line for a log.

The texts are written from the document and not from the value, because a client has only the
document, and recorded explanations are documents. Control characters in names are escaped.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from placement.core.text import printable
from placement.insight.documents import VERSION
from placement.insight.explanation.model import (
    Explanation,
    NearMiss,
    Remedy,
    Unmet,
)

Json = dict[str, object]

Document = Mapping[str, Any]

_COUNTED = {
    "aggregate": ("members", "the aggregate has no providers"),
    "in_tree": ("exists", "no such provider"),
    "trait": ("providers", "no provider has it"),
    "no_inventory": ("providers", "no provider has it"),
}


def as_json(explanation: Explanation, *, microversion: str = "", at: str = "") -> Json:
    """Return the JSON document of an explanation, ready for ``json.dumps``.

    ``microversion`` is the microversion of the query. ``at`` is the time of the explanation in
    ISO 8601. Field names and codes are stable; later releases may add fields.
    """
    return {
        "version": VERSION,
        "query": explanation.query,
        "microversion": microversion,
        "at": at,
        "roots": explanation.roots,
        "fits": explanation.fits,
        "funnel": [asdict(row) for row in explanation.funnel],
        "near_misses": [_near_miss(miss) for miss in explanation.near_misses],
        "remedies": [_remedy(remedy) for remedy in explanation.remedies],
        "undetermined": list(explanation.undetermined),
    }


def _near_miss(miss: NearMiss) -> Json:
    return {
        **asdict(miss.root),
        "unmet": [_unmet(unmet) for unmet in miss.unmet],
        "complete": miss.complete,
    }


def _unmet(unmet: Unmet) -> Json:
    document: Json = {
        "code": unmet.code,
        "group": unmet.group,
        "requirement": unmet.requirement,
    }
    if unmet.amounts:
        document |= asdict(unmet.amounts)
    if unmet.traits:
        document["traits"] = list(unmet.traits)
    if unmet.aggregates:
        document["aggregates"] = list(unmet.aggregates)
    if unmet.provider:
        document["provider"] = asdict(unmet.provider)
    return document


def _remedy(remedy: Remedy) -> Json:
    return {**_change_document(remedy), "roots": remedy.roots, "query": remedy.query}


def _change_document(remedy: Remedy) -> Json:
    if remedy.change == "both":
        return {
            "change": "both",
            "changes": [_change_document(change) for change in remedy.changes],
        }
    if remedy.change == "amount":
        return {
            "change": "amount",
            "group": remedy.group,
            "resource_class": remedy.resource_class,
            "to": remedy.to,
        }
    document: Json = {"change": remedy.change, "requirement": remedy.requirement}
    return document | ({"instead": remedy.instead} if remedy.instead else {})


def as_line(document: Document) -> str:
    """Return an explanation in one line that begins with the cause.

    The cause is the requirement that removed the last roots.
    """
    if document["fits"] is None and not document["funnel"]:
        return "not determined within the time allowed"
    parts = [_cause(document), *_before_the_cause(document)]
    closest = list(_closest(document["near_misses"][:3]))
    if closest:
        parts.append(f"closest: {', '.join(closest)}")
    return printable("; ".join(part for part in parts if part))


def as_text(document: Document, *, origin: str = "") -> str:
    """Return an explanation as a table.

    The first line has the result. The funnel, the closest roots and the remedies follow.
    ``origin`` is the time and the ids of the request.
    """
    return "\n".join(map(printable, _lines(document, origin)))


# --- the line ------------------------------------------------------------------


def _cause(document: Document) -> str:
    """Return the requirement that removed the last roots, and the number of these roots."""
    rows, roots = document["funnel"], document["roots"]
    if not roots:
        return "there are no resource providers"
    if not rows or document["fits"]:
        return f"{document['fits']} of {roots} roots fit"
    row = rows[-1]
    which = f"all {roots} roots" if row["lost"] == roots else f"the last {row['lost']} of {roots}"
    if document["fits"] is None:
        return f"not fully determined; {phrase(row)}: {row['lost']} of {roots} roots"
    return f"{phrase(row)}{_in_brackets(note(row))}: {which}"


def _before_the_cause(document: Document) -> Iterator[str]:
    rows = document["funnel"][: -1 if not document["fits"] else None]
    if rows:
        yield "before: " + ", ".join(f"{row['lost']} {phrase(row)}" for row in rows)


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""


# --- the table -----------------------------------------------------------------


def _lines(document: Document, origin: str) -> Iterator[str]:
    fits, roots = document["fits"], document["roots"]
    if fits is None:
        headline = "Not determined within the time allowed:"
    else:
        headline = f"{fits:,} of {roots:,} roots fit" if fits else "No host for"
    yield f"{headline} {_title(document)}{_in_brackets(origin)}"
    yield f"{roots:,} {'root' if roots == 1 else 'roots'}"
    yield from funnel_lines(document["funnel"])
    if document["near_misses"]:
        yield "Closest: " + "; ".join(_closest(document["near_misses"]))
    if document["remedies"]:
        yield "Would fit: " + "; ".join(map(remedy_line, document["remedies"]))
    if document["undetermined"]:
        yield "Not determined within the time allowed: " + ", ".join(document["undetermined"])


def _title(document: Document) -> str:
    return str(document["query"])


def funnel_lines(rows: Sequence[Document]) -> Iterator[str]:
    """Yield the rows of a funnel as lines with aligned columns."""
    if not rows:
        return
    phrases = [phrase(row) for row in rows]
    lost = [f"{row['lost']:,}" for row in rows]
    left = [f"{row['left']:,}" for row in rows]
    widths = [max(map(len, column)) for column in (lost, phrases, left)]
    for row, *cells in zip(rows, lost, phrases, left, strict=True):
        line = (
            f"  {cells[0]:>{widths[0]}}  {cells[1]:<{widths[1]}}  {cells[2]:>{widths[2]}} left"
            f"   {note(row)}"
        )
        yield printable(line.rstrip())


# --- one row -------------------------------------------------------------------


def phrase(row: Document) -> str:
    """Return the reason of a row of the funnel, or of an unmet requirement, in words."""
    return _PHRASES[row["code"]](row) + _in_group(row)


def _in_group(row: Document) -> str:
    group = row["group"]
    return f" in group {group}" if group and row["code"] != "one_provider" else ""


def _value(row: Document) -> str:
    value: str = row["requirement"].partition("=")[2]
    return value.removeprefix("in:")


def _root_trait(row: Document) -> str:
    value = _value(row)
    return f"root has trait {value[1:]}" if value.startswith("!") else f"root has no trait {value}"


def _forbidden_aggregate(row: Document) -> str:
    return f"in aggregate {_value(row).removeprefix('!').removeprefix('in:')}"


def _class(row: Document) -> str:
    detail = row.get("detail") or row
    return str(detail.get("resource_class", _value(row).partition(":")[0]))


def _needed(row: Document) -> object:
    detail = row.get("detail") or row
    return detail.get("needed", _value(row).partition(":")[2])


def _unit(row: Document) -> str:
    needed, name = _needed(row), _class(row)
    limits = row.get("detail") or row
    if needed > limits.get("max_unit", needed):
        return f"{name}:{needed} above max_unit"
    if needed < limits.get("min_unit", needed):
        return f"{name}:{needed} below min_unit"
    if "step_size" in limits or "step_sizes" in limits:
        return f"{name}:{needed} not a multiple of step_size"
    return f"{name}:{needed} outside min_unit, max_unit and step_size"


def _combined(row: Document) -> str:
    groups = row.get("detail", {}).get("groups", [])
    if not groups:
        return f"not together: {row['requirement']}"
    wanted = [
        " + ".join(
            name if amount == 1 else f"{amount} {name}"
            for name, amount in group["resources"].items()
        )
        for group in groups
    ]
    counts = [f"{group['groups']} x " if group["groups"] > 1 else "" for group in groups]
    return " + ".join(map("".join, zip(counts, wanted, strict=True))) + " together"


_PHRASES: Mapping[str, Callable[[Document], str]] = {
    "root_trait": _root_trait,
    "forbidden_aggregate": _forbidden_aggregate,
    "aggregate": lambda row: f"not in aggregate {_value(row)}",
    "in_tree": lambda row: f"not in the tree of {_value(row)}",
    "trait": lambda row: f"no trait {_value(row)}",
    "forbidden_trait": lambda row: f"trait {_value(row).removeprefix('!')}",
    "no_inventory": lambda row: f"no inventory of {_class(row)}",
    "unit": _unit,
    "capacity": lambda row: f"fewer than {_needed(row)} {_class(row)} free",
    "one_provider": lambda row: f"no single provider for {row['requirement']}",
    "combined": _combined,
    "isolate": lambda _row: "too few providers for group_policy=isolate",
    "same_subtree": lambda row: f"not in one subtree: {_value(row)}",
    "one_provider_per_tree": lambda _row: "several providers of one tree (needs 1.29)",
}


def note(row: Document) -> str:
    """Return the facts about existing providers in a row of the funnel, if any."""
    detail, code = row["detail"], row["code"]
    if detail.get(_COUNTED.get(code, ("", ""))[0]) == 0:
        return _COUNTED[code][1]
    if code == "unit":
        return _limits(detail)
    if "free" in detail:
        return f"best: {detail['provider']['name']} has {detail['free']} free"
    return ""


def _limits(detail: Document) -> str:
    if not detail.get("step_sizes"):
        return ""
    needed = detail["needed"]
    where = "everywhere" if detail["uniform"] else "at best"
    if needed > detail["max_unit"]:
        return f"max_unit {detail['max_unit']} {where}"
    if needed < detail["min_unit"]:
        return f"min_unit {detail['min_unit']} {where}"
    return f"step_size {', '.join(map(str, detail['step_sizes']))}"


def closest_line(miss: Document) -> str:
    """Return the name of a near miss, and the requirements that it does not meet."""
    return printable(f"{miss['name']} ({_lacks(miss)})")


def _closest(misses: Sequence[Document]) -> Iterator[str]:
    """Yield the near misses. Adjacent near misses with the same unmet requirements are joined."""
    for lacks, group in groupby(misses, _lacks):
        yield f"{', '.join(miss['name'] for miss in group)} ({lacks})"


def _lacks(miss: Document) -> str:
    lacks = list(dict.fromkeys(_lack(unmet) for unmet in miss["unmet"]))
    is_all = len(lacks) == 1 and "free" not in miss["unmet"][0] and miss.get("complete", False)
    return ", ".join(lacks) + ("; everything else fits" if is_all else "")


def _lack(unmet: Document) -> str:
    """Return one unmet requirement as amounts, or in words if it has no amounts."""
    is_short = unmet.get("free", 0) < unmet.get("needed", 0)
    if unmet["code"] == "capacity" or (unmet["code"] == "combined" and is_short):
        where = " together" if unmet["code"] == "combined" else _in_group(unmet)
        return f"{unmet['resource_class']} {max(unmet['free'], 0)} of {unmet['needed']}{where}"
    return phrase(unmet)


def remedy_line(document: Document) -> str:
    """Return a remedy in words."""
    roots = document["roots"]
    return printable(f"{roots:,} {'host' if roots == 1 else 'hosts'} {_change_text(document)}")


def _change_text(document: Document) -> str:
    if document["change"] == "both":
        return " and ".join(map(_change_text, document["changes"]))
    if document["change"] == "amount":
        where = f" in group {document['group']}" if document["group"] else ""
        return f"at {document['resource_class']}:{document['to']}{where}"
    if document.get("instead"):
        return f"with {document['instead']} instead of {document['requirement']}"
    return f"without {document['requirement']}"
