"""``openstack placement preview``: what a change of trees would do to existing allocations.

The service moves a provider to another tree, and allocations to other providers, without comparing
them with the request of the claim, which it does not store. A claim was made for one tree, and for
providers that share with it; afterwards its allocations can be in several trees.
"""

import argparse
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from osc_lib.command import command
from osc_lib.exceptions import CommandError

from placement.core.model import SHARING_TRAIT
from placement.core.text import printable
from placement_insight.cli.cells import Shown
from placement_insight.cli.client import consumers, get
from placement_insight.cli.command import Table, WrittenOutput
from placement_insight.cli.names import CommandNames
from placement_insight.documents import Response

_COLUMNS = ("consumer", "trees")
_PAGE = 10_000

Holders = Sequence[tuple[str, Collection[str]]]
"""Consumers, and the UUIDs of the providers of their allocations."""


class Forest:
    """The trees of the service: the root and the children of each provider."""

    def __init__(self, providers: Sequence[Response]) -> None:
        self.names = {provider["uuid"]: provider["name"] for provider in providers}
        self.roots = {provider["uuid"]: provider["root_provider_uuid"] for provider in providers}
        self._parents = {
            provider["uuid"]: provider["parent_provider_uuid"] for provider in providers
        }
        self._sharing = {
            provider["uuid"] for provider in providers if SHARING_TRAIT in provider["traits"]
        }

    def subtree(self, uuid: str) -> set[str]:
        """Return a provider and its descendants."""
        return {member for member in self._parents if uuid in self._line(member)}

    def _line(self, uuid: str | None) -> Iterator[str]:
        """Yield a provider, its parent, and so on; a loop of parents ends."""
        visited: set[str] = set()
        while uuid is not None and uuid not in visited:
            visited.add(uuid)
            yield uuid
            uuid = self._parents.get(uuid)

    def spanning(
        self, holders: Holders, moved: Mapping[str, str]
    ) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the consumers in several trees, with the names of their roots by UUID.

        ``moved`` has the new roots of providers. Sharing providers belong to any tree; providers
        that were created after the forest was read are left out.
        """
        roots = {**self.roots, **moved}
        for consumer, providers in holders:
            members = roots.keys() & set(providers) - self._sharing
            trees = {roots[uuid] for uuid in members}
            if len(trees) > 1:
                yield consumer, {root: self.names.get(root, root) for root in sorted(trees)}


class PreviewChange(WrittenOutput, command.Lister):
    """List the consumers that would have allocations in several trees after a change.

    The change is a new parent of a provider, or a reshape. Nothing is changed.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        change = parser.add_mutually_exclusive_group(required=True)
        change.add_argument(
            "--parent",
            nargs=2,
            metavar=("<provider>", "<parent>"),
            help="Give this provider another parent; both by name or UUID.",
        )
        change.add_argument(
            "--root", metavar="<provider>", help="Make this provider a root, by name or UUID."
        )
        change.add_argument(
            "--reshape", metavar="<file>", help="The body of a POST /reshaper, as JSON."
        )

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        fields = "uuid,name,parent_provider_uuid,root_provider_uuid,traits"
        forest = Forest(get(self.app, "/providers", {"fields": fields})["providers"])
        if parsed_args.reshape:
            holders, moved = _reshaped(parsed_args.reshape, forest)
        else:
            holders, moved = self._moved(parsed_args, forest)
        rows = list(forest.spanning(holders, moved))
        counts = f"{len(rows)} of {len(holders)}"
        self.note(f"{counts} consumers would have allocations in several trees.")
        return _COLUMNS, [
            (consumer, Shown(trees, lambda trees: "\n".join(map(printable, trees.values()))))
            for consumer, trees in rows
        ]

    def _moved(
        self, arguments: argparse.Namespace, forest: Forest
    ) -> tuple[Holders, Mapping[str, str]]:
        """Return the consumers on the providers that move, and the new root of these."""
        names = CommandNames(self.app)
        provider, parent = arguments.parent or (arguments.root, None)
        uuid = names.provider(provider)
        subtree = forest.subtree(uuid)
        if not subtree:
            raise CommandError(f"There is no provider {provider}.")
        new_root = uuid
        if parent is not None:
            parent_uuid = names.provider(parent)
            if parent_uuid in subtree or parent_uuid not in forest.roots:
                raise CommandError(
                    f"{parent} cannot be the parent: it does not exist, is {provider} itself or "
                    "below it."
                )
            new_root = forest.roots[parent_uuid]
        listed = consumers(self.app, {"in_tree": uuid, "limit": _PAGE})
        holders = [
            (consumer["uuid"], list(consumer["allocations"]))
            for consumer in listed
            if not subtree.isdisjoint(consumer["allocations"])
        ]
        return holders, dict.fromkeys(subtree, new_root)


def _reshaped(path: str, forest: Forest) -> tuple[Holders, Mapping[str, str]]:
    """Return the consumers of a reshape with their new providers; no provider moves.

    Raises: CommandError, OSError.
    """
    try:
        allocations = json.loads(Path(path).read_text(encoding="utf-8"))["allocations"]
        holders = [(uuid, list(claim["allocations"])) for uuid, claim in allocations.items()]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise CommandError(
            f"{path} is not the body of a POST /reshaper: a JSON object whose member allocations "
            "has, by consumer, an object with allocations by provider."
        ) from error
    unknown = {uuid for _, providers in holders for uuid in providers} - forest.roots.keys()
    if unknown:
        raise CommandError(
            f"{path} has allocations on providers that do not exist: {', '.join(sorted(unknown))}."
        )
    return holders, {}
