"""Factories for test data, and checks of the consistency of the database."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import sqlalchemy as sa

from placement.core.model import (
    ConsumerClaim,
    Inventory,
    ReplaceInventories,
)
from placement.db import tables
from placement.objects import allocation, inventory, provider


def uuid() -> str:
    return str(uuid4())


def new_provider(store, name=None, parent=None, **inventories) -> str:
    """Return the UUID of a new provider with inventories: totals, or Inventory values."""
    provider_uuid = uuid()
    provider.create(store, provider_uuid, name or f"provider-{provider_uuid}", parent)
    if inventories:
        set_inventories(store, provider_uuid, **inventories)
    return provider_uuid


def set_inventories(store, provider_uuid, **inventories):
    """Replace the inventories of a provider; return it."""
    new_inventories = {
        name: value if isinstance(value, Inventory) else Inventory(total=value)
        for name, value in inventories.items()
    }
    at = generation(store, provider_uuid)
    return inventory.replace(store, ReplaceInventories(provider_uuid, at, new_inventories))


def generation(store, provider_uuid) -> int:
    return provider.show(store, provider_uuid).generation


def a_claim(consumer, resources, **values) -> ConsumerClaim:
    """Return a claim; without ``generation`` the consumer generation is not checked."""
    checked = "generation" in values
    defaults = {"project_id": "project", "user_id": "user", "check_generation": checked}
    return ConsumerClaim(consumer, resources, **{**defaults, **values})


def claim(store, consumer, resources, **values) -> None:
    """Replace the allocations of a consumer; ``resources`` is by provider."""
    allocation.replace(store, (a_claim(consumer, resources, **values),))


def allocations_of(store, consumer) -> dict:
    """Return the allocations of a consumer, by provider."""
    allocations = allocation.of_consumer(store, consumer).allocations
    return {uuid: dict(allocated.resources) for uuid, allocated in allocations.items()}


def consumer_generation(store, consumer):
    """Return the generation, None for a consumer without allocations."""
    consumer_record = allocation.of_consumer(store, consumer).consumer
    return consumer_record and consumer_record.generation


def rows(store, table) -> list:
    """Return all rows of a table in the order of its primary key."""
    with store.read() as tx:
        return list(tx.connection.execute(sa.select(table).order_by(*table.primary_key)))


def used(store, provider_uuid) -> dict:
    """Return the used amounts that are not 0."""
    from placement.objects import usage  # noqa: PLC0415

    usages = usage.of_provider(store, provider_uuid).usages
    return {name: amount for name, amount in usages.items() if amount}


def assert_sound(store) -> None:
    """Check the consistency of usage, consumers, classes and trees between the tables."""
    summed: Counter = Counter()
    for row in rows(store, tables.allocations):
        summed[row.resource_provider_id, row.resource_class_id] += row.used
    inventories = {
        (row.resource_provider_id, row.resource_class_id): row
        for row in rows(store, tables.inventories)
    }
    assert {key: row.used for key, row in inventories.items() if row.used} == summed
    holders = {row.consumer_id for row in rows(store, tables.allocations)}
    consumers = rows(store, tables.consumers)
    assert {row.uuid for row in consumers} == holders
    type_ids = {row.id for row in rows(store, tables.consumer_types)}
    assert {row.consumer_type_id for row in consumers} <= {*type_ids, None}
    class_ids = {row.id for row in rows(store, tables.resource_classes)}
    assert {class_id for _, class_id in inventories} <= class_ids
    _assert_trees(rows(store, tables.resource_providers))


def _assert_trees(providers) -> None:
    """Check that each root is the end of the chain of parents."""
    by_id = {row.id: row for row in providers}
    for row in providers:
        top, steps = row, 0
        while top.parent_provider_id is not None:
            top, steps = by_id[top.parent_provider_id], steps + 1
            assert steps <= len(by_id), "a loop of parents"
        assert row.root_provider_id == top.id


@contextmanager
def statements(store) -> Iterator[list[str]]:
    """Record the statements of a write, including BEGIN and COMMIT.

    Those of one message are recorded one by one.
    """
    executed: list[str] = []
    engine = store.engines().writer

    def execute(_connection, _cursor, statement, _parameters, _context, _many):
        executed.extend(statement.split("; "))

    def begin(connection):
        if connection.dialect.name != "sqlite":  # the store sends BEGIN as a statement there
            executed.append("BEGIN")

    def commit(_connection):
        executed.append("COMMIT")

    listeners = {"before_cursor_execute": execute, "begin": begin, "commit": commit}
    for name, listener in listeners.items():
        sa.event.listen(engine, name, listener)
    yield executed
    for name, listener in listeners.items():
        sa.event.remove(engine, name, listener)
