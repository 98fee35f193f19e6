"""Direct SQL, for rows that other programs write: operators, nova, other implementations."""

from datetime import datetime

import sqlalchemy as sa

NOW = datetime(2026, 1, 2, 3, 4, 5)
ADD_PROVIDER = (
    "INSERT INTO resource_providers"
    " (created_at, updated_at, id, uuid, name, generation, root_provider_id, parent_provider_id)"
    " VALUES (:now, NULL, :id, :uuid, :name, 0, NULL, :parent)"
)
SET_ROOT = "UPDATE resource_providers SET root_provider_id = :root WHERE id = :id"
ADD_INVENTORY = (
    "INSERT INTO inventories (created_at, updated_at, resource_provider_id, resource_class_id,"
    " total, reserved, min_unit, max_unit, step_size, allocation_ratio)"
    " VALUES (:now, NULL, :provider, :class, :total, 0, 1, :total, 1, 1.5)"
)
ADD_ALLOCATION = (
    "INSERT INTO allocations (created_at, updated_at, resource_provider_id, consumer_id,"
    " resource_class_id, used) VALUES (:now, NULL, :provider, :consumer, :class, :used)"
)
ADD_CONSUMER = (
    "INSERT INTO consumers (created_at, updated_at, uuid, project_id, user_id, generation,"
    " consumer_type_id) VALUES (:now, NULL, :uuid, 1, 1, 1, 1)"
)

GROW = (
    "UPDATE resource_providers SET generation = generation + 1, updated_at = :now"
    " WHERE id = :id AND generation = :generation"
)


def execute(store, statement, *rows):
    """Run the statement with each of the rows, all in one transaction."""

    def work(tx):
        for row in rows or ({},):
            tx.connection.execute(sa.text(statement), row)

    store.write(work)


def scalar(store, statement):
    """Return the first value of the result."""
    with store.read() as tx:
        return tx.connection.scalar(sa.text(statement))
