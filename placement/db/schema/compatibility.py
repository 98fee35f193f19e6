"""Compares the tables and columns of a database with the schema of this service.

Each table and column that the first revision does not have names the revision that adds it, see
:mod:`placement.db.tables`. One comparison therefore shows whether

* the service can use the database;
* the schema of the recorded revision exists: ``placement-manage db stamp`` records a revision
  without applying it, and ``db sync`` would then apply too little;
* a revision that this release does not know has only added to the schema: a later release of
  openstack-placement, or of this service, may have upgraded the database. The service can use it
  if all columns exist that it needs, and rows without a value for the new columns can be inserted.

Types, constraints and indexes are not compared.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.db import tables

LOG = logging.getLogger(__name__)

# Alembic's name for the state before the first revision
BASE = "base"
# The revisions, the oldest first; a test compares them with the scripts.
REVISIONS = (
    "b4ed3a175331",
    "611cd6dffd7b",
    "b5c396305c25",
    tables.CONSUMER_TYPES,
    "a082b8bb98d0",
    tables.OURS,
    tables.EQUAL_REQUESTS,
)
# How the revisions of development releases begin, which have parts of the revision OURS
DEVELOPMENT = "c0de5a1d7e0"
HEAD = REVISIONS[-1]
# The newest revision of the schema of other implementations
COMMON_HEAD = REVISIONS[REVISIONS.index(tables.OURS) - 1]

# Logged and reported if an unknown revision has only added to the schema
UNKNOWN_REVISION = (
    "The database is at revision {}, which this release does not know. Checked: it has all tables "
    "and columns that this release needs, and no other column requires a value. Not checked: "
    "types, constraints and the meaning of the data. Use a release that knows the revision."
)


class IncompatibleSchema(RuntimeError):  # noqa: N818
    """The schema belongs to another release, and this release cannot use it."""


class RevisionNotApplied(IncompatibleSchema):
    """The database lacks tables or columns of a revision."""


_Added = sa.Table | sa.Column[Any]


class Comparison(NamedTuple):
    """The differences between a database and the tables of this service."""

    missing: Sequence[_Added]
    # columns that this service does not know, and that have no value in a row that it inserts
    requiring: Sequence[str]
    is_empty: bool  # whether the database has none of the tables

    def lacking(self, revision: str) -> list[_Added]:
        """Return the missing tables and columns of the schema of a known revision."""
        if revision == BASE:
            return []
        applied = REVISIONS[: REVISIONS.index(revision) + 1]
        return [one for one in self.missing if one.info.get("revision", REVISIONS[0]) in applied]

    def check_additive(self, revision: str) -> None:
        """Check that an unknown revision has only added to the common schema.

        Raises: IncompatibleSchema.
        """
        problems = [f"{added} is missing" for added in self.lacking(COMMON_HEAD)]
        if revision.startswith(DEVELOPMENT):
            problems.append("it is of a development release")
        problems += [f"the column {name} requires a value" for name in self.requiring]
        if problems:
            raise IncompatibleSchema(
                f"The database is at revision {revision}, which this release does not know, and "
                f"its schema cannot be used: {'; '.join(problems)}. Run a release that knows it, "
                "or restore the database of before its upgrade."
            )

    def check_is_applied(self, revision: str) -> None:
        """Check the recorded revision.  Raises: RevisionNotApplied, with the revision to stamp."""
        missing = self.lacking(revision)
        if missing:
            raise RevisionNotApplied(
                f"The database records revision {revision} but lacks {_names(missing)}. If it is "
                "the right database, run `placement-manage db stamp "
                f"{self._applied()}`, then `placement-manage db sync`."
            )

    def check_can_stamp(self, revision: str) -> None:
        """Check that a database has the tables and columns of a revision.

        Whole tables may be missing, which is logged: ``mysql-migrate-db.sh`` can copy them one
        after the other.  Raises: RevisionNotApplied.
        """
        missing = self.lacking(revision)
        if not missing:
            return
        if self.is_empty or any(isinstance(added, sa.Column) for added in missing):
            raise RevisionNotApplied(
                f"Revision {revision} was not recorded: the database lacks {_names(missing)}. Run "
                "`placement-manage db sync`, which creates what is missing and records the "
                "revision."
            )
        LOG.warning(
            "Revision %s is recorded, but the database lacks %s. Copy them before it is used.",
            revision,
            _names(missing),
        )

    def _applied(self) -> str:
        """Return the newest revision that adds tables or columns and whose schema exists.

        Later revisions may differ from it in indexes, which `db sync` creates if they are missing.
        """
        applied = BASE
        with_tables = (tables.CONSUMER_TYPES, tables.OURS, tables.EQUAL_REQUESTS)
        for revision in (REVISIONS[0], *with_tables):
            if self.lacking(revision):
                break
            applied = revision
        return applied


def compare(connection: sa.Connection) -> Comparison:
    """Return how a database differs from the tables of this service."""
    reflected = sa.inspect(connection).get_multi_columns()
    stored = {name: columns for (_, name), columns in reflected.items()}
    missing: list[_Added] = []
    requiring: list[str] = []
    for table in tables.metadata.sorted_tables:
        if table.name not in stored:
            missing.append(table)
            continue
        names = {column["name"] for column in stored[table.name]}
        missing += [column for column in table.columns if column.name not in names]
        requiring += [
            f"{table.name}.{column['name']}"
            for column in stored[table.name]
            if column["name"] not in table.columns and _requires_value(column)
        ]
    return Comparison(missing, requiring, stored.keys().isdisjoint(tables.metadata.tables))


def _requires_value(column: sa.engine.interfaces.ReflectedColumn) -> bool:
    return not (column["nullable"] or column["default"] is not None or "computed" in column)


def _names(missing: Iterable[_Added]) -> str:
    return ", ".join(sorted(map(str, missing)))
