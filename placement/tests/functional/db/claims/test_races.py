"""Concurrent claims, on each database: no update is lost.

Each race is run many times, by threads that start together. To reproduce a critical interleaving,
``stopped_at`` pauses one operation within its transaction until the other is done or waits for it.
"""

import pytest
import sqlalchemy as sa

from placement import exception
from placement.core.model import Inventory, ReplaceInventories
from placement.db import tables
from placement.db.claims.allocations import deletions
from placement.db.claims.consumers import consumer_lock, deletion_if_unchanged
from placement.objects import (
    allocation,
    provider,
    reshaper,
    resource_class,
    usage,
)
from placement.tests.support.factories import (
    a_claim,
    allocations_of,
    assert_sound,
    claim,
    consumer_generation,
    generation,
    new_provider,
    rows,
    set_inventories,
    used,
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


# --- consumers --------------------------------------------------------------------------


def test_concurrent_first_claims_of_one_consumer(store):
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
        assert allocations_of(store, consumer) == {winner: {"VCPU": 1}}
        assert {type(outcome) for outcome in outcomes} == {
            type(None),
            exception.StaleConsumerGeneration,
        }
    assert_sound(store)


def test_concurrent_writes_with_one_consumer_generation(store):
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
        assert allocations_of(store, consumer) == {
            host: {"VCPU": [is_refused(outcome) for outcome in outcomes].index(False) + 1}
        }
        assert consumer_generation(store, consumer) == turn + 1
    assert_sound(store)


def test_concurrent_writes_without_generation_all_succeed(store):
    hosts, consumer = [new_provider(store, VCPU=100) for _ in range(4)], uuid()
    for _ in range(TIMES):
        assert accepted(at_once(*(
            lambda host=host: claim(store, consumer, {host: {"VCPU": 3}}) for host in hosts
        ))) == 4  # fmt: skip
        assert len(allocations_of(store, consumer)) == 1
        assert_sound(store)
    assert consumer_generation(store, consumer) == 4 * TIMES


def test_concurrent_removals_and_first_claims_of_one_consumer(store):
    """A removal that finds no consumer must not touch what a new one holds."""
    host, consumer = new_provider(store, VCPU=100), uuid()
    for _ in range(4 * TIMES):
        outcomes = at_once(
            lambda: claim(store, consumer, {host: {"VCPU": 2}}, generation=None),
            lambda: allocation.delete(store, consumer),
            lambda: claim(store, consumer, {host: {"VCPU": 3}}, generation=None),
            lambda: allocation.delete(store, consumer),
        )
        assert accepted(outcomes[::2]) <= 1 + accepted(outcomes[1::2])
        assert_sound(store)


def test_consumer_created_and_removed_during_a_removal(store, backend):
    """Its usage is not released a second time."""
    if backend == "sqlite":
        pytest.skip("it has one writer at a time")
    host, consumer = new_provider(store, VCPU=10), uuid()
    comes = "FROM allocations", lambda: claim(store, consumer, {host: {"VCPU": 2}})
    goes = "FROM consumers", lambda: allocation.delete(store, consumer)
    with run_before(store, comes, goes) as passed:
        removed = outcome_of(lambda: allocation.delete(store, consumer))
    assert accepted([removed, passed[1]]) == 1
    assert_sound(store)


def test_consumer_created_during_a_write_without_generation_is_released_without_deadlock(
    store, other_store, backend
):
    """The write has locked the allocations when the release has locked the consumer."""
    if backend == "sqlite":
        pytest.skip("it has one writer at a time")
    host, consumer = new_provider(store, VCPU=10), uuid()
    errors = []
    for each in (store, other_store):
        sa.event.listen(each.engines().writer, "handle_error", errors.append)
    comes = "FROM allocations", lambda: claim(other_store, consumer, {host: {"VCPU": 2}})
    goes = "consumer_id AS uuid", lambda: allocation.delete(other_store, consumer)
    with run_before(store, comes, goes) as passed:
        written = outcome_of(lambda: claim(store, consumer, {host: {"VCPU": 3}}))
    assert accepted([written, *passed]) == 3
    assert [str(error.original_exception) for error in errors] == []
    assert_sound(store)


def test_a_release_and_a_claim_of_one_consumer_lock_it_without_deadlock(
    store, other_store, backend
):
    """The claim waits for the consumer's lock when the release deletes it."""
    if backend == "sqlite":
        pytest.skip("it has one writer at a time")
    host, consumer = new_provider(store, VCPU=10), uuid()
    claim(store, consumer, {host: {"VCPU": 2}})

    def release(tx):
        (held,) = tx.consumers.held(consumer)
        tx.execute_all(consumer_lock(consumer))
        tx.execute_all([*deletions([consumer]), *deletion_if_unchanged(held.id, held.generation)])
        raise exception.NoAllocations(consumer)  # to leave its usage as it is

    errors = []
    for each in (store, other_store):
        sa.event.listen(each.engines().writer, "handle_error", errors.append)
    comes = "DELETE FROM allocations", lambda: claim(other_store, consumer, {host: {"VCPU": 3}})
    with run_before(store, comes) as passed:
        released = outcome_of(lambda: store.write(release))
    assert is_refused(released)
    assert accepted(passed) == 1
    assert [str(error.original_exception) for error in errors] == []
    assert_sound(store)


def test_allocations_replaced_between_the_read_and_the_writes_of_a_release(store, backend):
    """The release reads them again, and releases those."""
    if backend == "sqlite":
        pytest.skip("it has one writer at a time")
    host, other, consumer = new_provider(store, VCPU=10), new_provider(store, VCPU=10), uuid()
    claim(store, consumer, {host: {"VCPU": 2}})
    replace = "FROM consumers", lambda: claim(store, consumer, {other: {"VCPU": 3}}, generation=1)
    with run_before(store, replace) as passed:
        removed = outcome_of(lambda: allocation.delete(store, consumer))
    assert accepted([removed, *passed]) == 2
    assert used(store, host) == used(store, other) == {}
    assert_sound(store)


def test_write_of_two_consumers_of_which_one_moves_to_a_new_provider(store, backend):
    """The write has read one consumer when the provider and the class of the other are created."""
    if backend == "sqlite":
        pytest.skip("it has one writer at a time")
    old, moved = sorted([uuid(), uuid()])
    host, target, new = new_provider(store, VCPU=10), new_provider(store, VCPU=10), uuid()
    for consumer in (old, moved):
        claim(store, consumer, {host: {"VCPU": 1}})

    def create():
        provider.create(store, new, "new", None)
        resource_class.create(store, "CUSTOM_NEW")
        set_inventories(store, new, CUSTOM_NEW=10)

    def write_both():
        claims = [a_claim(consumer, {target: {"VCPU": 2}}) for consumer in (old, moved)]
        allocation.replace(store, tuple(claims))

    statement = "resource_providers.uuid IN"
    with run_before(store, (statement, write_both), (statement, create)) as passed:
        claim(store, moved, {new: {"CUSTOM_NEW": 7}})
    assert passed == [None, None]
    assert [allocations_of(store, consumer) for consumer in (old, moved)] == [
        {target: {"VCPU": 2}}
    ] * 2
    assert_sound(store)


@pytest.mark.parametrize("left", [{}, {"CUSTOM_NEW": 3}], ids=["release", "claim"])
def test_class_is_renamed_between_consumer_and_provider(store, backend, left):
    """The allocations of the consumer were read with the old name."""
    resource_class.create(store, "CUSTOM_OLD")
    host, consumer = new_provider(store, CUSTOM_OLD=10), uuid()
    claim(store, consumer, {host: {"CUSTOM_OLD": 7}})

    def rename():
        resource_class.rename(store, "CUSTOM_OLD", "CUSTOM_NEW")

    with run_before(store, ("ORDER BY resource_providers.id", rename)) as passed:
        outcome = outcome_of(lambda: claim(store, consumer, {host: left} if left else {}))
    assert passed == [None]
    assert is_refused(outcome) == (bool(left) and backend == "sqlite")  # has one writer at a time
    assert_sound(store)


def test_class_is_renamed_during_a_reshape(store, backend):
    """The inventories were read with the old name, the reshape uses the new one."""
    resource_class.create(store, "CUSTOM_OLD")
    host, consumer = new_provider(store, CUSTOM_OLD=10), uuid()
    claim(store, consumer, {host: {"CUSTOM_OLD": 7}})
    command = (
        (ReplaceInventories(host, generation(store, host), {"CUSTOM_NEW": Inventory(total=10)}),),
        (a_claim(consumer, {host: {"CUSTOM_NEW": 4}}, generation=1),),
    )

    def rename():
        resource_class.rename(store, "CUSTOM_OLD", "CUSTOM_NEW")

    with run_before(store, ("WHERE resource_classes.name IN", rename)) as passed:
        outcome = outcome_of(lambda: reshaper.reshape(store, *command))
    assert passed == [None]
    assert is_refused(outcome) == (backend == "sqlite")  # has one writer at a time
    assert_sound(store)


def test_concurrent_removals_and_writes(store):
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
        assert allocations_of(store, consumer) == {}
        assert_sound(store)


def test_concurrent_inserts_of_the_same_owners_and_type(store):
    host = new_provider(store, VCPU=10_000)
    for turn in range(TIMES):
        names = {"project_id": f"p{turn}", "user_id": f"u{turn}", "type": f"T{turn}"}
        swapped = {**names, "project_id": f"u{turn}", "user_id": f"p{turn}"}
        clients = [
            lambda own=own: claim(store, uuid(), {host: {"VCPU": 1}}, **own)
            for own in (names, swapped) * 3
        ]
        assert accepted(at_once(*clients)) == 6
    assert len(rows(store, tables.projects)) == len(rows(store, tables.users)) == 2 * TIMES
    assert (
        sum(
            usages.consumer_count
            for turn in range(TIMES)
            for name in (f"p{turn}", f"u{turn}")
            for usages in usage.of_project_by_type(store, name, None, None).values()
        )
        == 6 * TIMES
    )
    assert_sound(store)


def test_refused_and_empty_writes_leave_no_consumer_behind(store):
    """A remaining consumer would make correct first claims fail."""
    for _ in range(TIMES):
        host, consumer = new_provider(store, VCPU=1), uuid()
        outcomes = at_once(
            lambda host=host, consumer=consumer: claim(
                store, consumer, {host: {"VCPU": 2}}, generation=None
            ),
            lambda consumer=consumer: claim(store, consumer, {}, generation=None),
            lambda consumer=consumer: claim(store, consumer, {uuid(): {"VCPU": 1}}),
        )
        assert [is_refused(outcome) for outcome in outcomes] == [True, False, True]
        assert consumer_generation(store, consumer) is None
        claim(store, consumer, {host: {"VCPU": 1}}, generation=None)
        assert consumer_generation(store, consumer) == 1
    assert_sound(store)


def test_swaps_of_consumers_in_different_order(store):
    """Migrations in both directions, several consumers in each write."""
    hosts, consumers = [new_provider(store, VCPU=40) for _ in range(2)], [uuid(), uuid(), uuid()]

    def shuffle(turn, host):
        order = consumers[turn % 3 :] + consumers[: turn % 3]
        claims = tuple(a_claim(consumer, {host: {"VCPU": 2}}) for consumer in order)
        allocation.replace(store, claims)

    for turn in range(TIMES):
        works = [
            lambda turn=turn, host=host, step=step: shuffle(turn + step, host)
            for step, host in enumerate(hosts * 2)
        ]
        assert accepted(at_once(*works)) == 4
        assert_sound(store)
