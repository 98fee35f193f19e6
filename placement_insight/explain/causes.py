"""What changed since a request last fitted: recorded changes that explain unmet requirements."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from placement.core.changes import (
    AggregatesChange,
    AllocationsChange,
    Change,
    InventoryChange,
    TraitsChange,
)
from placement.core.model import ProviderState
from placement.core.requirement import (
    HasInventory,
    InEach,
    InTree,
    InUnits,
    IsFree,
    ProviderRequirement,
)
from placement.core.snapshot.snapshot import Snapshot
from placement.db.transaction import Transaction
from placement_insight.explain.explain import Explanation
from placement_insight.explain.facts import FunnelRow, ProviderName, TreeFacts
from placement_insight.explain.records.refusals import Capacity, Refusal, classes
from placement_insight.explain.unmet import Unmet
from placement_insight.history.causes import (
    Past,
    Question,
    has_capacity,
    has_inventories,
    has_units,
)
from placement_insight.history.sql import explaining

_Answer = Callable[[Question | None], str]

_OF_INVENTORY = (InventoryChange,)
_OF_CAPACITY = (InventoryChange, AllocationsChange)
_OF_CONDITION: Final[Mapping[str, tuple[type[Change], ...]]] = {
    "traits": (TraitsChange,),
    "aggregates": (AggregatesChange,),
}


def with_changes(tx: Transaction, snapshot: Snapshot, explanation: Explanation) -> Explanation:
    """Return the explanation with the change that explains each unmet requirement, if recorded.

    Cost: one statement, if there are such requirements.
    """
    questions: list[Question] = []

    def collect(question: Question | None) -> str:
        questions.extend([question] if question else [])
        return ""

    _answered(snapshot, explanation, collect)
    if not questions:
        return explanation
    recorded = explaining(tx.connection, questions)

    def answer(question: Question | None) -> str:
        return recorded.answer(question, snapshot.state) if question else ""

    return _answered(snapshot, explanation, answer)


def _answered(snapshot: Snapshot, explanation: Explanation, answer: _Answer) -> Explanation:
    rows = [replace(row, change=answer(_of_row(row))) for row in explanation.funnel]
    misses = [
        replace(
            miss,
            unmet=tuple(
                replace(unmet, change=answer(_of_unmet(snapshot, miss.root, unmet)))
                for unmet in miss.unmet
            ),
        )
        for miss in explanation.near_misses
    ]
    return replace(explanation, funnel=tuple(rows), near_misses=tuple(misses))


def _of_row(row: FunnelRow) -> Question | None:
    """Return why the provider that a request names does not exist."""
    if isinstance(row.requirement, InTree) and row.facts == TreeFacts(exists=False):
        return Question((row.requirement.uuid,), (), lambda state: state is not None)
    return None


def _of_unmet(snapshot: Snapshot, root: ProviderName, unmet: Unmet) -> Question | None:
    """Return why a provider, or for an inventory any of its tree, does not meet a requirement."""
    requirement, names = unmet.requirement, unmet.names or unmet.requirement.names
    uuids = (unmet.provider.uuid,)
    match requirement:
        case HasInventory(name):
            forest = snapshot.forest
            members = map(forest.uuids.__getitem__, forest.members(forest.row_of[root.uuid]))
            tree = list(dict.fromkeys((*uuids, *members)))
            return Question(tree, names, partial(has_inventories, [name]), _OF_INVENTORY)
        case InUnits(name, amount):
            return Question(uuids, names, partial(has_units, name, amount), _OF_INVENTORY)
        case IsFree(name, amount):
            return Question(uuids, names, partial(has_capacity, name, amount), _OF_CAPACITY)
        case InTree(uuid):
            row = _tree(snapshot, snapshot.state(uuid))
            return Question(uuids, (), lambda state: _tree(snapshot, state) == row)
        case ProviderRequirement() as condition if not isinstance(condition, InEach):
            is_met = partial(_meets, condition, names)
            return Question(uuids, names, is_met, _OF_CONDITION[condition.subject])
    return None


def _meets(condition: ProviderRequirement, names: Iterable[str], state: Past) -> bool:
    if state is None:
        return False
    present = state.traits if condition.subject == "traits" else state.aggregates
    return present.isdisjoint(names) is condition.is_forbidding


def change_of_refusal(tx: Transaction, refusal: Refusal) -> str:
    """Return which change explains a refusal, empty if none is recorded."""
    uuid, consumer = (str(refusal.facts.get(name, "")) for name in ("provider", "consumer"))
    if not uuid:
        return ""
    state = _state(tx, uuid, refusal)
    kinds = _OF_CAPACITY if isinstance(refusal, Capacity) else _OF_INVENTORY
    question = Question((uuid,), classes(refusal), refusal.is_met, kinds, consumer)
    return explaining(tx.connection, [question]).answer(question, {uuid: state}.get)


def _state(tx: Transaction, uuid: str, refusal: Refusal) -> Past:
    """Return the inventories of a provider, and what others than the refused consumer use."""
    if (provider := tx.providers.find(uuid)) is None:
        return None
    stored = tx.inventories.of(uuid)[1]
    used = Counter({name: each.used for name, each in stored.items()})
    if isinstance(refusal, Capacity):
        used[refusal.resource_class] -= refusal.own
    inventories = {name: each.inventory for name, each in stored.items()}
    return ProviderState(provider, inventories, used, frozenset(), frozenset())


def _tree(snapshot: Snapshot, state: Past) -> int | None:
    """Return the row of the root of a provider, or of its parent in an earlier state."""
    if state is None:
        return None
    forest, provider = snapshot.forest, state.provider
    row = forest.row_of.get(provider.parent_uuid or provider.uuid)
    return None if row is None else forest.root.item(row)
