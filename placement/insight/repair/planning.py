"""The actions that repair findings: from the findings to a plan.

A finding that needs a decision has no action: capacity that is exceeded or missing, hosts that
may be the same, and providers that nothing reports. Notices are repaired only if their codes are
named.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

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

Rows = Mapping[str, Any]


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
    return Planned(sorted(actions, key=lambda each: _ORDER.index(each.finding)), without_action)


def action_for(finding: Finding) -> Action | None:
    """Return the action that repairs a finding, None if that needs a decision."""
    make = _ACTIONS.get(finding.code)
    return None if make is None else make(finding.rows)


def _create_consumer(rows: Rows) -> Action:
    return CreateConsumer(finding="missing_consumer", consumer=rows["consumer"])


def _remove_consumer(rows: Rows) -> Action:
    return RemoveConsumer(
        finding="empty_consumer", consumer=rows["consumer"], generation=rows["generation"]
    )


def _remove_orphan(rows: Rows) -> Action:
    return RemoveAllocations(
        finding="orphaned_consumer",
        consumer=rows["consumer"],
        generation=rows["generation"],
        written_at=rows["written_at"],
        allocations=rows["allocations"],
        providers=sorted(rows["allocations"]),
    )


def _remove_double(rows: Rows) -> Action:
    return RemoveAllocations(
        finding="doubled_consumer",
        consumer=rows["consumer"],
        generation=rows["generation"],
        written_at=rows["written_at"],
        allocations=rows["allocations"],
        providers=rows["providers"],
    )


def _remove_stray(rows: Rows) -> Action:
    return RemoveStrayAllocations(
        finding="missing_provider",
        provider_id=rows["provider_id"],
        resource_class=rows["resource_class"],
        used=rows["used"],
    )


def _set_counter(rows: Rows) -> Action:
    return SetUsageCounter(
        finding="usage_counter",
        provider=rows["provider"]["uuid"],
        resource_class=rows["resource_class"],
        counter=rows["counter"],
        used=rows["used"],
    )


def _set_tree(code: str) -> Callable[[Rows], Action | None]:
    def make(rows: Rows) -> Action | None:
        if rows["expected_root"] is None:
            return None
        return SetTree(
            finding=code,
            provider=rows["provider"]["uuid"],
            generation=rows["generation"],
            parent=rows["parent"],
            root=rows["root"],
            new_parent=rows["parent"],
            new_root=rows["expected_root"],
        )

    return make


def _delete_class(rows: Rows) -> Action:
    return DeleteResourceClass(finding="unused_class", resource_class=rows["resource_class"])


def _delete_trait(rows: Rows) -> Action:
    return DeleteTrait(finding="unused_trait", trait=rows["trait"])


_ACTIONS: Final[Mapping[str, Callable[[Rows], Action | None]]] = {
    # in the order of a plan: what removes or creates consumers does not change their generations
    "missing_consumer": _create_consumer,
    "empty_consumer": _remove_consumer,
    "orphaned_consumer": _remove_orphan,
    "doubled_consumer": _remove_double,
    "missing_provider": _remove_stray,
    "missing_root": _set_tree("missing_root"),
    "missing_parent": _set_tree("missing_parent"),
    "wrong_root": _set_tree("wrong_root"),
    "usage_counter": _set_counter,
    "unused_class": _delete_class,
    "unused_trait": _delete_trait,
}
_ORDER: Final = list(_ACTIONS)

REPAIRABLE: Final = frozenset(_ACTIONS)
"""The codes of findings that have an action."""
