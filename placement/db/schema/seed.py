"""The standard traits and resource classes, and the clocks, which every database has."""

from typing import Any

import os_resource_classes
import os_traits
import sqlalchemy as sa

from placement.core.model import EPOCH_CLOCK
from placement.db import clocks
from placement.db.store import Store
from placement.db.tables import clocks as clocks_table
from placement.db.tables import resource_classes, traits
from placement.db.transaction import Transaction

_CLOCK, _NAMES = clocks_table.c.id, (traits.c.name, resource_classes.c.name)


def sync(store: Store) -> None:
    """Insert the standard traits and resource classes that are missing; change no others.

    Safe to run in several processes at once: a conflicting transaction is retried.
    Cost: three statements; if nothing is missing, no connection for writes is opened.
    """
    with store.read() as tx:
        is_incomplete = any(_missing(tx.connection, key) for key in (_CLOCK, *_NAMES))
    if is_incomplete:
        store.write(_insert_all)


def _insert_all(tx: Transaction) -> None:
    insert_clocks(tx.connection)
    inserted = [_insert(tx.connection, key) for key in _NAMES]
    if any(inserted):
        tx.publish(names=True)


def insert_clocks(connection: sa.Connection) -> None:
    """Insert the missing clocks: a database that was created without revisions has none."""
    _insert(connection, _CLOCK)


def _insert(connection: sa.Connection, key: sa.Column[Any]) -> bool:
    """Insert the missing rows of a table; return whether there are any."""
    rows = _missing(connection, key)
    if rows:
        connection.execute(key.table.insert(), rows)
    return bool(rows)


def _missing(connection: sa.Connection, key: sa.Column[Any]) -> list[dict[str, Any]]:
    existing = set(connection.scalars(sa.select(key)))
    return [row for row in _standard_rows()[key.table.name] if row[key.name] not in existing]


def _standard_rows() -> dict[str, list[dict[str, Any]]]:
    """Return the rows that every database has, by table."""
    now, classes = {"created_at": clocks.utcnow()}, enumerate(os_resource_classes.STANDARDS)
    values = {clock: clocks.first_value(clock) for clock in range(clocks.CLOCKS)}
    values[EPOCH_CLOCK] = clocks.new_epoch()
    return {
        "clocks": [{"id": id_, "value": value} for id_, value in values.items()],
        "traits": [{"name": name, **now} for name in sorted(os_traits.get_traits())],
        "resource_classes": [{"id": id_, "name": name, **now} for id_, name in classes],
    }
