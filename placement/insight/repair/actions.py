"""All actions: by their names in a file, and by the findings that they repair.

A finding that needs a decision has no action: capacity that is exceeded or missing, hosts that
may be the same, and providers that nothing reports. Notices are repaired only if their codes are
named.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from placement.core.text import nouns
from placement.insight.audit.model import NOTICE, Finding, Skipped
from placement.insight.audit.text import aligned
from placement.insight.repair.action import Action, InvalidRepairFile
from placement.insight.repair.consumers import (
    CreateConsumer,
    MoveAllocations,
    RemoveAllocations,
    RemoveConsumer,
    RemoveStrayAllocations,
)
from placement.insight.repair.names import DeleteConsumerType, DeleteResourceClass, DeleteTrait
from placement.insight.repair.providers import (
    DeleteProvider,
    MakeRoot,
    RenameProvider,
    SetTree,
    SetUsageCounter,
)

# In the order of a plan: removing or creating consumers does not change their generations.
_ACTIONS: Final[Sequence[type[Action]]] = (
    *(CreateConsumer, RemoveConsumer, RemoveAllocations, RemoveStrayAllocations),
    *(SetTree, MakeRoot, SetUsageCounter, DeleteResourceClass, DeleteTrait, DeleteConsumerType),
    *(MoveAllocations, RenameProvider, DeleteProvider),
)
_BY_KIND: Final = {action.kind: action for action in _ACTIONS}
_BY_CODE: Final = {code: action for action in _ACTIONS for code in action.repairs}
_ORDER: Final = list(_BY_CODE)

REPAIRABLE: Final = frozenset(_BY_CODE)
"""The codes of findings that have an action."""


@dataclass(frozen=True, slots=True)
class Planned:
    """The actions in the order of a plan, and the numbers of findings without one, by code.

    Findings in ``without_action`` need a decision; ``unnamed_notices`` have actions, which are
    planned only if their codes are named. ``names`` has the names of providers, by UUID.
    """

    actions: Sequence[Action]
    without_action: Mapping[str, int]
    unnamed_notices: Mapping[str, int] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def text(self, path: str, skipped: Iterable[Skipped] = ()) -> str:
        """Return what the plan in a file contains, and what it leaves out with the reasons."""
        counts = [(len(self.actions), f"{nouns(len(self.actions), 'action')} planned in {path}")]
        for code, number in self.without_action.items():
            reason = f"need a decision: see `placement-manage audit --code {code}`"
            counts.append((number, f"{code} {reason}"))
        for code, number in self.unnamed_notices.items():
            reason = f"notices are planned only with --code {code}"
            counts.append((number, f"{code} not planned: {reason}"))
        counts += [(rows.count, f"{rows.code} not planned: {rows.reason}") for rows in skipped]
        return "\n".join(aligned(counts))


def plan(findings: Iterable[Finding], codes: Collection[str] = ()) -> Planned:
    """Return the actions that repair the errors, and the notices of the ``codes``."""
    actions, without_action, unnamed_notices = [], Counter[str](), Counter[str]()
    names: dict[str, str] = {}
    for finding in findings:
        if finding.ends:
            continue
        if finding.severity == NOTICE and finding.code not in codes:
            unnamed_notices.update({finding.code} & REPAIRABLE)
            continue
        names |= finding.names
        action = _BY_CODE[finding.code].for_finding(finding) if finding.code in _BY_CODE else None
        if action is None:
            without_action[finding.code] += 1
        else:
            actions.append(action)
    actions.sort(key=lambda action: _ORDER.index(action.finding))
    return Planned(actions, without_action, unnamed_notices, names)


def from_json(document: Mapping[str, Any]) -> Action:
    """Return the action of a line.  Raises: InvalidRepairFile.

    >>> from_json({"action": "delete_trait", "finding": "", "trait": "CUSTOM_A"})
    DeleteTrait(finding='', trait='CUSTOM_A')
    """
    values = dict(document)
    values.pop("names", None)  # for the reader of the file
    action = _BY_KIND.get(str(values.pop("action", None)))
    if action is None:
        raise InvalidRepairFile(f"{document.get('action')!r} is not an action of this version.")
    return action.from_json(values)
