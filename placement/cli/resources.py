"""``openstack resource capacity show``, ``consumer list`` and ``provider tree``."""

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from osc_lib.command import command

from placement.cli.client import Shown, WrittenOutput, by_line, cells, consumers, facts, get, given
from placement.core.text import printable
from placement.insight.explanation import command as explanation_command

_AMOUNTS = ("largest", "free", "stranded", "limited_by")
_NAMES = ("name", "root", "aggregate", "root_trait")

_CONSUMER_COLUMNS = ("uuid", "project_id", "user_id", "type", "created_at", "allocations")
_LONG_CONSUMER_COLUMNS = (*_CONSUMER_COLUMNS, "generation", "updated_at")
_OPTIONS = {
    "--project": ("project_id", "<project>", "Only consumers of this project."),
    "--user": ("user_id", "<user>", "Only consumers of this user."),
    "--type": (
        "type",
        "<type>",
        "Only consumers of this type; unknown stands for consumers without a type.",
    ),
    "--provider": (
        "provider",
        "<provider>",
        "Only consumers with allocations on the provider with this UUID.",
    ),
    "--in-tree": (
        "in_tree",
        "<provider>",
        "Only consumers with allocations in the tree of the provider with this UUID.",
    ),
    "--older-than": (
        "older_than",
        "<time>",
        "Only consumers created before this time; ISO 8601, in UTC.",
    ),
    "--limit": (
        "limit",
        "<limit>",
        "Number of consumers to list, at most 10000. Default: 1000.",
    ),
    "--marker": ("marker", "<marker>", "Begin after this page."),
}

_PROVIDER_COLUMNS = ("name", "uuid", "usage")
_LONG_PROVIDER_COLUMNS = (*_PROVIDER_COLUMNS, "generation", "traits", "aggregates")
_FILTERS = {
    "--name": ("name", "<name>", "Only the provider with this name."),
    "--in-tree": ("in_tree", "<provider>", "Only the tree of this provider, by UUID."),
    "--member-of": ("member_of", "<aggregate>", "Only providers in this aggregate."),
    "--required": ("required", "<trait>", "Only providers with this trait."),
    "--resource": ("resources", "<class>=<amount>", "Only providers with this amount free."),
}

Provider = Mapping[str, Any]


def _group(group: dict[str, Any]) -> str:
    """Return the capacity of a group of roots, in one line."""
    name = next(str(group[name]) for name in _NAMES if name in group)
    claims = f"{group['claims']}{'' if group['exact'] else ' or more'}"
    return f"{printable(name)}: {claims} on {group['roots']} roots"


class ShowResourceCapacity(WrittenOutput, command.ShowOne):
    """Show how often a request can still be claimed, on how many roots, and what limits it.

    The shape is given by the options of ``allocation candidate list``, or as a query string:

    $ openstack resource capacity show --resource VCPU=4 --resource MEMORY_MB=8192 --by aggregate
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        explanation_command.add_to(parser)
        parser.add_argument(
            "--by",
            metavar="<group>",
            default="none",
            help="aggregate, root, or root_trait:<prefix>, such as root_trait:CUSTOM_AZ_.",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        """Return names and values of the capacity."""
        shape = explanation_command.pairs_of(parsed_args, "Give --resource or --query.")
        pairs = [*shape, ("by", parsed_args.by)]
        document = get(self.app, f"/insight/capacity?{urlencode(pairs)}")
        fields = {name: value for name, value in document.items() if name != "version"}
        fields |= {name: facts(fields[name]) for name in _AMOUNTS}
        fields["by"] = Shown(fields["by"], by_line(_group))
        return tuple(fields), cells(fields.values())


class ListResourceConsumer(WrittenOutput, command.Lister):
    """List consumers with their allocations, in the order of their UUIDs."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        for option, (name, metavar, text) in _OPTIONS.items():
            parser.add_argument(option, dest=name, metavar=metavar, help=text)
        parser.add_argument("--all", action="store_true", help="List all consumers, page by page.")
        parser.add_argument(
            "--long", action="store_true", help="Also show generation and time of the last write."
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        """Return the columns, and a row for each consumer."""
        columns = _LONG_CONSUMER_COLUMNS if parsed_args.long else _CONSUMER_COLUMNS
        return columns, [
            cells(_consumer_cell(consumer, name) for name in columns)
            for consumer in self._read(parsed_args)
        ]

    def _read(self, arguments: argparse.Namespace) -> list[dict[str, Any]]:
        query = given(arguments, (name for name, _, _ in _OPTIONS.values()))
        if arguments.all:
            return list(consumers(self.app, query))
        document: dict[str, Any] = get(self.app, f"/insight/consumers?{urlencode(query)}")
        if document["next"]:
            self.app.stderr.write(f"To list more: --marker {document['next']}\n")
        page: list[dict[str, Any]] = document["consumers"]
        return page


def _consumer_cell(consumer: dict[str, Any], column: str) -> Any:
    value = consumer[column]
    return Shown(value, _allocations) if column == "allocations" else value


def _allocations(by_provider: Mapping[str, Mapping[str, int]]) -> str:
    """Return the allocations, a line for each provider."""
    return "\n".join(
        f"{provider}: {', '.join(f'{name}={amount}' for name, amount in amounts.items())}"
        for provider, amounts in by_provider.items()
    )


class ShowProviderTree(WrittenOutput, command.Lister):
    """Show resource providers as trees, with usage and capacity of each resource class.

    One request reads all providers. Providers whose parents are filtered out are shown as roots.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        for option, (name, metavar, text) in _FILTERS.items():
            parser.add_argument(option, dest=name, metavar=metavar, help=text)
        parser.add_argument(
            "--long", action="store_true", help="Also show generation, traits and aggregates."
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        """Return the columns, and a row for each provider, parents before children."""
        query = given(parsed_args, (name for name, _, _ in _FILTERS.values()))
        if "resources" in query:
            query["resources"] = query["resources"].replace("=", ":")
        document = get(self.app, f"/insight/providers?{urlencode(query)}")
        columns = _LONG_PROVIDER_COLUMNS if parsed_args.long else _PROVIDER_COLUMNS
        rows = in_tree_order(document["providers"])
        return columns, (
            [_provider_cell(provider, depth, name) for name in columns] for provider, depth in rows
        )


def in_tree_order(providers: Sequence[Provider]) -> Iterator[tuple[Provider, int]]:
    """Yield each provider with its depth, parents before children, by name."""
    uuids = {provider["uuid"] for provider in providers}
    children: defaultdict[str | None, list[Provider]] = defaultdict(list)
    for provider in sorted(providers, key=lambda provider: str(provider["name"]), reverse=True):
        parent = provider["parent_provider_uuid"]
        children[parent if parent in uuids else None].append(provider)
    stack = [(provider, 0) for provider in children[None]]
    while stack:
        provider, depth = stack.pop()
        yield provider, depth
        stack += [(child, depth + 1) for child in children[provider["uuid"]]]


def _provider_cell(provider: Provider, depth: int, column: str) -> Any:
    if column == "name":
        return Shown(provider["name"], lambda name: f"{'  ' * depth}{printable(name)}")
    if column == "usage":
        return Shown(provider["inventories"], _usage)
    value = provider[column]
    return Shown(value, by_line(printable)) if isinstance(value, list) else value


def _usage(inventories: Mapping[str, Mapping[str, int]]) -> str:
    """Return usage and capacity, a line for each class."""
    return "\n".join(
        f"{name} {inventory['used']}/{inventory['capacity']}"
        for name, inventory in inventories.items()
    )
