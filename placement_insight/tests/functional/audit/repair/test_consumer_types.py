"""Consumer types that a repair deletes, while claims use them, on each database.

A claim reads the id of a type without a lock. No claim fails because of a repair, and no consumer
refers to a type that does not exist.
"""

import pytest
import sqlalchemy as sa

from placement.core.model import IncompleteConsumer
from placement.db import tables
from placement.objects import allocation, provider
from placement.tests.support.defects import Host
from placement.tests.support.factories import (
    a_claim,
    allocations_of,
    assert_sound,
    claim,
    new_provider,
    rows,
    uuid,
)
from placement.tests.support.races import TIMES, accepted, at_once, paused_at
from placement_insight.audit.repair.apply import APPLIED, SKIPPED, Outcome, apply_action
from placement_insight.audit.repair.names import DeleteConsumerType
from placement_insight.audit.repair.providers import DeleteProvider
from placement_insight.tests.support.repairs import image, instance

TYPE = "VOLUME"
IN_USE = Outcome(SKIPPED, f"The consumer type {TYPE} is in use.")


@pytest.fixture
def host(store):
    """A provider whose only consumer is of another type; TYPE exists, and is unused."""
    host, consumer = new_provider(store, VCPU=10_000), uuid()
    claim(store, uuid(), {host: {"VCPU": 1}}, type="INSTANCE")
    claim(store, consumer, {host: {"VCPU": 1}}, type=TYPE)
    allocation.delete(store, consumer)
    return host


def delete_type(store):
    return apply_action(
        store, DeleteConsumerType(type=TYPE), IncompleteConsumer("", ""), lambda _entry: None
    )


def type_of(store, consumer):
    return allocation.of_consumer(store, consumer).consumer.type


def id_of_type(store):
    (id_,) = [row.id for row in rows(store, tables.consumer_types) if row.name == TYPE]
    return id_


# --- races ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "paused_before", ["ORDER BY resource_providers.id", "INSERT INTO consumers"]
)
@pytest.mark.parametrize("generation", [{}, {"generation": None}], ids=["any", "new"])
def test_a_type_is_deleted_before_a_claim_inserts_a_consumer_of_it(
    store, backend, host, paused_before, generation
):
    """The claim is run again, and inserts the type; SQLite has one writer at a time."""
    consumer, first_id = uuid(), id_of_type(store)
    with paused_at(store, paused_before) as both:
        claimed, deleted = both(
            lambda: claim(store, consumer, {host: {"VCPU": 1}}, type=TYPE, **generation),
            lambda: delete_type(store),
        )
    assert (claimed, deleted) == (None, IN_USE if backend == "sqlite" else Outcome(APPLIED))
    assert type_of(store, consumer) == TYPE
    assert (id_of_type(store) == first_id) == (backend == "sqlite")
    assert_sound(store)


def test_a_type_is_deleted_before_a_claim_changes_consumers_to_it(store, backend, host):
    """One consumer changes its type, the other is created, in one claim."""
    changed, created = uuid(), uuid()
    claim(store, changed, {host: {"VCPU": 1}}, type="INSTANCE")
    claims = tuple(
        a_claim(consumer, {host: {"VCPU": 2}}, type=TYPE) for consumer in (changed, created)
    )
    with paused_at(store, "UPDATE consumers") as both:
        claimed, deleted = both(
            lambda: allocation.replace(store, claims[:1]),
            lambda: delete_type(store),
        )
    assert (claimed, deleted) == (None, IN_USE if backend == "sqlite" else Outcome(APPLIED))
    allocation.replace(store, claims)
    assert [type_of(store, consumer) for consumer in (changed, created)] == [TYPE, TYPE]
    assert_sound(store)


@pytest.mark.parametrize("paused_before", ["FROM consumers", "DELETE FROM consumer_types"])
def test_a_claim_of_a_type_that_is_being_deleted(store, host, paused_before):
    """The claim waits for the deletion, and inserts the type again."""
    consumer = uuid()
    with paused_at(store, paused_before) as both:
        deleted, claimed = both(
            lambda: delete_type(store),
            lambda: claim(store, consumer, {host: {"VCPU": 1}}, type=TYPE),
        )
    assert (deleted, claimed) == (Outcome(APPLIED), None)
    assert type_of(store, consumer) == TYPE
    assert_sound(store)


def test_a_type_that_an_uncommitted_claim_uses_is_not_deleted(store, host):
    """The deletion waits for the claim."""
    consumer = uuid()

    def claim_slowly(tx):
        allocation.replace.__wrapped__(tx, [a_claim(consumer, {host: {"VCPU": 1}}, type=TYPE)])
        tx.connection.execute(sa.text("SELECT 'pause'"))

    with paused_at(store, "'pause'") as both:
        assert both(lambda: store.write(claim_slowly), lambda: delete_type(store)) == (
            None,
            IN_USE,
        )
    assert type_of(store, consumer) == TYPE
    assert_sound(store)


def test_claims_releases_and_deletions_at_once(store, other_store, host):
    def use(consumer, own_store):
        claim(own_store, consumer, {host: {"VCPU": 1}}, type=TYPE)
        allocation.delete(own_store, consumer)
        claim(own_store, consumer, {host: {"VCPU": 2}}, type=TYPE)

    def delete():
        return [delete_type(store) for _ in range(4)]

    for _ in range(TIMES):
        users = [(uuid(), own_store) for own_store in [store, other_store] * 2]
        works = [lambda user=user: use(*user) for user in users]
        assert accepted(at_once(delete, *works, delete)) == 6
        assert_sound(store)
        for consumer, _ in users:
            assert type_of(store, consumer) == TYPE
            allocation.delete(store, consumer)


def test_other_processes_do_not_keep_the_id_of_a_deleted_type(store, other_store, host):
    """Another type may have the id meanwhile."""
    for _ in range(2):
        consumer = uuid()
        claim(other_store, consumer, {host: {"VCPU": 1}}, type=TYPE)
        assert type_of(store, consumer) == TYPE
        allocation.delete(other_store, consumer)
        assert delete_type(store) == Outcome(APPLIED)
        claim(store, uuid(), {host: {"VCPU": 1}}, type=f"OTHER_{consumer[:8].upper()}")
    assert_sound(store)


# --- what prevents a deletion, or its undo -----------------------------------------------


def test_without_the_foreign_key_no_type_is_deleted(store, backend, database_url, host):
    if backend == "sqlite":
        pytest.skip("an ALTER TABLE cannot remove it")
    key = "consumers_consumer_type_id_fkey"
    drop = "FOREIGN KEY" if backend == "mariadb" else "CONSTRAINT"
    add = "FOREIGN KEY (consumer_type_id) REFERENCES consumer_types (id)"

    def alter(change):
        with store.engines().writer.begin() as connection:
            connection.exec_driver_sql(f"ALTER TABLE consumers {change}")

    alter(f"DROP {drop} {key}")
    try:
        outcome = delete_type(store)
    finally:
        alter(f"ADD CONSTRAINT {key} {add}")
    assert outcome.status == SKIPPED
    assert f"ALTER TABLE consumers ADD CONSTRAINT {key} {add}." in outcome.reason
    assert delete_type(store) == Outcome(APPLIED)


def test_a_removed_consumer_comes_back_only_after_its_type(store, run_audit, apply, plan, live):
    """The undo of two plans, in both orders."""
    host, types = Host(store), plan.with_name("types")
    orphan = instance(store, host, type=TYPE)
    before = image(store)
    options = ("--live", live(host.consumer), "--type", TYPE)
    run_audit(*options, "--allow-many-orphans", "--plan", plan)
    assert apply(plan) == (1, 0, 0)
    run_audit("--code", "unused_type", "--plan", types)
    assert apply(types) == (1, 0, 0)
    assert apply(f"{plan}.undo") == (0, 0, 1)
    assert allocations_of(store, orphan) == {}
    assert_sound(store)
    assert apply(f"{types}.undo") == (1, 0, 0)
    assert apply(f"{plan}.undo") == (1, 0, 0)
    assert image(store) == before
    assert_sound(store)


def test_the_undo_is_skipped_if_the_type_was_created_again(store, run_audit, apply, plan):
    host = Host(store)
    instance(store, host, type=TYPE)
    (orphan,) = [row.uuid for row in rows(store, tables.consumers) if row.uuid != host.consumer]
    allocation.delete(store, orphan)
    run_audit("--code", "unused_type", "--plan", plan)
    assert apply(plan) == (1, 0, 0)
    instance(store, host, type="OTHER")  # SQLite would give its id again
    instance(store, host, type=TYPE, vcpus=1)
    assert apply(f"{plan}.undo") == (0, 0, 1)
    assert apply(plan) == (0, 0, 1)
    assert_sound(store)


@pytest.mark.parametrize("code", ["unused_type", "unused_class", "unused_trait"])
def test_the_undo_is_skipped_if_another_name_has_the_id(store, run_audit, apply, plan, code):
    """The service assigns the largest id of a class again, SQLite any largest id."""
    table = {
        "unused_type": tables.consumer_types,
        "unused_class": tables.resource_classes,
        "unused_trait": tables.traits,
    }[code]
    host, name = Host(store), "CUSTOM_UNUSED"
    host.run(table.insert().values(id=20_000, name=name))
    run_audit("--code", code, "--plan", plan)
    assert apply(plan) == (1, 0, 0)
    host.run(table.insert().values(id=20_000, name="CUSTOM_OTHER"))
    _, printed, _ = run_audit("--apply", f"{plan}.undo")
    assert f"{name} had the name {name} and the id 20000; CUSTOM_OTHER has the name" in printed
    host.run(table.delete().where(table.c.id == 20_000))
    assert apply(f"{plan}.undo") == (1, 0, 0)
    assert apply(f"{plan}.undo") == (0, 1, 0)


# --- foreign keys that always fail ---------------------------------------------------------


@pytest.fixture
def root_of_another_tree(store, backend):
    """A provider that another tree has as its root by mistake."""
    if backend == "sqlite":
        pytest.skip("it does not check foreign keys")
    host, root = Host(store), new_provider(store)
    (root_id,) = host.values(tables.resource_providers.c.id, uuid=root)
    host.provider(root_provider_id=root_id)
    return root


def test_a_foreign_key_that_always_fails_is_a_defect(store, root_of_another_tree):
    """It is not reported as a concurrent update, which clients repeat."""
    conflicts = []
    observed = store.writing_with(on_conflict=lambda: conflicts.append(1))
    with pytest.raises(sa.exc.IntegrityError):
        provider.delete(observed, root_of_another_tree)
    assert len(conflicts) < 10


def test_an_action_whose_foreign_key_always_fails_is_skipped(store, root_of_another_tree):
    action = DeleteProvider(
        finding="",
        provider=root_of_another_tree,
        generation=0,
        name=provider.show(store, root_of_another_tree).name,
    )
    outcome = apply_action(store, action, IncompleteConsumer("", ""), lambda _entry: None)
    assert outcome.status == SKIPPED
    assert "foreign key" in outcome.reason
