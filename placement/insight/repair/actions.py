"""All actions: by their names in a file, and by the findings that they repair.

A finding that needs a decision has no action: capacity that is exceeded or missing, hosts that
may be the same, and providers that nothing reports. Notices are repaired only if their codes are
named.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from placement.insight.audit.model import ERROR, Finding
from placement.insight.repair.action import Action, InvalidRepairFile
from placement.insight.repair.consumers import (
    CreateConsumer,
    MoveAllocations,
    RemoveAllocations,
    RemoveConsumer,
    RemoveStrayAllocations,
)
from placement.insight.repair.names import DeleteResourceClass, DeleteTrait
from placement.insight.repair.providers import (
    DeleteProvider,
    RenameProvider,
    SetTree,
    SetUsageCounter,
)

# In the order of a plan: removing or creating consumers does not change their generations.
_ACTIONS: Final[Sequence[type[Action]]] = (
    *(CreateConsumer, RemoveConsumer, RemoveAllocations, RemoveStrayAllocations),
    *(SetTree, SetUsageCounter, DeleteResourceClass, DeleteTrait),
    *(MoveAllocations, RenameProvider, DeleteProvider),
)
_BY_KIND: Final = {action.kind: action for action in _ACTIONS}
_BY_CODE: Final = {code: action for action in _ACTIONS for code in action.repairs}
_ORDER: Final = list(_BY_CODE)

KINDS: Final = frozenset(_BY_KIND)
REPAIRABLE: Final = frozenset(_BY_CODE)
"""The codes of findings that have an action."""


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
        action = _BY_CODE[finding.code].for_finding(finding) if finding.code in _BY_CODE else None
        if action is None:
            without_action[finding.code] += 1
        else:
            actions.append(action)
    actions.sort(key=lambda action: _ORDER.index(action.finding))
    return Planned(actions, without_action)


def from_json(document: Mapping[str, Any]) -> Action:
    """Return the action of a line.  Raises: InvalidRepairFile.

    >>> from_json({"action": "delete_trait", "finding": "", "trait": "CUSTOM_A"})
    DeleteTrait(finding='', trait='CUSTOM_A')
    """
    values = dict(document)
    action = _BY_KIND.get(str(values.pop("action", None)))
    if action is None:
        raise InvalidRepairFile(f"{document.get('action')!r} is not an action of this version.")
    return action.from_json(values)
