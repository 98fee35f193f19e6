"""``openstack resource consumer list``."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

from cliff.columns import FormattableColumn
from osc_lib.command import command

from placement.cli.client import get
from placement.cli.documents import cells
from placement.cli.output import WrittenOutput

_COLUMNS = ("uuid", "project_id", "user_id", "type", "created_at", "allocations")
_LONG_COLUMNS = (*_COLUMNS, "generation", "updated_at")
_OPTIONS = {
    "--project": ("project_id", "<project>", "Only consumers of this project."),
    "--user": ("user_id", "<user>", "Only consumers of this user."),
    "--type": ("type", "<type>", "Only consumers of this type; unknown for those without."),
    "--provider": ("provider", "<provider>", "Only those with allocations on it, by UUID."),
    "--in-tree": ("in_tree", "<provider>", "Only those with allocations in its tree, by UUID."),
    "--older-than": ("older_than", "<time>", "Only those created before; ISO 8601, in UTC."),
    "--limit": ("limit", "<limit>", "How many to list, 10000 at most. Default: 1000."),
    "--marker": ("marker", "<marker>", "Begin after this page."),
}


class _Allocations(FormattableColumn[Any]):
    """Amounts by provider."""

    def human_readable(self) -> str:
        """Return a line for each provider."""
        return "\n".join(
            f"{provider}: {', '.join(f'{name}={amount}' for name, amount in amounts.items())}"
            for provider, amounts in self._value.items()
        )


class ListResourceConsumer(WrittenOutput, command.Lister):
    """List consumers with their allocations, in the order of their UUIDs."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        for option, (name, metavar, text) in _OPTIONS.items():
            parser.add_argument(option, dest=name, metavar=metavar, help=text)
        parser.add_argument(
            "--all", action="store_true", help="List all, reading as many pages as there are."
        )
        parser.add_argument(
            "--long", action="store_true", help="Also show generation and time of the last write."
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        """Return the columns, and a row for each consumer."""
        columns = _LONG_COLUMNS if parsed_args.long else _COLUMNS
        return columns, [
            cells(_cell(each, name) for name in columns) for each in self._read(parsed_args)
        ]

    def _read(self, arguments: argparse.Namespace) -> list[dict[str, Any]]:
        query = {
            name: value
            for name, _, _ in _OPTIONS.values()
            if (value := getattr(arguments, name)) is not None
        }
        consumers: list[dict[str, Any]] = []
        while True:
            document = get(self.app, f"/insight/consumers?{urlencode(query)}")
            consumers += document["consumers"]
            query["marker"] = document["next"]
            if not document["next"]:
                return consumers
            if not arguments.all:
                self.app.stderr.write(f"There are more: --marker {document['next']}\n")
                return consumers


def _cell(consumer: dict[str, Any], column: str) -> Any:
    value = consumer[column]
    return _Allocations(value) if column == "allocations" else value
