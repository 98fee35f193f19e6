"""The actions that repair findings: from the findings to a plan.

A finding that needs a decision has no action: capacity that is exceeded or missing, hosts that
may be the same, and providers that nothing reports. Notices are repaired only if their codes are
named.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from placement.insight.audit.model import ERROR, Finding
from placement.insight.repair.actions import (
    Action,
    CreateConsumer,
    DeleteResourceClass,
    DeleteTrait,
    RemoveAllocations,
    RemoveConsumer,
    RemoveStrayAllocations,
    SetTree,
    SetUsageCounter,
)


@dataclass(frozen=True, slots=True)
class Planned:
    """The actions in the order of a plan, and the number of findings without one, by code."""

    actions: Sequence[Action]
    without_action: Mapping[str, int]


def plan(findings: Iterable[Finding], codes: Collection[str] = ()) -> Planned:
    """Return the actions that repair the errors, and the notices of the ``codes``."""
    actions, without_action = [], Counter[str]()
    for finding in findings:
        if finding.severity != ERROR and finding.code not in codes:
            continue
        action = action_for(finding)
        if action is None:
            without_action[finding.code] += 1
        else:
            actions.append(action)
    return Planned(
        sorted(actions, key=lambda action: _ORDER.index(action.finding)), without_action
    )


def action_for(finding: Finding) -> Action | None:
    """Return the action that repairs a finding, None if the repair needs a decision."""
    action = _ACTIONS.get(finding.code)
    return None if action is None else action.for_finding(finding.code, finding.rows)


_ACTIONS: Final[Mapping[str, type[Action]]] = {
    # In the order of a plan: removing or creating consumers does not change their generations.
    "missing_consumer": CreateConsumer,
    "empty_consumer": RemoveConsumer,
    "orphaned_consumer": RemoveAllocations,
    "doubled_consumer": RemoveAllocations,
    "missing_provider": RemoveStrayAllocations,
    "missing_root": SetTree,
    "missing_parent": SetTree,
    "wrong_root": SetTree,
    "usage_counter": SetUsageCounter,
    "unused_class": DeleteResourceClass,
    "unused_trait": DeleteTrait,
}
_ORDER: Final = list(_ACTIONS)

REPAIRABLE: Final = frozenset(_ACTIONS)
"""The codes of findings that have an action."""
