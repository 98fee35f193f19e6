"""All actions: by their names in a file, and by the findings that they repair.

A finding that needs a decision has no action: capacity that is exceeded or missing, hosts that
may be the same, and providers that nothing reports. Notices are repaired only if their codes are
named.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Final

from placement.core.text import nouns
from placement.insight.audit.finding import NOTICE, Finding, Named
from placement.insight.audit.kinds import KINDS
from placement.insight.audit.model import Skipped
from placement.insight.audit.names import UnusedClass, UnusedTrait, UnusedType
from placement.insight.audit.servers import DoubledConsumer, OrphanedConsumer
from placement.insight.audit.text import aligned
from placement.insight.audit.trees import (
    MissingParent,
    MissingRoot,
    NestedComputeNode,
    OfTree,
    WrongRoot,
)
from placement.insight.audit.usage import (
    EmptyConsumer,
    MissingConsumer,
    MissingProvider,
    UsageCounter,
)
from placement.insight.repair.action import Action, InvalidRepairFile, Line
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

_REPAIRS: Final[Mapping[type[Finding], type[Action]]] = {
    OrphanedConsumer: RemoveAllocations,
    DoubledConsumer: RemoveAllocations,
    MissingConsumer: CreateConsumer,
    EmptyConsumer: RemoveConsumer,
    MissingProvider: RemoveStrayAllocations,
    MissingRoot: SetTree,
    MissingParent: SetTree,
    WrongRoot: SetTree,
    NestedComputeNode: MakeRoot,
    UsageCounter: SetUsageCounter,
    UnusedClass: DeleteResourceClass,
    UnusedTrait: DeleteTrait,
    UnusedType: DeleteConsumerType,
}

REPAIRABLE: Final = frozenset(kind.code for kind in _REPAIRS)
"""The codes of findings that have an action."""


def action_for(finding: Finding) -> Action | None:
    """Return the action that repairs a finding, None if the repair needs a decision.

    The fields of an action are those of its finding; a provider is named by its UUID.
    """
    kind = _REPAIRS.get(type(finding))
    if kind is None:
        return None
    values = {**vars(finding), "finding": finding.code}
    match finding:
        case OrphanedConsumer(allocations=allocations):
            values["providers"] = sorted(allocations)
        case OfTree(parent=parent, expected_root=str(root)):
            values |= {"new_parent": parent, "new_root": root}
        case OfTree() | NestedComputeNode(parent=None) | NestedComputeNode(root=None):
            return None  # a loop of parents, or of a document before 1.1
    if isinstance(provider := values.get("provider"), Named):
        values["provider"] = provider.uuid
    return kind(**{each.name: values[each.name] for each in fields(kind)})


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
            reason = "need a decision: the audit lists them without --plan"
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
        action = action_for(finding)
        if action is None:
            without_action[finding.code] += 1
        else:
            actions.append(action)
    actions.sort(key=_place)
    return Planned(actions, without_action, unnamed_notices, names)


def _place(action: Action) -> tuple[int, int]:
    """Return the place in a plan: in the order of the actions, then of the codes."""
    return _ACTIONS.index(type(action)), list(KINDS).index(action.finding)


def from_json(line: Line) -> Action:
    """Return the action of a line.  Raises: InvalidRepairFile.

    >>> from_json({"action": "delete_trait", "finding": "", "trait": "CUSTOM_A"})
    DeleteTrait(finding='', trait='CUSTOM_A')
    """
    values = dict(line)
    values.pop("names", None)  # for the reader of the file
    action = _BY_KIND.get(str(values.pop("action", None)))
    if action is None:
        raise InvalidRepairFile(f"{line.get('action')!r} is not an action of this version.")
    return action.from_json(values)
