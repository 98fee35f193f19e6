"""Races between writers, on each database: none is ever lost.

Each race is run many times, by threads that start at one instant. Where a race
can be held at its worst moment, ``held_at`` does that: it stops one side in the
middle of its transaction until the other is done, or waits for it.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from placement import exception
from placement.core.model import Inventory, ReplaceAllocations, ReplaceInventories, Reshape
from placement.db.sqlalchemy import models
from placement.objects import (
    aggregate,
    allocation,
    inventory,
    provider,
    reshaper,
    resource_class,
    trait,
    usage,
)
from placement.tests.functional.db.cloud import (
    a_claim,
    assert_sound,
    claim,
    consumer_generation,
    generation,
    give,
    held,
    new_provider,
    rows,
    used,
    uuid,
)

TIMES = 8


def at_once(*works) -> list:
    """Run all at one instant; return what each returned, or the refusal that it raised.

    Anything but a refusal of placement's own is a fault, and fails the test. So is a
    conflict that was retried in vain.
    """
    start = threading.Barrier(len(works))

    def run(work):
        start.wait()
        return outcome_of(work)

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def outcome_of(work):
    try:
        return work()
    except exception.Conflict:
        raise
    except exception.PlacementException as refusal:
        return refusal


def is_refused(outcome) -> bool:
    return isinstance(outcome, exception.PlacementException)


def accepted(outcomes) -> int:
    return sum(not is_refused(outcome) for outcome in outcomes)


@pytest.fixture
def held_at(store):
    """Stop the first statement that has a text in it, until another thread is through or stuck.

    Returns a function that runs one work that is stopped, and beside it another; both
    outcomes are returned.
    """
    engine = store.engines().writer
    listeners = []

    def run(text, stopped, other):
        reached, go_on = threading.Event(), threading.Event()
        owner = threading.Event()

        def before(_connection, _cursor, statement, _parameters, _context, _many):
            is_first = text in statement and not owner.is_set()
            if threading.current_thread().name.startswith("stopped") and is_first:
                owner.set()
                reached.set()
                go_on.wait(10)

        sa.event.listen(engine, "before_cursor_execute", before)
        listeners.append(before)
        with (
            ThreadPoolExecutor(1, "stopped") as first,
            ThreadPoolExecutor(1, "other") as second,
        ):
            one = first.submit(outcome_of, stopped)
            assert reached.wait(10), "the statement was never sent"
            two = second.submit(outcome_of, other)
            give_up_at = time.monotonic() + 0.15  # the other side waits for a lock: as it should
            while not two.done() and time.monotonic() < give_up_at:
                time.sleep(0.005)
            go_on.set()
            return one.result(), two.result()

    yield run
    for listener in listeners:
        sa.event.remove(engine, "before_cursor_execute", listener)


# --- capacity ---------------------------------------------------------------------------


def test_six_clients_claim_the_last_two_units(store):
    for _ in range(TIMES):
        host = new_provider(store, VCPU=10)
        claim(store, uuid(), {host: {"VCPU": 8}})
        clients = [lambda host=host: claim(store, uuid(), {host: {"VCPU": 1}})] * 6
        outcomes = at_once(*clients)
        assert accepted(outcomes) == 2
        assert {type(outcome) for outcome in outcomes if is_refused(outcome)} == {
            exception.CapacityExceeded
        }
        assert used(store, host) == {"VCPU": 10}
        assert generation(store, host) == 4
    assert_sound(store)


def test_claims_over_the_same_providers_in_different_order(store):
    hosts = [new_provider(store, VCPU=10_000) for _ in range(4)]
    for turn in range(TIMES):
        orders = [hosts[turn % 4 :] + hosts[: turn % 4], hosts[::-1], hosts, hosts[1::-1]]
        clients = [
            lambda order=order: claim(store, uuid(), {host: {"VCPU": 1} for host in order})
            for order in orders
        ]
        assert accepted(at_once(*clients)) == len(orders)
    assert_sound(store)


def test_capacity_shrinks_while_it_is_claimed(store):
    for _ in range(TIMES):
        host = new_provider(store, VCPU=2)
        consumer = uuid()

        def shrink(host=host):
            inventory.delete_all(store, host)

        outcomes = at_once(
            lambda host=host, consumer=consumer: claim(store, consumer, {host: {"VCPU": 2}}),
            shrink,
        )
        assert accepted(outcomes) == 1, outcomes
        assert_sound(store)


def test_an_inventory_is_removed_at_the_worst_moment_of_a_claim(store, held_at):
    host = new_provider(store, VCPU=2)
    outcomes = held_at(
        "INSERT INTO allocations",
        lambda: claim(store, uuid(), {host: {"VCPU": 2}}),
        lambda: inventory.delete(store, host, "VCPU"),
    )
    assert [type(outcome) for outcome in outcomes] == [
        type(None),
        exception.SingleInventoryInUse,
    ]
    assert_sound(store)


# --- consumers --------------------------------------------------------------------------


def test_one_consumer_is_claimed_for_the_first_time_by_several(store):
    for _ in range(TIMES):
        hosts, consumer = [new_provider(store, VCPU=1) for _ in range(4)], uuid()
        outcomes = at_once(
            *(
                lambda host=host, consumer=consumer: claim(
                    store, consumer, {host: {"VCPU": 1}}, generation=None
                )
                for host in hosts
            )
        )
        assert accepted(outcomes) == 1
        (winner,) = [
            host for host, outcome in zip(hosts, outcomes, strict=True) if not is_refused(outcome)
        ]
        assert held(store, consumer) == {winner: {"VCPU": 1}}
        assert {type(outcome) for outcome in outcomes} == {
            type(None),
            exception.StaleConsumerGeneration,
        }
    assert_sound(store)


def test_a_refused_first_claim_does_not_take_an_accepted_one_along(store, held_at):
    host, full, consumer = new_provider(store, VCPU=1), new_provider(store, VCPU=1), uuid()
    outcomes = held_at(
        "INSERT INTO allocations",
        lambda: claim(store, consumer, {host: {"VCPU": 1}}, generation=None),
        lambda: claim(store, consumer, {full: {"VCPU": 2}}, generation=None),
    )
    assert outcomes[0] is None
    assert is_refused(outcomes[1])
    assert held(store, consumer) == {host: {"VCPU": 1}}
    assert_sound(store)


def test_several_writes_with_one_generation_of_a_consumer(store):
    host, consumer = new_provider(store, VCPU=100), uuid()
    claim(store, consumer, {host: {"VCPU": 1}})
    for turn in range(1, TIMES):
        outcomes = at_once(
            *(
                lambda amount=amount, turn=turn: claim(
                    store, consumer, {host: {"VCPU": amount}}, generation=turn
                )
                for amount in range(1, 5)
            )
        )
        assert accepted(outcomes) == 1
        assert held(store, consumer) == {
            host: {"VCPU": [is_refused(outcome) for outcome in outcomes].index(False) + 1}
        }
        assert consumer_generation(store, consumer) == turn + 1
    assert_sound(store)


def test_writes_without_generation_all_count(store):
    hosts, consumer = [new_provider(store, VCPU=100) for _ in range(4)], uuid()
    for _ in range(TIMES):
        assert accepted(at_once(*(
            lambda host=host: claim(store, consumer, {host: {"VCPU": 3}}) for host in hosts
        ))) == 4  # fmt: skip
        assert len(held(store, consumer)) == 1
        assert_sound(store)
    assert consumer_generation(store, consumer) == 4 * TIMES


@pytest.mark.parametrize("statement", ["DELETE FROM allocations", "UPDATE consumers"])
def test_a_removal_beside_a_guarded_write_at_its_worst_moment(store, held_at, statement):
    host, consumer = new_provider(store, VCPU=10), uuid()
    claim(store, consumer, {host: {"VCPU": 1}})
    outcomes = held_at(
        statement,
        lambda: claim(store, consumer, {host: {"VCPU": 2}}, generation=1),
        lambda: allocation.delete(store, consumer),
    )
    assert outcomes == (None, None)
    assert held(store, consumer) == {}
    assert_sound(store)


def test_a_guarded_write_beside_a_removal_at_its_worst_moment(store, held_at):
    host, consumer = new_provider(store, VCPU=10), uuid()
    claim(store, consumer, {host: {"VCPU": 1}})
    removed, written = held_at(
        "DELETE FROM allocations",
        lambda: allocation.delete(store, consumer),
        lambda: claim(store, consumer, {host: {"VCPU": 2}}, generation=1),
    )
    assert removed is None
    assert isinstance(written, exception.StaleConsumerGeneration)
    assert held(store, consumer) == {}
    assert_sound(store)


def test_a_consumer_is_made_while_a_removal_looks_for_it(store, held_at):
    """The removal has found no consumer to lock, and then finds what a new one holds."""
    host, consumer = new_provider(store, VCPU=10), uuid()
    removed, claimed = held_at(
        "SELECT allocations.consumer_id AS uuid",
        lambda: allocation.delete(store, consumer),
        lambda: claim(store, consumer, {host: {"VCPU": 2}}, generation=None),
    )
    assert claimed is None
    kept = {host: {"VCPU": 2}} if is_refused(removed) else {}
    assert held(store, consumer) == kept
    assert_sound(store)


def test_removals_and_writes_at_once(store):
    for _ in range(TIMES):
        host, consumer = new_provider(store, VCPU=10), uuid()
        claim(store, consumer, {host: {"VCPU": 1}})
        removed, written = at_once(
            lambda consumer=consumer: allocation.delete(store, consumer),
            lambda host=host, consumer=consumer: claim(
                store, consumer, {host: {"VCPU": 2}}, generation=1
            ),
        )
        assert removed is None
        assert written is None or isinstance(written, exception.StaleConsumerGeneration)
        assert held(store, consumer) == {}
        assert_sound(store)


def test_the_same_new_owners_and_type_at_once(store):
    host = new_provider(store, VCPU=1000)
    for turn in range(TIMES):
        names = {"project_id": f"p{turn}", "user_id": f"u{turn}", "type": f"T{turn}"}
        swapped = {**names, "project_id": f"u{turn}", "user_id": f"p{turn}"}
        clients = [
            lambda own=own: claim(store, uuid(), {host: {"VCPU": 1}}, **own)
            for own in (names, swapped) * 3
        ]
        assert accepted(at_once(*clients)) == 6
    assert len(rows(store, models.projects)) == len(rows(store, models.users)) == 2 * TIMES
    assert (
        sum(
            found.consumer_count
            for turn in range(TIMES)
            for name in (f"p{turn}", f"u{turn}")
            for found in usage.of_project_by_type(store, name, None, None).values()
        )
        == 6 * TIMES
    )
    assert_sound(store)


def test_swaps_of_consumers_in_different_order(store):
    """Migrations to and fro, several consumers in each write."""
    hosts, consumers = [new_provider(store, VCPU=40) for _ in range(2)], [uuid(), uuid(), uuid()]

    def shuffle(turn, host):
        order = consumers[turn % 3 :] + consumers[: turn % 3]
        claims = tuple(a_claim(consumer, {host: {"VCPU": 2}}) for consumer in order)
        allocation.replace(store, ReplaceAllocations(claims))

    for turn in range(TIMES):
        works = [
            lambda turn=turn, host=host, step=step: shuffle(turn + step, host)
            for step, host in enumerate(hosts * 2)
        ]
        assert accepted(at_once(*works)) == 4
        assert_sound(store)


# --- providers and their trees ----------------------------------------------------------


def test_a_provider_is_removed_while_it_is_claimed(store):
    for _ in range(TIMES):
        host, consumer = new_provider(store, VCPU=1), uuid()
        outcomes = at_once(
            lambda host=host: provider.delete(store, host),
            lambda host=host, consumer=consumer: claim(store, consumer, {host: {"VCPU": 1}}),
        )
        assert accepted(outcomes) == 1, outcomes
        assert_sound(store)


@pytest.mark.parametrize("statement", ["INSERT INTO consumers", "INSERT INTO allocations"])
def test_a_provider_is_removed_at_the_worst_moment_of_a_claim(store, held_at, statement):
    host = new_provider(store, VCPU=1)
    claimed, removed = held_at(
        statement,
        lambda: claim(store, uuid(), {host: {"VCPU": 1}}),
        lambda: provider.delete(store, host),
    )
    assert claimed is None
    assert isinstance(removed, exception.ProviderInUse)


def test_a_claim_at_the_worst_moment_of_a_removal(store, held_at):
    host = new_provider(store, VCPU=1)
    removed, claimed = held_at(
        "DELETE FROM inventories",
        lambda: provider.delete(store, host),
        lambda: claim(store, uuid(), {host: {"VCPU": 1}}),
    )
    assert removed is None
    assert isinstance(claimed, exception.ProviderToAllocateNotFound)
    assert_sound(store)


def test_a_provider_is_removed_while_it_gets_a_child(store):
    for turn in range(TIMES):
        parent, child = new_provider(store), uuid()
        outcomes = at_once(
            lambda parent=parent: provider.delete(store, parent),
            lambda parent=parent, child=child, turn=turn: provider.create(
                store, child, f"c{turn}", parent
            ),
        )
        assert accepted(outcomes) == 1, outcomes
        assert_sound(store)


def test_a_provider_is_removed_at_the_worst_moment_of_a_birth(store, held_at):
    parent = new_provider(store)
    born, removed = held_at(
        "INSERT INTO resource_providers",
        lambda: provider.create(store, uuid(), "child", parent),
        lambda: provider.delete(store, parent),
    )
    assert not is_refused(born)
    assert isinstance(removed, exception.ProviderHasChildren)
    assert_sound(store)


def move(store, moved, parent):
    return provider.update(store, moved, f"moved-{moved}", parent, may_move=True)


def test_two_providers_become_each_others_parents(store):
    for _ in range(TIMES):
        one, two = new_provider(store), new_provider(store)
        outcomes = at_once(
            lambda one=one, two=two: move(store, one, two),
            lambda one=one, two=two: move(store, two, one),
        )
        assert accepted(outcomes) == 1
        assert_sound(store)


def test_a_loop_of_three_is_never_closed(store):
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


def test_roots_are_where_parents_lead_after_moves_at_once(store):
    """The top and the middle of a tree move while the bottom gets children."""
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


@pytest.mark.parametrize("statement", ["UPDATE resource_providers SET root", "UPDATE clocks"])
def test_a_move_at_the_worst_moment_of_another(store, held_at, statement):
    top, other, third = (new_provider(store) for _ in range(3))
    child = new_provider(store, parent=top)
    outcomes = held_at(
        statement,
        lambda: move(store, top, other),
        lambda: move(store, child, third),
    )
    assert accepted(outcomes) == 2
    assert_sound(store)


def test_one_name_and_one_uuid_are_taken_once(store):
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
        assert {type(outcome) for outcome in names if is_refused(outcome)} == {
            exception.DuplicateProviderName
        }
        assert {type(outcome) for outcome in uuids if is_refused(outcome)} == {
            exception.DuplicateProviderUuid
        }


# --- what is guarded by the provider's generation ----------------------------------------


def writes_of(store, host, at):
    """One write of each kind that names the provider's generation, and increases it."""
    full = Inventory(total=at + 10)
    other = {"HW_CPU_X86_VMX", "HW_CPU_X86_AVX"} - set(trait.of_provider(store, host).traits)
    return [
        lambda: trait.replace(store, host, at, [min(other)]),
        lambda: aggregate.replace(store, host, [uuid()], at),
        lambda: inventory.replace(store, ReplaceInventories(host, at, {"VCPU": full})),
        lambda: inventory.update(store, host, at, "VCPU", full),
        lambda: reshaper.reshape(store, Reshape((ReplaceInventories(host, at, {"VCPU": full}),))),
    ]


def _trait(at) -> str:
    return ("HW_CPU_X86_VMX", "HW_CPU_X86_AVX", "HW_CPU_X86_SSE")[at % 3]


def test_of_writes_with_one_generation_one_is_accepted(store):
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


def test_traits_by_several_at_once(store):
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


def test_the_same_new_aggregates_at_once(store):
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


def test_aggregates_of_one_provider_at_once(store):
    host = new_provider(store)
    for _ in range(TIMES):
        sets = [[uuid(), uuid()] for _ in range(4)]
        works = [lambda own=own: aggregate.replace(store, host, own, None) for own in sets]
        assert accepted(at_once(*works)) == 4
        assert set(aggregate.of_provider(store, host).aggregates) in [set(own) for own in sets]


def test_inventories_and_claims_at_once_keep_what_is_used(store):
    host, consumers = new_provider(store, VCPU=10_000), [uuid() for _ in range(3)]
    for turn in range(TIMES):
        works = [
            lambda consumer=consumer, turn=turn: claim(store, consumer, {host: {"VCPU": turn + 1}})
            for consumer in consumers
        ]
        outcomes = at_once(*works, lambda turn=turn: give(store, host, VCPU=10_000 + turn))
        assert accepted(outcomes[:3]) == 3
        assert_sound(store)


# --- names ------------------------------------------------------------------------------


def test_a_class_is_removed_while_it_is_put_to_use(store):
    for turn in range(TIMES):
        host, name = new_provider(store), f"CUSTOM_{turn}"
        resource_class.create(store, name)
        outcomes = at_once(
            lambda name=name: resource_class.delete(store, name),
            lambda host=host, name=name: give(store, host, **{name: 1}),
        )
        assert accepted(outcomes) == 1, outcomes
        assert_sound(store)


def test_a_class_is_removed_at_the_worst_moment_of_its_use(store, held_at):
    resource_class.create(store, "CUSTOM_A")
    host = new_provider(store)
    used_, removed = held_at(
        "INSERT INTO inventories",
        lambda: inventory.create(store, host, "CUSTOM_A", Inventory(total=1)),
        lambda: resource_class.delete(store, "CUSTOM_A"),
    )
    assert not is_refused(used_)
    assert isinstance(removed, exception.ResourceClassInUse)


def test_a_class_is_used_at_the_worst_moment_of_its_removal(store, held_at):
    resource_class.create(store, "CUSTOM_A")
    host = new_provider(store)
    removed, used_ = held_at(
        "DELETE FROM resource_classes",
        lambda: resource_class.delete(store, "CUSTOM_A"),
        lambda: inventory.create(store, host, "CUSTOM_A", Inventory(total=1)),
    )
    assert removed is None
    assert isinstance(used_, exception.UnknownResourceClass)


def test_a_trait_is_removed_while_it_is_put_to_use(store):
    for turn in range(TIMES):
        host, name = new_provider(store), f"CUSTOM_{turn}"
        trait.ensure(store, name)
        outcomes = at_once(
            lambda name=name: trait.delete(store, name),
            lambda host=host, name=name: trait.replace(store, host, 0, [name]),
        )
        assert accepted(outcomes) == 1, outcomes


def test_a_trait_is_removed_at_the_worst_moment_of_its_use(store, held_at):
    trait.ensure(store, "CUSTOM_A")
    host = new_provider(store)
    given, removed = held_at(
        "INSERT INTO resource_provider_traits",
        lambda: trait.replace(store, host, 0, ["CUSTOM_A"]),
        lambda: trait.delete(store, "CUSTOM_A"),
    )
    assert not is_refused(given)
    assert isinstance(removed, exception.TraitInUse)


def test_classes_are_made_at_once(store):
    for turn in range(TIMES):
        names = [f"CUSTOM_{turn}_{count}" for count in range(4)]
        works = [lambda name=name: resource_class.create(store, name) for name in names]
        assert at_once(*works) == [None] * 4
        assert set(names) <= set(resource_class.list_all(store).names)


def test_one_class_and_one_trait_are_made_once(store):
    for turn in range(TIMES):
        name = f"CUSTOM_{turn}"
        for make in (
            lambda name=name: resource_class.ensure(store, name),
            lambda name=name: trait.ensure(store, name)[0],
        ):
            assert sorted(at_once(*[make] * 4)) == [False, False, False, True]
        created = at_once(*[lambda turn=turn: resource_class.create(store, f"CUSTOM_X{turn}")] * 3)
        assert accepted(created) == 1


def test_two_classes_get_one_name(store):
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
