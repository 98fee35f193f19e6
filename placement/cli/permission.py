"""``openstack placement permission check``."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

from osc_lib.command import command

from placement.cli.client import get
from placement.cli.output import WrittenOutput
from placement.cli.permission_options import DENIED, add_arguments

_COLUMNS = ("service", "method", "path", "allowed", "rule", "needs")
_LONG_COLUMNS = (*_COLUMNS, "purpose")


class CheckPermission(WrittenOutput, command.Lister):
    """List the calls of other services that the policy denies a set of roles.

    The service decides by the policy in force there. The exit status is 0 if all calls are
    allowed, and 3 if at least one is denied.
    """

    _denied = 0

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        add_arguments(parser)
        parser.add_argument("--service", help="Check the calls of one service only: nova")
        parser.add_argument("--long", action="store_true", help="Also show what a call is for.")
        return parser

    def run(self, parsed_args: argparse.Namespace) -> int:
        """List the calls; return 0, or 3 if at least one is denied."""
        status: int = super().run(parsed_args)
        return status or (DENIED if self._denied else 0)

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        """Return the columns, and a row for each call."""
        names = ("roles", "project_id", "service")
        query = {
            name: value for name in names if (value := getattr(parsed_args, name)) is not None
        }
        document = get(self.app, f"/insight/permissions?{urlencode(query)}")
        self._denied = document["denied"]
        for role in document["unnamed_roles"]:
            self.app.stderr.write(f"No rule names the role {role}: it allows nothing.\n")
        columns = _LONG_COLUMNS if parsed_args.long else _COLUMNS
        calls = [each for each in document["calls"] if parsed_args.all or not each["allowed"]]
        return columns, [[each[name] for name in columns] for each in calls]
