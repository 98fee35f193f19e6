"""Compares the tables of a database with those of the revision that it records.

`placement-manage db stamp` records a revision without applying it. If the schema is an older one,
`db sync` would apply nothing or too little, and each later query would fail.
"""

import logging

import sqlalchemy as sa
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from placement.db.sqlalchemy import models
from placement.db.sqlalchemy.compatibility import IncompatibleSchema

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
    tables = models.metadata.sorted_tables
    return not _missing(stored, {table.name: frozenset(table.columns.keys()) for table in tables})


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
