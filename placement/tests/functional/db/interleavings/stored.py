"""The rows of a database: read, compared without the numbers of rows, and restored."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from placement.core.model import FIRST_CUSTOM_CLASS_ID
from placement.db import tables
from placement.db.store import Store

_Key = tuple[Any, ...]
Rows = Mapping[str, Mapping[_Key, Mapping[str, Any]]]
"""By table and primary key."""

_TABLES = [  # clocks never go back
    each
    for each in tables.metadata.sorted_tables
    if each.name != "clocks" and not each.name.startswith("insight_")
]
_STANDARD = {
    "resource_classes": tables.resource_classes.c.id >= FIRST_CUSTOM_CLASS_ID,
    "traits": tables.traits.c.name.startswith("CUSTOM_"),
}
# columns that contain the number of a row, with the table of the row and its name
_REFERENCES = {
    **dict.fromkeys(
        ("resource_provider_id", "root_provider_id", "parent_provider_id"),
        ("resource_providers", "uuid"),
    ),
    "resource_class_id": ("resource_classes", "name"),
    "trait_id": ("traits", "name"),
    "aggregate_id": ("placement_aggregates", "uuid"),
    "project_id": ("projects", "external_id"),
    "user_id": ("users", "external_id"),
    "consumer_type_id": ("consumer_types", "name"),
}
_OF_RUN = {"id", "created_at", "updated_at", "stamp"}
# on Galera, a read also waits for the writes of other nodes
_MYSQL = "SET foreign_key_checks = 0, wsrep_sync_wait = 15"
_WITHOUT_FOREIGN_KEYS = {
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
    "postgresql": "SET session_replication_role = replica",
    "sqlite": "PRAGMA foreign_keys = OFF",
}


class StoredRows:
    """The rows of one database, over a connection of its own."""

    def __init__(self, store: Store) -> None:
        engine = store.engines().writer
        self._engine = sa.create_engine(engine.url, poolclass=sa.StaticPool)
        with self._engine.begin() as connection:
            connection.exec_driver_sql(_WITHOUT_FOREIGN_KEYS[engine.dialect.name])
            if engine.dialect.name == "sqlite":
                connection.exec_driver_sql("PRAGMA synchronous = OFF")
        self._current = self.read()

    def close(self) -> None:
        self._engine.dispose()

    def read(self) -> Rows:
        """Return all rows except standard classes and traits."""
        with self._engine.begin() as connection:
            self._current = {table.name: _rows(connection, table) for table in _TABLES}
        return self._current

    def restore(self, rows: Rows) -> None:
        """Restore earlier rows in place of the last read; processes that know these are wrong."""
        with self._engine.begin() as connection:
            for table in _TABLES:
                before, now = rows[table.name], self._current[table.name]
                for key in now.keys() - before.keys():
                    connection.execute(table.delete().where(_is(table, key)))
                for key in now.keys() & before.keys():
                    if now[key] != before[key]:
                        connection.execute(table.update().where(_is(table, key)), before[key])
                added = [before[key] for key in before.keys() - now.keys()]
                if added:
                    connection.execute(table.insert(), added)
        self._current = rows


def _rows(connection: sa.Connection, table: sa.Table) -> dict[_Key, dict[str, Any]]:
    statement = sa.select(table).where(_STANDARD.get(table.name, sa.true()))
    rows = (dict(row) for row in connection.execute(statement).mappings())
    return {tuple(row[column.name] for column in table.primary_key): row for row in rows}


def _is(table: sa.Table, key: _Key) -> sa.ColumnElement[bool]:
    return sa.and_(
        *(column == value for column, value in zip(table.primary_key, key, strict=True))
    )


def values(rows: Rows) -> dict[str, list[str]]:
    """Return what the rows mean: names in place of numbers, and without times."""
    return {
        name: sorted(str(_value(row, rows)) for row in of_table.values())
        for name, of_table in rows.items()
        if name != "removed_providers"
    }


def _value(row: Mapping[str, Any], rows: Rows) -> dict[str, Any]:
    return {
        column: _name(column, value, rows)
        for column, value in row.items()
        if column not in _OF_RUN
    }


def _name(column: str, value: Any, rows: Rows) -> Any:
    if column not in _REFERENCES:
        return value
    table, key = _REFERENCES[column]
    return rows[table].get((value,), {key: value})[key]


def wrong_counters(rows: Rows) -> dict[_Key, tuple[int, int]]:
    """Return counters that are not the sums of allocations, with the sums.

    Providers whose allocations another implementation changed are left out.
    """
    sums: Counter[_Key] = Counter()
    for row in rows["allocations"].values():
        sums[row["resource_provider_id"], row["resource_class_id"]] += row["used"]
    wrong = {}
    for row in rows["inventories"].values():
        key = row["resource_provider_id"], row["resource_class_id"]
        provider = rows["resource_providers"][key[:1]]
        is_counted = provider["counted_generation"] == provider["generation"]
        if is_counted and row["used"] != sums[key]:
            wrong[key] = row["used"], sums[key]
    return wrong
