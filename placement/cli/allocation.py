"""``openstack allocation candidate explain`` and ``openstack allocation request list``."""

import argparse
import os
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from osc_lib.command import command

from placement.cli import client
from placement.cli.client import WrittenOutput, cells, facts, get, given
from placement.insight.explanation import command as explanation_command

_COLUMNS = ("at", "request_id", "global_request_id", "kind", "reason", "request")
_LONG_COLUMNS = (*_COLUMNS, "project_id", "user_id", "microversion")


class ExplainAllocationCandidate(WrittenOutput, command.ShowOne):
    """Explain where a request for allocation candidates fits, and what excludes other hosts.

    Takes the options of ``allocation candidate list``, or the query string of a log line, or
    the id of a request that found nothing:

    $ openstack allocation candidate explain --resource VCPU=16 --required HW_CPU_X86_AVX2
    $ openstack allocation candidate explain --request-id req-8c1f2f0e-...

    The id is the id of the request to Placement, or the global request id that nova logs and
    ``openstack server event list`` shows.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        explanation_command.add_to(parser)
        parser.add_argument(
            "--request-id",
            metavar="<id>",
            help="Show the records of a request ID or global request ID instead of a query.",
        )
        parser.add_argument(
            "--remedies",
            action="store_true",
            help="Also look for changes of the request after which a host fits.",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        """Return names and values of the explanation."""
        colored = self.app.stdout.isatty() and "NO_COLOR" not in os.environ
        if parsed_args.request_id:
            fields = self._recorded(parsed_args.request_id, colored=colored)
        else:
            fields = self._current(parsed_args, colored=colored)
        return tuple(fields), client.cells(fields.values())

    def _recorded(self, request_id: str, *, colored: bool) -> dict[str, Any]:
        records = get(self.app, f"/insight/requests/{quote(request_id, safe='')}")["requests"]
        newest = next(
            (record for record in records if record["kind"] == "no_candidates"), records[0]
        )
        fields = client.recorded(newest, colored=colored)
        return {**fields, "recorded": len(records)} if len(records) > 1 else fields

    def _current(self, arguments: argparse.Namespace, *, colored: bool) -> dict[str, Any]:
        pairs = explanation_command.pairs_of(
            arguments, "Give --resource, --query or --request-id."
        )
        if arguments.remedies:
            pairs.append(("remedies", "true"))
        document = get(self.app, f"/insight/explanation?{urlencode(pairs)}")
        return client.explanation(document, colored=colored)


class ListAllocationRequest(WrittenOutput, command.Lister):
    """List requests that found no allocation candidates, and claims that were refused.

    ``openstack allocation candidate explain --request-id ID`` shows the explanation of one.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--since", metavar="<time>", help="Only requests after this time; ISO 8601, in UTC."
        )
        parser.add_argument(
            "--project",
            metavar="<project>",
            dest="project_id",
            help="Only requests of callers of this project.",
        )
        parser.add_argument("--reason", metavar="<code>", help="Only with this reason code.")
        parser.add_argument(
            "--limit",
            metavar="<limit>",
            default="20",
            help="Number of requests to list. Default: 20.",
        )
        parser.add_argument("--marker", metavar="<marker>", help="Begin after this page.")
        parser.add_argument(
            "--long", action="store_true", help="Also show project, user and microversion."
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        """Return the columns, and a row for each recorded request."""
        query = given(parsed_args, ("since", "project_id", "reason", "limit", "marker"))
        document = get(self.app, f"/insight/requests?{urlencode(query)}")
        columns = _LONG_COLUMNS if parsed_args.long else _COLUMNS
        if document["next"]:
            self.app.stderr.write(f"To list more: --marker {document['next']}\n")
        return columns, (
            cells(_cell(request, name) for name in columns) for request in document["requests"]
        )


def _cell(recorded: dict[str, Any], column: str) -> Any:
    if column == "request":
        return recorded["query"] if "query" in recorded else facts(recorded["claim"])
    return recorded[column]
