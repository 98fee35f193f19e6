"""The roots around which candidates can exist.

Every candidate is built around one root, its anchor. Array operations find the
anchors that have an option for every slot, and divide them into three kinds:

``standalone``  a tree of one provider that nothing is shared with: this provider
                serves all slots, or there is no candidate
``shared_only`` no provider of the tree serves any slot. Trees with the same aggregates
                have the same candidates, so one anchor represents them all
``general``     all other roots: each root poses a problem
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from itertools import chain

import numpy as np

from placement.core.requirement import having_trait
from placement.core.search.deadline import Deadline
from placement.core.search.filters import Domain, root_conditions
from placement.core.search.slots import SlottedRequest
from placement.core.snapshot.rows import Indices, Mask, Numbers, mask_of
from placement.core.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Anchors:
    """Rows of roots, ascending. A ``standalone`` root has exactly one candidate."""

    standalone: Indices
    shared_only: Indices
    general: Indices

    @property
    def kinds(self) -> tuple[Indices, Indices, Indices]:
        """The anchors of each kind, in the order of results."""
        return self.standalone, self.general, self.shared_only

    @property
    def others(self) -> Indices:
        """The anchors that may have no candidate, or several."""
        if not len(self.shared_only):
            return self.general
        return np.concatenate([self.general, self.shared_only])

    def among(self, rows: Numbers) -> "Anchors":
        """Return the standalone anchors, and the other anchors that are among the rows."""
        general, shared_only = self.general, self.shared_only
        return replace(
            self,
            general=general[np.isin(general, rows)],
            shared_only=shared_only[np.isin(shared_only, rows)],
        )


def find_anchors(
    snapshot: Snapshot, slotted: SlottedRequest, domains: Sequence[Domain], deadline: Deadline
) -> Anchors:
    """Return the roots that have an option for every slot.

    ``shared_only`` has one root for each set of aggregates.

    Raises: SearchDeadlineExceeded.
    """
    possible = possible_anchors(snapshot, slotted, domains, deadline)
    anchors = anchors_by_kind(snapshot, slotted, domains, possible)
    numbers = snapshot.tree_aggregates.number[anchors.shared_only]
    firsts = np.sort(np.unique(numbers, return_index=True)[1])
    return replace(anchors, shared_only=anchors.shared_only[firsts])


def possible_anchors(
    snapshot: Snapshot, slotted: SlottedRequest, domains: Sequence[Domain], deadline: Deadline
) -> Mask:
    """Return the roots that meet the root conditions and have an option for every slot.

    Raises: SearchDeadlineExceeded.
    """
    roots = snapshot.forest.is_root.copy()
    for condition in root_conditions(snapshot, slotted):
        roots &= condition.local
    shared_with = cache(partial(roots_in_aggregates, snapshot))  # many domains, few sets
    for domain in domains:
        deadline.check()
        shared = shared_with(frozenset(domain.shared_by_aggregate))
        roots &= roots_of(snapshot, domain.local) | shared
    return roots


def roots_of(snapshot: Snapshot, providers: Mask) -> Mask:
    """Return the roots of the trees of some providers."""
    forest = snapshot.forest
    if not forest.is_nested:
        return providers & forest.is_root
    return mask_of(forest.root[np.flatnonzero(providers)], snapshot.size)


def roots_in_aggregates(snapshot: Snapshot, uuids: frozenset[str]) -> Mask:
    """Return the roots of trees with a member in one of the aggregates."""
    if not uuids:
        return np.zeros(snapshot.size, dtype=np.bool_)
    tree_aggregates = snapshot.tree_aggregates
    is_shared_with = [
        not uuids.isdisjoint(aggregates) for aggregates in tree_aggregates.aggregates
    ]
    by_number = np.array(is_shared_with, dtype=np.bool_)
    return by_number[tree_aggregates.number] & snapshot.forest.is_root


def anchors_by_kind(
    snapshot: Snapshot, slotted: SlottedRequest, domains: Sequence[Domain], possible: Mask
) -> Anchors:
    """Return the possible anchors by kind; standalone anchors only if they serve all slots."""
    sharing_aggregates = frozenset(
        chain.from_iterable(domain.shared_by_aggregate for domain in domains)
    )
    shared = roots_in_aggregates(snapshot, sharing_aggregates)
    standalone = possible & snapshot.forest.is_single & ~shared
    other_roots = np.flatnonzero(possible & ~standalone)
    local = _with_any_local_option(snapshot, domains)[other_roots]
    return Anchors(
        standalone=np.flatnonzero(_serving_all_slots(snapshot, slotted, standalone)),
        shared_only=other_roots[~local],
        general=other_roots[local],
    )


def _with_any_local_option(snapshot: Snapshot, domains: Sequence[Domain]) -> Mask:
    """Return the roots of trees that serve a slot.

    The result is correct for roots that have an option for every slot: if a need has no sharing
    providers, its option is in their tree.
    """
    if any(not domain.shared for domain in domains):
        return snapshot.forest.is_root
    return roots_of(snapshot, reduce(np.logical_or, [domain.local for domain in domains]))


def _serving_all_slots(snapshot: Snapshot, slotted: SlottedRequest, providers: Mask) -> Mask:
    """Return the providers that can serve all slots together.

    Each of ``providers`` can serve every single slot. No provider can serve two isolated slots.
    """
    if slotted.isolated:
        return providers & False
    masks = [having_trait(snapshot, any_of) for any_of in slotted.any_of]
    masks += [
        snapshot.column(name).has_allocatable(sum(amounts.values()), snapshot.size)
        for name, amounts in slotted.contended.items()
    ]
    return reduce(np.logical_and, masks, providers)
