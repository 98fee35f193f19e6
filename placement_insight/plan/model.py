"""Values of hypothetical plans: consumers with their needs, the roots that may take them, moves.

A *drained* provider is treated as if it did not exist. Each consumer with allocations on it needs
other providers. Its *needs* are its allocations: the amounts of its root are unsuffixed, the
amounts of each other provider of its tree are a group with a suffix, isolated from the others. The
amounts of a sharing provider stay there if the provider also shares with the new root; otherwise,
and if it is drained, they are unsuffixed, too.

Providers are rows of one snapshot. A *target* is a root that may take a consumer.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, reduce
from typing import Final, Literal, NamedTuple, Self

import numpy as np

from placement.core.capacity import is_valid_amount
from placement.core.request import CandidateRequest, RequestGroup
from placement.core.requirement import (
    ForbiddenRootTrait,
    Isolate,
    MemberOf,
    ProviderRequirement,
    RootTrait,
)
from placement.core.search.anchors import roots_in_aggregates
from placement.core.search.slots import SlottedRequest
from placement.core.snapshot.rows import Mask, mask_of, numbers
from placement.core.snapshot.snapshot import Snapshot
from placement_insight.hosts import DISABLED, MIGRATION, SERVER_CLASSES
from placement_insight.plan.cells import NO_CELLS, Cells, InCell
from placement_insight.plan.hypothetical import Taken, without
from placement_insight.plan.server_groups import NO_GROUPS, ServerGroups

ENABLED: Final = ForbiddenRootTrait.one(DISABLED)

Resources = tuple[tuple[str, int], ...]
"""Amounts by resource class, sorted by class."""

Verdict = Literal["fits", "does_not_fit", "undetermined"]

SkipReason = Literal["several_trees", "migration", "state", "changed", "accelerator"]

_OF_CYBORG: Final = frozenset({"FPGA", "PGPU", "OWNER_CYBORG"})
"""The classes of the devices of Cyborg, and the trait of os-traits for its providers."""
_OF_NOVA: Final = frozenset({"COMPUTE_MANAGED_PCI_DEVICE", "OWNER_NOVA"})
"""The traits of devices that Nova itself writes into Placement."""

Way = Literal["cold", "evacuate", "live"]
"""How Nova moves a server."""
ANY_WAY: Final[tuple[Way, ...]] = ("cold", "evacuate", "live")
WAYS: Final[Mapping[str, tuple[Way, ...]]] = {
    "unmovable": (),
    "failed": ("evacuate",),
    "off": ("cold", "evacuate"),
    "paused": ("live",),
}
"""How Nova moves the servers in the fields of a request."""


class States(NamedTuple):
    """What only Nova knows: its migrations, and the ways in which it moves some servers."""

    migrations: Collection[str]
    ways: Mapping[str, tuple[Way, ...]]


@dataclass(frozen=True, slots=True)
class Holder:
    """A consumer with its allocations, and the ``ways`` in which Nova moves it.

    One that ``has_changed`` while it was read is not planned.
    """

    uuid: str
    type: str | None
    project_id: str | None
    allocations: Taken
    has_changed: bool = False
    created_at: datetime | None = None
    ways: tuple[Way, ...] = ANY_WAY

    def way(self, snapshot: Snapshot, down: Collection[int]) -> Way:
        """Return how Nova would move the server: from a root that is ``down``, or with devices."""
        root_of = snapshot.forest.root.item
        if any(root_of(row) in down for _, row in self.allocations):
            return "evacuate"
        has_devices = any(
            root_of(row) != row and name not in SERVER_CLASSES and not name.startswith("NET_")
            for name, row in self.allocations
        )
        return "cold" if has_devices or "live" not in self.ways else "live"

    def has_accelerators(self, snapshot: Snapshot) -> bool:
        """Return whether the server uses devices of Cyborg."""
        named = ({name, *snapshot.entries.state(row).traits} for name, row in self.allocations)
        return any(names & _OF_CYBORG and not names & _OF_NOVA for names in named)


@dataclass(frozen=True, slots=True)
class Keep:
    """What a target must have of the root that a consumer leaves; it is in the same cell.

    ``ignored`` are aggregates that are drained as a whole. If it ``knows_migrations``, consumers
    that are migrations of Nova are apart.
    """

    aggregates: bool = True
    trait_prefixes: tuple[str, ...] = ()
    ignored: frozenset[str] = frozenset()
    cells: Cells = NO_CELLS
    knows_migrations: bool = False

    def of(self, snapshot: Snapshot, root: int) -> frozenset[ProviderRequirement | InCell]:
        """Return what a target must have for the consumers of a root."""
        state, cell = snapshot.entries.state(root), self.cells.of_root.get(root, self.cells.others)
        aggregates = state.aggregates - self.ignored if self.aggregates else ()
        traits = (name for name in state.traits if name.startswith(self.trait_prefixes))
        kept = (*map(MemberOf.one, aggregates), *map(RootTrait.one, traits))
        return frozenset(kept if cell is None else (*kept, cell))


@dataclass(frozen=True, slots=True)
class OtherRoot:
    """A target is not the root that a consumer leaves: Nova moves no server within its host."""

    root: int

    def providers(self, snapshot: Snapshot) -> Mask:
        """Return all providers but the root."""
        return ~mask_of(numbers([self.root]), snapshot.size)


_OfRoot = ProviderRequirement | InCell | OtherRoot


@dataclass(frozen=True, slots=True)
class Needs:
    """The needs of a consumer, and what a target must have: its aggregates and traits to keep.

    ``others`` are the amounts of the other providers of its tree, ``shared`` the amounts on
    sharing providers by row. ``resident`` are its amounts on providers of its tree that remain:
    other consumers can have them afterwards.
    """

    unsuffixed: Resources
    others: tuple[Resources, ...]
    shared: tuple[tuple[int, Resources], ...]
    resident: tuple[tuple[tuple[str, int], int], ...]
    of_root: frozenset[_OfRoot]

    @property
    def total(self) -> Counter[str]:
        """All amounts by class, without the amounts that may stay at sharing providers."""
        total = Counter[str]()
        for resources in (self.unsuffixed, *self.others):
            total.update(dict(resources))
        return total


@dataclass(frozen=True, eq=False)
class Variant:
    """The targets at which the same sharing providers keep the amounts ``kept`` of some needs.

    The amounts of the other sharing providers are unsuffixed: they are among ``own``.
    ``slotted`` is the request for the amounts that are not kept.
    """

    needs: Needs
    targets: Mask
    own: Counter[str]
    kept: Counter[tuple[str, int]]
    slotted: SlottedRequest


@dataclass(frozen=True, slots=True)
class Demand:
    """Consumers with equal needs, in the order of UUIDs; a member of server groups is alone."""

    needs: Needs
    holders: tuple[Holder, ...]


@dataclass(frozen=True, slots=True)
class Move:
    """The allocations of a consumer after it moved to a root."""

    holder: Holder
    root: int
    allocations: Taken


@dataclass(frozen=True, eq=False)
class Scene:
    """The drained providers of a snapshot, and what their consumers need.

    ``remaining`` is the snapshot without the drained providers, ``enabled`` are its roots that may
    take consumers. ``demands`` are in the order in which they are placed: the largest share of an
    average root first. ``skipped`` are the consumers for which nothing is planned.
    """

    remaining: Snapshot
    drained: Mask
    enabled: Mask
    demands: Sequence[Demand]
    groups: ServerGroups = NO_GROUPS
    keep: Keep = field(default_factory=Keep)
    skipped: Mapping[str, SkipReason] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        drained: Mask,
        holders: Iterable[Holder],
        keep: Keep,
        groups: ServerGroups = NO_GROUPS,
    ) -> Self:
        """Return the scene of drained rows and the consumers that have allocations on them."""
        reader = NeedsReader(snapshot, drained, keep)
        by_needs: dict[tuple[Needs, str], list[Holder]] = {}
        skipped: dict[str, SkipReason] = {}
        for holder in holders:
            if holder.type == MIGRATION:
                skipped[holder.uuid] = "migration"
            elif holder.has_changed:
                skipped[holder.uuid] = "changed"
            elif (way := holder.way(snapshot, keep.cells.down)) not in holder.ways:
                skipped[holder.uuid] = "state"
            elif way != "evacuate" and holder.has_accelerators(snapshot):
                skipped[holder.uuid] = "accelerator"
            elif len(roots := roots_of(snapshot, holder.allocations)) > 1:
                skipped[holder.uuid] = "several_trees"
            else:
                needs = reader.needs(holder.allocations, roots[0])
                member = holder.uuid if holder.uuid in groups.of_server else ""
                by_needs.setdefault((needs, member), []).append(holder)
        demands = [
            Demand(needs, tuple(sorted(equal, key=lambda holder: holder.uuid)))
            for (needs, _), equal in by_needs.items()
        ]
        scene = cls.in_order(snapshot, drained, demands, groups)
        return replace(scene, skipped=dict(sorted(skipped.items())), keep=keep)

    @classmethod
    def in_order(
        cls,
        snapshot: Snapshot,
        drained: Mask,
        demands: Iterable[Demand],
        groups: ServerGroups = NO_GROUPS,
    ) -> Self:
        """Return the scene of these demands, in any order.

        Of equal shares, the members of server groups are placed first.
        """
        share = shares(snapshot)
        ordered = sorted(demands, key=lambda each: each.holders[0].uuid)
        ordered.sort(key=lambda each: each.holders[0].uuid not in groups.of_server)
        ordered.sort(key=lambda each: -share(each.needs.total))
        enabled = snapshot.forest.is_root & ~drained & ENABLED.providers(snapshot)
        return cls(without(snapshot, drained), drained, enabled, ordered, groups)

    @cached_property
    def staying(self) -> Mapping[str, int]:
        """The roots of the members of server groups that do not move."""
        moving = {holder.uuid for demand in self.demands for holder in demand.holders}
        return {uuid: root for uuid, root in self.groups.roots.items() if uuid not in moving}

    def targets(self, needs: Needs) -> Mask:
        """Return the roots that may take a consumer, whether or not its needs fit there."""
        having = (each.providers(self.remaining) for each in needs.of_root)
        return reduce(np.logical_and, having, self.enabled)

    def variants(self, needs: Needs) -> Sequence[Variant]:
        """Return the targets by the sharing providers that keep their amounts; most kept first."""
        empty = Counter[tuple[str, int]]()
        parts = [(self.targets(needs), Counter(dict(needs.unsuffixed)), empty)]
        for row, resources in needs.shared:
            reached, amounts = self._reached(row, resources), Counter(dict(resources))
            stay = Counter({(name, row): amount for name, amount in resources})
            parts = [
                *((targets & reached, own, kept + stay) for targets, own, kept in parts),
                *((targets & ~reached, own + amounts, kept) for targets, own, kept in parts),
            ]
        others = [RequestGroup(f"_{at}", dict(each)) for at, each in enumerate(needs.others)]
        variants = []
        for targets, own, kept in parts:
            if targets.any():
                groups = (*([RequestGroup("", dict(own))] if own else []), *others)
                slotted = SlottedRequest.of(CandidateRequest(groups, (Isolate(),)))
                variants.append(Variant(needs, targets, own, kept, slotted))
        return variants

    def _reached(self, row: int, resources: Resources) -> Mask:
        """Return the roots at which the sharing provider may keep the amounts."""
        snapshot, state = self.remaining, self.remaining.entries.state(row)
        inventories = state.inventories
        if not all(
            name in inventories and is_valid_amount(inventories[name], amount)
            for name, amount in resources
        ):
            return np.zeros(snapshot.size, dtype=np.bool_)
        reached = roots_in_aggregates(snapshot, state.aggregates)
        reached[snapshot.forest.root.item(row)] = False
        return reached


@dataclass(frozen=True, eq=False)
class NeedsReader:
    """Reads the needs of consumers from their allocations, if some providers are drained."""

    snapshot: Snapshot
    drained: Mask
    keep: Keep
    _of_root: dict[int, frozenset[_OfRoot]] = field(default_factory=dict, init=False)
    _known: dict[Needs, Needs] = field(default_factory=dict, init=False)

    def needs(self, allocations: Taken, root: int) -> Needs:
        """Return the needs of a consumer in the tree of a root; equal needs are one object."""
        if root not in self._of_root:
            other = frozenset() if self.drained[root] else {OtherRoot(root)}
            self._of_root[root] = self.keep.of(self.snapshot, root) | other
        unsuffixed: defaultdict[str, int] = defaultdict(int)
        others: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
        shared: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
        resident, root_of = [], self.snapshot.forest.root.item
        for each in sorted(allocations.items()):
            (name, row), amount = each
            is_drained, is_local = self.drained.item(row), root_of(row) == root
            if row == root or (is_drained and not is_local):
                unsuffixed[name] += amount
            else:
                (others if is_local else shared)[row].append((name, amount))
            if is_local and not is_drained:
                resident.append(each)
        needs = Needs(
            tuple(unsuffixed.items()),
            tuple(sorted(map(tuple, others.values()))),
            tuple((row, tuple(shared[row])) for row in sorted(shared)),
            tuple(resident),
            self._of_root[root],
        )
        return self._known.setdefault(needs, needs)


def with_children(snapshot: Snapshot, rows: Iterable[int]) -> Mask:
    """Return the rows and all providers below them."""
    mask = np.zeros(snapshot.size, dtype=np.bool_)
    for row in rows:
        mask[snapshot.forest.members(row)] = True
    return mask


def roots_of(snapshot: Snapshot, allocations: Taken) -> Sequence[int]:
    """Return the roots of the trees with the allocations.

    Sharing providers do not count, unless there are no others.
    """
    is_sharing = snapshot.sharing.mask(snapshot.size)
    rows = {row for _, row in allocations}
    local = [row for row in rows if not is_sharing.item(row)] or rows
    return sorted(set(map(snapshot.forest.root.item, local)))


def shares(snapshot: Snapshot) -> Callable[[Mapping[str, int]], float]:
    """Return the function of amounts that is their largest share of what an average root has."""
    roots = max(int(snapshot.forest.is_root.sum()), 1)
    average = {
        name: max(float(column.free.sum()), 1.0) / roots
        for name, column in snapshot.columns.items()
    }
    return lambda amounts: max(
        (n / average.get(name, 1.0) for name, n in amounts.items()), default=0
    )
