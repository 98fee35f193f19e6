"""Around which roots a request can be satisfied, and the problem that each of them poses.

Every candidate is built around one root, its anchor. The anchors that have an
option for every slot fall into three kinds, told apart by arrays:

``lone``      one provider, nothing shared with it: it serves all slots, or none
``shared``    nothing of the tree itself serves any slot. Where the same is shared
              the same candidates arise, so one anchor stands for all of them
``mixed``     all others, each with a problem to solve
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from placement.core.search.filters import Served, anchor_steps, having_trait, narrow
from placement.core.search.plan import Plan
from placement.core.snapshot.rows import Indices, Mask
from placement.core.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Anchors:
    """Rows of roots, each array in order. ``lone`` serve as they are; see the module's text."""

    lone: Indices
    shared: Indices
    mixed: Indices


def find_anchors(snapshot: Snapshot, plan: Plan, served: Sequence[Served]) -> Anchors:
    """Return the roots that have an option for every slot, lone ones only if they serve all.

    Of ``shared`` ones there is one for each neighbourhood.
    """
    possible = possible_anchors(snapshot, plan, served)
    anchors = anchors_by_kind(snapshot, plan, served, possible)
    numbers = snapshot.tree_aggregates.number[anchors.shared]
    _, first = np.unique(numbers, return_index=True)
    return replace(anchors, shared=anchors.shared[np.sort(first)])


def possible_anchors(snapshot: Snapshot, plan: Plan, served: Sequence[Served]) -> Mask:
    """Return the roots that meet their own conditions and have an option for every slot."""
    masks = [snapshot.forest.is_root]
    masks += [step.mask for step in anchor_steps(snapshot, plan)]
    masks += [reach(snapshot, need) for need in served]
    return reduce(np.logical_and, masks)


def reach(snapshot: Snapshot, served: Served) -> Mask:
    """Return the roots at which somebody can meet the need."""
    return reach_at_home(snapshot, served) | reach_abroad(snapshot, served)


def reach_at_home(snapshot: Snapshot, served: Served) -> Mask:
    """Return the roots of trees with a member that can meet the need."""
    forest = snapshot.forest
    roots: Mask = served.local & forest.is_root
    if forest.branched:
        roots[forest.root[np.flatnonzero(served.local & ~forest.is_root)]] = True
    return roots


def reach_abroad(snapshot: Snapshot, served: Served) -> Mask:
    """Return the roots that a sharing provider which can meet the need shares with."""
    shares = served.shared_by_aggregate.keys()
    if not shares:
        return np.zeros(snapshot.size, dtype=np.bool_)
    tree_aggregates = snapshot.tree_aggregates
    near = [not shares.isdisjoint(aggregates) for aggregates in tree_aggregates.aggregates]
    return np.array(near, dtype=np.bool_)[tree_aggregates.number] & snapshot.forest.is_root


def anchors_by_kind(
    snapshot: Snapshot, plan: Plan, served: Sequence[Served], possible: Mask
) -> Anchors:
    """Return the possible anchors by kind, lone ones only if they serve all slots."""
    abroad = reduce(np.logical_or, [reach_abroad(snapshot, need) for need in served])
    alone = possible & snapshot.forest.is_lone & ~abroad
    rest = np.flatnonzero(possible & ~alone)
    at_home = reduce(np.logical_or, [reach_at_home(snapshot, need) for need in served])[rest]
    return Anchors(
        lone=np.flatnonzero(_serving_alone(snapshot, plan, alone)),
        shared=rest[~at_home],
        mixed=rest[at_home],
    )


def _serving_alone(snapshot: Snapshot, plan: Plan, alone: Mask) -> Mask:
    """Return the lone providers that serve all slots by themselves."""
    if plan.isolated:
        return alone & False
    masks = [having_trait(snapshot, either) for either in plan.either]
    masks += [
        snapshot.columns[name].holding(sum(amounts.values()), snapshot.size)
        for name, amounts in plan.contended.items()
        if name in snapshot.columns
    ]
    return reduce(np.logical_and, masks, alone)


def narrow_all(snapshot: Snapshot, plan: Plan) -> list[Served]:
    """Return who can fill the slots of each need."""
    return [narrow(snapshot, need) for need in plan.needs]
