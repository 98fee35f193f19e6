"""Statements about resource classes.

Who puts a custom class to use locks its row, shared, until the end; who renames
or removes it locks the row for itself. Standard classes stay as they are, and
are not locked.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.core.model import CUSTOM_PREFIX, FIRST_CUSTOM_CLASS_ID
from placement.db.sqlalchemy.clocks import advance_all_of_providers, utcnow
from placement.db.sqlalchemy.id_cache import Names
from placement.db.sqlalchemy.lookups import rows_named
from placement.db.sqlalchemy.models import inventories, resource_classes

_own = resource_classes.c
_modified_at = sa.func.coalesce(_own.updated_at, _own.created_at).label("modified_at")
_CLASS = sa.select(_own.id, _own.name, _modified_at).order_by(_own.id)


class ResourceClass(NamedTuple):
    """A class as it is stored."""

    id: int
    name: str
    modified_at: datetime | None

    @property
    def is_standard(self) -> bool:
        """Whether it belongs to every cloud."""
        return self.id < FIRST_CUSTOM_CLASS_ID


class ResourceClasses:
    """Resource classes, in one transaction."""

    def __init__(self, connection: sa.Connection, names: Names) -> None:
        self._connection = connection
        self._names = names

    def all(self) -> list[ResourceClass]:
        """Return all classes, by id."""
        return [ResourceClass(*row) for row in self._connection.execute(_CLASS)]

    def find(self, name: str) -> ResourceClass | None:
        """Return the class, None if there is none."""
        return self._one(_CLASS, name)

    def lock(self, name: str) -> ResourceClass | None:
        """Return the class; until the end nobody else puts it to use or changes it."""
        return self._one(_CLASS.with_for_update(), name)

    def _one(self, statement: sa.Select[Any], name: str) -> ResourceClass | None:
        rows = [*rows_named(self._connection, statement, _own.name, [name])]
        return ResourceClass(*rows[0]) if rows else None

    def ids(self, names: Collection[str]) -> dict[str, int]:
        """Return the ids of those that are there."""
        return {row.name: row.id for row in rows_named(self._connection, _CLASS, _own.name, names)}

    def use(self, names: Collection[str]) -> dict[str, int]:
        """Return the ids of those that are there; they stay there until the end."""
        custom = {name for name in names if name.startswith(CUSTOM_PREFIX)}
        locked = rows_named(self._connection, _CLASS.with_for_update(read=True), _own.name, custom)
        return self.ids(set(names) - custom) | {row.name: row.id for row in locked}

    def insert(self, name: str) -> None:
        """Add a custom class.

        Its id is the next one, so classes are made one at a time: whoever makes one holds
        the row of the first class, which nobody locks for anything else.
        """
        first = sa.select(_own.id).order_by(_own.id).limit(1).with_for_update()
        self._connection.execute(first).all()
        last = self._connection.execute(sa.select(sa.func.max(_own.id))).scalar()
        id_ = FIRST_CUSTOM_CLASS_ID if last is None else max(last + 1, FIRST_CUSTOM_CLASS_ID)
        self._connection.execute(
            resource_classes.insert(), {"id": id_, "name": name, "created_at": utcnow()}
        )

    def rename(self, id_: int, name: str) -> None:
        """Give a locked class another name."""
        self._connection.execute(
            resource_classes.update().where(_own.id == id_).values(name=name, updated_at=utcnow())
        )

    def is_in_use(self, id_: int) -> bool:
        """Tell whether some inventory is of a locked class; until the end none gets to be."""
        advance_all_of_providers(self._connection)
        found = sa.select(inventories.c.id).where(inventories.c.resource_class_id == id_).limit(1)
        return self._connection.execute(found).first() is not None

    def delete(self, id_: int) -> None:
        """Remove a locked class."""
        self._connection.execute(resource_classes.delete().where(_own.id == id_))
