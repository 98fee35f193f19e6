"""Concurrent changes of providers and of names, on each database: no update is lost.

Each race is run many times, by threads that start together. To reproduce a critical interleaving,
``stopped_at`` pauses one operation within its transaction until the other is done or waits for it.
"""

import pytest

from placement import exception
from placement.core.model import (
    CreateInventory,
    Inventory,
    ReplaceInventories,
    UpdateInventory,
    UpdateProvider,
)
from placement.db import tables
from placement.objects import (
    aggregate,
    inventory,
    provider,
    reshaper,
    resource_class,
    trait,
)
from placement.tests.support.factories import (
    assert_sound,
    claim,
    generation,
    new_provider,
    rows,
    set_inventories,
    uuid,
)
from placement.tests.support.races import (
    TIMES,
    accepted,
    at_once,
    is_refused,
    outcome_of,
    run_before,
)

# --- providers and their trees ----------------------------------------------------------


def test_concurrent_removal_and_claim_of_a_provider(store):
    for _ in range(TIMES):
        host, consumer = new_provider(store, VCPU=1), uuid()
        outcomes = at_once(
            lambda host=host: provider.delete(store, host),
            lambda host=host, consumer=consumer: claim(store, consumer, {host: {"VCPU": 1}}),
        )
        assert accepted(outcomes) == 1, outcomes
        assert_sound(store)


@pytest.mark.parametrize("statement", ["INSERT INTO consumers", "INSERT INTO allocations"])
def test_provider_removal_during_a_claim(store, stopped_at, statement):
    host = new_provider(store, VCPU=1)
    claimed, removed = stopped_at(
        statement,
        lambda: claim(store, uuid(), {host: {"VCPU": 1}}),
        lambda: provider.delete(store, host),
    )
    assert claimed is None
    assert isinstance(removed, exception.ProviderInUse)


def test_claim_during_a_provider_removal(store, stopped_at):
    host = new_provider(store, VCPU=1)
    removed, claimed = stopped_at(
        "DELETE FROM inventories",
        lambda: provider.delete(store, host),
        lambda: claim(store, uuid(), {host: {"VCPU": 1}}),
    )
    assert removed is None
    assert isinstance(claimed, exception.ProviderToAllocateNotFound)
    assert_sound(store)


def existing_uuid(store):
    return rows(store, tables.resource_providers)[0].uuid


WRITES = {
    "inventory": lambda store, own: inventory.create(
        store, CreateInventory(own, "VCPU", Inventory(total=1))
    ),
    "traits": trait.clear,
    "aggregates": lambda store, own: aggregate.replace(store, own, [uuid()], None),
    "name": lambda store, own: provider.update(
        store, UpdateProvider(own, "n", None, has_parent=False, may_move=True)
    ),
    "parent": lambda store, own: move(store, own, existing_uuid(store)),
    "child": lambda store, own: provider.create(store, uuid(), "child", own),
    "removal": provider.delete,
    "reshape": lambda store, own: reshaper.reshape(
        store, [ReplaceInventories(own, 0, {"VCPU": Inventory(total=1)})]
    ),
}


@pytest.mark.parametrize("write", sorted(WRITES))
def test_provider_that_is_created_after_a_write_has_locked_it_in_vain(store, backend, write):
    """The write does not use the provider, which it has not locked."""
    if backend == "sqlite":
        pytest.skip("it has one writer at a time")
    new_provider(store)
    own = uuid()
    create = "AS parent_uuid", lambda: provider.create(store, own, "own", None)
    with run_before(store, create, is_optional=True):
        outcome = outcome_of(lambda: WRITES[write](store, own))
    assert is_refused(outcome)
    assert_sound(store)


def move(store, moved, parent):
    return provider.update(store, UpdateProvider(moved, f"moved-{moved}", parent, may_move=True))


@pytest.mark.parametrize("statement", ["DELETE FROM inventories", "UPDATE clocks"])
@pytest.mark.parametrize("write", ["aggregates", "traits", "inventory", "reshape", "parent"])
def test_write_during_the_removal_of_the_provider(store, stopped_at, statement, write):
    new_provider(store)
    host = new_provider(store)
    removed, outcome = stopped_at(
        statement, lambda: provider.delete(store, host), lambda: WRITES[write](store, host)
    )
    assert removed is None
    assert is_refused(outcome)
    assert_no_rows_of_removed_providers(store)


@pytest.mark.parametrize("write", ["aggregates", "inventory", "reshape", "parent"])
def test_removal_of_the_provider_during_a_write(store, stopped_at, write):
    new_provider(store)
    host = new_provider(store)
    outcome, removed = stopped_at(
        "UPDATE clocks", lambda: WRITES[write](store, host), lambda: provider.delete(store, host)
    )
    assert not is_refused(outcome)
    assert removed is None
    assert_no_rows_of_removed_providers(store)


def assert_no_rows_of_removed_providers(store):
    ids = {row.id for row in rows(store, tables.resource_providers)}
    for table in (
        tables.inventories,
        tables.resource_provider_traits,
        tables.resource_provider_aggregates,
    ):
        assert {row.resource_provider_id for row in rows(store, table)} <= ids
    assert_sound(store)


def test_concurrent_moves_do_not_create_a_loop_of_three(store):
    for _ in range(TIMES):
        ring = [new_provider(store) for _ in range(3)]
        outcomes = at_once(
            *(
                lambda own=own, next_=next_: move(store, own, next_)
                for own, next_ in zip(ring, ring[1:] + ring[:1], strict=True)
            )
        )
        assert accepted(outcomes) == 2
        assert_sound(store)


def test_roots_are_correct_after_concurrent_moves(store):
    """The root and the middle of a tree move while leaves get children."""
    for turn in range(TIMES):
        top, one, two = (new_provider(store) for _ in range(3))
        middle = new_provider(store, parent=top)
        bottom = new_provider(store, parent=middle)
        at_once(
            lambda top=top, one=one: move(store, top, one),
            lambda middle=middle, two=two: move(store, middle, two),
            lambda one=one, two=two: move(store, one, two),
            lambda bottom=bottom: move(store, bottom, None),
            lambda bottom=bottom, turn=turn: provider.create(
                store, uuid(), f"below-{turn}", bottom
            ),
        )
        assert_sound(store)


@pytest.mark.parametrize("statement", ["root_provider_id=", "UPDATE clocks"])
def test_move_during_another_move(store, stopped_at, statement):
    top, other, third = (new_provider(store) for _ in range(3))
    child = new_provider(store, parent=top)
    outcomes = stopped_at(
        statement,
        lambda: move(store, top, other),
        lambda: move(store, child, third),
    )
    assert accepted(outcomes) == 2
    assert_sound(store)


def test_concurrent_creations_with_one_name_or_uuid(store):
    for turn in range(TIMES):
        own = uuid()
        names = at_once(
            *(
                lambda turn=turn: provider.create(store, uuid(), f"name-{turn}", None)
                for _ in range(3)
            )
        )
        uuids = at_once(
            *(
                lambda own=own, turn=turn, count=count: provider.create(
                    store, own, f"{turn}-{count}", None
                )
                for count in range(3)
            )
        )
        assert accepted(names) == accepted(uuids) == 1
        assert {outcome.attribute for outcome in names if is_refused(outcome)} == {"name"}
        assert {outcome.attribute for outcome in uuids if is_refused(outcome)} == {"uuid"}


# --- writes that check the provider's generation -----------------------------------------


def writes_of(store, host, at):
    """One write of each kind that checks and increases the provider's generation."""
    full = Inventory(total=at + 10)
    other = {"HW_CPU_X86_VMX", "HW_CPU_X86_AVX"} - set(trait.of_provider(store, host)[1].names)
    return [
        lambda: trait.replace(store, host, at, [min(other)]),
        lambda: aggregate.replace(store, host, [uuid()], at),
        lambda: inventory.replace(store, ReplaceInventories(host, at, {"VCPU": full})),
        lambda: inventory.update(store, UpdateInventory(host, at, "VCPU", full)),
        lambda: reshaper.reshape(store, [ReplaceInventories(host, at, {"VCPU": full})]),
    ]


def _trait(at) -> str:
    return ("HW_CPU_X86_VMX", "HW_CPU_X86_AVX", "HW_CPU_X86_SSE")[at % 3]


def test_one_of_several_writes_with_one_generation_is_accepted(store):
    host = new_provider(store, VCPU=1)
    for _ in range(TIMES):
        at = generation(store, host)
        outcomes = at_once(*writes_of(store, host, at))
        assert accepted(outcomes) == 1
        assert {type(outcome) for outcome in outcomes if is_refused(outcome)} <= {
            exception.StaleProviderGeneration,
            exception.StaleGenerationPleaseUpdate,
        }
        assert generation(store, host) in {at + 1, at + 2}  # two for a reshape


def test_concurrent_replacements_of_traits(store):
    host = new_provider(store)
    for _ in range(TIMES):
        at = generation(store, host)
        outcomes = at_once(
            *(
                lambda at=at, name=name: trait.replace(store, host, at, [name])
                for name in (_trait(at), _trait(at + 1), _trait(at + 2))
            )
        )
        assert accepted(outcomes) >= 1
        assert generation(store, host) in {at, at + 1}
        assert {type(outcome) for outcome in outcomes if is_refused(outcome)} <= {
            exception.StaleGenerationPleaseUpdate
        }


def test_concurrent_inserts_of_the_same_aggregates(store):
    hosts = [new_provider(store) for _ in range(4)]
    for _ in range(TIMES):
        shared = [uuid() for _ in range(5)]
        outcomes = at_once(
            *(
                lambda host=host, turn=turn, shared=shared: aggregate.replace(
                    store, host, shared[turn:] + shared[:turn], None
                )
                for turn, host in enumerate(hosts)
            )
        )
        assert accepted(outcomes) == 4
        for host in hosts:
            assert set(aggregate.of_provider(store, host).aggregates) == set(shared)


def test_concurrent_replacements_of_aggregates(store):
    host = new_provider(store)
    for _ in range(TIMES):
        sets = [[uuid(), uuid()] for _ in range(4)]
        works = [lambda own=own: aggregate.replace(store, host, own, None) for own in sets]
        assert accepted(at_once(*works)) == 4
        assert set(aggregate.of_provider(store, host).aggregates) in [set(own) for own in sets]


def test_concurrent_inventory_updates_and_claims_keep_usage(store):
    host, consumers = new_provider(store, VCPU=10_000), [uuid() for _ in range(3)]
    for turn in range(TIMES):
        works = [
            lambda consumer=consumer, turn=turn: claim(store, consumer, {host: {"VCPU": turn + 1}})
            for consumer in consumers
        ]
        outcomes = at_once(
            *works, lambda turn=turn: set_inventories(store, host, VCPU=10_000 + turn)
        )
        assert accepted(outcomes[:3]) == 3
        assert_sound(store)


# --- names ------------------------------------------------------------------------------


def test_class_that_is_created_again_during_its_use(store, backend):
    """The inventory gets the id of the class that exists in the end."""
    resource_class.create(store, "CUSTOM_A")
    host = new_provider(store)

    def recreate():
        resource_class.delete(store, "CUSTOM_A")
        resource_class.create(store, "CUSTOM_B")
        resource_class.create(store, "CUSTOM_A")

    with run_before(store, ("WHERE resource_classes.name IN", recreate)) as passed:
        set_inventories(store, host, CUSTOM_A=1)
    assert backend == "sqlite" or passed == [None]
    assert inventory.list_of(store, host).inventories.keys() == {"CUSTOM_A"}
    assert_sound(store)


def test_concurrent_creations_of_classes(store):
    for turn in range(TIMES):
        names = [f"CUSTOM_{turn}_{count}" for count in range(4)]
        works = [lambda name=name: resource_class.create(store, name) for name in names]
        assert at_once(*works) == [None] * 4
        assert set(names) <= set(resource_class.list_all(store).names)


def test_concurrent_creations_of_one_class_and_one_trait(store):
    for turn in range(TIMES):
        name = f"CUSTOM_{turn}"
        for make in (
            lambda name=name: resource_class.ensure(store, name),
            lambda name=name: trait.ensure(store, name)[0],
        ):
            assert sorted(at_once(*[make] * 4)) == [False, False, False, True]
        created = at_once(*[lambda turn=turn: resource_class.create(store, f"CUSTOM_X{turn}")] * 3)
        assert accepted(created) == 1


def test_concurrent_renames_to_one_name(store):
    for turn in range(TIMES):
        old = [f"CUSTOM_{turn}_{side}" for side in "AB"]
        for name in old:
            resource_class.create(store, name)
        outcomes = at_once(
            *(
                lambda name=name, turn=turn: resource_class.rename(
                    store, name, f"CUSTOM_{turn}_NEW"
                )
                for name in old
            )
        )
        assert accepted(outcomes) == 1
        assert len([name for name in resource_class.list_all(store).names if name in old]) == 1
