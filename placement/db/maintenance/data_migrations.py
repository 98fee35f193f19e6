"""Online data migrations: changes of data that a revision requires, in batches.

They run while the service runs, on schemas before the revisions that require them, so they use
only tables and columns of the first revision.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from placement.core.model import IncompleteConsumer
from placement.db import clocks
from placement.db.clocks import utcnow
from placement.db.store import Store
from placement.db.transaction import Transaction

_providers = sa.table(
    "resource_providers",
    *(sa.column(name) for name in ("id", "root_provider_id", "parent_provider_id", "updated_at")),
)
_allocations = sa.table("allocations", sa.column("consumer_id"))
_consumers = sa.table(
    "consumers",
    *(
        sa.column(name)
        for name in ("id", "uuid", "project_id", "user_id", "generation", "created_at")
    ),
)


class Batch(NamedTuple):
    """The numbers of rows found, up to the limit, and of rows migrated."""

    found: int
    migrated: int


class ParentLoops(RuntimeError):  # noqa: N818
    """Providers without root whose parents form a loop."""

    def __init__(self, ids: Sequence[int]) -> None:
        listed = ", ".join(map(str, ids[:5])) + (", ..." if len(ids) > 5 else "")
        super().__init__(
            f"{len(ids)} resource providers (id {listed}) have no root: they are in or below a "
            "loop of parents. Set parent_provider_id of one provider of each loop to NULL, then "
            "run `placement-manage db online_data_migrations` again."
        )


def set_root_provider_ids(store: Store, limit: int) -> Batch:
    """Set missing roots of providers to the last provider in their chain of parents.

    Providers in or below a loop of parents remain unchanged.
    Raises: ParentLoops, if no other providers without a root exist.
    """
    return store.write(_set_roots, limit)


def _set_roots(tx: Transaction, limit: int) -> Batch:
    rootless = sa.select(_providers.c.id).where(_providers.c.root_provider_id.is_(None))
    looped, migrated = [], 0
    for id_ in tx.connection.execute(rootless.order_by(_providers.c.id)).scalars().all():
        root = _root_of(tx.connection, id_)
        if root is None:
            looped.append(id_)
            continue
        update = sa.update(_providers).where(_providers.c.id == id_)
        tx.connection.execute(update.values(root_provider_id=root, updated_at=utcnow()))
        migrated += 1
        if migrated == limit:
            break
    if looped and not migrated:
        raise ParentLoops(looped)
    return _published(tx, migrated)


def _root_of(connection: sa.Connection, id_: int) -> int | None:
    """Return the last existing provider in the chain of parents, None if it is a loop."""
    parent_of = sa.select(_providers.c.id, _providers.c.parent_provider_id)
    chain: list[int] = []
    provider_id: int | None = id_
    while provider_id is not None and provider_id not in chain:
        row = connection.execute(parent_of.where(_providers.c.id == provider_id)).one_or_none()
        if row is None:  # a parent that does not exist
            return chain[-1]
        chain.append(provider_id)
        provider_id = row.parent_provider_id
    return chain[-1] if provider_id is None else None


def create_incomplete_consumers(store: Store, limit: int, incomplete: IncompleteConsumer) -> Batch:
    """Insert consumers that have allocations and no row."""
    return store.write(_create_consumers, limit, incomplete)


def _create_consumers(tx: Transaction, limit: int, incomplete: IncompleteConsumer) -> Batch:
    project_id = _ensure(tx.connection, "projects", incomplete.project_id)
    user_id = _ensure(tx.connection, "users", incomplete.user_id)
    uuids = tx.connection.execute(without_record().limit(limit)).scalars().all()
    rows = [
        {
            "uuid": uuid,
            "project_id": project_id,
            "user_id": user_id,
            "generation": 0,
            "created_at": utcnow(),
        }
        for uuid in uuids
    ]
    if rows:
        tx.connection.execute(sa.insert(_consumers), rows)
    return Batch(len(rows), len(rows))


def without_record() -> sa.Select[tuple[str]]:
    """Select the UUIDs of consumers that have allocations and no row."""
    joined = _allocations.outerjoin(_consumers, _consumers.c.uuid == _allocations.c.consumer_id)
    return (
        sa.select(_allocations.c.consumer_id)
        .distinct()
        .select_from(joined)
        .where(_consumers.c.id.is_(None))
        .order_by(_allocations.c.consumer_id)
    )


def _ensure(connection: sa.Connection, table_name: str, external_id: str) -> int:
    """Return the id of a project or user, which is inserted if it does not exist."""
    table = sa.table(
        table_name, *(sa.column(name) for name in ("id", "external_id", "created_at"))
    )
    find: sa.Select[int] = sa.select(table.c.id).where(table.c.external_id == external_id)
    row_id = connection.scalar(find)
    if row_id is not None:
        return row_id
    row = {"external_id": external_id, "created_at": utcnow()}
    connection.execute(table.insert(), row)
    return connection.execute(find).scalar_one()


def _published(tx: Transaction, count: int) -> Batch:
    """Make running processes load everything again, if the schema has clocks already."""
    if count and sa.inspect(tx.connection).has_table("clocks"):
        clocks.start_epoch(tx.connection)
    return Batch(count, count)


Migration = Callable[[Store, int], Batch]


def all_of(incomplete: IncompleteConsumer) -> dict[str, Migration]:
    """Return the migrations by name, in the order in which they run."""
    return {
        "set_root_provider_ids": set_root_provider_ids,
        "create_incomplete_consumers": lambda store, limit: create_incomplete_consumers(
            store, limit, incomplete
        ),
    }
