"""The actions of repairs, as operations on the world of the writes of the service."""

from collections.abc import Callable, Sequence

from placement.db.store import Store
from placement.tests.functional.db.interleavings.kinds import (
    EMPTY,
    FOREIGN,
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
    UNRECORDED,
    Kinds,
    Step,
    World,
)
from placement_insight.audit.repair import consumers, names, providers
from placement_insight.audit.repair.action import Action
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


def _removal(world: World) -> Action:
    on_host = {HOST: {"VCPU": 4, "MEMORY_MB": 10}}
    return consumers.RemoveAllocations(
        consumer=INSTANCE, generation=1, written_at=world.written_at, allocations=on_host,
        providers=[HOST],
    )  # fmt: skip


def _moving(_: World) -> Action:
    on_host = {HOST: {"VCPU": 4, "MEMORY_MB": 10}}
    return consumers.MoveAllocations(
        consumer=INSTANCE, generation=1, allocations=on_host, source=HOST, target=OTHER
    )


REPAIRS: Kinds = {
    "repair: remove allocations": [_apply(_removal)],
    "repair: remove allocations, and undo": _apply_and_undo(_removal),
    "repair: move allocations": [_apply(_moving)],
    "repair: remove a consumer": [
        _apply(lambda _: consumers.RemoveConsumer(consumer=EMPTY, generation=1))
    ],
    "repair: create a consumer": [
        _apply(lambda _: consumers.CreateConsumer(consumer=UNRECORDED))
    ],
    "repair: remove stray allocations": [
        _apply(
            lambda _: consumers.RemoveStrayAllocations(
                provider_id=NO_PROVIDER, resource_class="VCPU", used=1
            )
        )
    ],
    "repair: set a tree": [
        _apply(
            lambda _: providers.SetTree(
                provider=ROOTLESS, parent=None, root=None, new_parent=None, new_root=ROOTLESS
            )
        )
    ],
    "repair: rename a provider": [
        _apply(
            lambda world: providers.RenameProvider(
                provider=IDLE, generation=world.generations[IDLE], name=NAME_OF(IDLE),
                new_name="new",
            )
        )
    ],
    "repair: delete a provider": [
        _apply(
            lambda world: providers.DeleteProvider(
                provider=LEAF, generation=world.generations[LEAF], name=NAME_OF(LEAF)
            )
        )
    ],
    "repair: set a counter": [
        _apply(
            lambda _: providers.SetUsageCounter(
                provider=FOREIGN, resource_class="VCPU", counter=3, used=0
            )
        )
    ],
    "repair: delete a class": [
        _apply(lambda _: names.DeleteResourceClass(resource_class="CUSTOM_SPARE"))
    ],
    "repair: delete a trait": [_apply(lambda _: names.DeleteTrait(trait="CUSTOM_UNUSED"))],
    "repair: delete a type": [_apply(lambda _: names.DeleteConsumerType(type="UNUSED"))],
}  # fmt: skip
ALL: Kinds = {**KINDS, **REPAIRS}
