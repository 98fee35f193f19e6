"""The facts in a row of the funnel: the existing providers and amounts.

``lost`` are the roots that the requirement removed.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from itertools import chain

import numpy as np

from placement.core.search.anchors import roots_in_aggregates, roots_of
from placement.core.search.filters import AmountCondition, Condition, having_trait, in_aggregate
from placement.core.search.slots import SearchPlan
from placement.core.snapshot.columns import MAX_FREE, Column
from placement.core.snapshot.rows import Amounts, Mask, Numbers
from placement.core.snapshot.snapshot import Snapshot
from placement.insight.explanation.groups import Group, Providers, meeting, reached_roots
from placement.insight.explanation.near_miss_facts import named, tree_amounts

Facts = dict[str, object]


def of_root_condition(snapshot: Snapshot, condition: Condition, _lost: Mask) -> Facts:
    """Return how many providers have a required trait, and how many of them are roots."""
    if condition.code != "root_trait" or condition.value not in condition.names:
        return {}
    return {
        "providers": int(np.count_nonzero(condition.local)),
        "roots": int(np.count_nonzero(condition.local & snapshot.forest.is_root)),
    }


def of_condition(snapshot: Snapshot, group: Group, condition: Condition, lost: Mask) -> Facts:
    """Return the number of providers that satisfy the condition, and who does but does not count.

    A root may be lost although it is in the aggregate, or reaches a provider with the trait.
    """
    if condition.code == "in_tree":
        return {"exists": condition.value in snapshot.forest.row_of}
    if condition.code == "aggregate":
        members = in_aggregate(snapshot, condition.names)
        facts: Facts = {"members": int(np.count_nonzero(members))}
        return facts | _shared_from_outside(snapshot, group, condition, lost)
    if condition.code == "trait":
        having = having_trait(snapshot, condition.names)
        facts = {"providers": int(np.count_nonzero(having))}
        return facts | _with_trait_elsewhere(snapshot, group, condition)
    return {}


def _shared_from_outside(
    snapshot: Snapshot, group: Group, condition: Condition, lost: Mask
) -> Facts:
    """Return a sharing provider outside the aggregate that lost roots in the aggregate need.

    No provider that is in the aggregate and can serve these roots has the classes of a need.
    """
    members = lost & roots_of(snapshot, condition.local)
    for need in group.needs:
        depending = members & ~reached_roots(snapshot, need.considered & meeting(condition))
        outside = np.flatnonzero(need.considered[1] & ~condition.shared).tolist()
        aggregates = _aggregates(snapshot, depending) if outside else frozenset()
        for row in outside:
            shared = snapshot.entries.state(row).aggregates
            if shared & aggregates:
                roots = depending & roots_in_aggregates(snapshot, shared)
                return {
                    "outside": {
                        "provider": named(snapshot, row),
                        "resource_classes": [amount.resource_class for amount in need.amounts],
                        "roots": int(np.count_nonzero(roots)),
                    }
                }
    return {}


def _aggregates(snapshot: Snapshot, roots: Mask) -> frozenset[str]:
    """Return the aggregates of the trees of some roots."""
    trees = snapshot.tree_aggregates
    numbers = np.unique(trees.number[roots]).tolist()
    return frozenset[str]().union(*(trees.aggregates[number] for number in numbers))


def _with_trait_elsewhere(snapshot: Snapshot, group: Group, condition: Condition) -> Facts:
    """Return a provider with the trait that fails another condition of its group.

    Without a provider that has both the trait and the classes, return the classes.
    """
    able = [(need, meeting(condition) & need.considered) for need in group.needs]
    classes = [amount.resource_class for need in group.needs for amount in need.amounts]
    if not any(providers.any() for _, providers in able):
        return {"without": classes} if classes else {}
    for need, providers in able:
        for other in need.conditions:
            failing = np.flatnonzero((providers & ~meeting(other)).any(axis=0)).tolist()
            if failing and not (providers & meeting(other)).any():
                return {
                    "excluded": {
                        "provider": named(snapshot, failing[0]),
                        "code": other.code,
                        "requirement": other.spelled(group.suffix),
                    }
                }
    return {}


def of_amount(
    snapshot: Snapshot, code: str, condition: AmountCondition, providers: Providers, lost: Mask
) -> Facts:
    """Return the limits of units, or the largest free amount and its provider."""
    column = condition.column
    requested = {"resource_class": condition.resource_class, "needed": condition.amount}
    if code == "no_inventory":
        return {"resource_class": condition.resource_class, "providers": len(column.rows)}
    considered = _considered(snapshot, column, providers, lost)
    together = _together_in_tree(snapshot, condition, considered, lost)
    if code == "unit":
        return requested | _units(column, considered) | together
    unit = condition.unit[column.rows]
    return requested | _largest_free(snapshot, column, considered, unit) | together


def _considered(snapshot: Snapshot, column: Column, providers: Providers, lost: Mask) -> Mask:
    """Return a mask of the rows of a column that are considered at one of the lost roots."""
    rows = column.rows
    local, shared = providers[:, rows]
    considered: Mask = (local & lost[snapshot.forest.root[rows]]) | shared
    return considered


def _units(column: Column, considered: Mask) -> Facts:
    """Return the widest limits of the considered providers, and whether all limits are equal."""
    if not considered.any():
        return {}
    numbers = np.unique(column.unit_rule[considered]).tolist()
    unit_rules = [column.unit_rules[number] for number in numbers]
    largest = column.max_unit[considered]
    return {
        "min_unit": min(low for low, _ in unit_rules),
        "max_unit": int(largest.max()),
        "step_sizes": sorted({step for _, step in unit_rules}),
        "uniform": len(unit_rules) == 1 and bool((largest == largest[0]).all()),
    }


def _largest_free(snapshot: Snapshot, column: Column, considered: Mask, unit: Mask) -> Facts:
    """Return the largest free amount among the considered providers."""
    able = considered & unit
    if not able.any():
        return {}
    at = int(np.argmax(np.where(able, column.allocatable, -2)))
    return {
        "free": max(int(column.allocatable[at]), 0),
        "provider": named(snapshot, int(column.rows[at])),
    }


def _together_in_tree(
    snapshot: Snapshot, condition: AmountCondition, considered: Mask, lost: Mask
) -> Facts:
    """Return the lost root with the most free on several providers, if together it is enough."""
    column, trees = condition.column, snapshot.forest.root[condition.column.rows]
    is_free = considered & (column.allocatable > 0) & lost[trees]
    total = _in_trees(snapshot, column.rows[is_free], column.allocatable[is_free])
    root = int(np.argmax(total))
    inside = column.rows[is_free & (trees == root)].tolist()
    tree = tree_amounts(snapshot, inside, condition.resource_class, condition.amount)
    return {"tree": {**asdict(tree), "provider": named(snapshot, root)}} if tree else {}


def of_stage(
    snapshot: Snapshot, plan: SearchPlan, requested: Mapping[str, int], lost: Mask
) -> Facts:
    """Return the groups, and for a class the root that comes closest to serving all of them.

    The sum that is free, if it is less than the sum that the groups request; else the number of
    groups with the largest amount that fit, if it is less than the number of these groups.
    """
    if not requested:
        return {}
    facts = [_most(snapshot, name, amount, lost) for name, amount in requested.items()]
    insufficient = [fact for fact in facts if fact["free"] < fact["needed"]]  # type: ignore[operator]
    uneven = (_most_groups(snapshot, plan, name, lost) for name in requested)
    closest = next(chain(insufficient, filter(None, uneven)), facts[0])
    return {**closest, "groups": _groups(plan)}


def _most_groups(snapshot: Snapshot, plan: SearchPlan, name: str, lost: Mask) -> Facts:
    """Return how many of the groups with the largest amount of a class fit the best lost root."""
    amounts = [dict(slot.resources).get(name, 0) for slot in plan.slots]
    largest = max(amounts)
    column = snapshot.columns[name]
    groups_of_row = column.free.clip(0) // min(largest, MAX_FREE)
    fitting = _in_trees(snapshot, column.rows, groups_of_row)
    best = int(np.argmax(np.where(lost, fitting, -1)))
    fits, needed = int(fitting[best]), amounts.count(largest)
    if fits >= needed:
        return {}
    total = int(free_in_trees(snapshot, name)[best])
    return {
        "resource_class": name,
        "needed": sum(amounts),
        "free": total,
        "provider": named(snapshot, best),
        "amount": largest,
        "fitting_groups": fits,
        "needed_groups": needed,
    }


def _groups(plan: SearchPlan) -> list[Facts]:
    """Return the distinct requests of groups with their number, in descending order."""
    counts = Counter(slot.resources for slot in plan.slots if slot.resources)
    return [
        {"resources": dict(resources), "groups": number}
        for resources, number in counts.most_common()
    ]


def _most(snapshot: Snapshot, name: str, needed: int, lost: Mask) -> Facts:
    """Return the lost root whose tree has the largest free amount of a class."""
    total = free_in_trees(snapshot, name)
    best = int(np.argmax(np.where(lost, total, -1)))
    return {
        "resource_class": name,
        "needed": needed,
        "free": int(total[best]),
        "provider": named(snapshot, best),
    }


def free_in_trees(snapshot: Snapshot, name: str) -> Amounts:
    """Return for every root the sum of the allocatable amounts of a class in its tree."""
    column = snapshot.column(name)
    return _in_trees(snapshot, column.rows, column.allocatable.clip(0))


def _in_trees(snapshot: Snapshot, rows: Numbers, amounts: Numbers | Amounts) -> Amounts:
    """Return for every root the sum of the amounts of its tree.  As int64: 20 times faster."""
    total = np.zeros(snapshot.size, dtype=np.int64)
    np.add.at(total, snapshot.forest.root[rows], amounts.astype(np.int64))
    return total
