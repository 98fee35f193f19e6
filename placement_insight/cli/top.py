"""``openstack placement top``: hosts by their fullest resource class."""

import argparse
from collections.abc import Iterator
from itertools import islice
from typing import Final

from osc_lib.command import command

from placement_insight.cli.cells import Shown, cells
from placement_insight.cli.client import get
from placement_insight.cli.command import Table, WrittenOutput, add_options, given, is_table
from placement_insight.cli.names import CommandNames
from placement_insight.documents import Response

_COLUMNS = (
    "host",
    "uuid",
    "class",
    "share",
    "used",
    "usable",
    "reserved",
    "free",
    "state",
    "note",
)
_FIELDS = ("name", "uuid", "resource_class", *_COLUMNS[3:-2], "states", "note")
_TABLE_COLUMNS = ("host", "used", "free", "state")  # and "note" for disabled hosts
_SHOWN_BY_BAR = {"full", "empty"}
_FLAGS = {
    "full": "Only hosts of which more than 95 %% of the class is in use.",
    "empty": "Only hosts of which nothing is in use.",
    "fragmented": "Only hosts of which more than 95 %% of the CPUs, memory or disk is in use, "
    "while at least half of another class is free.",
    "disabled": "Only hosts that nova has disabled.",
    "reserved": "Only hosts with a class that is reserved as a whole.",
    "over_capacity": "Only hosts of which more of a class is in use than its capacity.",
}
_OPTIONS = {
    "class": ("--class", "<class>", "Sort by this class, such as VCPU; only hosts with it."),
    "aggregate": ("--aggregate", "<aggregate>", "Only hosts of this aggregate, by name or UUID."),
    "rack": ("--rack", "<prefix>", "Only hosts with a trait that begins so: CUSTOM_RACK_R02."),
    "limit": ("--limit", "<limit>", "Number of hosts to list; 0 for all. Default: 20."),
}
_BARS = " ▏▎▍▌▋▊▉█"
_CELLS: Final = 5  # of a bar


class ListTopHosts(WrittenOutput, command.Lister):
    """List hosts by the resource class that is the fullest, with the free amounts of all classes.

    The amounts are sums over the tree of a host. The first lines are about all hosts: how many
    have each state, and which share of each class is in use.

    $ openstack placement top --full --class MEMORY_MB

    $ openstack placement top --empty --rack CUSTOM_RACK_
    """

    important = ("host", "note", "used", "state", "free")
    nothing = ("No host matches the options.",)
    has_lines = True

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_options(parser, _OPTIONS)
        for name, text in _FLAGS.items():
            option = f"--{name.replace('_', '-')}"
            parser.add_argument(option, action="store_const", const="true", help=text)

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the columns, and a row for each host."""
        query = given(parsed_args, (*_OPTIONS, *_FLAGS))
        if "aggregate" in query:
            query["aggregate"] = CommandNames(self.app).aggregate(query["aggregate"])
        top = get(self.app, "/top", query)
        hosts, selected = top["hosts"], top["selected"]
        notes = ("note",) if parsed_args.disabled and any(host["note"] for host in hosts) else ()
        self.note(top["text"])
        if parsed_args.disabled and not notes:
            self.note("When they were disabled, and by whom, is not recorded.")
        if len(hosts) < selected:
            self.note(f"{len(hosts)} of {selected} selected hosts are listed. All: --limit 0.")
        if is_table(parsed_args):
            columns = (*_TABLE_COLUMNS, *notes)
            return columns, [cells(islice(_table_row(host), len(columns))) for host in hosts]
        return _COLUMNS, [cells(map(host.get, _FIELDS)) for host in hosts]


def _table_row(host: Response) -> Iterator[object]:
    yield host["name"]
    yield f"{bar(host['share'])} {host['share']:>4.0%} {host['resource_class']}"
    yield " ".join(f"{name}={amount}" for name, amount in host["free"].items() if amount)
    states = [state for state in host["states"] if state not in _SHOWN_BY_BAR]
    yield Shown(states, lambda states: "\n".join(states).replace("_", "\n"))
    yield host["note"].replace(", ", ",\n")


def bar(share: float) -> str:
    """Return a bar for a share, in eighths of a character.

    >>> bar(0.5), bar(1.2)
    ('██▌  ', '█████')
    """
    eighths = round(min(share, 1.0) * _CELLS * 8)
    return ("█" * (eighths // 8) + _BARS[eighths % 8].strip()).ljust(_CELLS)
