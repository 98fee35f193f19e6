"""``openstack resource capacity show`` and ``provider tree``."""

import argparse
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from urllib.parse import urlencode

from osc_lib.command import command
from osc_lib.exceptions import BadRequest, CommandError
from osc_lib.shell import OpenStackShell

from placement.core.capacity import occupation, usable
from placement.core.model import Inventory
from placement.core.text import nouns, printable
from placement_insight.cli import mixes
from placement_insight.cli.cells import Shown, aligned, by_line, cells, query_cell
from placement_insight.cli.client import get
from placement_insight.cli.command import (
    Table,
    WrittenOutput,
    add_options,
    columns_with_names,
    given,
    is_table,
)
from placement_insight.cli.names import CommandNames, resolve_groups
from placement_insight.documents import Response
from placement_insight.explain import command as explanation_command
from placement_insight.hosts import DISABLED

Provider = Response
"""A provider of the document of ``GET /insight/providers``."""

Capacity = Response
"""The capacity of a group of roots, or for a flavor."""

_SHOWN = {"shapes": mixes.shape_line, "without": mixes.fleet_line, "like": mixes.fleet_line}
_IN_CLAIMS = ("claims", "at_most", "exact", "complete", "roots")  # in a table, they are one field
_LAST = ("query", "microversion", "formula")
_STRANDED = "left free when the request no longer fits anywhere"
_MOST_GROUPS = 20
_AMOUNTS = ("largest", "free", "stranded", "limited_by")
_OF_FLAVOR = ("claims", "at_most", "exact", "complete", "roots", "limited_by")
_NAMES = ("name", "root", "aggregate", "root_trait")
"""The properties that identify a group of roots; the first one that it has is shown."""
_PROVIDER_COLUMNS = ("name", "uuid", "usage")
_LIMITS = ("total", "reserved", "allocation_ratio")
_LONG_PROVIDER_COLUMNS = (*_PROVIDER_COLUMNS, "generation", "traits", "aggregates")
_FILTERS = {
    "member_of": ("--member-of", "<aggregate>", "Providers in this aggregate, by name or UUID."),
    "required": ("--required", "<trait>", "Providers with this trait; '!<trait>': without it."),
    "resources": ("--resource", "<class>=<amount>", "Providers with this amount free."),
}


class ShowResourceCapacity(WrittenOutput, command.ShowOne):
    """Show how often a request can still be claimed, on how many hosts, and what limits it.

    A shape is the request of one more server. It is given by the options of ``allocation candidate
    list``, on hosts that are not disabled; or exactly as a query string:

    $ openstack resource capacity show --resource VCPU=4 --resource MEMORY_MB=8192 --by aggregate

    With --flavors, the shapes are the flavors of nova:

    $ openstack resource capacity show --flavors

    With --mix, several shapes are claimed together, here with 10 more hosts like cn1:

    $ openstack resource capacity show --mix 200=m1.small --mix 20=m1.large --like cn1=10
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        explanation_command.add_to(parser)
        parser.add_argument(
            "--by",
            metavar="<group>",
            default="none",
            help="Also for each: root (a host), aggregate, or root_trait:<prefix>, such as "
            "root_trait:CUSTOM_AZ_.",
        )
        parser.add_argument(
            "--flavors",
            action="store_true",
            help="Show the capacity for each flavor of nova that is not disabled, instead of a "
            "request.",
        )
        mixes.add_to(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        names = CommandNames(self.app)
        fleet = mixes.fleet_of(names, parsed_args)
        if parsed_args.flavors:
            capacities = self._of_flavors(names, parsed_args, fleet)
            return tuple(map(printable, capacities)), [
                Shown(capacity, _summary) for capacity in capacities.values()
            ]
        mix = mixes.mix_of(self.app, parsed_args.mix)
        if mix:
            if explanation_command.has_request(parsed_args):
                raise CommandError("Give either --mix or the options of a request.")
            request = mixes.pairs_of(mix)
        else:
            resolve_groups(names, parsed_args)
            request = explanation_command.pairs_of(
                parsed_args, "Give --resource, --query, --mix or --flavors."
            )
            request = _on_enabled_hosts(request, parsed_args)
        document = get(self.app, "/capacity", [*request, ("by", parsed_args.by), *fleet])
        fields = {name: value for name, value in document.items() if name != "version"}
        if mix:
            fields["shapes"] = [
                {**alone, "not_counted": shape.not_counted}
                for alone, shape in zip(fields["shapes"], mix, strict=True)
            ]
        fields |= {name: aligned(fields[name]) for name in _AMOUNTS}
        fields |= {
            name: Shown(fields[name], by_line(text))
            for name, text in _SHOWN.items()
            if fields.get(name)
        }
        if document.get("by"):
            fields["by"] = Shown(_with_names(document["by"], names), _of_groups)
        summary = _claims(document)
        if "query" in document:
            fields["query"] = query_cell(document["query"], names.in_query(document["query"]))
        if document["stranded"]:
            fields["stranded"] = _explained(document["stranded"])
        if is_table(parsed_args):
            fields = _answer_first(summary, fields)
        return tuple(fields), cells(fields.values())

    def _of_flavors(
        self, names: CommandNames, arguments: argparse.Namespace, fleet: Sequence[tuple[str, str]]
    ) -> Mapping[str, Response]:
        """Return the capacity by flavor.  Raises: CommandError."""
        if arguments.mix or explanation_command.has_request(arguments):
            raise CommandError("Give either --flavors, --mix or the options of a request.")
        capacities = {
            name: {
                **_of_request(self.app, names, flavor.request, [("by", arguments.by), *fleet]),
                "not_counted": flavor.not_counted,
            }
            for name, flavor in mixes.requests_of_flavors(self.app).items()
        }
        if not capacities:
            raise CommandError("Nova has no flavors.")
        return capacities


def _on_enabled_hosts(
    shape: explanation_command.Pairs, arguments: argparse.Namespace
) -> explanation_command.Pairs:
    """Return the shape as nova requests it; ``--query`` is used unchanged."""
    if arguments.query or any(DISABLED in value for _, value in shape):
        return shape
    of_root = [value for name, value in shape if name == "root_required"]
    others = [pair for pair in shape if pair[0] != "root_required"]
    return [*others, ("root_required", ",".join([*of_root, f"!{DISABLED}"]))]


class ShowProviderTree(WrittenOutput, command.Lister):
    """Show resource providers as trees, with usage and capacity of each resource class.

    --member-of, --required and --resource select providers. They are marked with *, and shown with
    their parents.
    """

    important = ("name", "usage", "uuid")
    nothing = ("No provider matches the options.",)
    has_lines = True

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            *("--in-tree", "--name"),
            metavar="<provider>",
            help="Only the tree of this provider, by name or UUID.",
        )
        add_options(parser, _FILTERS)
        parser.add_argument(
            "--long", action="store_true", help="Also show generation, traits and aggregates."
        )

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the columns, and a row for each provider, parents before children."""
        names = CommandNames(self.app)
        provider = parsed_args.in_tree
        tree = {"in_tree": names.provider(provider)} if provider else {}
        filters = _filters(parsed_args, names)
        providers = self._providers({**tree, **filters})
        matches = {provider["uuid"] for provider in providers}
        if filters:
            providers = with_parents(self._providers(tree), matches)
        elif tree:
            matches = {tree["in_tree"]}
        columns = columns_with_names(
            parsed_args,
            _LONG_PROVIDER_COLUMNS if parsed_args.long else _PROVIDER_COLUMNS,
            ("matches",),
        )
        aggregates = names.aggregates if "aggregates" in columns else {}
        marks = {True: "* ", False: "  "} if len(matches) < len(providers) else {}
        rows = (
            _row(provider, marks.get(provider["uuid"] in matches, "") + "  " * depth, matches)
            for provider, depth in in_trees(providers)
        )
        return columns, (cells((row[name] for name in columns), aggregates) for row in rows)

    def _providers(self, query: Mapping[str, str]) -> Sequence[Provider]:
        providers: Sequence[Provider] = get(self.app, "/providers", query)["providers"]
        return providers


def _filters(arguments: argparse.Namespace, names: CommandNames) -> dict[str, str]:
    query = given(arguments, _FILTERS)
    if "resources" in query:
        query["resources"] = query["resources"].replace("=", ":")
    if "member_of" in query:
        query["member_of"] = names.aggregates_of(query["member_of"])
    return query


def _row(provider: Provider, prefix: str, matches: Collection[str]) -> Mapping[str, object]:
    """Return the cells by column; in a table, the name begins with the prefix."""
    return {
        **provider,
        "name": Shown(provider["name"], lambda name: f"{prefix}{printable(name)}"),
        "usage": Shown(provider["inventories"], _usage),
        "traits": Shown(provider["traits"], by_line(printable)),
        "aggregates": Shown(provider["aggregates"], by_line(printable)),
        "matches": provider["uuid"] in matches,
    }


def in_trees(providers: Sequence[Provider]) -> Iterator[tuple[Provider, int]]:
    """Yield each provider with its depth in the tree, parents before children, by name.

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
        yield provider, depth
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


def _usage(inventories: Mapping[str, Response]) -> str:
    """Return usage and capacity, a line for each class, with the slashes below each other.

    The capacity includes the reserved amount that is in use.

    >>> node = {"total": 1, "reserved": 1, "allocation_ratio": 1.0}
    >>> _usage({"CUSTOM_GOLD": {**node, "used": 1}})
    'CUSTOM_GOLD 1/1 (in use, reserved)'
    """
    width = max(map(len, inventories), default=0)
    digits = max((len(str(inventory["used"])) for inventory in inventories.values()), default=0)
    lines = []
    for name, values in inventories.items():
        limits = Inventory(**{key: values[key] for key in _LIMITS})
        used, state = values["used"], occupation(limits, values["used"])
        words = f" ({state})" if limits.reserved and state else ""
        lines.append(f"{name:<{width}} {used:>{digits}}/{int(usable(limits, used))}{words}")
    return "\n".join(lines)


def _claims(capacity: Capacity) -> str:
    """Return how often a shape fits, and on how many hosts.

    >>> _claims({"claims": 3, "at_most": 4, "exact": False, "complete": True, "roots": 1})
    '3 or more, at most 4, on 1 host'
    """
    roots = capacity["roots"]
    more = "" if capacity["exact"] else " or more"
    at_most = capacity.get("at_most")
    bound = f", at most {at_most}," if more and at_most is not None else ""
    end = "" if capacity.get("complete", True) else " (the time limit ended the count)"
    return f"{capacity['claims']}{more}{bound} on {roots} {nouns(roots, 'host')}{end}"


def _answer_first(summary: str, fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields for people: the answer first, and nothing that is empty."""
    left = (name for name in fields if fields[name] and name not in (*_IN_CLAIMS, *_LAST))
    order = [*("limited_by", "free", "largest", "stranded"), *left, *_LAST]
    return {"claims": summary, **{name: fields[name] for name in order if fields.get(name)}}


def _explained(stranded: Mapping[str, int]) -> Shown[Mapping[str, int]]:
    text = aligned(stranded).human_readable()
    return Shown(stranded, lambda _: f"{text}\n({_STRANDED})")


def _of_groups(groups: Sequence[Response]) -> str:
    """Return a line for each group, those with most claims if there are many."""
    ranked = sorted(groups, key=lambda group: -int(group["claims"]))
    lines = [_of_some_groups(ranked[:_MOST_GROUPS] if len(groups) > _MOST_GROUPS else groups)]
    if others := ranked[_MOST_GROUPS:]:
        claims = sum(group["claims"] for group in others)
        lines.append(f"{len(others)} more, with {claims} in all: see -f json")
    if any("aggregate" in group for group in groups):
        lines.append("(a host counts in each of its aggregates: sums can exceed the total)")
    return "\n".join(lines)


def _of_some_groups(groups: Sequence[Response]) -> str:
    rows = [(_name(group), str(group["claims"]), str(group["roots"])) for group in groups]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        f"{name:<{widths[0]}} {claims:>{widths[1]}}{'' if group['exact'] else ' or more'} on "
        f"{roots:>{widths[2]}} {nouns(group['roots'], 'host')}"
        for group, (name, claims, roots) in zip(groups, rows, strict=True)
    )


def _name(group: Response) -> str:
    name = next(str(group[name]) for name in _NAMES if name in group)
    return f"{printable(name)}:"


def _with_names(groups: Sequence[Capacity], names: CommandNames) -> Sequence[Capacity]:
    """Return groups of roots with the names of their aggregates, if nova lists them."""
    known = names.aggregates if any("aggregate" in group for group in groups) else {}
    named = ((group, known.get(group.get("aggregate", ""))) for group in groups)
    return [{**group, "name": name} if name else group for group, name in named]


def _of_request(
    app: OpenStackShell,
    names: CommandNames,
    request: Sequence[tuple[str, str]],
    others: Sequence[tuple[str, str]],
) -> Capacity:
    """Return the part of a capacity to show for a flavor, or the error of an invalid request.

    ``others`` are parameters that are not of the request.
    """
    query = urlencode(request, safe=":,!")
    try:
        document = get(app, "/capacity", [*request, *others])
    except BadRequest as error:
        return {"query": query, "error": error.message}
    capacity = {name: document[name] for name in _OF_FLAVOR}
    return {**capacity, "by": _with_names(document["by"], names), "query": query}


def _summary(capacity: Capacity) -> str:
    """Return the capacity for a flavor: how often, on how many hosts, and what limits it.

    >>> capacity = {"claims": 3, "exact": True, "roots": 1, "limited_by": {"VCPU": 4}, "by": []}
    >>> _summary({**capacity, "not_counted": ["pci_passthrough:alias=nic:1"]})
    '3 on 1 host; limited by VCPU on 4; not counted: pci_passthrough:alias=nic:1'
    """
    if "error" in capacity:
        return printable(capacity["error"])
    limits = sorted(capacity["limited_by"].items(), key=lambda limit: (-limit[1], limit[0]))
    limited_by = ", ".join(f"{name} on {number}" for name, number in limits if number)
    text = _claims(capacity)
    text += f"; limited by {limited_by}" if limited_by else ""
    text += mixes.not_counted_text(capacity["not_counted"])
    return "\n".join([text, _of_groups(capacity["by"])] if capacity["by"] else [text])
