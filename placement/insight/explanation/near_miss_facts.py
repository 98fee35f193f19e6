"""What one root or provider lacks, with the amounts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placement.core import capacity
from placement.core.model import Inventory
from placement.core.request import CandidateRequest, RequestGroup
from placement.core.search.filters import any_of_text
from placement.core.snapshot.rows import Mask
from placement.core.snapshot.snapshot import Snapshot
from placement.insight.explanation.conditions import ClassConditions, Condition
from placement.insight.explanation.model import Amounts, ProviderName, Unmet

_AGGREGATES = {"aggregate", "forbidden_aggregate"}
_TRAITS = {"trait", "forbidden_trait", "root_trait"}
_NO_INVENTORY = Inventory(total=0, min_unit=0, max_unit=0, step_size=0)


@dataclass(frozen=True, slots=True, eq=False)
class LostTogether:
    """The roots that a condition between groups removed.

    ``requested`` has the amount of each class that several groups request together.
    """

    code: str
    requirement: str
    roots: Mask
    requested: dict[str, int]


def shortfall_of(snapshot: Snapshot, lost: LostTogether) -> NDArray[np.float64]:
    """Return for each root the largest part of an amount that its tree lacks, 1 if unknown."""
    short = np.zeros(snapshot.size)
    for name, needed in lost.requested.items() if lost.code == "combined" else ():
        column = snapshot.columns[name]
        roots = snapshot.forest.root[column.rows]
        free = np.bincount(roots, weights=column.allocatable.clip(0), minlength=snapshot.size)
        np.maximum(short, 1 - free / needed, out=short)
    short[short <= 0] = 1
    return short


def named(snapshot: Snapshot, row: int) -> ProviderName:
    """Return UUID and name of a provider."""
    provider = snapshot.entries.state(row).provider
    return ProviderName(provider.uuid, provider.name)


def of_root(snapshot: Snapshot, request: CandidateRequest, root: int) -> Iterator[Unmet]:
    """Yield the conditions on the root itself that it does not meet."""
    state, name = snapshot.entries.state(root), named(snapshot, root)
    for trait in sorted(request.root_required - state.traits):
        yield Unmet("root_trait", "", f"root_required={trait}", name, traits=(trait,))
    for trait in sorted(request.root_forbidden & state.traits):
        yield Unmet("root_trait", "", f"root_required=!{trait}", name, traits=(trait,))
    for group in request.groups:
        if not group.suffix and group.not_member_of & state.aggregates:
            requirement = f"member_of=!{any_of_text(group.not_member_of)}"
            uuids = tuple(sorted(group.not_member_of & state.aggregates))
            yield Unmet("forbidden_aggregate", "", requirement, name, aggregates=uuids)


def of_kind(snapshot: Snapshot, condition: Condition, group: RequestGroup, row: int) -> Unmet:
    """Return a condition without amounts that a provider does not meet.

    Of alternatives, those that the group forbids are left out.
    """
    names, suffix = condition.names, group.suffix
    if condition.code == "forbidden_aggregate":
        here = snapshot.entries.state(row).aggregates
        names = tuple(name for name in names if name in here)
    elif condition.code in ("trait", "aggregate"):
        unwanted = group.forbidden | group.not_member_of
        names = tuple(name for name in names if name not in unwanted) or names
    return Unmet(
        code=condition.code,
        group=suffix,
        requirement=condition.spelled(suffix),
        provider=named(snapshot, row),
        traits=names if condition.code in _TRAITS else (),
        aggregates=names if condition.code in _AGGREGATES else (),
    )


def of_class(
    snapshot: Snapshot, conditions: ClassConditions, codes: Iterable[str], suffix: str, row: int
) -> Iterator[Unmet]:
    """Yield what a provider lacks of an amount, by code."""
    amounts = amounts_of(snapshot, [row], conditions.resource_class, conditions.amount)
    for code in codes:
        yield Unmet(code, suffix, conditions.spelled(suffix), named(snapshot, row), amounts)


def amounts_of(snapshot: Snapshot, rows: Iterable[int], name: str, needed: int) -> Amounts:
    """Return what some providers have of a class together."""
    states = [snapshot.entries.state(row) for row in rows]
    having = [
        (state.inventories[name], state.used.get(name, 0))
        for state in states
        if name in state.inventories
    ]
    inventories = [inventory for inventory, _ in having] or [_NO_INVENTORY]
    total = sum(capacity.integer_capacity(inventory) for inventory, _ in having)
    used = sum(amount for _, amount in having)
    return Amounts(
        resource_class=name,
        needed=needed,
        free=total - used,
        capacity=total,
        used=used,
        reserved=sum(inventory.reserved for inventory, _ in having),
        min_unit=min(inventory.min_unit for inventory in inventories),
        max_unit=max(inventory.max_unit for inventory in inventories),
        step_size=min(inventory.step_size for inventory in inventories),
    )
