"""What a shape needs, and which roots are considered for it.

A *shape* is one future claim, written as a query for candidates. A root is *considered* if it
meets everything that the shape asks but the amounts: somewhere in its tree, or shared with it,
every need finds a provider that has the classes, the traits and the aggregates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from placement.core.search.anchors import possible_anchors
from placement.core.search.deadline import Deadline
from placement.core.search.filters import Domain, find_domain
from placement.core.search.plan import Need, SearchPlan
from placement.core.snapshot.rows import Mask, mask_of, numbers
from placement.core.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Shape:
    """A plan by resource class.

    ``totals`` is what one claim takes in all, ``needs`` which needs of the plan want the class,
    ``single`` the classes that one slot wants, so that one provider gives the whole amount.
    """

    plan: SearchPlan
    totals: Mapping[str, int]
    needs: Mapping[str, tuple[int, ...]]
    single: frozenset[str]

    @classmethod
    def of(cls, plan: SearchPlan) -> "Shape":
        """Return the shape of a plan."""
        totals: dict[str, int] = {}
        needs: dict[str, dict[int, None]] = {}
        slots: dict[str, int] = {}
        for slot in plan.slots:
            for name, amount in slot.resources:
                totals[name] = totals.get(name, 0) + amount
                needs.setdefault(name, {})[slot.need] = None
                slots[name] = slots.get(name, 0) + 1
        return cls(
            plan,
            totals,
            {name: tuple(numbers) for name, numbers in needs.items()},
            frozenset(name for name, count in slots.items() if count == 1),
        )


@dataclass(frozen=True, slots=True)
class Considered:
    """The considered roots, as rows in order, and the providers capable of each need, as masks."""

    roots: np.ndarray[tuple[int], np.dtype[np.intp]]
    capable: Sequence[Domain]


def considered(snapshot: Snapshot, shape: Shape, deadline: Deadline) -> Considered:
    """Return the roots that meet all but the amounts.  Cost: that of finding the domains.

    Raises: SearchDeadlineExceeded.
    """
    capable = [_capable(snapshot, need) for need in shape.plan.needs]
    roots = np.flatnonzero(possible_anchors(snapshot, shape.plan, capable, deadline))
    return Considered(roots, capable)


def _capable(snapshot: Snapshot, need: Need) -> Domain:
    """Return the providers that meet the need if amounts are ignored."""
    domain = find_domain(snapshot, replace(need, resources=()))
    has = [_having(snapshot, name) for name, _ in need.resources]
    if not has:
        return domain
    able = reduce(np.logical_and, has)
    return Domain(
        domain.local & able,
        tuple(row for row in domain.shared if able[row]),
        {
            uuid: kept
            for uuid, rows in domain.shared_by_aggregate.items()
            if (kept := tuple(row for row in rows if able[row]))
        },
    )


def _having(snapshot: Snapshot, name: str) -> Mask:
    column = snapshot.columns.get(name)
    return mask_of(column.rows if column else numbers(()), snapshot.size)
