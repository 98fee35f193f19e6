"""All actions: by their names in a file, and by the findings that they repair.

A finding that needs a decision has no action: capacity that is exceeded or missing, hosts that
may be the same, and providers that nothing reports. Notices are repaired only if their codes are
named.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, assert_never, get_args

from placement.core.text import nouns
from placement.insight.audit import kinds
from placement.insight.audit.model import CODES, NOTICE, Finding, Skipped
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

_NEEDS_DECISION = (
    kinds.MissingInventory
    | kinds.ServerWithoutAllocations
    | kinds.AllocationsOnOtherHost
    | kinds.HypervisorWithoutProvider
    | kinds.ProviderWithoutHypervisor
    | kinds.AggregatesOfNova
    | kinds.EditedProvider
    | kinds.OverCapacity
    | kinds.ReservedInUse
    | kinds.SimilarNames
    | kinds.ProviderWithoutInventory
    | kinds.HostWithoutAggregate
    | kinds.SimilarTypes
    | kinds.UntypedConsumers
    | kinds.StaleProvider
    | kinds.OfLaterRelease
)

REPAIRABLE: Final = frozenset(
    kind.code for kind in {*get_args(kinds.Kind)} - {*get_args(_NEEDS_DECISION)}
)
"""The codes of findings that have an action."""


def action_for(kind: kinds.Kind) -> Action | None:  # noqa: PLR0911  one for each kind
    """Return the action that repairs a finding, None if the repair needs a decision."""
    match kind:
        case kinds.OrphanedConsumer():
            return _remove_allocations(kind, sorted(kind.allocations))
        case kinds.DoubledConsumer():
            return _remove_allocations(kind, kind.providers)
        case kinds.MissingConsumer():
            return CreateConsumer(finding=kind.code, consumer=kind.consumer)
        case kinds.EmptyConsumer():
            return RemoveConsumer(
                finding=kind.code, consumer=kind.consumer, generation=kind.generation
            )
        case kinds.MissingProvider():
            return RemoveStrayAllocations(
                finding=kind.code,
                provider_id=kind.provider_id,
                resource_class=kind.resource_class,
                used=kind.used,
            )
        case kinds.MissingRoot() | kinds.MissingParent() | kinds.WrongRoot():
            return _set_tree(kind)
        case kinds.NestedComputeNode():
            return _make_root(kind)
        case kinds.UsageCounter():
            return SetUsageCounter(
                finding=kind.code,
                provider=str(kind.provider.uuid),
                resource_class=kind.resource_class,
                counter=kind.counter,
                used=kind.used,
            )
        case kinds.UnusedClass() | kinds.UnusedTrait() | kinds.UnusedType():
            return _delete_name(kind)
        case _:
            undecided: _NEEDS_DECISION = kind  # the type checker lists the kinds above if not
            del undecided
            return None


def _remove_allocations(
    kind: kinds.OrphanedConsumer | kinds.DoubledConsumer, providers: Sequence[str]
) -> Action:
    return RemoveAllocations(
        finding=kind.code,
        consumer=kind.consumer,
        generation=kind.generation,
        written_at=kind.written_at,
        allocations=kind.allocations,
        providers=providers,
    )


def _set_tree(kind: kinds.MissingRoot | kinds.MissingParent | kinds.WrongRoot) -> Action | None:
    if kind.expected_root is None:  # a loop of parents
        return None
    return SetTree(
        finding=kind.code,
        provider=str(kind.provider.uuid),
        parent=kind.parent,
        root=kind.root,
        new_parent=kind.parent,
        new_root=kind.expected_root,
    )


def _make_root(kind: kinds.NestedComputeNode) -> Action | None:
    if kind.parent is None or kind.root is None:  # of a service of an earlier release
        return None
    return MakeRoot(
        finding=kind.code,
        provider=str(kind.provider.uuid),
        parent=kind.parent,
        root=kind.root,
    )


def _delete_name(kind: kinds.UnusedClass | kinds.UnusedTrait | kinds.UnusedType) -> Action:
    match kind:
        case kinds.UnusedClass():
            return DeleteResourceClass(finding=kind.code, resource_class=kind.resource_class)
        case kinds.UnusedTrait():
            return DeleteTrait(finding=kind.code, trait=kind.trait)
        case kinds.UnusedType():
            return DeleteConsumerType(finding=kind.code, type=kind.type)
        case _:
            assert_never(kind)


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
        action = action_for(finding.kind)
        if action is None:
            without_action[finding.code] += 1
        else:
            actions.append(action)
    actions.sort(key=_place)
    return Planned(actions, without_action, unnamed_notices, names)


def _place(action: Action) -> tuple[int, int]:
    """Return the place in a plan: in the order of the actions, then of the codes."""
    return _ACTIONS.index(type(action)), list(CODES).index(action.finding)


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
