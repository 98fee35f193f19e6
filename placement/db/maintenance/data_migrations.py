"""Online data migrations: changes of data that a revision requires, in batches.

They run while the service runs, on schemas before the revisions that require them, so they use
only tables and columns of the first revision.
"""

from collections.abc import Callable
from functools import partial

import sqlalchemy as sa

from placement.core.model import IncompleteConsumer
from placement.db.clocks import start_epoch, utcnow
from placement.db.resources.names import insert_names
from placement.db.store import Store, write_transaction
from placement.db.tables import allocations, consumers, projects, resource_providers, users
from placement.db.transaction import Transaction
from placement.db.writes import rows_of

_provider = resource_providers.c
_consumer_id = allocations.c.consumer_id
_parent = resource_providers.alias("parent").c
_IS_ROOTLESS = _provider.root_provider_id.is_(None)
# The UUIDs of consumers that have allocations and no row
WITHOUT_RECORD = (
    sa.select(_consumer_id)
    .distinct()
    .outerjoin_from(allocations, consumers, consumers.c.uuid == _consumer_id)
    .where(consumers.c.id.is_(None))
    .order_by(_consumer_id)
)
_PARENT = sa.select(_parent.id).where(_parent.id == _provider.parent_provider_id)


@write_transaction
def set_root_provider_ids(tx: Transaction, limit: int) -> int:
    """Set missing roots of providers to the last provider in their chain of parents.

    Returns the number of changed rows. A chain that leads into a loop of parents ends where it
    would repeat; ``placement-status upgrade check`` reports the loop.
    """
    rootless = sa.select(_provider.id).where(_IS_ROOTLESS)
    ids = tx.connection.scalars(rootless.order_by(_provider.id).limit(limit)).all()
    changed = 0
    for id_ in ids:
        values = {"root_provider_id": _root_of(tx.connection, id_), "updated_at": utcnow()}
        update = resource_providers.update().where(_provider.id == id_, _IS_ROOTLESS)
        changed += tx.connection.execute(update.values(values)).rowcount
    if changed and sa.inspect(tx.connection).has_table("clocks"):
        start_epoch(tx.connection)  # running processes load everything again
    return changed


def _root_of(connection: sa.Connection, id_: int) -> int:
    """Return the last existing provider in the chain of parents, before it repeats."""
    chain: list[int] = []
    existing: int | None = id_
    while existing is not None and existing not in chain:
        chain.append(existing)
        existing = connection.scalar(_PARENT.where(_provider.id == existing))
    return chain[-1]


@write_transaction
def create_incomplete_consumers(
    tx: Transaction, limit: int, incomplete: IncompleteConsumer
) -> int:
    """Insert consumers that have allocations and no row; return their number."""
    owner = {
        "project_id": _id(tx.connection, projects.c.external_id, incomplete.project_id),
        "user_id": _id(tx.connection, users.c.external_id, incomplete.user_id),
    }
    rows = [
        {"uuid": uuid, **owner, "generation": 0, "created_at": utcnow()}
        for uuid in _still_without_record(tx, limit)
    ]
    if rows:
        tx.connection.execute(consumers.insert(), rows)
    return len(rows)


def _still_without_record(tx: Transaction, limit: int) -> list[str]:
    """Return UUIDs of consumers that have allocations, locked, and no row.

    The first statement locks nothing: the allocations may be removed or replaced before they are
    locked.
    """
    uuids = tx.connection.scalars(WITHOUT_RECORD.limit(limit)).all()
    tx.allocations.touch(uuids)
    rows = rows_of(tx.connection, WITHOUT_RECORD, _consumer_id, uuids)
    return [row.consumer_id for row in rows]


def _id(connection: sa.Connection, column: sa.Column[str], name: str) -> int:
    """Return the id of a project or user, which is inserted if it does not exist."""
    return insert_names(connection, column, [name], others_exist=True)[name]


Migration = Callable[[Store, int], int]


def all_of(incomplete: IncompleteConsumer) -> dict[str, Migration]:
    """Return the migrations by name, in the order in which they run."""
    return {
        "set_root_provider_ids": set_root_provider_ids,
        "create_incomplete_consumers": partial(create_incomplete_consumers, incomplete=incomplete),
    }
