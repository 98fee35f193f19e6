"""``openstack placement drain`` and ``survive``, and room of ``explain``: hypothetical moves."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from osc_lib.command import command
from osc_lib.exceptions import CommandError
from osc_lib.shell import OpenStackShell

from placement.cli.cells import Complete, Shown
from placement.cli.client import get, post
from placement.cli.command import Table, WrittenOutput, columns_with_names
from placement.cli.names import CommandNames
from placement.core.text import Names, printable
from placement.insight.documents import Response
from placement.insight.names import named, uuids_in
from placement.insight.whatif.command import (
    EXIT_STATUS,
    add_drain_arguments,
    add_survival_arguments,
    drain_lines,
    room_lines,
    room_request,
    survival_lines,
)

_COLUMNS = ("consumer", "from", "to")
_OF_DOMAIN = ("name", "hosts", "consumers", "stuck", "lacks")
_WITH_NAMES = ("name", "type", "project_id", "allocations")


class PlanDrain(WrittenOutput, command.Lister):
    """Plan where the servers of hosts would fit if the hosts were gone.

    Nothing is moved. The exit status is 0 if all fit elsewhere, 1 if not, and 3 if this was not
    determined.
    """

    add_arguments = staticmethod(add_drain_arguments)

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        names = CommandNames(self.app)
        body = {
            "provider": [names.provider(host) for host in parsed_args.hosts],
            "member_of": [names.aggregate(text) for text in parsed_args.aggregate],
            "root_trait": parsed_args.rack,
        }
        if not any(body.values()):
            raise CommandError("Name a host, or give --aggregate or --rack.")
        body["keep"] = parsed_args.keep
        body = {name: values for name, values in body.items() if values}
        document, consumers = _planned(self.app, names, "/drain", body, _drained)
        self.exit_status = EXIT_STATUS[document["verdict"]]
        moves = document["moves"]
        servers = names.servers(consumers)
        self.note(*_with_aggregates(names, drain_lines(document, servers)))
        columns = columns_with_names(parsed_args, _COLUMNS, _WITH_NAMES)
        return columns, [[_cell(move, column, servers) for column in columns] for move in moves]


def check_room(arguments: argparse.Namespace) -> None:
    """Return if the options of room are given for a request.  Raises: CommandError."""
    if arguments.make_room and arguments.request_id:
        raise CommandError("--make-room needs the query of a request: give --resource or --query.")
    if (arguments.keep or arguments.evictable) and not arguments.make_room:
        raise CommandError("--keep and --evictable say how to make room. Add --make-room.")


def room(
    app: OpenStackShell, names: CommandNames, query: str, arguments: argparse.Namespace
) -> Shown[Response]:
    """Return the hosts on which a query fits after the fewest servers left.

    Raises: CommandError.
    """
    try:
        body = room_request(query, arguments)
    except ValueError as error:
        raise CommandError(str(error)) from None
    document, leaving = _planned(app, names, "/room", body, _leaving)
    servers = names.servers(leaving)
    return Complete(document, lambda document: "\n".join(room_lines(document, servers)))


def _planned(
    app: OpenStackShell,
    names: CommandNames,
    path: str,
    body: Mapping[str, object],
    consumers_of: Callable[[Response], Sequence[str]],
) -> tuple[Response, Sequence[str]]:
    """Return a plan that keeps the rules of the server groups of its consumers, and these.

    Another plan may have other consumers: it is requested until the groups of all are known.
    """
    seen, groups = set[str](), list[Mapping[str, Any]]()
    while True:
        document = post(app, path, {**body, "groups": groups} if groups else body)
        consumers = consumers_of(document)
        seen.update(consumers)
        known, groups = groups, names.groups_of(seen)
        if len(groups) == len(known):
            return document, consumers


def _drained(document: Response) -> Sequence[str]:
    return [each["consumer"] for each in (*document["stuck"], *document["moves"])]


def _leaving(document: Response) -> Sequence[str]:
    return [each["uuid"] for room in document["rooms"] for each in room["consumers"]]


def _amounts(amounts: Mapping[str, int]) -> str:
    return ", ".join(f"{printable(name)}={amount}" for name, amount in amounts.items())


class ShowSurvival(WrittenOutput, command.Lister):
    """List the hosts, aggregates or racks whose servers do not all fit elsewhere if they fail.

    The exit status is 0 if all survive, 1 if not, and 3 if this was not determined for all.
    """

    important = ("name", "stuck", "lacks")
    add_arguments = staticmethod(add_survival_arguments)

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        pairs = [("by", parsed_args.by), ("failures", parsed_args.failures)]
        pairs += [("keep", what) for what in parsed_args.keep or ()]
        document = get(self.app, "/survival", pairs)
        self.exit_status = EXIT_STATUS[document["verdict"]]
        names = CommandNames(self.app)
        self.note(*_with_aggregates(names, survival_lines(document)))
        known = names.aggregates if parsed_args.by == "aggregate" else {}
        shown = {"name": lambda name: printable(known.get(name, name)), "lacks": _amounts}
        columns = columns_with_names(parsed_args, _OF_DOMAIN, ("reason",))
        return columns, [
            [Shown(each[n], shown[n]) if n in shown else each[n] for n in columns]
            for each in (*document["not"], *document["unknown"])
        ]


def _with_aggregates(names: CommandNames, lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines with the name of each aggregate; they are read only if there is one."""
    for line in lines:
        yield named(line, names.aggregates) if uuids_in(line) else line


def _cell(move: Response, column: str, servers: Names) -> object:
    if column == "name":
        return servers.get(move["consumer"])
    if column == "consumer":
        return Shown(move["consumer"], lambda uuid: printable(servers.get(uuid, uuid)))
    if column in {"from", "to"}:
        return Shown(move[column], _names)
    return move[column]


def _names(providers: Sequence[Mapping[str, str]]) -> str:
    return ", ".join(printable(provider["name"]) for provider in providers)
