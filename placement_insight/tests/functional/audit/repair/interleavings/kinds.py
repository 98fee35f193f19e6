"""The actions of repairs, as operations on the world of the writes of the service."""

from collections.abc import Callable, Mapping, Sequence

from placement.db.store import Store
from placement.tests.functional.db.interleavings.kinds import (
    EMPTY,
    FOREIGN,
    GPU,
    HOST,
    IDLE,
    INCOMPLETE,
    INSTANCE,
    KINDS,
    LEAF,
    NAME_OF,
    NO_PROVIDER,
    OTHER,
    ROOTLESS,
    SPREAD,
    UNRECORDED,
    Kinds,
    Step,
    World,
)
from placement_insight.audit.repair import consumers, names, providers
from placement_insight.audit.repair.action import Action, Amounts
from placement_insight.audit.repair.apply import SKIPPED, apply_action, undo_action
from placement_insight.audit.repair.plan_file import Entry


def _apply(action: Callable[[World], Action]) -> Step:
    def step(world: World, store: Store) -> str:
        outcome = apply_action(store, action(world), INCOMPLETE, lambda _: None)
        return outcome.status

    return step


def _apply_and_undo(action: Callable[[World], Action]) -> Sequence[Step]:
    entries: dict[int, Entry] = {}

    def apply(world: World, store: Store) -> str:
        entries.pop(id(world), None)
        return apply_action(
            store, action(world), INCOMPLETE, lambda entry: entries.update({id(world): entry})
        ).status

    def undo(world: World, store: Store) -> str:
        entry = entries.get(id(world))
        is_applied = entry is not None and entry.recorded.scope
        undone = undo_action(store, entry, lambda _: None) if is_applied else None
        return undone.status if undone else SKIPPED

    return apply, undo


def _removal(consumer: str, allocations: Amounts) -> Callable[[World], Action]:
    return lambda world: consumers.RemoveAllocations(
        consumer=consumer, generation=1, written_at=world.written_at, allocations=allocations,
        providers=[HOST],
    )  # fmt: skip


def _moving(
    consumer: str, allocations: Amounts, source: str, target: str
) -> Callable[[World], Action]:
    return lambda _: consumers.MoveAllocations(
        consumer=consumer, generation=1, allocations=allocations, source=source, target=target
    )


_ON_HOST = {HOST: {"VCPU": 4, "MEMORY_MB": 10}}
_ON_TWO = {HOST: {"VCPU": 1, "CUSTOM_OLD": 2}, OTHER: {"VCPU": 2}}


def _take_over(world: World) -> Action:
    return consumers.TakeOverAllocations(
        consumer=INSTANCE, generation=1, written_at=world.written_at, allocations=_ON_HOST,
        migration=SPREAD, migration_generation=1, migration_allocations=_ON_TWO,
    )  # fmt: skip


ACTIONS: Mapping[str, Callable[[World], Action]] = {
    "remove allocations": _removal(INSTANCE, _ON_HOST),
    "remove allocations of a renamed class": _removal(SPREAD, _ON_TWO),
    "move allocations": _moving(INSTANCE, _ON_HOST, HOST, OTHER),
    "move allocations beside a renamed class": _moving(SPREAD, _ON_TWO, OTHER, IDLE),
    "take over allocations": _take_over,
    "remove a consumer": lambda _: consumers.RemoveConsumer(consumer=EMPTY, generation=1),
    "create a consumer": lambda _: consumers.CreateConsumer(consumer=UNRECORDED),
    "remove stray allocations": lambda _: consumers.RemoveStrayAllocations(
        provider_id=NO_PROVIDER, resource_class="VCPU", used=1
    ),
    "set a tree": lambda _: providers.SetTree(
        provider=ROOTLESS, parent=None, root=None, new_parent=None, new_root=ROOTLESS
    ),
    "make a root": lambda _: providers.MakeRoot(provider=GPU, parent=HOST, root=HOST),
    "rename a provider": lambda world: providers.RenameProvider(
        provider=IDLE, generation=world.generations[IDLE], name=NAME_OF(IDLE), new_name="new"
    ),
    "delete a provider": lambda world: providers.DeleteProvider(
        provider=LEAF, generation=world.generations[LEAF], name=NAME_OF(LEAF)
    ),
    "set a counter": lambda _: providers.SetUsageCounter(
        provider=FOREIGN, resource_class="VCPU", counter=3, used=0
    ),
    "delete a class": lambda _: names.DeleteResourceClass(resource_class="CUSTOM_SPARE"),
    "delete a trait": lambda _: names.DeleteTrait(trait="CUSTOM_UNUSED"),
    "delete a type": lambda _: names.DeleteConsumerType(type="UNUSED"),
}
REPAIRS: Kinds = {f"repair: {name}": [_apply(action)] for name, action in ACTIONS.items()}
UNDONE: Kinds = {
    f"{name}, and undo": _apply_and_undo(action)
    for name, action in zip(REPAIRS, ACTIONS.values(), strict=True)
}
_removed = "repair: remove allocations, and undo"
ALL: Kinds = {**KINDS, **REPAIRS, _removed: UNDONE[_removed]}
