"""Providers as rows of a table, parents before children, with the selected providers marked."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from placement.cli.client import Shown, by_line
from placement.core.text import printable

Provider = Mapping[str, Any]
"""A provider of the document of ``GET /insight/providers``."""


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A provider at its depth in the tree; ``matches`` is true if the options select it."""

    provider: Provider
    depth: int
    matches: bool

    def cell(self, column: str, *, has_marks: bool) -> Any:
        """Return the cell of a column; the name begins with the mark if there are marks."""
        if column == "name":
            mark = ("* " if self.matches else "  ") if has_marks else ""
            indent = "  " * self.depth
            return Shown(self.provider["name"], lambda name: f"{mark}{indent}{printable(name)}")
        if column == "usage":
            return Shown(self.provider["inventories"], _usage)
        if column == "matches":
            return self.matches
        value = self.provider[column]
        return Shown(value, by_line(printable)) if isinstance(value, list) else value


def rows_of_trees(providers: Sequence[Provider], matches: Collection[str]) -> Iterator[TreeRow]:
    """Yield a row for each provider, parents before children, by name.

    A provider whose parent is not among the providers is shown as a root.
    """
    uuids = {provider["uuid"] for provider in providers}
    children: defaultdict[str | None, list[Provider]] = defaultdict(list)
    for provider in sorted(providers, key=lambda provider: str(provider["name"]), reverse=True):
        parent = provider["parent_provider_uuid"]
        children[parent if parent in uuids else None].append(provider)
    stack = [(provider, 0) for provider in children[None]]
    while stack:
        provider, depth = stack.pop()
        yield TreeRow(provider, depth, provider["uuid"] in matches)
        stack += [(child, depth + 1) for child in children[provider["uuid"]]]


def with_parents(providers: Iterable[Provider], uuids: Iterable[str]) -> Sequence[Provider]:
    """Return the providers with these UUIDs, their parents, and the parents of these."""
    by_uuid = {provider["uuid"]: provider for provider in providers}
    shown: dict[str, Provider] = {}
    for uuid in uuids:
        provider = by_uuid.get(uuid)
        while provider and provider["uuid"] not in shown:
            shown[provider["uuid"]] = provider
            provider = by_uuid.get(provider["parent_provider_uuid"])
    return list(shown.values())


def _usage(inventories: Mapping[str, Mapping[str, int]]) -> str:
    """Return usage and capacity, a line for each class, with the slashes below each other."""
    width = max(map(len, inventories), default=0)
    digits = max((len(str(inventory["used"])) for inventory in inventories.values()), default=0)
    return "\n".join(
        f"{name:<{width}} {inventory['used']:>{digits}}/{inventory['capacity']}"
        for name, inventory in inventories.items()
    )
