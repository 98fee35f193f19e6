"""Checks databases at a revision that this release does not know.

A later release of openstack-placement, or of this service, may have added revisions. As long as
they only add, the service can read and write the database: all columns that it needs exist, and
rows without a value for the new columns can be inserted.

Compares the tables of a database with those of the revision that it records.

`placement-manage db stamp` records a revision without applying it. If the schema is an older one,
`db sync` would apply nothing or too little, and each later query would fail.
"""

import logging
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from placement.db import tables

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
    existing = set(inspector.get_table_names())
    for table in tables.metadata.sorted_tables:
        if table.name in _ADDED_TABLES:
            continue
        if table.name not in existing:
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
    keys = {
        tables.metadata.tables[name].c[key]
        for name in _ADDED_TABLES
        for key in tables.metadata.tables[name].columns.keys()  # noqa: SIM118
    }
    columns = keys | {tables.metadata.tables[name].c[key] for name, key in _ADDED_COLUMNS}
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


LOG = logging.getLogger(__name__)

BASE = "base"
"""Alembic's name for the state before the first revision."""

Schema = dict[str, frozenset[str]]
"""The names of the columns of each table."""


class RevisionNotApplied(IncompatibleSchema):
    """The database lacks tables or columns of a revision."""


def of(connection: sa.Connection) -> Schema:
    """Return the tables and columns of a database."""
    tables = sa.inspect(connection).get_multi_columns()
    return {
        name: frozenset(column["name"] for column in columns)
        for (_, name), columns in tables.items()
    }


def is_newest(stored: Schema) -> bool:
    """Return whether a database has all tables and columns of the newest revision."""
    newest = {
        table.name: frozenset(table.columns.keys()) for table in tables.metadata.sorted_tables
    }
    return not _missing(stored, newest)


def by_revision(scripts: ScriptDirectory) -> dict[str, Schema]:
    """Return the schema of each revision, the oldest first.

    Applies the revisions to an empty database in memory: 40 ms.
    """
    engine = sa.create_engine("sqlite://")
    schemas: dict[str, Schema] = {BASE: {}}
    with (
        engine.connect() as connection,
        Operations.context(_context(connection)),
    ):
        for script in [*scripts.walk_revisions()][::-1]:
            script.module.upgrade()
            schemas[script.revision] = of(connection)
    engine.dispose()
    return schemas


def _context(connection: sa.Connection) -> MigrationContext:
    """Return alembic's context; do not log it, because it is not that of the database."""
    logger = logging.getLogger("alembic.runtime.migration")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        return MigrationContext.configure(connection)
    finally:
        logger.setLevel(level)


def check_can_stamp(stored: Schema, revision: str, schemas: dict[str, Schema]) -> None:
    """Check that the tables of a database are those of a revision.  Raises: RevisionNotApplied.

    Some may be missing, with a warning: ``mysql-migrate-db.sh`` can copy them one after the other.
    """
    expected = schemas[revision]
    missing = _missing(stored, expected)
    present = {name: columns for name, columns in expected.items() if name in stored}
    if missing and (not present or _missing(stored, present)):
        raise RevisionNotApplied(
            f"Revision {revision} was not recorded: the database lacks {missing}. Run "
            "`placement-manage db sync`, which creates what is missing and records the revision."
        )
    if missing:
        LOG.warning(
            "Revision %s is recorded, but the database lacks %s. Copy them before it is used.",
            revision,
            missing,
        )


def check_is_applied(stored: Schema, revision: str, schemas: dict[str, Schema]) -> None:
    """Check the recorded revision.  Raises: RevisionNotApplied, which names the one to stamp."""
    missing = _missing(stored, schemas[revision])
    if missing:
        raise RevisionNotApplied(
            f"The database records revision {revision} but lacks {missing}. If it is the right "
            f"database, run `placement-manage db stamp {_applied(stored, schemas)}`, then "
            "`placement-manage db sync`."
        )


def _missing(stored: Schema, expected: Schema) -> str:
    """Return the missing tables and columns as words, empty if nothing is missing."""
    tables = sorted(expected.keys() - stored.keys())
    columns = sorted(
        f"{table}.{name}"
        for table in expected.keys() & stored.keys()
        for name in expected[table] - stored[table]
    )
    kinds = (("tables", tables), ("columns", columns))
    return " and ".join(f"the {kind} {', '.join(names)}" for kind, names in kinds if names)


def _applied(stored: Schema, schemas: dict[str, Schema]) -> str:
    """Return the oldest revision that has the same columns as the newest applied one.

    Later revisions may differ from it in indexes, which `db sync` creates if they are missing.
    """
    applied = [schema for schema in schemas.values() if not _missing(stored, schema)]
    return next(revision for revision, schema in schemas.items() if schema == applied[-1])
