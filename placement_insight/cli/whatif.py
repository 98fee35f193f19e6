"""``openstack placement drain`` and ``survive``, and room of ``explain``: hypothetical moves."""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from osc_lib.command import command
from osc_lib.exceptions import CommandError
from osc_lib.shell import OpenStackShell

from placement.core.text import Names, nouns, printable
from placement_insight.cli.cells import Complete, Shown
from placement_insight.cli.client import post
from placement_insight.cli.command import Table, WrittenOutput, columns_with_names
from placement_insight.cli.names import CommandNames
from placement_insight.documents import Response
from placement_insight.names import named, uuids_in

_COLUMNS = ("consumer", "from", "to")
_OF_DOMAIN = ("name", "hosts", "consumers", "stuck", "reason")
_WITH_NAMES = ("name", "type", "project_id", "allocations")
_EXIT_STATUS: Final = {"fits": 0, "does_not_fit": 1, "undetermined": 3}
"""The exit status of a command by verdict."""
_MOST_STUCK: Final = 10
_SKIPPED: Final = {
    "several_trees": "have allocations on several hosts",
    "migration": "are migrations",
    "changed": "changed while they were read",
}
_EVICTABLE: Final = {
    "project": "project_ids",
    "type": "types",
    "consumer": "consumers",
    "older_than": "older_than",
}
_NO_ROOM: Final = {
    "nothing_evictable": "no host: the servers that may be evicted are not enough",
    "nowhere_to_move": "no host: not enough servers of one host fit elsewhere",
    "too_large_for_any_host": "no host: the request does not fit on an empty host either",
}


class PlanDrain(WrittenOutput, command.Lister):
    """Plan where the servers of hosts would fit if the hosts were gone.

    Nothing is moved. The exit status is 0 if all fit elsewhere, 1 if not, and 3 if this was not
    determined.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "hosts",
            nargs="*",
            metavar="<host>",
            help="A provider that would be gone, with all providers below it; by name or UUID.",
        )
        parser.add_argument(
            "--aggregate",
            action="append",
            default=[],
            metavar="<aggregate>",
            help="All hosts of this aggregate, by name or UUID. Can be repeated.",
        )
        parser.add_argument(
            "--rack",
            action="append",
            default=[],
            metavar="<trait>",
            help="All hosts with this trait, such as CUSTOM_RACK_12. Can be repeated.",
        )
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
        body |= _constraints(names, parsed_args)
        body = {name: values for name, values in body.items() if values}
        document, consumers = _planned(self.app, names, "/drain", body, _consumers_of_drain)
        self.exit_status = _EXIT_STATUS[document["verdict"]]
        moves = document["moves"]
        servers = names.servers(consumers)
        self.note(*_with_aggregates(names, drain_lines(document, servers)))
        columns = columns_with_names(parsed_args, _COLUMNS, _WITH_NAMES)
        return columns, [[_cell(move, column, servers) for column in columns] for move in moves]


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
    body = {**_room_request(query, arguments), **_constraints(names, arguments)}
    document, leaving = _planned(app, names, "/room", body, _consumers_of_rooms)
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
            help="How many hosts fail at once: 1 (the default) or 2.",
        )
        add_keep(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        names = CommandNames(self.app)
        body = {"by": parsed_args.by, "failures": parsed_args.failures}
        document = post(self.app, "/survival", body | _constraints(names, parsed_args))
        self.exit_status = _EXIT_STATUS[document["verdict"]]
        self.note(*_with_aggregates(names, survival_lines(document)))
        known = names.aggregates if parsed_args.by == "aggregate" else {}
        shown = {
            "name": lambda name: printable(known.get(name, name)),
            "reason": lambda text: printable(next(_with_aggregates(names, [text]))),
        }
        columns = columns_with_names(parsed_args, _OF_DOMAIN, ("lacks",))
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


def drain_lines(document: Response, names: Names) -> Iterator[str]:
    """Yield the result, the consumers that fit nowhere, and what is assumed.

    ``names`` are names of servers by UUID.
    """
    yield printable(_headline(document, names))
    stuck: Sequence[Response] = document["stuck"]
    for each in stuck[1:_MOST_STUCK]:
        yield printable(f"  {_named(each, names)}: {each['text']}")
    if len(stuck) > _MOST_STUCK:
        yield f"  and {len(stuck) - _MOST_STUCK} more"
    texts = {each["text"] for each in stuck}
    for reason in document["reasons"]:
        if reason not in texts:
            yield printable(f"  {reason}")
    reasons = [each["reason"] for each in document["skipped"]]
    for reason in dict.fromkeys(reasons):
        yield f"  {reasons.count(reason)} not planned: they {_SKIPPED.get(reason, reason)}"
    yield from (f"  {sentence}" for sentence in document["assumes"][:2])


def _headline(document: Response, names: Names) -> str:
    providers = [provider["name"] for provider in document["providers"]]
    what = ", ".join(providers) if len(providers) < 4 else f"{len(providers)} hosts"
    consumers, placed, hosts = (document[name] for name in ("consumers", "placed", "hosts_used"))
    if not consumers:
        return f"{what}: no servers to move"
    fit = "fits" if consumers == 1 else "fit"
    text = (
        f"{what}: {placed} of {consumers} {nouns(consumers, 'server')} {fit} elsewhere, on "
        f"{hosts} {nouns(hosts, 'host')}"
    )
    stuck = document["stuck"]
    if not stuck:
        return text
    first = f"{_named(stuck[0], names)} ({stuck[0]['text']})"
    verb = "does" if len(stuck) == 1 else "do"
    if document["verdict"] == "undetermined":
        verb = "has" if len(stuck) == 1 else "have"
        return f"{text}; {len(stuck)} {verb} no place in this plan: {first}"
    return f"{text}; {len(stuck)} {verb} not: {first}"


def _named(consumer: Response, names: Names) -> str:
    uuid: str = consumer["consumer"]
    return names.get(uuid, uuid)


def survival_lines(document: Response) -> Iterator[str]:
    """Yield the result, and what it relies on."""
    domains, unknown = document["domains"], document["undetermined"]
    yield f"{document['survive']} of {domains} {nouns(domains, 'domain')} survive" + (
        f"; {unknown} not determined" if unknown else ""
    )
    if not document["complete"]:
        yield "  the time limit was reached: [placement]candidate_search_budget_seconds"
    for each in (*document["not"], *document["unknown"])[:1]:
        yield printable(f"  {each['name']}: {each['reason']}")
    if document["skipped"]:
        yield f"  {document['skipped']} servers with allocations on several hosts do not count"
    yield from (f"  {sentence}" for sentence in document["assumes"][:2])


def room_lines(document: Response, names: Names) -> Iterator[str]:
    """Yield a line for each host with room, or why there is none."""
    if document["fits_now"]:
        yield "not needed: it fits now"
    for each in document["rooms"]:
        yield printable(f"{each['root']['name']}: {_leaving(each, names)}")
    if document["reason"]:
        yield _NO_ROOM[document["reason"]]
    if document["undetermined"]:
        unknown = document["undetermined"]
        yield f"not determined for {unknown} more {nouns(unknown, 'host')}"


def _leaving(room: Response, names: Names) -> str:
    moves = [
        f"{names.get(each['uuid'], each['uuid'])}"
        + (f" to {each['to']['name']}" if each["to"] else "")
        for each in room["consumers"]
    ]
    verb = "move" if room["consumers"][0]["to"] else "must be evicted"
    verb += "s" if verb == "move" and room["moved"] == 1 else ""
    atleast = "" if room["minimal"] else " (perhaps fewer are enough)"
    amounts = (f"{name}:{amount}" for name, amount in room["amount"].items())
    what = ", ".join((f"{verb}{atleast}", *amounts))
    return f"{room['moved']} {nouns(room['moved'], 'server')} {what}: {', '.join(moves)}"


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
    fields = {
        "keep": arguments.keep,
        "cells": _cells(arguments.cells) if arguments.cells else None,
        "unreachable": names.unreachable_hosts,
    }
    return {name: value for name, value in fields.items() if value}


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
