"""The plan of a drain: a move of each consumer, or why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from placement.core.requirement import MemberOf, RootTrait
from placement.core.search.anchors import roots_in_aggregates
from placement.core.search.deadline import Deadline
from placement.core.snapshot.rows import AmountArray
from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import nouns
from placement.exception import SearchDeadlineExceeded
from placement_insight.plan.bounds import Bounds
from placement_insight.plan.model import Holder, Move, Needs, Scene, Verdict
from placement_insight.plan.placing import Placement

TIME_OVER: Final = (
    "the time limit of the plan was reached ([placement]candidate_search_budget_seconds)"
)
UNPROVED: Final = "the largest first leaves some out, and no bound proves that they do not fit"
_EXCLUDED: Final = "it fits on no host that the other members of its server groups allow"
_OF_GROUP: Final = "no host that its server groups allow has everything free after the moves"


@dataclass(frozen=True, slots=True)
class Stuck:
    """A consumer without a move; ``is_proved`` if it fits nowhere, whatever else moves."""

    holder: Holder
    needs: Needs
    is_proved: bool
    text: str


@dataclass(frozen=True, slots=True)
class Drain:
    """The result. ``reasons`` prove that not all fit, or say why this is not determined."""

    verdict: Verdict
    moves: Sequence[Move]
    stuck: Sequence[Stuck] = ()
    reasons: Sequence[str] = field(default_factory=tuple)
    is_complete: bool = True


def drain(scene: Scene, deadline: Deadline) -> Drain:
    """Return the moves of all consumers of a scene, or of as many as were found.

    Cost: a few array operations for each different needs, and a few microseconds for each move.
    """
    placement = Placement(scene, deadline)
    if not placement.stuck:
        return Drain("fits", placement.moves)
    bounds = Bounds(scene, deadline)
    try:
        deadline.check()  # those that were not reached may fit
        stuck = list(_stuck(scene, placement, bounds))
        proofs = [each.text for each in stuck if each.is_proved] or list(bounds.sentences())
        if proofs:
            return Drain("does_not_fit", placement.moves, stuck, tuple(dict.fromkeys(proofs)))
        return Drain("undetermined", placement.moves, stuck, (UNPROVED,))
    except SearchDeadlineExceeded:
        stuck = [
            Stuck(holder, demand.needs, is_proved=False, text=TIME_OVER)
            for demand in placement.stuck
            for holder in demand.holders
        ]
        return Drain("undetermined", placement.moves, stuck, (TIME_OVER,), is_complete=False)


def _stuck(scene: Scene, placement: Placement, bounds: Bounds) -> Sequence[Stuck]:
    """Return the consumers that were not placed, with what they lack.

    Raises: SearchDeadlineExceeded.
    """
    stuck = []
    for demand in placement.stuck:
        is_proved = not bounds.allowed(demand).any()
        if not bounds.fitting(demand.needs).any():
            text = lack(scene, bounds.snapshot, demand.needs)
        elif demand.holders[0].uuid in scene.groups:
            text = _EXCLUDED if is_proved else _OF_GROUP
        else:
            text = f"{lack(scene, placement.after, demand.needs)} after the moves"
        stuck += [Stuck(holder, demand.needs, is_proved, text) for holder in demand.holders]
    return stuck


def lack(scene: Scene, snapshot: Snapshot, needs: Needs) -> str:
    """Return the sentence about needs that fit on no target in a state: what is closest."""
    roots = np.flatnonzero(scene.targets(needs))
    if not len(roots):
        return _no_target(scene, needs)
    amounts = dict(needs.unsuffixed)
    for resources in needs.others:
        for name, amount in resources:
            amounts[name] = max(amount, amounts.get(name, 0))
    by_root = {name: _largest_by_root(snapshot, name) for name in amounts}
    largest = {name: of_class[roots] for name, of_class in by_root.items()}
    for name, amount in amounts.items():
        best = int(largest[name].argmax())
        most = int(largest[name][best])
        if most < amount:
            host = f"{most} ({_name(snapshot, roots[best])})" if most else ""
            has_more = (by_root[name] > most) & snapshot.forest.is_root & ~scene.drained
            return f"needs {amount} {name}; {_most(host, is_of_targets=bool(has_more.any()))}"
    shortfalls = [(amount - largest[name]) / amount for name, amount in amounts.items()]
    best = int(np.maximum.reduce(shortfalls).argmin())
    missing = [
        f"{int(largest[name][best])} of {amount} {name}"
        for name, amount in amounts.items()
        if largest[name][best] < amount
    ]
    host = _name(snapshot, roots[best])
    if missing:
        closest = f"closest is {host} with {', '.join(missing)}"
        return f"no host that may take it has everything free at once; {closest}"
    return (
        "no host that may take it takes its amounts in these groups: min_unit, max_unit and "
        "step_size, and a provider for each group"
    )


def _most(most: str, *, is_of_targets: bool) -> str:
    """Return what one host has free at most, empty for nothing.

    With ``is_of_targets``, a host that is no target, such as a disabled one, has more.
    """
    if not most:
        return f"no {'host that may take it' if is_of_targets else 'other host'} has any free"
    host = "a host that may take it" if is_of_targets else "one host"
    return f"the most that {host} has free is {most}"


def _no_target(scene: Scene, needs: Needs) -> str:
    """Return the sentence about needs without targets: what no other host has, or not at once."""
    enabled = scene.targets(replace(needs, of_root=frozenset()))
    if not enabled.any():
        return "there is no other enabled host"
    having = {each: (enabled & each.providers(scene.remaining)).any() for each in needs.of_root}
    lost = [each for each in having if not having[each]] or having
    names = {
        noun: sorted(name for each in lost if isinstance(each, kind) for name in each.names)
        for noun, kind in (("aggregate", MemberOf), ("trait", RootTrait))
    }
    listed = [
        f"{nouns(len(some), noun)} {', '.join(some)}" for noun, some in names.items() if some
    ]
    text = f"no other enabled host has the {' and '.join(listed)} of its host"
    return f"{text} (keep=none ignores aggregates)" if names["aggregate"] else text


def _largest_by_root(snapshot: Snapshot, name: str) -> AmountArray:
    """Return the largest amount of a class that one provider of each tree, or shared, has free."""
    column = snapshot.column(name)
    largest = np.zeros(snapshot.size, dtype=np.int64)
    free = np.minimum(column.free, np.maximum(column.allocatable, 0))
    np.maximum.at(largest, snapshot.forest.root[column.rows], free)
    for at in np.flatnonzero(np.isin(column.rows, snapshot.sharing.numbers) & (free > 0)):
        state = snapshot.entries.state(column.rows.item(at))
        largest[roots_in_aggregates(snapshot, state.aggregates) & (largest < free[at])] = free[at]
    return largest


def _name(snapshot: Snapshot, row: int) -> str:
    return snapshot.entries.state(int(row)).provider.name
