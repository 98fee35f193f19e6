"""Steps of revisions that do nothing if they are done already.

MySQL commits each DDL statement by itself: an interrupted revision leaves some of its steps done,
and its number not recorded. The next run then begins with the first step and completes it. In
a Galera cluster another node may run the same revision at the same time.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op


def _inspector() -> sa.Inspector:
    return sa.inspect(op.get_bind())


def has_column(table: str, column: str) -> bool:
    """Return whether a table has a column."""
    return column in {each["name"] for each in _inspector().get_columns(table)}


def has_foreign_key(table: str, name: str) -> bool:
    """Return whether a table has a foreign key."""
    return name in {each["name"] for each in _inspector().get_foreign_keys(table)}


def has_index(table: str, name: str) -> bool:
    """Return whether a table has an index."""
    return name in {each["name"] for each in _inspector().get_indexes(table)}


def create_table(name: str, *columns: sa.schema.SchemaItem) -> None:
    """Create a table unless it exists."""
    if not _inspector().has_table(name):
        op.create_table(name, *columns)


def add_column(table: str, column: sa.Column[Any]) -> None:
    """Add a column unless the table has it."""
    if not has_column(table, column.name):
        op.add_column(table, column)


def create_index(name: str, table: str, columns: Sequence[str]) -> None:
    """Create an index unless it exists."""
    if not has_index(table, name):
        op.create_index(name, table, list(columns))


def drop_index(name: str, table: str) -> None:
    """Drop an index if it exists."""
    if has_index(table, name):
        op.drop_index(name, table)
