"""``openstack allocation candidate explain``."""

import argparse
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

from osc_lib.command import command

from placement.cli import candidate_options, documents
from placement.cli.client import get
from placement.cli.output import WrittenOutput


class ExplainAllocationCandidate(WrittenOutput, command.ShowOne):
    """Explain where a request for allocation candidates fits, and why not elsewhere.

    Takes the options of ``allocation candidate list``, or the query string of a log line, or
    the id of a request that found nothing:

    $ openstack allocation candidate explain --resource VCPU=16 --required HW_CPU_X86_AVX2
    $ openstack allocation candidate explain --request-id req-8c1f2f0e-...

    An id is that of the request to Placement, or the global one that nova logs and
    ``openstack server event list`` shows.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        candidate_options.add_to(parser)
        parser.add_argument(
            "--request-id",
            metavar="<id>",
            help="Show what was recorded for a request id or a global request id instead.",
        )
        parser.add_argument(
            "--remedies", action="store_true", help="Also look for changes that would help."
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        """Return names and values of the explanation."""
        colored = self.app.stdout.isatty() and "NO_COLOR" not in os.environ
        if parsed_args.request_id:
            fields = self._recorded(parsed_args.request_id, colored=colored)
        else:
            fields = self._current(parsed_args, colored=colored)
        return tuple(fields), documents.cells(fields.values())

    def _recorded(self, request_id: str, *, colored: bool) -> dict[str, Any]:
        records = get(self.app, f"/insight/requests/{quote(request_id, safe='')}")["requests"]
        newest = next((each for each in records if each["kind"] == "no_candidates"), records[0])
        fields = documents.recorded(newest, colored=colored)
        return {**fields, "recorded": len(records)} if len(records) > 1 else fields

    def _current(self, arguments: argparse.Namespace, *, colored: bool) -> dict[str, Any]:
        pairs = candidate_options.pairs_of(arguments, "Give --resource, --query or --request-id.")
        if arguments.remedies:
            pairs.append(("remedies", "true"))
        document = get(self.app, f"/insight/explanation?{urlencode(pairs)}")
        return documents.explanation(document, colored=colored)
