"""``openstack resource capacity show``."""

import argparse
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from cliff.columns import FormattableColumn
from osc_lib.command import command

from placement.cli import candidate_options
from placement.cli.client import get
from placement.cli.documents import Facts, cells
from placement.cli.output import WrittenOutput
from placement.core.printable_text import printable

_AMOUNTS = ("largest", "free", "stranded", "limited_by")
_NAMES = ("name", "root", "aggregate", "root_trait")


class _Groups(FormattableColumn[Any]):
    """The capacity of groups of roots."""

    def human_readable(self) -> str:
        """Return a line for each group."""
        return "\n".join(
            f"{printable(_name(each))}: {each['claims']}{'' if each['exact'] else ' or more'}"
            f" on {each['roots']} roots"
            for each in self._value
        )


def _name(group: dict[str, Any]) -> str:
    return next(str(group[name]) for name in _NAMES if name in group)


class ShowResourceCapacity(WrittenOutput, command.ShowOne):
    """Show how often a shape can still be claimed, on how many roots, and what limits.

    The shape is given by the options of ``allocation candidate list``, or as a query string:

    $ openstack resource capacity show --resource VCPU=4 --resource MEMORY_MB=8192 --by aggregate
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        candidate_options.add_to(parser)
        parser.add_argument(
            "--by",
            metavar="<group>",
            default="none",
            help="aggregate, root, or root_trait:<prefix>, such as root_trait:CUSTOM_AZ_.",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        """Return names and values of the capacity."""
        shape = candidate_options.pairs_of(parsed_args, "Give --resource or --query.")
        pairs = [*shape, ("by", parsed_args.by)]
        document = get(self.app, f"/insight/capacity?{urlencode(pairs)}")
        fields = {name: value for name, value in document.items() if name != "version"}
        fields |= {name: Facts(fields[name]) for name in _AMOUNTS}
        fields["by"] = _Groups(fields["by"])
        return tuple(fields), cells(fields.values())
