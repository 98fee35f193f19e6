"""Why a consumer has no move: a class for each kind of shortage, with its sentence as ``text``.

The amounts of one class are added up as the search does: a group without suffix may use any
provider, the groups with a suffix use separate providers.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from placement.core.requirement import MemberOf, RootTrait
from placement.core.search.anchors import roots_in_aggregates
from placement.core.snapshot.rows import AmountArray
from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import nouns
from placement_insight.plan.cells import InCell
from placement_insight.plan.model import Needs, OtherRoot, Resources, Scene


@dataclass(frozen=True, slots=True)
class NoTarget:
    """There is no target: no enabled host has these aggregates and traits, or not all of them.

    ``problem`` is why the consumer cannot leave its cell.
    """

    aggregates: Sequence[str] = ()
    traits: Sequence[str] = ()
    cell: str = ""
    problem: str = ""

    @property
    def text(self) -> str:
        """The sentence."""
        names = {"aggregate": self.aggregates, "trait": self.traits}
        listed = [
            f"{nouns(len(some), noun)} {', '.join(some)}" for noun, some in names.items() if some
        ]
        where = f" in cell {self.cell}" if self.cell else ""
        if not listed:
            return self.problem or f"there is no other enabled host{where}"
        text = f"no other enabled host{where} has the {' and '.join(listed)} of its host"
        return f"{text} (keep=none ignores aggregates)" if self.aggregates else text


@dataclass(frozen=True, slots=True)
class OfClass:
    """A class of which no target has enough; ``available`` is what the one with the most has."""

    name: str
    needed: int
    groups: int
    available: str


@dataclass(frozen=True, slots=True)
class TooLittle:
    """No target has enough of some classes."""

    classes: Sequence[OfClass]

    @property
    def text(self) -> str:
        """The sentence."""
        by_available: defaultdict[str, list[str]] = defaultdict(list)
        for each in self.classes:
            groups = f" in {each.groups} groups" if each.groups > 1 else ""
            by_available[each.available].append(f"{each.needed} {each.name}{groups}")
        return "; ".join(
            f"needs {' and '.join(needed)}; {available}"
            for available, needed in by_available.items()
        )


@dataclass(frozen=True, slots=True)
class NotAtOnce:
    """Targets have enough of each class, but none serves all; ``missing`` is at the closest."""

    host: str
    missing: Sequence[str]

    @property
    def text(self) -> str:
        """The sentence."""
        if self.missing:
            closest = f"closest is {self.host} with {', '.join(self.missing)}"
            return f"no host that may take it has everything free at once; {closest}"
        return (
            f"{self.host} has enough of each class, but not on the providers that can serve the "
            "groups, or not in their units (min_unit, max_unit, step_size)"
        )


@dataclass(frozen=True, slots=True)
class Excluded:
    """Server groups exclude the hosts on which it fits, or the plan did not reach it."""

    text: str


Shortage = NoTarget | TooLittle | NotAtOnce | Excluded


def lacks(shortage: Shortage) -> Mapping[str, int]:
    """Return the needed amounts of the classes in which no target has enough."""
    match shortage:
        case TooLittle(classes):
            return {each.name: each.needed for each in classes}
        case NoTarget() | NotAtOnce() | Excluded():
            return {}


def shortage_of(scene: Scene, snapshot: Snapshot, needs: Needs) -> Shortage:
    """Return why needs fit on no target in a state."""
    variants = scene.variants(needs)
    if not variants:
        return _no_target(scene, needs)
    roots = np.flatnonzero(scene.targets(needs))
    own = variants[0].own if len(variants) == 1 else Counter(dict(needs.unsuffixed))
    total = sum((Counter(dict(each)) for each in needs.others), own)
    free = [_Free(snapshot, name, own[name], needs.others) for name in total]
    if lacking := [each for each in free if not each.is_enough[roots].any()]:
        return TooLittle([each.of_class(scene, roots) for each in lacking])
    shortfalls = [1 - each.served[roots] / each.needed for each in free]
    best = roots.item(int(np.maximum.reduce(shortfalls).argmin()))
    missing = [
        f"{each.served.item(best)} of {each.needed} {each.name}"
        for each in free
        if not each.is_enough[best]
    ]
    return NotAtOnce(snapshot.entries.state(best).provider.name, missing)


def _no_target(scene: Scene, needs: Needs) -> NoTarget:
    """Return what no other host has, or not at once."""
    other = frozenset(each for each in needs.of_root if isinstance(each, InCell | OtherRoot))
    in_cell = next((each for each in other if isinstance(each, InCell)), None)
    cell, problem = (in_cell.name, in_cell.problem) if in_cell else ("", "")
    enabled = scene.targets(replace(needs, of_root=other))
    if not enabled.any():
        return NoTarget(cell=cell, problem=problem)
    having = {each: (enabled & each.providers(scene.remaining)).any() for each in needs.of_root}
    lost = [each for each in having if not having[each]] or having
    aggregates, traits = (
        sorted(name for each in lost if isinstance(each, kind) for name in each.names)
        for kind in (MemberOf, RootTrait)
    )
    return NoTarget(aggregates, traits, cell)


class _Free:
    """What each tree, with the providers that share with it, has of a class for some needs.

    Amounts are at the rows of roots. ``served`` is the part of the needed amount that the groups
    can have, counted as if nothing else was needed.
    """

    def __init__(
        self, snapshot: Snapshot, name: str, unsuffixed: int, others: Sequence[Resources]
    ) -> None:
        self._snapshot, self.name = snapshot, name
        groups = sorted(filter(None, (dict(each).get(name, 0) for each in others)), reverse=True)
        self._count = len(groups) + bool(unsuffixed)
        self.needed = sum((unsuffixed, *groups))
        column = snapshot.column(name)
        usable = np.minimum(column.free, np.maximum(column.allocatable, 0))
        roots = snapshot.forest.root[column.rows]
        self._largest, self._free = (np.zeros(snapshot.size, dtype=np.int64) for _ in range(2))
        np.maximum.at(self._largest, roots, usable)
        np.add.at(self._free, roots, np.maximum(column.free, 0))
        self.served = np.full(snapshot.size, unsuffixed, dtype=np.int64)
        order = np.lexsort((-usable, roots))  # the providers of a tree, the largest first
        rank = np.arange(len(order)) - np.searchsorted(roots[order], roots[order])
        for number, amount in enumerate(groups):
            serving = order[(rank == number) & (usable[order] >= amount)]
            self.served[roots[serving]] += amount
        for at in np.flatnonzero(np.isin(column.rows, snapshot.sharing.numbers) & (usable > 0)):
            state = snapshot.entries.state(column.rows.item(at))
            reached = roots_in_aggregates(snapshot, state.aggregates)
            reached[roots.item(at)] = False
            self._free[reached] += column.free[at]
            self._largest[reached] = np.maximum(self._largest[reached], usable[at])
            self.served[reached] = self.needed
        most = max((unsuffixed, *groups))
        bound = np.where(self._largest < most, self._largest, self._free)
        self.served = np.minimum(np.minimum(self.served, bound), self.needed)
        self.is_enough = self.served >= self.needed

    def of_class(self, scene: Scene, roots: AmountArray) -> OfClass:
        """Return the shortage of targets that do not have enough.

        If a host that is no target, such as a disabled one, has more, the text says so.
        """
        emptiest = roots[self._free[roots] == self._free[roots].max()]
        best = emptiest.item(int(self._largest[emptiest].argmax()))
        free, largest = self._free.item(best), self._largest.item(best)
        others = ~scene.drained & (self._free > free)
        host = self._snapshot.entries.state(best).provider.name
        if not free:
            which = "host that may take it" if others.any() else "other host"
            available = f"no {which} has any free"
        elif self._count > 1:
            available = f"{host} has {free} free"
            if free >= self.needed:
                served = f"of which a provider for each group serves {self.served.item(best)}"
                available = f"{available}, {served}"
        elif free > largest:
            available = f"{host} has {free} free, at most {largest} in one allocation"
        else:
            which = "a host that may take it" if others.any() else "one host"
            available = f"the most that {which} has free is {free} ({host})"
        return OfClass(self.name, self.needed, self._count, available)
