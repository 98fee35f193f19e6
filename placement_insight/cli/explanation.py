"""The fields of explanations and of recorded requests."""

from collections.abc import Sequence
from functools import partial
from textwrap import dedent

from placement.core.text import NO_NAMES, Names, printable
from placement_insight.cli.cells import Shown, by_line, facts, query_cell
from placement_insight.documents import Response
from placement_insight.explain.text import (
    SUPERSEDED,
    closest_line,
    fitting_lines,
    funnel_lines,
    recorded_line,
    remedy_line,
    unmet_lines,
)
from placement_insight.names import named, option


def _funnel(names: Names, rows: Sequence[Response]) -> str:
    with_names = [
        {**row, "text": named(row["text"], names), "note": named(row["note"], names)}
        for row in rows
    ]
    return dedent("\n".join(funnel_lines(with_names)))


def _text(group: Response) -> str:
    return printable(group["text"])


def _fits(number: int | None) -> str:
    return "not determined" if number is None else str(number)


def current(
    document: Response, names: Names = NO_NAMES, without_remedies: str = ""
) -> dict[str, object]:
    """Return the fields of an explanation, the result first.

    ``without_remedies`` says why it has no remedies, empty if there are none.
    """
    if "root" in document:
        fields = {
            "host": document["root"]["name"],
            "fits": document["root"]["fits"],
            "unmet": Shown(document["near_misses"], by_line(unmet_lines)),
        }
        if document["root"]["fits"]:
            fields["next"] = Shown(" ".join(fitting_lines(document)), printable)
    else:
        fields = {
            "fits": Shown(document["fits"], _fits),
            "roots": document["roots"],
            "funnel": Shown(document["funnel"], partial(_funnel, names)),
            "near_misses": Shown(document["near_misses"], by_line(closest_line)),
        }
    lines = by_line(remedy_line)
    return {
        **fields,
        "remedies": Shown(
            document["remedies"], lambda remedies: without_remedies or lines(remedies)
        ),
        "undetermined": Shown(document["undetermined"], by_line(printable)),
        **({"groups": Shown(document["groups"], by_line(_text))} if "groups" in document else {}),
        "query": query_cell(document["query"], names),
        "microversion": document["microversion"],
        "at": document["at"],
    }


def recorded(document: Response, names: Names, openstack: str) -> dict[str, object]:
    """Return the fields of a recorded request: its reason, then its explanation.

    ``openstack`` is the program with the options in use.
    """
    columns = ("kind", "reason", "request_id", "global_request_id", "project_id", "user_id", "at")
    equal = ("count", "first_at", "last_at", "superseded")
    fields = {name: document[name] for name in (*columns, *equal)}
    fields["explained_at"] = document["explanation"].get("at", document["first_at"])
    if document["is_superseded"]:
        fields["superseded"] = Shown(document["superseded"], lambda _: SUPERSEDED)
    if document["kind"] == "no_candidates" and "funnel" in document["explanation"]:
        not_recorded = "not recorded: explain the query with --remedies"
        return {**current(document["explanation"], names, not_recorded), **fields}
    subject: dict[str, object]
    if "claim" in document:
        subject = {"claim": facts(document["claim"] or {})}
    else:
        subject = {"query": query_cell(document["query"] or "", names)}
    refusal = document["explanation"]
    if {"provider", "resource_class"} <= refusal.keys():
        provider = refusal["provider"].get("name", refusal["provider"]["uuid"])
        subject["next"] = (
            f"{openstack} resource consumer list {option('--in-tree', provider)} "
            f"--sort -{refusal['resource_class']}"
        )
    return {**fields, "explanation": Shown(refusal, _refusal), **subject}


def records(documents: Sequence[Response], names: Names) -> Shown[Sequence[Response]]:
    """Return the records after the decisive one, in a table a line each."""
    lines = [named(printable(recorded_line(each)), names) for each in documents]
    return Shown(documents, lambda _: "\n".join(lines))


def _refusal(explanation: Response) -> str:
    """Return the sentence of a refusal and what changed, or its facts if it was too long."""
    if not (sentence := explanation.get("sentence")):
        return facts(explanation).human_readable()
    return "\n".join(map(printable, filter(None, (sentence, explanation.get("change")))))
