"""``openstack placement identity``."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

from osc_lib.command import command
from osc_lib.exceptions import CommandError

from placement.cli.client import get
from placement.cli.documents import cells
from placement.cli.identity_options import add_arguments, write_plan
from placement.cli.output import WrittenOutput
from placement.core.insight import identity_plan
from placement.core.insight.identity_plan import AllocatedConsumer, CannotPlan
from placement.core.printable_text import printable
from placement.render import identity_rows, insight_identity


class ShowIdentity(WrittenOutput, command.Lister):
    """List the providers that a host name or UUID could mean, and refused registrations.

    With --plan FILE and one of --adopt, --rename and --retire, also write a plan, which
    ``placement-manage audit --apply FILE`` applies.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        add_arguments(parser)
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        """Return the columns, and a row for each provider and refused registration."""
        query = {"name": parsed_args.host}
        if parsed_args.days is not None:
            query["days"] = parsed_args.days
        document = get(self.app, f"/insight/identity?{urlencode(query)}")
        identity = insight_identity.from_document(document)
        try:
            message = write_plan(parsed_args, identity, self._consumers_of)
        except (CannotPlan, OSError) as error:
            raise CommandError(printable(str(error))) from None
        if message:
            self.app.stderr.write(f"{message}\n")
        rows = list(identity_rows.rows(identity))
        if not rows:
            raise CommandError(printable(identity_plan.nothing_found(identity)))
        return identity_rows.COLUMNS, map(cells, rows)

    def _consumers_of(self, uuid: str) -> list[AllocatedConsumer]:
        query, allocated = {"provider": uuid}, []
        while True:
            document = get(self.app, f"/insight/consumers?{urlencode(query)}")
            allocated += [
                AllocatedConsumer(each["uuid"], each["generation"], each["allocations"])
                for each in document["consumers"]
            ]
            if not document["next"]:
                return allocated
            query["marker"] = document["next"]
