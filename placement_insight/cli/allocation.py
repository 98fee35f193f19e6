"""``openstack allocation candidate explain`` and ``openstack allocation request list``."""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote

from osc_lib.command import command

from placement.core.text import Names, printable
from placement_insight.cli import explanation
from placement_insight.cli.cells import Complete, cells, facts, query_cell
from placement_insight.cli.client import get, program
from placement_insight.cli.command import (
    Table,
    WrittenOutput,
    add_options,
    columns_with_names,
    given,
    is_table,
    wants_names,
)
from placement_insight.cli.names import CommandNames, resolve_groups
from placement_insight.cli.whatif import add_room_arguments, check_room, room
from placement_insight.documents import Response
from placement_insight.explain import command as explanation_command
from placement_insight.names import named

_COLUMNS = ("at", "request_id", "global_request_id", "kind", "reason", "count", "request")
_TABLE_COLUMNS = ("at", "reason", "count", "request", "request_id")
_SUMMARY = ("by", "name", "requests", "per_hour")
_LONG = ("project_id", "user_id", "microversion", "last_at", "superseded")
_FILTERS = {
    "since": (
        "--since",
        "<time>",
        "Only requests after this time: 1h, 2h30m, yesterday or 2026-11-25 18:00 (UTC).",
    ),
    "project_id": ("--project", "<project>", "Only requests of this project, by name or ID."),
    "reason": ("--reason", "<code>", "Only with this reason code, such as capacity."),
}
_PAGE = {
    "limit": ("--limit", "<limit>", "Number of requests to list. Default: 20."),
    "marker": ("--marker", "<marker>", "Begin after the page that reported this marker."),
}


class ExplainAllocationCandidate(WrittenOutput, command.ShowOne):
    """Explain where a request for allocation candidates fits, and what excludes other hosts.

    Takes the options of ``allocation candidate list``, or the query string of a log line, or
    the id of a request that found nothing:

    $ openstack allocation candidate explain --resource VCPU=16 --required HW_CPU_X86_AVX2
    $ openstack allocation candidate explain --request-id req-8c1f2f0e-...

    The id is the id of the request to Placement, or the global request id that nova logs and
    ``openstack server event list`` shows.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        explanation_command.add_to(parser)
        explanation_command.add_explanation(parser)
        add_room_arguments(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        check_room(parsed_args)
        names = CommandNames(self.app)
        if parsed_args.request_id:
            request_id = quote(parsed_args.request_id, safe="")
            records = get(self.app, f"/requests/{request_id}")["requests"]
            known = _known(names, records)
            # the decisive one is the first
            fields = explanation.recorded(records[0], known, program(self.app))
            if others := records[1:]:
                fields |= {"recorded": len(records), "others": explanation.records(others, known)}
        else:
            document = self._current(parsed_args, names)
            known = names.in_query(document["query"])
            remedies = "" if parsed_args.remedies else "not computed without --remedies"
            fields = explanation.current(document, known, remedies)
            if parsed_args.make_room:
                query = document["query"] + (
                    f"&root={document['root']['uuid']}" if "root" in document else ""
                )
                fields["room"] = room(self.app, names, query, parsed_args)
        hosts = {"roots": "hosts"} if is_table(parsed_args) else {}
        return [hosts.get(name, name) for name in fields], cells(fields.values(), known)

    def _current(self, arguments: argparse.Namespace, names: CommandNames) -> Response:
        resolve_groups(names, arguments)
        pairs = explanation_command.pairs_of(
            arguments, "Give --resource, --query or --request-id."
        )
        if arguments.remedies:
            pairs.append(("remedies", "true"))
        if arguments.host:
            pairs.append(("root", names.provider(arguments.host)))
        return get(self.app, "/explanation", pairs)


class ListAllocationRequest(WrittenOutput, command.Lister):
    """List requests that found no allocation candidates, and claims that were refused.

    ``openstack allocation candidate explain --request-id ID`` shows the explanation of one.
    """

    nothing = ("No recorded request matches the options.",)

    important = ("at", "reason", "request", "count", "request_id")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_options(parser, {**_FILTERS, **_PAGE})
        parser.add_argument(
            "--long", action="store_true", help="Also show project, user and microversion."
        )
        parser.add_argument(
            "--summary",
            action="store_true",
            help="Instead of a list, show the number of requests in each hour: in total, and by "
            "kind, reason, class, trait, aggregate and project. Default of --since: a day.",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        names = CommandNames(self.app)
        query = given(parsed_args, _FILTERS)
        if "project_id" in query:
            query["project_id"] = names.project(query["project_id"])
        if parsed_args.summary:
            return _SUMMARY, self._summary(names, query, parsed_args)
        query |= {"limit": "20", **given(parsed_args, _PAGE)}
        document = get(self.app, "/requests", query)
        of_table = is_table(parsed_args)
        columns = columns_with_names(
            parsed_args,
            (*(_TABLE_COLUMNS if of_table else _COLUMNS), *(_LONG if parsed_args.long else ())),
            ("sentence",),
        )
        known = _known(names, document["requests"]) if wants_names(parsed_args, ()) else {}
        if document["next"]:
            self.note(f"To list more: --marker {document['next']}")
        rows = (_row(each, known, of_table=of_table) for each in document["requests"])
        return columns, (cells((row[name] for name in columns), known) for row in rows)

    def _summary(
        self, names: CommandNames, query: Mapping[str, str], arguments: argparse.Namespace
    ) -> Iterable[Sequence[object]]:
        """Return a row for all requests, and for each name."""
        document = get(self.app, "/requests/summary", query)
        known: Names = {}
        if wants_names(arguments, ()):
            known = {
                **(names.aggregates if document["aggregates"] else {}),
                **(names.projects if document["projects"] else {}),
            }
        self.note(period_line(document))
        return (cells(row, known) for row in _summary_rows(document))


def _row(recorded: Response, names: Names, *, of_table: bool) -> Mapping[str, object]:
    """Return the cells by column.

    In a table the time is the last one, and the id the one that nova logs, if there is one.
    """
    row: dict[str, object] = {
        **recorded,
        "request": _request(recorded, names),
        "sentence": recorded["explanation"].get("sentence"),
    }
    if of_table:
        row["at"] = recorded["last_at"]
        row["reason"] = recorded["reason"] + (", superseded" if recorded["is_superseded"] else "")
        row["request_id"] = recorded["global_request_id"] or recorded["request_id"]
    return row


def _request(recorded: Response, names: Names) -> object:
    """Return the query, or the claim; in a table, the claim is the sentence of its refusal."""
    if recorded.get("query"):
        return query_cell(recorded["query"], names)
    sentence = recorded["explanation"].get("sentence")
    claim = recorded.get("claim")
    if not sentence:
        return facts(claim or {})
    return Complete(claim, lambda _: named(printable(sentence), names))


def _known(names: CommandNames, records: Iterable[Response]) -> Names:
    """Return the names of the servers, projects, aggregates and providers in recorded requests."""
    claims = [record["claim"] for record in records if record.get("claim")]
    servers = names.servers(
        {claim["consumer_uuid"] for claim in claims if "consumer_uuid" in claim}
    )
    queries = "&".join(record.get("query") or "" for record in records)
    projects = names.projects if any(record.get("project_id") for record in records) else {}
    return {**servers, **projects, **names.in_query(queries)}


MOST_BARS: Final = 48
_BARS = "·▁▂▃▄▅▆▇█"
_BY: Final = {
    "kinds": "kind",
    "reasons": "reason",
    "resource_classes": "class",
    "traits": "trait",
    "aggregates": "aggregate",
    "projects": "project",
    "races": "lost race",
}


def _summary_rows(document: Response) -> Iterator[tuple[object, ...]]:
    """Yield the row of all requests, then a row for each name of each list."""
    everything = {**document, "name": ""}
    for by, rows in (("all", [everything]), *((by, document[name]) for name, by in _BY.items())):
        for row in rows:
            yield by, row["name"], row["requests"], Complete(row["per_hour"], bars)


def period_line(document: Response) -> str:
    """Return the period of a summary, and how many names it does not list.

    >>> since, per_hour = "2026-11-21T00:00:00Z", [0] * 100
    >>> period_line({"since": since, "per_hour": per_hour, "omitted": {"traits": 3}})
    'From 2026-11-21T00:00:00Z, a bar for 3 hours. Not listed: 3 more traits.'
    """
    hours = _hours_of_bar(document["per_hour"])
    bar = "each hour" if hours == 1 else f"{hours} hours"
    line = f"From {document['since']}, a bar for {bar}."
    omitted = [
        f"{number} more {name.replace('_', ' ')}" for name, number in document["omitted"].items()
    ]
    return f"{line} Not listed: {', '.join(omitted)}." if omitted else line


def _hours_of_bar(per_hour: Sequence[int]) -> int:
    return -(-len(per_hour) // MOST_BARS)


def bars(per_hour: Sequence[int]) -> str:
    """Return a bar for each hour, relative to the largest number; or for some hours if many.

    >>> bars([0, 1, 16, 8, 0])
    '·▁█▄·'
    >>> len(bars([1] * 100))
    34
    """
    hours = _hours_of_bar(per_hour)
    first = len(per_hour) % hours  # the last bar has the current hour, and as many as the others
    sums = [sum(per_hour[:first])] if first else []
    sums += [sum(per_hour[at : at + hours]) for at in range(first, len(per_hour), hours)]
    largest, highest = max([1, *sums]), len(_BARS) - 1
    return "".join(_BARS[-(-number * highest // largest)] for number in sums)
