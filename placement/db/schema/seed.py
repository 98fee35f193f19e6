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
        store.write(_insert_clocks)
        store.write(_insert_names)


def _insert_clocks(tx: Transaction) -> None:
    missing = _missing_clocks(tx.connection)
    if missing:
        rows = [{"id": clock, "value": _first_value(clock)} for clock in missing]
        tx.connection.execute(clocks_table.insert(), rows)


def _missing_clocks(connection: sa.Connection) -> list[int]:
    """Return the missing clocks: a database that was created without revisions has none."""
    existing = set(clocks.values(connection))
    return [clock for clock in range(clocks.CLOCKS) if clock not in existing]


def _first_value(clock: int) -> int:
    return clocks.new_epoch() if clock == EPOCH_CLOCK else clocks.first_value(clock)


def _insert_names(tx: Transaction) -> None:
    new_traits, new_classes = _missing_names(tx.connection)
    if new_traits:
        rows = [{"name": name, "created_at": clocks.utcnow()} for name in sorted(new_traits)]
        tx.connection.execute(traits.insert(), rows)
    if new_classes:
        _insert_classes(tx.connection, new_classes)
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


def _insert_classes(connection: sa.Connection, ids: Mapping[str, int]) -> None:
    now = clocks.utcnow()
    rows = [{"id": id_, "name": name, "created_at": now} for name, id_ in ids.items()]
    connection.execute(resource_classes.insert(), rows)
