"""The words for a row of a funnel, an unmet requirement and a remedy.

A requirement has its sentence (``core.requirement``); this module adds the facts.
"""

from collections.abc import Collection
from typing import assert_never

from placement.core.requirement import HasInventory, InUnits, IsFree
from placement.core.text import Names
from placement.insight.explanation.changes import (
    Both,
    Change,
    Drop,
    GroupParameters,
    Lower,
    Split,
    Unsuffix,
)
from placement.insight.explanation.facts import (
    CapacityFacts,
    PartsFacts,
    Shortage,
    SumFacts,
    UnitFacts,
)
from placement.insight.explanation.model import FunnelRow, OneProvider, Unmet


def phrase(row: FunnelRow, names: Names) -> str:
    """Return the reason of a row of the funnel in words."""
    match row.facts:
        case UnitFacts(name, needed, low, high, steps):
            text = _outside(f"{name}:{needed}", needed, low, high, steps or ())
        case SumFacts(groups=groups) | PartsFacts(groups=groups):
            text = f"{' + '.join(map(str, groups))} together"
        case _:
            text = row.requirement.unmet(names)
    is_whole = isinstance(row.requirement, OneProvider)
    return text + ("" if is_whole else _in_group(row.group))


def _in_group(suffix: str) -> str:
    return f" in group {suffix}" if suffix else ""


def _outside(
    amount: str, needed: int, low: int | None, high: int | None, steps: Collection[int]
) -> str:
    """Return the limit that the amount exceeds: of one provider, or the widest limit of several.

    The widest limits are missing if no provider is considered.
    """
    if high is not None and needed > high:
        return f"{amount} above max_unit {high}"
    if low is not None and needed < low:
        return f"{amount} below min_unit {low}"
    if steps and all(size and needed % size for size in steps):
        return f"{amount} not a multiple of step_size {' or '.join(map(str, steps))}"
    return f"{amount} outside min_unit, max_unit and step_size"


def lack(unmet: Unmet, root: str, names: Names) -> str:
    """Return one unmet requirement of a root as amounts, or in words if it has no amounts.

    The provider is named if it is shared, or if another one of the tree may have the class.
    """
    facts, where = unmet.facts, _in_group(unmet.group)
    if isinstance(facts, Shortage) and facts.tree:
        return facts.tree.together(facts.amounts.resource_class, facts.amounts.needed) + where
    is_child = isinstance(unmet.requirement, HasInventory) and unmet.provider.uuid != root
    at = f"{unmet.provider.name}: " if unmet.shared or is_child else ""
    return at + _of_provider(unmet, names)


def _of_provider(unmet: Unmet, names: Names) -> str:
    facts, where = unmet.facts, _in_group(unmet.group)
    if isinstance(facts, Shortage):
        amounts, requirement = facts.amounts, unmet.requirement
        if facts.is_sum and amounts.free < amounts.needed:
            return f"{_free(amounts)} together"
        if isinstance(requirement, IsFree):
            return _free(amounts) + where
        if isinstance(requirement, InUnits):
            limits = (amounts.min_unit, amounts.max_unit, (amounts.step_size,))
            return _outside(requirement.value(), amounts.needed, *limits) + where
        if facts.beside:
            return f"{requirement.unmet(names)}{where}: {facts.beside}"
    return unmet.requirement.unmet(names) + where


def _free(amounts: CapacityFacts) -> str:
    free = f"{amounts.resource_class} {max(amounts.free, 0)} of {amounts.needed}"
    return f"{free} ({amounts.state})" if amounts.state else free


def change_text(change: Change, names: Names) -> str:
    """Return the change of a remedy, after the number of hosts."""
    match change:
        case Both(first, second):
            return _two_changes(first, second, names)
        case Unsuffix(group):
            parameters = GroupParameters(group)
            before, after = (parameters.spelled(each, names) for each in (group.suffix, ""))
            return f"with {after} instead of {before}"
        case Drop() | Lower() | Split():
            if change.alike:
                return f"{_in_one_group(change, names)} in any of the {len(change.alike)} groups"
            is_named = isinstance(change, Drop)  # the requirement has the suffix
            return _in_one_group(change, names) + ("" if is_named else _in_group(change.group))
    assert_never(change)


def _two_changes(first: Drop | Lower, second: Drop | Lower, names: Names) -> str:
    """Return two changes in words; those of equal groups are in two different groups."""
    groups, others = set(first.alike), set(second.alike)
    if not groups > others > set():
        return f"{change_text(first, names)} and {change_text(second, names)}"
    text, other_text = _in_one_group(first, names), _in_one_group(second, names)
    if text == other_text:
        return f"{text} in any 2 of the {len(groups)} groups"
    both = f"{change_text(first, names)} and {other_text}"
    return f"{both} in any of the other {len(others)} groups"


def _in_one_group(change: Drop | Lower | Split, names: Names) -> str:
    """Return a change in words, without the suffix if the group is one of several equal ones."""
    match change:
        case Lower(_, name, to):
            return f"at {name}:{to}"
        case Split(_, name, to, parts):
            return f"with {parts} groups of {name}:{to}"
        case Drop(parameters, suffix, instead, alike):
            dropped = parameters.spelled("" if alike else suffix, names)
            if instead:
                others = "&".join(each.spelled("", names) for each in instead)
                return f"with {others} instead of {dropped}"
            return f"without {dropped}"
    assert_never(change)
