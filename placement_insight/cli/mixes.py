"""Options of ``openstack resource capacity show`` for mixes of shapes, and for other hosts."""

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from osc_lib.exceptions import CommandError
from osc_lib.shell import OpenStackShell

from placement.core.text import nouns, printable
from placement_insight.cli.command import add_options
from placement_insight.cli.names import CommandNames
from placement_insight.documents import Response

if TYPE_CHECKING:
    from placement_insight.plan.capacity.flavors import OfFlavor

Pairs = list[tuple[str, str]]


_OPTIONS = {
    "mix": (
        "--mix",
        "<number>=<flavor>",
        "Show how often a mix fits, instead of a request: a number of servers of a flavor of nova "
        "or of a query, as in 20=resources=VCPU:8. Can be repeated.",
    ),
    "like": (
        "--like",
        "<host>=<number>",
        "As if there were more empty hosts like it. Can be repeated.",
    ),
    "without": ("--without", "<provider>", "As if this provider did not exist. Can be repeated."),
}


class MixOption(NamedTuple):
    """How often a mix has a query, the query, and what its flavor requires beside it."""

    share: str
    query: str
    not_counted: Sequence[str] = ()


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_options(parser, _OPTIONS, action="append", default=[])


def fleet_of(names: CommandNames, arguments: argparse.Namespace) -> Pairs:
    """Return the parameters for hosts that do not exist.  Raises: CommandError."""
    pairs = [("without", names.provider(text)) for text in arguments.without]
    for text in arguments.like:
        host, _, number = text.rpartition("=")
        if not host or not number.isdecimal():
            raise CommandError(f"--like {text}: write it as <host>=<number>, as in cn1=10.")
        pairs.append(("like", f"{names.provider(host)}:{number}"))
    return pairs


def mix_of(app: OpenStackShell, texts: Sequence[str]) -> Sequence[MixOption]:
    """Return the shapes of a mix.  Raises: CommandError."""
    parts = [text.partition("=") for text in texts]
    for number, _, shape in parts:
        if not number.isdecimal() or not shape:
            raise CommandError(
                f"--mix {number}={shape}: write it as <number>=<flavor> or <number>=<query>, as "
                "in 20=resources=VCPU:8."
            )
    named = [shape for _, _, shape in parts if not _is_query(shape)]
    flavors = requests_of_flavors(app) if named else {}
    if unknown := [shape for shape in named if shape not in flavors]:
        raise CommandError(
            f"Nova has no flavor {', '.join(unknown)}. It has: {', '.join(sorted(flavors))}."
        )
    of_flavors = {
        name: (urlencode(flavors[name].request, safe=":,!"), flavors[name].not_counted)
        for name in named
    }
    return [MixOption(number, *of_flavors.get(shape, (shape, ()))) for number, _, shape in parts]


def pairs_of(mix: Sequence[MixOption]) -> Pairs:
    """Return the parameters of a mix."""
    return [pair for each in mix for pair in (("shape", each.query), ("share", each.share))]


def _is_query(text: str) -> bool:
    return "=" in text


def requests_of_flavors(app: OpenStackShell) -> "Mapping[str, OfFlavor]":
    """Return the requests of the flavors of nova by name.  Raises: CommandError."""
    # openstacksdk takes long to import, and each command of `openstack` imports this module
    from placement_insight.plan.capacity import flavors  # noqa: PLC0415

    return flavors.requests_of(app.client_manager.sdk_connection)


def shape_line(shape: Response) -> str:
    """Return the number of a shape of a mix, its query, and how often it fits alone.

    >>> shape = {"share": 20, "query": "resources=VCPU:8", "claims": 75, "at_most": 75}
    >>> shape_line({**shape, "not_counted": ["hw:numa_nodes=1"]})
    '20 x resources=VCPU:8 (75 if nothing else is claimed); not counted: hw:numa_nodes=1'
    """
    more = "" if shape["claims"] == shape["at_most"] else " or more"
    alone = f"{shape['claims']}{more} if nothing else is claimed"
    text = f"{shape['share']} x {shape['query']} ({alone})"
    return printable(text) + not_counted_text(shape["not_counted"])


def not_counted_text(extra_specs: Sequence[str]) -> str:
    """Return the end of the line of a flavor: the extra specs that its request does not have."""
    return printable(f"; not counted: {', '.join(extra_specs)}") if extra_specs else ""


def fleet_line(host: Response) -> str:
    """Return a host that was removed, or how many were added.

    >>> fleet_line({"name": "cn1", "hosts": 10})
    '10 hosts like cn1'
    """
    added = f"{host['hosts']} {nouns(host['hosts'], 'host')} like " if "hosts" in host else ""
    return added + printable(host["name"])
