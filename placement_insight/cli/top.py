"""``openstack placement top``: hosts by their fullest resource class."""

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from osc_lib.command import command
from osc_lib.exceptions import CommandError

from placement.core import capacity
from placement.core.model import SHARING_TRAIT, Inventory
from placement.core.text import nouns
from placement_insight.cli.cells import Shown, cells
from placement_insight.cli.client import get
from placement_insight.cli.command import Table, WrittenOutput, is_table
from placement_insight.cli.names import CommandNames
from placement_insight.documents import Response
from placement_insight.hosts import COMPUTE_NODE, DISABLED, NEEDS_OF_SERVERS

FULL: Final = 0.95
"""A host is full if more than this share of a class is in use, as on the page."""

_COLUMNS = ("host", "uuid", "class", "share", "used", "usable", "reserved", "free", "state")
_TABLE_COLUMNS = ("host", "used", "free", "state")
_FLAGS = {
    "full": "Only hosts of which more than 95 %% of the fullest class is in use.",
    "empty": "Only hosts of which nothing is in use.",
    "fragmented": "Only hosts of which more than 95 %% of the CPUs, memory or disk is in use, "
    "while at least half of another class is free.",
    "disabled": "Only hosts that nova has disabled.",
    "reserved": "Only hosts with a class that is reserved as a whole.",
}
_LIMITS = ("total", "reserved", "allocation_ratio")
_LIMIT: Final = 20
_BARS = " ▏▎▍▌▋▊▉█"
_CELLS: Final = 5  # of a bar


@dataclass(frozen=True, slots=True)
class Amounts:
    """The amounts of a class in a tree; the reserved amount in use is usable."""

    used: int = 0
    usable: int = 0
    free: int = 0
    reserved: int = 0

    @classmethod
    def of(cls, document: Response) -> "Amounts":
        """Return the amounts of an inventory of ``GET /insight/providers``."""
        limits, used = Inventory(**{name: document[name] for name in _LIMITS}), document["used"]
        usable, free = int(capacity.usable(limits, used)), capacity.free(limits, used)
        return cls(used, usable, free, limits.reserved)

    def __add__(self, other: "Amounts") -> "Amounts":
        return Amounts(
            self.used + other.used,
            self.usable + other.usable,
            self.free + other.free,
            self.reserved + other.reserved,
        )

    @property
    def share(self) -> float:
        """The share in use; above 1 if more than the capacity is in use."""
        return self.used / self.usable if self.usable else 0.0

    @property
    def is_reserved(self) -> bool:
        """Whether nothing is free because of the reserved amount."""
        return self.reserved > 0 and not self.free and self.used <= self.usable


@dataclass(frozen=True, slots=True)
class Host:
    """A host with the sums over its tree by class."""

    uuid: str
    name: str
    traits: frozenset[str]
    aggregates: frozenset[str]
    amounts: Mapping[str, Amounts]

    @property
    def fullest(self) -> str:
        """The class with the largest share in use."""
        return max(self.amounts, key=lambda name: self.amounts[name].share)

    @property
    def full(self) -> bool:
        """Whether little of the fullest class is free."""
        return self.amounts[self.fullest].share > FULL

    @property
    def empty(self) -> bool:
        """Whether nothing is in use."""
        return not any(each.used for each in self.amounts.values())

    @property
    def fragmented(self) -> bool:
        """Whether much of a class is free that servers cannot use without another class."""
        groups = [
            [self.amounts[name] for name in names if name in self.amounts]
            for names in NEEDS_OF_SERVERS
        ]
        is_limited = any(group and all(each.share > FULL for each in group) for group in groups)
        return is_limited and any(
            each.free and each.share <= 0.5 for each in self.amounts.values()
        )

    @property
    def disabled(self) -> bool:
        """Whether nova has the host disabled."""
        return DISABLED in self.traits

    @property
    def reserved(self) -> bool:
        """Whether a class is reserved as a whole."""
        return any(each.is_reserved for each in self.amounts.values())

    @property
    def over_capacity(self) -> bool:
        """Whether more of a class is in use than its capacity."""
        return any(each.used > each.usable for each in self.amounts.values())

    def states(self) -> list[str]:
        """Return the states that explain why the host takes no server, or should not."""
        states = ("disabled", "reserved", "over_capacity")
        return [name.replace("_", " ") for name in states if getattr(self, name)]


def hosts_of(providers: Sequence[Response]) -> Iterator[Host]:
    """Yield the hosts: roots with COMPUTE_NODE or usage, or all roots if none has the trait.

    A sharing provider without children, and a root without inventories in its tree, is no host.
    """
    trees: defaultdict[str, list[Response]] = defaultdict(list)
    for provider in providers:
        trees[provider["root_provider_uuid"]].append(provider)
    has_trait = any(COMPUTE_NODE in provider["traits"] for provider in providers)
    for uuid, members in trees.items():
        (root,) = [each for each in members if each["uuid"] == uuid] or [members[0]]
        host = _host(root, members)
        is_pool = len(members) == 1 and SHARING_TRAIT in root["traits"]
        is_known = not has_trait or COMPUTE_NODE in host.traits
        if host.amounts and not is_pool and (is_known or not host.empty):
            yield host


def _host(root: Response, members: Iterable[Response]) -> Host:
    amounts: defaultdict[str, Amounts] = defaultdict(Amounts)
    for member in members:
        for name, inventory in member["inventories"].items():
            amounts[name] += Amounts.of(inventory)
    traits, aggregates = frozenset(root["traits"]), frozenset(root["aggregates"])
    return Host(root["uuid"], root["name"], traits, aggregates, dict(amounts))


class ListTopHosts(WrittenOutput, command.Lister):
    """List hosts by the resource class that is the fullest, with the free amounts of all classes.

    The amounts are sums over the tree of a host. The first line counts the hosts by state:

    $ openstack placement top --full --class MEMORY_MB

    $ openstack placement top --empty --rack CUSTOM_RACK_
    """

    important = ("host", "used", "state", "free")
    has_lines = True

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--class",
            dest="resource_class",
            metavar="<class>",
            help="Sort by this resource class instead of the fullest; only hosts with the class.",
        )
        for name, text in _FLAGS.items():
            parser.add_argument(f"--{name}", action="store_true", help=text)
        parser.add_argument(
            "--aggregate",
            metavar="<aggregate>",
            help="Only hosts of this aggregate, by name or UUID.",
        )
        parser.add_argument(
            "--rack",
            metavar="<prefix>",
            help="Only hosts with a trait that begins with this, such as CUSTOM_RACK_R02.",
        )
        parser.add_argument(
            "--limit",
            type=int,
            default=_LIMIT,
            help=f"Number of hosts to list; 0 for all. Default: {_LIMIT}.",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the columns, and a row for each host.  Raises: CommandError."""
        if parsed_args.limit < 0:
            raise CommandError(f"--limit {parsed_args.limit} is not a number of hosts from 0.")
        everything = list(hosts_of(get(self.app, "/providers")["providers"]))
        resource_class = parsed_args.resource_class
        known = sorted({name for host in everything for name in host.amounts})
        if resource_class and resource_class not in known:
            raise CommandError(f"No host has {resource_class}. There are: {', '.join(known)}.")
        hosts = self._selected(everything, parsed_args)
        hosts.sort(
            key=lambda host: (-host.amounts[resource_class or host.fullest].share, host.name)
        )
        listed = hosts[: parsed_args.limit or None]
        self.note(_summary(everything))
        if len(listed) < len(hosts):
            self.note(f"{len(listed)} of {len(hosts)} selected hosts are listed. All: --limit 0.")
        of_table = is_table(parsed_args)
        row = _table_row if of_table else _row
        columns = _TABLE_COLUMNS if of_table else _COLUMNS
        return columns, [cells(row(host, resource_class or host.fullest)) for host in listed]

    def _selected(self, hosts: Iterable[Host], arguments: argparse.Namespace) -> list[Host]:
        flags = [name for name in _FLAGS if getattr(arguments, name)]
        aggregate = arguments.aggregate and CommandNames(self.app).aggregate(arguments.aggregate)
        return [
            host
            for host in hosts
            if all(getattr(host, flag) for flag in flags)
            and arguments.resource_class in (None, *host.amounts)
            and (not aggregate or aggregate in host.aggregates)
            and (
                not arguments.rack or any(each.startswith(arguments.rack) for each in host.traits)
            )
        ]


def _summary(hosts: Sequence[Host]) -> str:
    """Return how many hosts there are, and how many of them have each state."""
    counts = ((sum(getattr(host, name) for host in hosts), name) for name in _FLAGS)
    states = ", ".join(f"{number} {name}" for number, name in counts)
    return f"{len(hosts)} {nouns(len(hosts), 'host')}: {states}"


def _row(host: Host, name: str) -> Iterator[object]:
    shown = host.amounts[name]
    yield from (host.name, host.uuid, name, round(shown.share, 4))
    yield from (shown.used, shown.usable, shown.reserved)
    yield {each: amounts.free for each, amounts in host.amounts.items()}
    yield host.states()


def _table_row(host: Host, name: str) -> Iterator[object]:
    share = host.amounts[name].share
    yield host.name
    yield f"{bar(share)} {share:>4.0%} {name}"
    yield " ".join(
        f"{each}={amounts.free}" for each, amounts in host.amounts.items() if amounts.free
    )
    yield Shown(host.states(), lambda states: "\n".join(states).replace(" ", "\n"))


def bar(share: float) -> str:
    """Return a bar for a share, in eighths of a character.

    >>> bar(0.5), bar(1.2)
    ('██▌  ', '█████')
    """
    eighths = round(min(share, 1.0) * _CELLS * 8)
    return ("█" * (eighths // 8) + _BARS[eighths % 8].strip()).ljust(_CELLS)
