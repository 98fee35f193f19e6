"""The facts in a row of the funnel: the existing providers and amounts.

``lost`` are the roots that the requirement removed.
"""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from placement.core.search.filters import AmountCondition, Condition, having_trait, in_aggregate
from placement.core.search.slots import SearchPlan
from placement.core.snapshot.columns import Column
from placement.core.snapshot.rows import Amounts, Mask
from placement.core.snapshot.snapshot import Snapshot
from placement.insight.explanation.groups import Providers

Facts = dict[str, object]


def of_condition(snapshot: Snapshot, condition: Condition, _lost: Mask) -> Facts:
    """Return the number of providers that satisfy the condition."""
    if condition.code == "in_tree":
        return {"exists": condition.value in snapshot.forest.row_of}
    if condition.code == "aggregate":
        return {"members": int(np.count_nonzero(in_aggregate(snapshot, condition.names)))}
    if condition.code == "trait":
        return {"providers": int(np.count_nonzero(having_trait(snapshot, condition.names)))}
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
    if code == "unit":
        return requested | _units(column, considered)
    return requested | _largest_free(snapshot, column, considered, condition.unit[column.rows])


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
    provider = snapshot.entries.state(int(column.rows[at])).provider
    return {
        "free": max(int(column.allocatable[at]), 0),
        "provider": {"uuid": provider.uuid, "name": provider.name},
    }


def of_stage(
    snapshot: Snapshot, plan: SearchPlan, requested: Mapping[str, int], lost: Mask
) -> Facts:
    """Return the sum that several groups request of a class, and the root with most free."""
    classes = [_most(snapshot, name, amount, lost) for name, amount in requested.items()]
    insufficient = [facts for facts in classes if facts["free"] < facts["needed"]]  # type: ignore[operator]
    first = next(iter(insufficient or classes), None)
    return {**first, "groups": _groups(plan)} if first else {}


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
    provider = snapshot.entries.state(best).provider
    return {
        "resource_class": name,
        "needed": needed,
        "free": int(total[best]),
        "provider": {"uuid": provider.uuid, "name": provider.name},
    }


def free_in_trees(snapshot: Snapshot, name: str) -> Amounts:
    """Return for every root the sum of the allocatable amounts of a class in its tree."""
    column, total = snapshot.columns[name], np.zeros(snapshot.size, dtype=np.int64)
    np.add.at(total, snapshot.forest.root[column.rows], column.allocatable.clip(0))
    return total
