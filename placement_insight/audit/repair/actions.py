"""All actions: by their names in a file, and by the findings that they repair.

A finding that needs a decision has no action: capacity that is exceeded or missing, hosts that
may be the same, and providers that nothing reports. Notices are repaired only if their codes are
named.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from placement.core.text import Names, nouns
from placement_insight.audit.finding import NOTICE, Claim, Finding, InPlan
from placement_insight.audit.kinds import KINDS
from placement_insight.audit.model import Skipped
from placement_insight.audit.names import UnusedClass, UnusedTrait, UnusedType
from placement_insight.audit.repair.action import Action, InvalidRepairFile, Line
from placement_insight.audit.repair.consumers import (
    CreateConsumer,
    MoveAllocations,
    RemoveAllocations,
    RemoveConsumer,
    RemoveStrayAllocations,
    TakeOverAllocations,
)
from placement_insight.audit.repair.names import (
    DeleteConsumerType,
    DeleteResourceClass,
    DeleteTrait,
)
from placement_insight.audit.repair.providers import (
    DeleteProvider,
    MakeRoot,
    RenameProvider,
    SetTree,
    SetUsageCounter,
)
from placement_insight.audit.servers import (
    AllocationsOnOtherHost,
    DoubledConsumer,
    OfConsumer,
    OfServer,
    OrphanedConsumer,
)
from placement_insight.audit.text import aligned
from placement_insight.audit.trees import NestedComputeNode, OfTree
from placement_insight.audit.usage import (
    EmptyConsumer,
    MissingConsumer,
    MissingProvider,
    UsageCounter,
)

# In the order of a plan: removing or creating consumers does not change their generations.
_ACTIONS: Final[Sequence[type[Action]]] = (
    *(CreateConsumer, RemoveConsumer, TakeOverAllocations),
    *(RemoveAllocations, RemoveStrayAllocations),
    *(SetTree, MakeRoot, SetUsageCounter, DeleteResourceClass, DeleteTrait, DeleteConsumerType),
    *(MoveAllocations, RenameProvider, DeleteProvider),
)
_BY_KIND: Final = {action.kind: action for action in _ACTIONS}

REPAIRABLE: Final = frozenset(code for code, kind in KINDS.items() if issubclass(kind, InPlan))
"""The codes of findings that have an action."""


def action_for(finding: Finding) -> Action | None:
    """Return the action that repairs a finding, None if the repair needs a decision."""
    action = _action(finding)
    return action and replace(action, finding=finding.code)


def _action(finding: Finding) -> Action | None:  # noqa: C901, PLR0911, PLR0912  a case for each
    match finding:
        case OrphanedConsumer():
            return _remove_allocations(finding, sorted(finding.allocations))
        case DoubledConsumer():
            return _remove_allocations(finding, finding.providers)
        case OfServer(migration=Claim() as migration):
            return _take_over(finding, migration)
        case MissingConsumer():
            return CreateConsumer(consumer=finding.consumer)
        case EmptyConsumer():
            return RemoveConsumer(consumer=finding.consumer, generation=finding.generation)
        case MissingProvider():
            return RemoveStrayAllocations(
                provider_id=finding.provider_id,
                resource_class=finding.resource_class,
                used=finding.used,
            )
        case OfTree(expected_root=str(root)):  # None in a loop of parents
            return SetTree(
                provider=str(finding.provider.uuid),
                parent=finding.parent,
                root=finding.root,
                new_parent=finding.expected_parent,
                new_root=root,
            )
        case NestedComputeNode(parent=str(parent), root=str(root)):  # since 1.1
            return MakeRoot(provider=str(finding.provider.uuid), parent=parent, root=root)
        case UsageCounter():
            return SetUsageCounter(
                provider=str(finding.provider.uuid),
                resource_class=finding.resource_class,
                counter=finding.counter,
                used=finding.used,
            )
        case UnusedClass():
            return DeleteResourceClass(resource_class=finding.resource_class)
        case UnusedTrait():
            return DeleteTrait(trait=finding.trait)
        case UnusedType():
            return DeleteConsumerType(type=finding.type)
        case _:
            return None


def _remove_allocations(finding: OfConsumer, providers: Sequence[str]) -> Action:
    return RemoveAllocations(
        consumer=finding.consumer,
        generation=finding.generation,
        written_at=finding.written_at,
        allocations=finding.allocations,
        providers=providers,
    )


def _take_over(finding: OfServer, migration: Claim) -> Action:
    own = finding if isinstance(finding, AllocationsOnOtherHost) else None
    return TakeOverAllocations(
        consumer=finding.consumer,
        generation=own.generation if own else None,
        written_at=own.written_at if own else None,
        allocations=own.allocations if own else {},
        migration=migration.uuid,
        migration_generation=migration.generation,
        migration_allocations=migration.allocations,
    )


@dataclass(frozen=True, slots=True)
class Planned:
    """The actions in the order of a plan, and the numbers of other findings, by code and reason.

    ``names`` has the names of providers, by UUID.
    """

    actions: Sequence[Action]
    left_out: Mapping[str, int]
    names: Names = field(default_factory=dict)

    def text(self, path: str, skipped: Iterable[Skipped] = ()) -> str:
        """Return what the plan in a file contains, and what it leaves out with the reasons."""
        counts = [(len(self.actions), f"{nouns(len(self.actions), 'action')} planned in {path}")]
        counts += [(number, reason) for reason, number in self.left_out.items()]
        counts += [(rows.count, rows.text) for rows in skipped]
        return "\n".join(aligned(counts))


def plan(findings: Iterable[Finding], codes: Collection[str] = ()) -> Planned:
    """Return the actions that repair the errors, and the notices of the ``codes``.

    The findings are in the order of their codes.
    """
    actions, left_out = list[Action](), Counter[str]()
    names: dict[str, str] = {}
    for finding in findings:
        code = finding.code
        if finding.ends:
            continue
        if finding.severity == NOTICE and code not in codes:
            if code in REPAIRABLE:
                left_out[f"{code} not planned: notices are planned only with --code {code}"] += 1
            continue
        names |= finding.names
        if action := action_for(finding):
            actions.append(action)
        else:
            left_out[f"{code} not planned: you must decide; see the audit without --plan"] += 1
    actions.sort(key=lambda action: _ACTIONS.index(type(action)))  # then in the order of codes
    return Planned(actions, left_out, names)


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
