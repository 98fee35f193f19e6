"""``openstack placement drain`` and ``survive``, and room of ``explain``: hypothetical moves."""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from osc_lib.command import command
from osc_lib.exceptions import CommandError
from osc_lib.shell import OpenStackShell

from placement.core.text import NO_NAMES, Names, printable
from placement_insight.cli.cells import Complete, Shown
from placement_insight.cli.client import post
from placement_insight.cli.command import Table, WrittenOutput, add_options, columns_with_names
from placement_insight.cli.names import SECONDS_OF_PLANS, CommandNames
from placement_insight.documents import Response
from placement_insight.names import named, uuids_in
from placement_insight.nova_lists import CELL_DOWN

_COLUMNS = ("consumer", "from", "to")
_OF_DOMAIN = ("name", "hosts", "consumers", "stuck", "reason")
_WITH_NAMES = ("name", "type", "project_id", "allocations", "text", "reason")
_HOSTS = {
    "aggregate": (
        "--aggregate",
        "<aggregate>",
        "Hosts of this aggregate, by name or UUID. Can be repeated.",
    ),
    "rack": ("--rack", "<trait>", "Hosts with this trait: CUSTOM_RACK_12. Can be repeated."),
}
_EXIT_STATUS: Final = {"fits": 0, "does_not_fit": 1, "undetermined": 3}
"""The exit status of a command by verdict."""
_AT_REST: Final = ("RESCUE", "SHELVED", "SUSPENDED", "VERIFY_RESIZE")
_IN_TASKS: Final = ("MIGRATING", "REBUILD", "RESIZE", "REVERT_RESIZE")
"""The states from which nova moves no server; nova finds those with tasks by another request."""
_STATES: Final = {"failed": "ERROR", "off": "SHUTOFF", "paused": "PAUSED"}
"""The states in which nova moves servers in some ways only."""
_EVICTABLE: Final = {
    "project": "project_ids",
    "type": "types",
    "consumer": "consumers",
    "older_than": "older_than",
}


class PlanDrain(WrittenOutput, command.Lister):
    """Plan where the servers of hosts would fit if the hosts were gone.

    The moves are listed in their order, then the servers without a move, with the reason. Nothing
    is moved. The exit status is 0 if all fit elsewhere, 1 if not, and 3 if this was not
    determined, or if some are not planned.
    """

    important = ("to", "consumer", "from")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "hosts",
            nargs="*",
            metavar="<host>",
            help="A provider that would be gone, with all providers below it; by name or UUID.",
        )
        add_options(parser, _HOSTS, action="append", default=[])
        add_keep(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        names = CommandNames(self.app)
        body: dict[str, object] = {
            "provider": [names.provider(host) for host in parsed_args.hosts],
            "member_of": [names.aggregate(text) for text in parsed_args.aggregate],
            "root_trait": parsed_args.rack,
        }
        if not any(body.values()):
            raise CommandError("Name a host, or give --aggregate or --rack.")
        selected = {name: values for name, values in body.items() if values}
        body = selected | _constraints(names, parsed_args) | _states(names)
        document, consumers = _planned(self.app, names, "/drain", body, _consumers_of_drain)
        self.exit_status = _EXIT_STATUS[document["verdict"]] or 3 * bool(document["skipped"])
        others = [
            {**each, "to": [], "text": "", "reason": each["text"]}
            for each in (*document["stuck"], *document["skipped"])
        ]
        skipped = {each["consumer"] for each in document["skipped"]}
        servers = names.servers(skipped.union(consumers).difference(names.migrations or ()))
        self.note(*_lines(names, document["text"], servers))
        columns = columns_with_names(parsed_args, _COLUMNS, _WITH_NAMES)
        return columns, [
            [_cell(names, row, column, servers) for column in columns]
            for row in (*document["moves"], *others)
        ]


def check_room(arguments: argparse.Namespace) -> None:
    """Return if the options of room are given for a request.  Raises: CommandError."""
    if arguments.make_room and arguments.request_id:
        raise CommandError("--make-room needs the query of a request: give --resource or --query.")
    if (arguments.keep or arguments.cells or arguments.evictable) and not arguments.make_room:
        raise CommandError(
            "--keep, --cells and --evictable say how to make room. Add --make-room."
        )


def room(
    app: OpenStackShell, names: CommandNames, query: str, arguments: argparse.Namespace
) -> Shown[Response]:
    """Return the hosts on which a query fits after the fewest servers left.

    Raises: CommandError.
    """
    constraints = _constraints(names, arguments) | _states(names)
    body = {**_room_request(query, arguments), **constraints}
    document, leaving = _planned(app, names, "/room", body, _consumers_of_rooms)
    servers = names.servers(leaving)
    return Complete(document, lambda room: "\n".join(_lines(names, room["text"], servers)))


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
    seen = set[str]()
    groups = names.groups_of(seen)
    while True:
        document = post(app, path, body if groups is None else {**body, "groups": groups})
        consumers = consumers_of(document)
        seen.update(consumers)
        known, groups = groups, names.groups_of(seen)
        if groups == known:
            return document, consumers


def _consumers_of_drain(document: Response) -> Sequence[str]:
    return [each["consumer"] for each in (*document["stuck"], *document["moves"])]


def _consumers_of_rooms(document: Response) -> Sequence[str]:
    return [each["uuid"] for room in document["rooms"] for each in room["consumers"]]


class ShowSurvival(WrittenOutput, command.Lister):
    """List the hosts, aggregates or racks whose servers do not all fit elsewhere if they fail.

    The exit status is 0 if all survive, 1 if not, and 3 if this was not determined for all.
    """

    important = ("name", "stuck", "reason")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--by",
            default="root",
            metavar="<what>",
            help="What fails: root (each host, the default), aggregate, or root_trait:<prefix>, "
            "such as root_trait:CUSTOM_RACK_.",
        )
        parser.add_argument(
            "--failures",
            default=1,
            type=int,
            metavar="<number>",
            help="How many fail at once: 1 (the default), or 2, of hosts only.",
        )
        add_keep(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        names = CommandNames(self.app)
        body = {"by": parsed_args.by, "failures": parsed_args.failures}
        document = post(self.app, "/survival", body | _constraints(names, parsed_args))
        self.exit_status = _EXIT_STATUS[document["verdict"]]
        self.note(*_lines(names, document["text"]))
        known = names.aggregates if parsed_args.by == "aggregate" else {}
        shown = {
            "name": lambda name: printable(known.get(name, name)),
            "reason": lambda text: next(_lines(names, text)),
        }
        columns = columns_with_names(parsed_args, _OF_DOMAIN, ("lacks", "text"))
        return columns, [
            [Shown(each[n], shown[n]) if n in shown else each[n] for n in columns]
            for each in (*document["not"], *document["unknown"])
        ]


def _lines(names: CommandNames, text: str, servers: Names = NO_NAMES) -> Iterator[str]:
    """Yield the lines with the names of servers, and of aggregates, which are read if needed."""
    for line in map(printable, text.split("\n")):
        is_named = uuids_in(line) <= servers.keys()
        yield named(line, servers if is_named else {**names.aggregates, **servers})
    yield from names.missing_lists


def _cell(names: CommandNames, row: Response, column: str, servers: Names) -> object:
    """Return a cell; in a table, a server without a move has its reason as the target."""
    if column == "name":
        return servers.get(row["consumer"])
    if column == "consumer":
        return Shown(row["consumer"], lambda uuid: printable(servers.get(uuid, uuid)))
    if column == "to" and "reason" in row:
        return Shown(row["to"], lambda _: next(_lines(names, row["reason"], servers)))
    if column in {"from", "to"}:
        hosts = row.get(column, [])
        return Shown(hosts, lambda of: ", ".join(printable(each["name"]) for each in of))
    return row.get(column)


def _room_request(query: str, arguments: argparse.Namespace) -> dict[str, object]:
    """Return the body of POST /insight/room.  Raises: CommandError."""
    body: dict[str, object] = {"query": query}
    evictable = defaultdict[str, list[str]](list)
    for text in arguments.evictable:
        name, _, value = text.partition("=")
        if name not in _EVICTABLE or not value:
            raise CommandError(
                f"--evictable {text}: write it as project=<id>, type=<consumer type>, "
                "consumer=<UUID> or older_than=<time>."
            )
        evictable[_EVICTABLE[name]].append(value)
    if not evictable:
        return body
    last = {name: values[-1] for name, values in evictable.items() if name == "older_than"}
    return {**body, "by": "evict", "evictable": {**evictable, **last}}


def add_room_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--make-room`` and its options."""
    parser.add_argument(
        "--make-room",
        action="store_true",
        help="If no host fits, also look for hosts that fit after the fewest servers move.",
    )
    parser.add_argument(
        "--evictable",
        action="append",
        default=[],
        metavar="<what>=<value>",
        help="With --make-room: servers are not moved but evicted, and only these: project=<id>, "
        "type=<consumer type>, consumer=<UUID>, older_than=<time>. They must meet all conditions; "
        "of several values for one condition, any.",
    )
    add_keep(parser)


def _constraints(names: CommandNames, arguments: argparse.Namespace) -> dict[str, object]:
    """Return the fields of a body that say where servers may move.  Raises: CommandError."""
    names.seconds = SECONDS_OF_PLANS
    fields = {
        "keep": arguments.keep,
        "cells": _cells(arguments.cells) if arguments.cells else None,
        "unreachable": names.hosts_in(CELL_DOWN),
        "down": names.hosts_in("down"),
    }
    migrations = {} if names.migrations is None else {"migrations": names.migrations}
    return {name: value for name, value in fields.items() if value} | migrations


def _states(names: CommandNames) -> dict[str, object]:
    """Return the fields of a body that say how nova moves servers in their states."""
    fields = {
        "unmovable": [*names.servers_in(_AT_REST), *names.servers_in(_IN_TASKS)],
        **{name: names.servers_in((state,)) for name, state in _STATES.items()},
    }
    return {name: servers for name, servers in fields.items() if servers}


def _cells(path: str) -> Mapping[str, Sequence[str]]:
    """Return the hosts of each cell in an output of nova-manage.  Raises: CommandError."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise CommandError(f"--cells {path}: {error}") from error
    rows = [
        [text.strip() for text in line.strip().strip("|").split("|")]
        for line in lines
        if "|" in line
    ]
    header, *others = rows or [[]]
    if not {"Cell UUID", "Hostname"} <= set(header) or any(len(r) != len(header) for r in others):
        raise CommandError(
            f"--cells {path}: the file has no table with the columns Cell Name, Cell UUID and "
            "Hostname. Write the output of nova-manage cell_v2 list_hosts into it."
        )
    hosts = defaultdict[str, list[str]](list)
    for row in others:
        fields = dict(zip(header, row, strict=True))
        hosts[f"{fields.get('Cell Name', '')} ({fields['Cell UUID']})".strip()].append(
            fields["Hostname"]
        )
    return hosts


def add_keep(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what another host must have."""
    parser.add_argument(
        "--cells",
        metavar="<file>",
        help="A file with the output of nova-manage cell_v2 list_hosts: Nova moves no server to "
        "another cell, and its API does not report the cells.",
    )
    parser.add_argument(
        "--keep",
        action="append",
        metavar="<what>",
        help="What another host must have of the host that a server leaves: aggregates (the "
        "default), none, or also traits:<prefix>, such as traits:CUSTOM_AZ_. Can be repeated.",
    )
