"""``openstack resource consumer list``: who has which resources, and who has the most."""

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from osc_lib.command import command
from osc_lib.exceptions import CommandError

from placement.core.text import Names, printable
from placement_insight.audit.consumers.model import MOST_OF_A_PAGE, UNKNOWN_TYPE
from placement_insight.cli.cells import Complete, Shown, cells
from placement_insight.cli.client import consumers, get
from placement_insight.cli.command import (
    Table,
    WrittenOutput,
    add_options,
    columns_with_names,
    given,
    is_table,
    wants_names,
)
from placement_insight.cli.names import CommandNames
from placement_insight.documents import Response
from placement_insight.hosts import MIGRATION, SERVER_CLASSES

Consumer = Response
"""A consumer of the document of ``GET /insight/consumers``."""

_COLUMNS = ("uuid", "project_id", "user_id", "type", "created_at", "allocations")
_TABLE_COLUMNS = ("uuid", "name", "project_id", "type", "created_at", "allocations")
_LONG = ("generation", "updated_at")
_LONG_OF_TABLE = ("user_id",)
_NAMES_OF_CONSUMER = ("name", "project", "providers")
_OPTIONS = {
    "project_id": ("--project", "<project>", "Only consumers of this project, by name or ID."),
    "user_id": ("--user", "<user>", "Only consumers of this user, by ID."),
    "type": ("--type", "<type>", "Only this type, such as INSTANCE; unknown: without a type."),
    "provider": ("--provider", "<provider>", "Only consumers on this provider, by name or UUID."),
    "in_tree": ("--in-tree", "<provider>", "Only consumers on this host or its devices."),
    "resource_class": ("--class", "<class>", "Only consumers that use this resource class."),
    "older_than": (
        "--older-than",
        "<time>",
        "Only consumers created before this time: 30d, yesterday or 2026-11-25 18:00 (UTC).",
    ),
    "limit": ("--limit", "<limit>", "Number of consumers to list, at most 10000. Default: 1000."),
    "marker": ("--marker", "<marker>", "Begin after the page that reported this marker."),
}
_PROPERTIES = {"project": "project_id", "user": "user_id", "type": "type"}
_GROUPS = (*_PROPERTIES, "host", "aggregate")


class ListResourceConsumer(WrittenOutput, command.Lister):
    """List consumers, such as servers, with their allocations, in the order of their UUIDs.

    With --sort, those with the most of a resource class; with --group-by, sums:

    $ openstack resource consumer list --in-tree cn1 --sort -MEMORY_MB --limit 10

    $ openstack resource consumer list --group-by project --sort -VCPU
    """

    important = ("uuid", "allocations", "name", "project_id", "created_at")
    nothing = ("No consumer matches the options.",)
    has_lines = True

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_options(parser, _OPTIONS)
        parser.add_argument(
            "--sort",
            metavar="<class>",
            type=Order.parse,
            help="Sort by the amount of this resource class, as in VCPU; the largest first, as in "
            "-VCPU. All consumers are read, and --limit is applied to the sorted list.",
        )
        parser.add_argument(
            "--group-by",
            choices=_GROUPS,
            help="List the sums of the amounts of all consumers by this property.",
        )
        parser.add_argument("--all", action="store_true", help="List all consumers, page by page.")
        parser.add_argument(
            "--long", action="store_true", help="Also show generation and time of the last write."
        )

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        names = CommandNames(self.app)
        listed = self._read(parsed_args, names)
        if parsed_args.group_by:
            return self._sums(parsed_args, names, listed)
        if order := parsed_args.sort:
            by_consumer = {each["uuid"]: _sum(each["allocations"].values()) for each in listed}
            self._check(order, by_consumer.values())
            listed.sort(key=lambda consumer: order.key(by_consumer[consumer["uuid"]]))
            listed = list(map(order.first, listed[: _limit(parsed_args)]))
        return self._rows(parsed_args, names, listed)

    def _rows(
        self, arguments: argparse.Namespace, names: CommandNames, listed: Sequence[Consumer]
    ) -> Table:
        of_table = is_table(arguments)
        more = (*(_LONG_OF_TABLE if of_table else ()), *_LONG) if arguments.long else ()
        columns = columns_with_names(
            arguments, (*(_TABLE_COLUMNS if of_table else _COLUMNS), *more), _NAMES_OF_CONSUMER
        )
        known: Names = {}
        if wants_names(arguments, _NAMES_OF_CONSUMER):
            servers = [consumer["uuid"] for consumer in listed if consumer["type"] != MIGRATION]
            known = {**names.servers(servers), **names.projects}
        if of_table and known.keys().isdisjoint(consumer["uuid"] for consumer in listed):
            columns = tuple(name for name in columns if name != "name")
        rows = (_row(consumer, known, of_table=of_table) for consumer in listed)
        return columns, [cells((row[name] for name in columns), known) for row in rows]

    def _sums(
        self, arguments: argparse.Namespace, names: CommandNames, listed: Iterable[Consumer]
    ) -> Table:
        """Return a row for each group: its number of consumers, and the sums of their amounts."""
        by, order = arguments.group_by, arguments.sort
        self.important = (by, "consumers", *([order.resource_class] if order else []))
        groups = self._groups_of_providers(by)
        counts: Counter[str] = Counter()
        sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for consumer in listed:
            shares = _shares(consumer, by, groups)
            counts.update(shares.keys())
            for group, amounts in shares.items():
                sums[group].update(_sum(amounts))
        self._check(order, sums.values())
        ranked = sorted(
            counts, key=lambda group: (order.key(sums[group]) if order else -counts[group], group)
        )
        classes = sorted({name for amounts in sums.values() for name in amounts})
        known = (
            names.projects if by == "project" else names.aggregates if by == "aggregate" else {}
        )
        return (by, "consumers", *classes), [
            cells((group, counts[group], *(sums[group][name] for name in classes)), known)
            for group in ranked[: _limit(arguments)]
        ]

    def _groups_of_providers(self, by: str) -> Mapping[str, Sequence[str]]:
        """Return the host or its aggregates by UUID of the provider; nothing for other groups."""
        if by not in {"host", "aggregate"}:
            return {}
        fields = "uuid,name,root_provider_uuid,aggregates"
        providers = get(self.app, "/providers", {"fields": fields})["providers"]
        of_root = {
            each["uuid"]: [each["name"]] if by == "host" else each["aggregates"]
            for each in providers
        }
        return {each["uuid"]: of_root[each["root_provider_uuid"]] for each in providers}

    def _check(self, order: "Order | None", sums: Collection[Mapping[str, int]]) -> None:
        """Write a line if nothing has the class by which to sort."""
        if order and sums and not any(order.resource_class in amounts for amounts in sums):
            self.note(f"No listed consumer has {order.resource_class}.")

    def _read(self, arguments: argparse.Namespace, names: CommandNames) -> list[Consumer]:
        query = given(arguments, _OPTIONS)
        if "project_id" in query:
            query["project_id"] = names.project(query["project_id"])
        for name in ("provider", "in_tree"):
            if name in query:
                query[name] = names.provider(query[name])
        if arguments.sort or arguments.group_by:
            if arguments.marker:
                raise CommandError("--marker continues a list that is sorted by UUID.")
            if not re.fullmatch("[1-9][0-9]*", arguments.limit or "1"):
                raise CommandError(f"--limit {arguments.limit} is not a number of rows from 1.")
            return list(consumers(self.app, {**query, "limit": MOST_OF_A_PAGE}))
        if arguments.all:
            return list(consumers(self.app, query))
        document = get(self.app, "/consumers", query)
        if document["next"]:
            self.note(f"To list more: --marker {document['next']}")
        page: list[Consumer] = document["consumers"]
        return page


@dataclass(frozen=True, slots=True)
class Order:
    """The order of the amounts of a class: "VCPU", or "-VCPU" for the largest first."""

    resource_class: str
    is_descending: bool

    @classmethod
    def parse(cls, text: str) -> "Order":
        """Return the order of the option."""
        return cls(text.removeprefix("-"), text.startswith("-"))

    def key(self, amounts: Mapping[str, int]) -> int:
        """Return the key of amounts by class."""
        amount = amounts.get(self.resource_class, 0)
        return -amount if self.is_descending else amount

    def first(self, consumer: Consumer) -> Consumer:
        """Return the consumer with the amounts of the class first, which a narrow table shows."""
        name, allocations = self.resource_class, consumer["allocations"].items()
        by_provider = sorted(allocations, key=lambda allocation: name not in allocation[1])
        return {
            **consumer,
            "allocations": {
                uuid: dict(sorted(amounts.items(), key=lambda amount: amount[0] != name))
                for uuid, amounts in by_provider
            },
        }


def _limit(arguments: argparse.Namespace) -> int | None:
    return None if arguments.limit is None else int(arguments.limit)


def _sum(amounts: Iterable[Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for each in amounts:
        total.update(each)
    return total


def _shares(
    consumer: Consumer, by: str, groups: Mapping[str, Sequence[str]]
) -> Mapping[str, Sequence[Mapping[str, int]]]:
    """Return what a consumer has in each group, by provider."""
    allocations = consumer["allocations"]
    if by in _PROPERTIES:
        return {consumer[_PROPERTIES[by]] or UNKNOWN_TYPE: list(allocations.values())}
    shares: defaultdict[str, list[Mapping[str, int]]] = defaultdict(list)
    for provider, amounts in allocations.items():
        for group in groups.get(provider, ()):
            shares[group].append(amounts)
    return shares


def _row(consumer: Consumer, names: Names, *, of_table: bool) -> Mapping[str, object]:
    """Return the cells by column; in a table, a project has its name or its id."""
    project = consumer["project_id"]
    row: dict[str, object] = {
        **consumer,
        "name": names.get(consumer["uuid"]),
        "project": names.get(project),
        "allocations": Shown(
            consumer["allocations"], partial(_allocations, consumer["providers"])
        ),
    }
    if of_table:
        row["uuid"] = Complete(consumer["uuid"], printable)
        row["type"] = consumer["type"] or UNKNOWN_TYPE
        row["project_id"] = Complete(project, lambda uuid: printable(names.get(uuid, str(uuid))))
    return row


def _allocations(providers: Names, amounts: Mapping[str, Mapping[str, int]]) -> str:
    r"""Return a line for each provider, those of devices before their hosts.

    >>> _allocations({"u1": "cn1", "u2": "cn1_81:00.0"}, {"u1": {"VCPU": 4}, "u2": {"VGPU": 1}})
    'cn1_81:00.0: VGPU=1\ncn1: VCPU=4'
    """
    ranked = sorted(
        amounts.items(), key=lambda allocation: not SERVER_CLASSES.isdisjoint(allocation[1])
    )
    return "\n".join(
        f"{printable(providers.get(uuid, uuid))}: "
        + ", ".join(f"{name}={amount}" for name, amount in by_class.items())
        for uuid, by_class in ranked
    )
