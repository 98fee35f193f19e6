"""``openstack resource provider tree``."""

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from cliff.columns import FormattableColumn
from osc_lib.command import command

from placement.cli.client import get
from placement.cli.documents import Lines
from placement.cli.output import WrittenOutput
from placement.core.printable_text import printable

_COLUMNS = ("name", "uuid", "usage")
_LONG_COLUMNS = (*_COLUMNS, "generation", "traits", "aggregates")
_FILTERS = {
    "--name": ("name", "<name>", "Only the provider with this name."),
    "--in-tree": ("in_tree", "<provider>", "Only the tree of this provider, by UUID."),
    "--member-of": ("member_of", "<aggregate>", "Only providers in this aggregate."),
    "--required": ("required", "<trait>", "Only providers with this trait."),
    "--resource": ("resources", "<class>=<amount>", "Only providers with this amount free."),
}

Provider = Mapping[str, Any]


class _Indented(FormattableColumn[Any]):
    """A name, indented by the depth of its provider in the tree."""

    def __init__(self, value: str, depth: int) -> None:
        super().__init__(value)
        self._depth = depth

    def human_readable(self) -> str:
        """Return the name as it stands in a tree."""
        return f"{'  ' * self._depth}{printable(self._value)}"


class _Usage(FormattableColumn[Any]):
    """Inventories with what is used of each."""

    def human_readable(self) -> str:
        """Return a line for each class."""
        return "\n".join(
            f"{name} {each['used']}/{each['capacity']}" for name, each in self._value.items()
        )


class ShowProviderTree(WrittenOutput, command.Lister):
    """Show resource providers as trees, with usage and capacity of each resource class.

    One request reads all of them. Providers whose parents are filtered out stand as roots.
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
        query = {
            name: value.replace("=", ":") if name == "resources" else value
            for name, _, _ in _FILTERS.values()
            if (value := getattr(parsed_args, name)) is not None
        }
        document = get(self.app, f"/insight/providers?{urlencode(query)}")
        columns = _LONG_COLUMNS if parsed_args.long else _COLUMNS
        rows = in_tree_order(document["providers"])
        return columns, ([_cell(each, depth, name) for name in columns] for each, depth in rows)


def in_tree_order(providers: Sequence[Provider]) -> Iterator[tuple[Provider, int]]:
    """Yield each provider with its depth, parents before children, by name."""
    uuids = {each["uuid"] for each in providers}
    children: defaultdict[str | None, list[Provider]] = defaultdict(list)
    for each in sorted(providers, key=lambda provider: str(provider["name"]), reverse=True):
        parent = each["parent_provider_uuid"]
        children[parent if parent in uuids else None].append(each)
    stack = [(each, 0) for each in children[None]]
    while stack:
        provider, depth = stack.pop()
        yield provider, depth
        stack += [(child, depth + 1) for child in children[provider["uuid"]]]


def _cell(provider: Provider, depth: int, column: str) -> Any:
    if column == "name":
        return _Indented(provider["name"], depth)
    if column == "usage":
        return _Usage(provider["inventories"])
    value = provider[column]
    return Lines(value) if isinstance(value, list) else value
