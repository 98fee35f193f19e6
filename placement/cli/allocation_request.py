"""``openstack allocation request list``."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

from osc_lib.command import command

from placement.cli.client import get
from placement.cli.documents import Facts, cells
from placement.cli.output import WrittenOutput

_COLUMNS = ("at", "request_id", "global_request_id", "kind", "reason", "request")
_LONG_COLUMNS = (*_COLUMNS, "project_id", "user_id", "microversion")


class ListAllocationRequest(WrittenOutput, command.Lister):
    """List requests that found no allocation candidates, and claims that were refused.

    ``openstack allocation candidate explain --request-id ID`` shows the explanation of one.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("--since", metavar="<time>", help="Only later ones; ISO 8601, in UTC.")
        parser.add_argument(
            "--project",
            metavar="<project>",
            dest="project_id",
            help="Only those of callers of this project.",
        )
        parser.add_argument("--reason", metavar="<code>", help="Only those with this reason.")
        parser.add_argument("--limit", metavar="<limit>", default="20", help="Default: 20.")
        parser.add_argument("--marker", metavar="<marker>", help="Begin after this page.")
        parser.add_argument("--long", action="store_true", help="Show who sent them, and how.")
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        """Return the columns, and a row for each recorded request."""
        names = ("since", "project_id", "reason", "limit", "marker")
        query = {
            name: value for name in names if (value := getattr(parsed_args, name)) is not None
        }
        document = get(self.app, f"/insight/requests?{urlencode(query)}")
        columns = _LONG_COLUMNS if parsed_args.long else _COLUMNS
        if document["next"]:
            self.app.stderr.write(f"There are more: --marker {document['next']}\n")
        return columns, (
            cells(_cell(each, name) for name in columns) for each in document["requests"]
        )


def _cell(recorded: dict[str, Any], column: str) -> Any:
    if column == "request":
        return recorded["query"] if "query" in recorded else Facts(recorded["claim"])
    return recorded[column]
