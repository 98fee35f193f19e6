"""Checks databases at a revision that this release does not know.

A later release of openstack-placement, or of this service, may have added revisions. As long as
they only add, the service can read and write the database: all columns that it needs exist, and
rows without a value for the new columns can be inserted.
"""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from placement.db.sqlalchemy import models

# Tables and columns that openstack-placement does not have.
_ADDED_TABLES = frozenset({"clocks", "removed_providers", "insight_requests"})
_ADDED_COLUMNS = frozenset(
    {
        ("resource_providers", "stamp"),
        ("resource_providers", "counted_generation"),
        ("inventories", "used"),
    }
)


class IncompatibleSchema(RuntimeError):  # noqa: N818
    """The schema is that of another release, and this one cannot use it."""


# What is logged and reported at a revision that only adds.
UNKNOWN_REVISION = (
    "The database is at revision {}, which this release does not know. Checked: it has all tables "
    "and columns that this release needs, and no other column requires a value. Not checked: "
    "types, constraints and the meaning of the data. Use a release that knows the revision."
)


def check_additive(connection: sa.Connection, revision: str) -> None:
    """Check that an unknown revision has only added to the schema.  Raises: IncompatibleSchema."""
    problems = list(_problems(sa.inspect(connection)))
    if problems:
        raise IncompatibleSchema(
            f"The database is at revision {revision}, which this release does not know, and its "
            f"schema cannot be used: {'; '.join(problems)}. Run a release that knows it, "
            "or restore the database of before its upgrade."
        )


def _problems(inspector: sa.Inspector) -> Iterator[str]:
    tables = set(inspector.get_table_names())
    for table in models.metadata.sorted_tables:
        if table.name in _ADDED_TABLES:
            continue
        if table.name not in tables:
            yield f"the table {table.name} is missing"
            continue
        yield from _column_problems(inspector, table)


def _column_problems(inspector: sa.Inspector, table: sa.Table) -> Iterator[str]:
    stored = {column["name"]: column for column in inspector.get_columns(table.name)}
    for name in table.columns.keys() - stored.keys():
        if (table.name, name) not in _ADDED_COLUMNS:
            yield f"the column {table.name}.{name} is missing"
    for name in stored.keys() - table.columns.keys():
        if not stored[name]["nullable"] and stored[name]["default"] is None:
            yield f"the column {table.name}.{name} requires a value"


def has_additions(connection: sa.Connection) -> bool:
    """Return whether a statement that reads all tables and columns of this service succeeds.

    Reflection would parse the definitions of tables, which takes 15 ms of each start. On
    PostgreSQL the transaction has failed if this is False.
    """
    try:
        connection.execute(_READ_ADDITIONS)
    except (sa.exc.OperationalError, sa.exc.ProgrammingError) as error:
        if error.connection_invalidated:
            raise
        return False
    return True


def _read_additions() -> sa.Select[Any]:
    tables = models.metadata.tables
    keys = {tables[name].c[key] for name in _ADDED_TABLES for key in tables[name].columns.keys()}  # noqa: SIM118
    columns = keys | {tables[name].c[key] for name, key in _ADDED_COLUMNS}
    nothing = (sa.select(column).where(sa.false()) for column in sorted(columns, key=str))
    return sa.select(*(each.scalar_subquery() for each in nothing))


_READ_ADDITIONS = _read_additions()


def lacks_additions(connection: sa.Connection) -> bool:
    """Return whether tables or columns of this service are missing."""
    inspector = sa.inspect(connection)
    if not set(inspector.get_table_names()) >= _ADDED_TABLES:
        return True
    return any(
        column not in {each["name"] for each in inspector.get_columns(table)}
        for table, column in _ADDED_COLUMNS
    )
