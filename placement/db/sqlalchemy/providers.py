"""Statements about resource providers and their trees."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import sqlalchemy as sa
from oslo_db import exception as oslo

from placement import exception
from placement.core.model import Provider
from placement.core.storable_text import is_storable
from placement.db.sqlalchemy.clocks import utcnow
from placement.db.sqlalchemy.id_cache import Names
from placement.db.sqlalchemy.lookups import chunks, inserted_id
from placement.db.sqlalchemy.models import (
    inventories,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
)
from placement.db.store import WriteConflict

_own = resource_providers.c
_root = resource_providers.alias("root")
_parent = resource_providers.alias("parent")

# A provider without a root is one that is half removed, or not migrated: nobody sees it.
_PROVIDER = (
    sa.select(
        _own.id,
        _own.uuid,
        _own.name,
        sa.func.coalesce(_own.generation, 0).label("generation"),
        _parent.c.uuid.label("parent_uuid"),
        _root.c.uuid.label("root_uuid"),
        sa.func.coalesce(_own.updated_at, _own.created_at).label("modified_at"),
    )
    .join(_root, _root.c.id == _own.root_provider_id)
    .outerjoin(_parent, _parent.c.id == _own.parent_provider_id)
)
_FIND = _PROVIDER.where(_own.uuid == sa.bindparam("uuid"))
_LOCK = sa.select(_own.id, _own.uuid).where(_own.uuid == sa.bindparam("uuid")).with_for_update()
_IDS: sa.BindParameter[int] = sa.bindparam("ids", expanding=True)
_LOCK_IDS = sa.select(_own.id).where(_own.id.in_(_IDS)).order_by(_own.id).with_for_update()
_ROOTS = sa.select(_own.root_provider_id).where(
    _own.uuid.in_(sa.bindparam("uuids", expanding=True))
)


class Node(NamedTuple):
    """Where a provider stands in its tree."""

    id: int
    uuid: str
    parent_id: int | None
    root_id: int


class Providers:
    """Resource providers, in one transaction."""

    def __init__(self, connection: sa.Connection, names: Names) -> None:
        self._connection = connection
        self._names = names

    def find(self, uuid: str) -> Provider | None:
        """Return the provider, None if there is none."""
        if not is_storable(uuid):
            return None
        row = self._connection.execute(_FIND, {"uuid": uuid}).one_or_none()
        return Provider(**row._asdict()) if row and row.uuid == uuid else None

    def lock(self, uuid: str) -> Provider | None:
        """Return the provider as it is now; until the end nobody else changes it or what it has.

        Two statements: PostgreSQL would join a locked row with others as they were
        before it waited for the lock.
        """
        if not is_storable(uuid):
            return None
        self._connection.execute(_LOCK, {"uuid": uuid}).all()
        return self.find(uuid)

    def lock_as_parent(self, uuid: str) -> Provider | None:
        """Return the provider, locked together with its root: a child refers to both.

        In the order of ids, as all that lock several do.
        """
        if not is_storable(uuid):
            return None
        place = self._place(uuid)
        self._lock_ids(set(place))
        if self._place(uuid) != place:
            raise WriteConflict
        return self.find(uuid)

    def _place(self, uuid: str) -> tuple[int, ...]:
        """Return the ids of a provider and of its root."""
        query = sa.select(_own.id, _own.root_provider_id).where(_own.uuid == uuid)
        row = self._connection.execute(query).one_or_none()
        return () if row is None or row.root_provider_id is None else tuple(row)

    def lock_trees(self, uuids: Iterable[str]) -> Mapping[str, Node]:
        """Return all providers in the trees of these, locked in the order of ids, by UUID.

        Trees may grow, or join, while their rows are waited for. To lock the new members
        then, out of order, could deadlock: the transaction is run again instead.
        """
        wanted = sorted(filter(is_storable, uuids))
        seen = {node.id for node in self._nodes(wanted).values()}
        self._lock_ids(seen)
        nodes = self._nodes(wanted)
        if not seen.issuperset(node.id for node in nodes.values()):
            raise WriteConflict
        return nodes

    def _nodes(self, uuids: list[str]) -> dict[str, Node]:
        roots = self._connection.execute(_ROOTS, {"uuids": uuids}).scalars().all()
        columns = (_own.id, _own.uuid, _own.parent_provider_id, _own.root_provider_id)
        rows = self._connection.execute(
            sa.select(*columns).where(_own.root_provider_id.in_(set(roots)))
        )
        return {row.uuid: Node(*row) for row in rows}

    def _lock_ids(self, ids: Iterable[int]) -> None:
        for chunk in chunks(sorted(ids)):
            self._connection.execute(_LOCK_IDS, {"ids": chunk}).all()

    def insert(self, uuid: str, name: str, parent: Provider | None) -> int:
        """Return the id of a new provider; without a parent it is its own root.

        The rows of the parent and its root must be locked.
        Raises: DuplicateProviderUuid, DuplicateProviderName.
        """
        row = {"uuid": uuid, "name": name, "generation": 0, "created_at": utcnow()}
        if parent is not None:
            _, root_id = self._place(parent.uuid)
            row |= {"parent_provider_id": parent.id, "root_provider_id": root_id}
        with _duplicates(uuid, name):
            done = self._connection.execute(resource_providers.insert(), row)
        id_ = inserted_id(done)
        if parent is None:
            self._update([id_], root_provider_id=id_, updated_at=utcnow())
        return id_

    def rename(self, id_: int, name: str) -> None:
        """Give a locked provider a name.  Raises: DuplicateProviderName."""
        with _duplicates("", name):
            self._update([id_], name=name, updated_at=utcnow())

    def update(self, id_: int, name: str, parent_id: int | None) -> None:
        """Give a locked provider a name and a parent.  Raises: DuplicateProviderName."""
        with _duplicates("", name):
            self._update([id_], name=name, parent_provider_id=parent_id, updated_at=utcnow())

    def move(self, ids: Iterable[int], root_id: int) -> None:
        """Put locked providers under another root."""
        self._update(ids, root_provider_id=root_id)

    def _update(self, ids: Iterable[int], **values: object) -> None:
        for chunk in chunks(ids):
            self._connection.execute(
                resource_providers.update().where(_own.id.in_(chunk)).values(values)
            )

    def has_children(self, id_: int) -> bool:
        """Tell whether a provider has children; nobody gives it any if its row is locked."""
        found = sa.select(_own.id).where(_own.parent_provider_id == id_).limit(1)
        return self._connection.execute(found).first() is not None

    def delete(self, id_: int) -> None:
        """Remove a locked provider, with its inventories, traits and aggregate associations."""
        for table in (inventories, resource_provider_traits, resource_provider_aggregates):
            self._connection.execute(table.delete().where(table.c.resource_provider_id == id_))
        # MySQL does not remove a row that refers to itself
        self._update([id_], root_provider_id=None)
        self._connection.execute(resource_providers.delete().where(_own.id == id_))

    def grow(self, steps: Mapping[int, int]) -> None:
        """Increase the generations of locked providers by more than what is published."""
        for step in set(steps.values()) - {0}:
            ids = [id_ for id_, own_step in steps.items() if own_step == step]
            self._update(ids, generation=sa.func.coalesce(_own.generation, 0) + step)


@contextmanager
def _duplicates(uuid: str, name: str) -> Iterator[None]:
    """Tell which column holds a value that another provider has."""
    try:
        yield
    except oslo.DBDuplicateEntry as error:
        if "uuid" in str(error.columns):
            raise exception.DuplicateProviderUuid(uuid) from error
        raise exception.DuplicateProviderName(name) from error
