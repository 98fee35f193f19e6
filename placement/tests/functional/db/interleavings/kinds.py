"""All kinds of writes of the service, as operations on one small world."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from placement.core.model import (
    CreateInventory,
    IncompleteConsumer,
    Inventory,
    ReplaceInventories,
    UpdateInventory,
    UpdateProvider,
)
from placement.core.text import timestamp
from placement.db import tables
from placement.db.maintenance import data_migrations, reconcile
from placement.db.store import Store
from placement.objects import (
    aggregate,
    allocation,
    inventory,
    provider,
    reshaper,
    resource_class,
    trait,
)
from placement.tests.support.factories import a_claim, claim, generation, set_inventories

INCOMPLETE = IncompleteConsumer("incomplete-project", "incomplete-user")
NOW = datetime(2026, 1, 2, 3, 4, 5)
NO_PROVIDER = 999_999
STANDARD_TRAIT = "HW_CPU_X86_AVX"

Step = Callable[["World", Store], object]
Kinds = Mapping[str, Sequence[Step]]


def _uuid(number: int) -> str:
    return str(UUID(int=number))


HOST, GPU, OTHER, IDLE, LEAF, FOREIGN, ROOTLESS, NEW_PROVIDER = map(_uuid, range(1, 9))
INSTANCE, SPREAD, EMPTY, UNRECORDED, STRAY, MISSPELLED, NEW, NEWER = map(_uuid, range(11, 19))
AGGREGATE, NEW_AGGREGATE = map(_uuid, range(21, 23))
_PARENTS = {
    HOST: None,
    GPU: HOST,
    OTHER: None,
    IDLE: None,
    LEAF: IDLE,
    FOREIGN: None,
    ROOTLESS: None,
}
_INVENTORIES: Mapping[str, dict[str, int]] = {
    HOST: {"VCPU": 8, "MEMORY_MB": 100, "CUSTOM_OLD": 10},
    GPU: {"VGPU": 4},
    OTHER: {"VCPU": 8, "MEMORY_MB": 100},
    IDLE: {"VCPU": 4},
    FOREIGN: {"VCPU": 8},
    ROOTLESS: {"VCPU": 2},
}


class World:
    """Providers, consumers and names, with rows that other implementations have left."""

    def __init__(self, store: Store) -> None:
        for name in ("CUSTOM_OLD", "CUSTOM_SPARE"):
            resource_class.create(store, name)
        for name in ("CUSTOM_USED", "CUSTOM_UNUSED"):
            trait.ensure(store, name)
        for uuid, parent in _PARENTS.items():
            provider.create(store, uuid, f"name-{uuid}", parent)
            set_inventories(store, uuid, **_INVENTORIES.get(uuid, {}))
        trait.replace(store, HOST, generation(store, HOST), ["CUSTOM_USED"])
        aggregate.replace(store, HOST, [AGGREGATE], None)
        claim(store, INSTANCE, {HOST: {"VCPU": 4, "MEMORY_MB": 10}}, type="INSTANCE")
        claim(store, SPREAD, {HOST: {"VCPU": 1, "CUSTOM_OLD": 2}, OTHER: {"VCPU": 2}})
        for consumer in (UNRECORDED, MISSPELLED, EMPTY, STRAY):
            claim(store, consumer, {OTHER: {"VCPU": 1}})
        self.generations = {uuid: generation(store, uuid) for uuid in _PARENTS}
        store.write(_damage)
        self.written_at = timestamp(NOW)

    def replaced(self, uuid: str, **totals: int) -> ReplaceInventories:
        inventories = {name: Inventory(total=total) for name, total in totals.items()}
        return ReplaceInventories(uuid, self.generations[uuid], inventories)


def _damage(tx) -> None:
    """Leave rows as other implementations and old releases do, and few names to load."""
    execute = tx.connection.execute
    name = tables.traits.c.name
    execute(tables.traits.delete().where(~name.startswith("CUSTOM_"), name != STANDARD_TRAIT))
    of, consumer = tables.allocations.c, tables.consumers
    execute(consumer.update().values(created_at=NOW, updated_at=None))
    execute(consumer.delete().where(consumer.c.uuid == UNRECORDED))
    spelled = MISSPELLED.replace("-", "")
    execute(consumer.update().where(consumer.c.uuid == MISSPELLED).values(uuid=spelled))
    misspelled = tables.allocations.update().where(of.consumer_id == MISSPELLED)
    execute(misspelled.values(consumer_id=spelled))
    execute(tables.consumer_types.insert().values(name="UNUSED"))
    row = tables.resource_providers
    execute(row.update().where(row.c.uuid == ROOTLESS).values(root_provider_id=None))
    execute(row.update().where(row.c.uuid == FOREIGN).values(generation=row.c.generation + 1))
    ids = {each.uuid: each.id for each in execute(row.select())}
    foreign = tables.inventories.c.resource_provider_id == ids[FOREIGN]
    execute(tables.inventories.update().where(foreign).values(used=3))
    inventories = tables.inventories
    execute(
        inventories.update()
        .where(
            inventories.c.resource_provider_id == ids[OTHER], inventories.c.resource_class_id == 0
        )
        .values(used=inventories.c.used - 2)
    )
    execute(tables.allocations.delete().where(of.consumer_id == EMPTY))
    execute(
        tables.allocations.update()
        .where(of.consumer_id == STRAY)
        .values(resource_provider_id=NO_PROVIDER)
    )


# --- steps ------------------------------------------------------------------------------


def _claims(*values: tuple[str, Mapping[str, Mapping[str, int]], Mapping[str, object]]) -> Step:
    """Return a write of the allocations of consumers."""

    def step(_world: World, store: Store) -> None:
        allocation.replace(
            store, tuple(a_claim(uuid, amounts, **named) for uuid, amounts, named in values)
        )

    return step


def _claim(uuid: str, amounts: Mapping[str, Mapping[str, int]], **named: object) -> Step:
    return _claims((uuid, amounts, named))


def _release(uuid: str) -> Step:
    return lambda _, store: allocation.delete(store, uuid)


def _update(uuid: str, name: str, parent: str | None = None, **named: bool) -> Step:
    def step(_world: World, store: Store) -> None:
        provider.update(store, UpdateProvider(uuid, name, parent, **named))

    return step


def _move(uuid: str, parent: str | None) -> Step:
    return _update(uuid, f"name-{uuid}", parent)


def _create(uuid: str, name: str, parent: str | None = None) -> Step:
    def step(_world: World, store: Store) -> None:
        provider.create(store, uuid, name, parent)

    return step


def _replace(uuid: str, **totals: int) -> Step:
    def step(world: World, store: Store) -> None:
        inventory.replace(store, world.replaced(uuid, **totals))

    return step


def _set_traits(uuid: str, *names_: str) -> Step:
    def step(world: World, store: Store) -> None:
        trait.replace(store, uuid, world.generations[uuid], names_)

    return step


def _set_aggregates(uuid: str, *uuids: str, is_checked: bool = True) -> Step:
    def step(world: World, store: Store) -> None:
        aggregate.replace(store, uuid, uuids, world.generations[uuid] if is_checked else None)

    return step


def _reshape(
    *claims: tuple[str, Mapping[str, Mapping[str, int]]], **parts: dict[str, int]
) -> Step:
    """Return a reshape: the totals of providers, which are named in lower case, and claims."""

    def step(world: World, store: Store) -> None:
        replaced = [world.replaced(globals()[at.upper()], **parts[at]) for at in parts]
        replacing = [a_claim(uuid, amounts, generation=1) for uuid, amounts in claims]
        reshaper.reshape(store, replaced, replacing)

    return step


def _migrate(name: str) -> Step:
    return lambda _, store: data_migrations.all_of(INCOMPLETE)[name](store, 50)


_ON_OTHER = {OTHER: {"VCPU": 1}}
_FIRST: dict[str, object] = {"generation": None}
_AT_1: dict[str, object] = {"generation": 1}
_CLASSES, NAME_OF = resource_class, "name-{}".format

CLAIMS: Kinds = {
    "claim the last units": [_claim(NEW, {HOST: {"VCPU": 3}}, **_FIRST)],
    "claim the last units for another": [_claim(NEWER, {HOST: {"VCPU": 3}}, type="NEW_TYPE")],
    "claim again for a new consumer": [_claim(NEW, _ON_OTHER, **_FIRST)],
    "claim for a new owner": [_claim(NEWER, _ON_OTHER, project_id="new", user_id="new")],
    "claim with an unused type": [_claim(NEW, {IDLE: {"VCPU": 1}}, type="UNUSED")],
    "claim on a child": [_claim(NEW, {GPU: {"VGPU": 2}, HOST: {"VCPU": 1}}, **_FIRST)],
    "claim on an uncounted provider": [_claim(NEW, {FOREIGN: {"VCPU": 6}})],
    "claim for an empty consumer": [_claim(EMPTY, _ON_OTHER, **_AT_1)],
    "claim without class": [_claim(NEW, {HOST: {"CUSTOM_SPARE": 1}})],
    "change allocations": [_claim(INSTANCE, {HOST: {"VCPU": 2, "MEMORY_MB": 20}}, **_AT_1)],
    "change two providers": [
        _claim(SPREAD, {HOST: {"VCPU": 2, "CUSTOM_OLD": 5}, OTHER: {"VCPU": 1}}, **_AT_1)
    ],
    "move a consumer": [_claim(INSTANCE, {OTHER: {"VCPU": 4}}, type="NEW_TYPE")],
    "release by empty allocations": [_claim(INSTANCE, {}, **_AT_1)],
    "release": [_release(INSTANCE)],
    "release and claim": [_release(INSTANCE), _claim(INSTANCE, _ON_OTHER, **_FIRST)],
    "release on two providers": [_release(SPREAD)],
    "swap consumers": [
        _claims((SPREAD, {HOST: {"VCPU": 2}}, {}), (INSTANCE, {OTHER: {"VCPU": 1}}, _AT_1))
    ],
    "migrate an instance": [
        _claims((NEW, {HOST: {"VCPU": 4}}, _FIRST), (INSTANCE, {OTHER: {"VCPU": 4}}, _AT_1))
    ],
    "release a consumer without row": [_release(UNRECORDED)],
    "claim for a consumer without row": [_claim(UNRECORDED, {HOST: {"VCPU": 1}})],
    "first claim of a consumer without row": [_claim(UNRECORDED, _ON_OTHER, **_FIRST)],
    "empty allocations of a consumer without row": [_claim(UNRECORDED, {})],
    "release stray allocations": [_release(STRAY)],
}
PROVIDERS: Kinds = {
    "replace inventories": [_replace(HOST, VCPU=6, MEMORY_MB=100, CUSTOM_OLD=10)],
    "replace inventories without a class": [_replace(HOST, VCPU=8)],
    "use an unused class": [_replace(OTHER, VCPU=8, MEMORY_MB=100, CUSTOM_SPARE=1)],
    "update an inventory": [
        lambda world, store: inventory.update(
            store,
            UpdateInventory(HOST, world.generations[HOST], "VCPU", Inventory(total=16)),
        )
    ],
    "create an inventory": [
        lambda _, store: inventory.create(store, CreateInventory(LEAF, "VCPU", Inventory(total=1)))
    ],
    "delete an inventory": [lambda _, store: inventory.delete(store, HOST, "MEMORY_MB")],
    "delete inventories": [lambda _, store: inventory.delete_all(store, IDLE)],
    "replace traits": [_set_traits(HOST, "CUSTOM_UNUSED", STANDARD_TRAIT)],
    "replace traits of another": [_set_traits(LEAF, "CUSTOM_UNUSED")],
    "clear traits": [lambda _, store: trait.clear(store, HOST)],
    "replace aggregates": [_set_aggregates(HOST, NEW_AGGREGATE, AGGREGATE)],
    "replace aggregates of another": [_set_aggregates(OTHER, NEW_AGGREGATE, is_checked=False)],
    "create a provider": [_create(NEW_PROVIDER, "new")],
    "create a child": [_create(NEW_PROVIDER, "new", LEAF)],
    "create a provider with inventories": [
        _create(NEW_PROVIDER, "newer"),
        lambda _, store: set_inventories(store, NEW_PROVIDER, VCPU=4).generation,
    ],
    "delete a leaf": [lambda _, store: provider.delete(store, LEAF)],
    "delete a root": [lambda _, store: provider.delete(store, IDLE)],
    "delete and create a provider": [
        lambda _, store: provider.delete(store, LEAF),
        _create(LEAF, NAME_OF(LEAF), HOST),
    ],
    "rename a provider": [_update(IDLE, "new", has_parent=False)],
    "move a tree": [_move(IDLE, OTHER)],
    "move a tree back": [_move(OTHER, LEAF)],
    "move a leaf": [_move(LEAF, HOST)],
    "move a leaf to the top": [_move(LEAF, None)],
    "reshape": [
        _reshape(
            (SPREAD, {HOST: {"VCPU": 1}, GPU: {"CUSTOM_OLD": 2}, OTHER: {"VCPU": 2}}),
            host={"VCPU": 8, "MEMORY_MB": 100},
            gpu={"VGPU": 4, "CUSTOM_OLD": 10},
        )
    ],
    "reshape to a renamed class": [
        _reshape(
            (SPREAD, {HOST: {"VCPU": 1, "CUSTOM_NEW": 2}, OTHER: {"VCPU": 2}}),
            host={"VCPU": 8, "MEMORY_MB": 100, "CUSTOM_NEW": 10},
        )
    ],
    "reshape without claims": [_reshape(leaf={"CUSTOM_SPARE": 2}, idle={})],
}
NAMES: Kinds = {
    "create a class": [lambda _, store: _CLASSES.create(store, "CUSTOM_NEW")],
    "ensure classes": [
        lambda _, store: _CLASSES.ensure(store, "CUSTOM_NEW"),
        lambda _, store: _CLASSES.ensure(store, "CUSTOM_NEWER"),
    ],
    "rename a class": [lambda _, store: _CLASSES.rename(store, "CUSTOM_OLD", "CUSTOM_NEW")],
    "rename an unused class": [
        lambda _, store: _CLASSES.rename(store, "CUSTOM_SPARE", "CUSTOM_NEW")
    ],
    "delete a class": [lambda _, store: _CLASSES.delete(store, "CUSTOM_SPARE")],
    "delete and create a class": [
        lambda _, store: _CLASSES.delete(store, "CUSTOM_SPARE"),
        lambda _, store: _CLASSES.create(store, "CUSTOM_NEW"),
        lambda _, store: _CLASSES.create(store, "CUSTOM_SPARE"),
    ],
    "create a trait": [lambda _, store: trait.ensure(store, "CUSTOM_NEW")[0]],
    "delete a trait": [lambda _, store: trait.delete(store, "CUSTOM_UNUSED")],
    "delete and create a trait": [
        lambda _, store: trait.delete(store, "CUSTOM_UNUSED"),
        lambda _, store: trait.ensure(store, "CUSTOM_UNUSED")[0],
    ],
}
MAINTENANCE: Kinds = {
    "set roots": [_migrate("set_root_provider_ids")],
    "create incomplete consumers": [_migrate("create_incomplete_consumers")],
    "reconcile counters": [lambda _, store: reconcile.reconcile(store) and None],
    "convert UUIDs": [lambda _, store: reconcile.convert_uuids(store)],
}
KINDS = {**CLAIMS, **PROVIDERS, **NAMES, **MAINTENANCE}
