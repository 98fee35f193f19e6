"""Statements for resource classes.

A write that uses a custom class locks its row, shared, until its end. A write that renames or
deletes it locks the row exclusively. Standard classes never change and are not locked.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.core.model import CUSTOM_PREFIX, FIRST_CUSTOM_CLASS_ID
from placement.db.sqlalchemy.clocks import advance_all_of_providers, utcnow
from placement.db.sqlalchemy.db_errors import WriteConflict
from placement.db.sqlalchemy.lookups import rows_named
from placement.db.sqlalchemy.models import inventories, resource_classes

_class = resource_classes.c
_modified_at = sa.func.coalesce(_class.updated_at, _class.created_at).label("modified_at")
_SELECT = sa.select(_class.id, _class.name, _modified_at).order_by(_class.id)


class ResourceClass(NamedTuple):
    """A resource class as it is stored."""

    id: int
    name: str
    modified_at: datetime | None

    @property
    def is_standard(self) -> bool:
        """Whether it is one of os-resource-classes."""
        return self.id < FIRST_CUSTOM_CLASS_ID


def check_names(before: Mapping[str, int], now: Mapping[str, int]) -> None:
    """Return if no class was renamed between two statements.  Raises: WriteConflict.

    A claim does not lock the classes that it reads, and computes by their names.
    """
    names = {id_: name for name, id_ in now.items()}
    if any(names.get(id_, name) != name for name, id_ in before.items()):
        raise WriteConflict


class ResourceClasses:
    """Resource classes, in one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def all(self) -> list[ResourceClass]:
        """Return all classes, by id."""
        return [ResourceClass._make(row) for row in self._connection.execute(_SELECT)]

    def find(self, name: str) -> ResourceClass | None:
        """Return the class, or None."""
        return self._one(_SELECT, name)

    def lock(self, name: str) -> ResourceClass | None:
        """Return the class, locked: no other transaction uses or changes it."""
        return self._one(_SELECT.with_for_update(), name)

    def _one(self, statement: sa.Select[Any], name: str) -> ResourceClass | None:
        rows = [*rows_named(self._connection, statement, _class.name, [name])]
        return ResourceClass._make(rows[0]) if rows else None

    def ids(self, names: Collection[str]) -> dict[str, int]:
        """Return the ids of the classes that exist."""
        rows = rows_named(self._connection, _SELECT, _class.name, names)
        return {row.name: row.id for row in rows}

    def lock_shared(self, names: Collection[str]) -> dict[str, int]:
        """Return the ids of the classes that exist; they are not removed in this transaction."""
        custom = {name for name in names if name.startswith(CUSTOM_PREFIX)}
        shared = _SELECT.with_for_update(read=True)
        locked = rows_named(self._connection, shared, _class.name, custom)
        return self.ids(set(names) - custom) | {row.name: row.id for row in locked}

    def insert(self, name: str) -> None:
        """Insert a custom class.

        Its id is the largest one plus one, so classes are inserted one at a time: an insert locks
        the row of the first class, which nothing else locks.
        """
        first = sa.select(_class.id).order_by(_class.id).limit(1).with_for_update()
        self._connection.execute(first).all()
        last = self._connection.execute(sa.select(sa.func.max(_class.id))).scalar()
        id_ = FIRST_CUSTOM_CLASS_ID if last is None else max(last + 1, FIRST_CUSTOM_CLASS_ID)
        self._connection.execute(
            resource_classes.insert(), {"id": id_, "name": name, "created_at": utcnow()}
        )

    def rename(self, id_: int, name: str) -> None:
        """Rename a locked class."""
        self._connection.execute(
            resource_classes.update()
            .where(_class.id == id_)
            .values(name=name, updated_at=utcnow())
        )

    def is_in_use(self, id_: int) -> bool:
        """Return whether an inventory has a locked class; no inventory gets it until the end."""
        advance_all_of_providers(self._connection)
        users = sa.select(inventories.c.id).where(inventories.c.resource_class_id == id_).limit(1)
        return self._connection.execute(users).first() is not None

    def delete(self, id_: int) -> None:
        """Delete a locked class."""
        self._connection.execute(resource_classes.delete().where(_class.id == id_))
