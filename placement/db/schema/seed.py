"""The standard traits and resource classes, and the clocks, which every database has."""

from collections.abc import Mapping

import os_resource_classes
import os_traits
import sqlalchemy as sa

from placement.core.model import EPOCH_CLOCK
from placement.db import clocks
from placement.db.store import Store
from placement.db.tables import clocks as clocks_table
from placement.db.tables import resource_classes, traits
from placement.db.transaction import Transaction


def sync(store: Store) -> None:
    """Insert the standard traits and resource classes that are missing; change no others.

    Safe to run in several processes at once: a conflicting transaction is retried.
    Cost: three statements; if nothing is missing, no connection for writes is opened.
    """
    with store.read() as tx:
        missing = _missing_clocks(tx.connection), *_missing_names(tx.connection)
    if any(missing):
        store.write(lambda tx: insert_clocks(tx.connection))
        store.write(_insert_names)


def insert_clocks(connection: sa.Connection) -> None:
    """Insert the missing clocks: a database that was created without revisions has none."""
    rows = _missing_clocks(connection)
    if rows:
        connection.execute(clocks_table.insert(), rows)


def _missing_clocks(connection: sa.Connection) -> list[dict[str, int]]:
    existing = set(connection.scalars(sa.select(clocks_table.c.id)))
    first_values = {clock: clocks.first_value(clock) for clock in range(clocks.CLOCKS)}
    first_values[EPOCH_CLOCK] = clocks.new_epoch()
    return [
        {"id": id_, "value": value} for id_, value in first_values.items() if id_ not in existing
    ]


def _insert_names(tx: Transaction) -> None:
    new_traits, new_classes = _missing_names(tx.connection)
    if new_traits:
        rows = [{"name": name, "created_at": clocks.utcnow()} for name in sorted(new_traits)]
        tx.connection.execute(traits.insert(), rows)
    if new_classes:
        now = clocks.utcnow()
        rows = [{"id": id_, "name": name, "created_at": now} for name, id_ in new_classes.items()]
        tx.connection.execute(resource_classes.insert(), rows)
    if new_traits or new_classes:
        tx.publish(names=True)


def _missing_names(connection: sa.Connection) -> tuple[set[str], Mapping[str, int]]:
    """Return the missing standard traits, and the missing standard classes with their ids."""
    existing_classes = _names(connection, resource_classes)
    new_classes = {
        name: position
        for position, name in enumerate(os_resource_classes.STANDARDS)
        if name not in existing_classes
    }
    return set(os_traits.get_traits()) - _names(connection, traits), new_classes


def _names(connection: sa.Connection, table: sa.Table) -> set[str]:
    return set(connection.execute(sa.select(table.c.name)).scalars())
