"""The revisions of the schema, and whether a database has the tables and columns of its revision.

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
from placement.db.store import Store

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
)
HEAD = REVISIONS[-1]
# The newest revision of the schema of other implementations
COMMON_HEAD = REVISIONS[REVISIONS.index(tables.OURS) - 1]

# Logged and reported if an unknown revision has only added to the schema
UNKNOWN_REVISION = (
    "The database is at revision {}, which this release does not know. Checked: it has all tables "
    "and columns that this release needs, and no other column requires a value. Not checked: "
    "types, constraints and the meaning of the data. Use a release that knows the revision."
)


class SchemaTooOld(RuntimeError):  # noqa: N818
    """The database has to be migrated before it can be served from."""


class IncompatibleSchema(RuntimeError):  # noqa: N818
    """The schema belongs to another release, and this release cannot use it."""


class RevisionNotApplied(IncompatibleSchema):
    """The database lacks tables or columns of a revision."""


_Added = sa.Table | sa.Column[Any]


class Comparison(NamedTuple):
    """The recorded revision, and the differences between a database and the tables of HEAD."""

    revision: str | None
    missing: Sequence[_Added]
    # columns that this service does not know, and that have no value in a row that it inserts
    requiring: Sequence[str]

    def lacking(self, revision: str | None) -> list[_Added]:
        """Return the missing tables and columns of the schema of a known revision."""
        if revision is None or revision == BASE:
            return []
        applied = REVISIONS[: REVISIONS.index(revision) + 1]
        return [one for one in self.missing if one.info.get("revision", REVISIONS[0]) in applied]

    def unknown_revision(self) -> str | None:
        """Return a warning if the database is at a revision that this release does not know.

        Raises: IncompatibleSchema if the revision has not only added to the common schema.
        """
        if self.revision is None or self.revision in REVISIONS:
            return None
        problems = [f"{added} is missing" for added in self.lacking(COMMON_HEAD)]
        problems += [f"the column {name} requires a value" for name in self.requiring]
        if problems:
            raise IncompatibleSchema(
                f"The database is at revision {self.revision}, which this release does not know, "
                f"and its schema cannot be used: {'; '.join(problems)}. Run a release that knows "
                "it, or restore the database of before its upgrade."
            )
        return UNKNOWN_REVISION.format(self.revision)

    def check_is_applied(self) -> None:
        """Check the recorded revision.  Raises: RevisionNotApplied, with the revision to stamp."""
        missing = self.lacking(self.revision)
        if missing:
            raise RevisionNotApplied(
                f"The database records revision {self.revision} but lacks {_names(missing)}. If "
                "it is the right database, run `placement-manage db stamp "
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
        is_empty = {*self.missing} == {*tables.metadata.sorted_tables}
        if is_empty or any(isinstance(added, sa.Column) for added in missing):
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
        for revision in (REVISIONS[0], tables.CONSUMER_TYPES, tables.OURS):
            if self.lacking(revision):
                break
            applied = revision
        return applied


def compare(connection: sa.Connection) -> Comparison:
    """Return how a database differs from the tables of this service."""
    revision = recorded(connection)  # first: another process may apply revisions meanwhile
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
    return Comparison(revision, missing, requiring)


def _requires_value(column: sa.engine.interfaces.ReflectedColumn) -> bool:
    return not (column["nullable"] or column["default"] is not None or "computed" in column)


def _names(missing: Iterable[_Added]) -> str:
    return ", ".join(sorted(map(str, missing)))


def recorded(connection: sa.Connection) -> str | None:
    """Return the revision that the database records, None if it records none."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.exec_driver_sql(
        "SELECT version_num FROM alembic_version"
    ).scalar_one_or_none()
    return revision


def version(store: Store) -> str | None:
    """Return the revision of the database, None if it has none."""
    with store.read() as tx:
        return recorded(tx.connection)


def unknown_revision(store: Store) -> str | None:
    """Return the warning of ``Comparison.unknown_revision``.  Raises: IncompatibleSchema."""
    with store.read() as tx:
        return compare(tx.connection).unknown_revision()


def check_is_new_enough(store: Store) -> None:
    """Check that the service can use the schema.

    Raises: SchemaTooOld, IncompatibleSchema, RevisionNotApplied.
    """
    with store.read() as tx:
        comparison = compare(tx.connection)
    if warning := comparison.unknown_revision():
        LOG.warning(warning)
    if comparison.revision == HEAD:
        comparison.check_is_applied()
    elif comparison.missing or comparison.revision in REVISIONS:
        raise SchemaTooOld(
            f"The schema of the database is at revision {comparison.revision}, and {HEAD} is "
            "needed. Run `placement-manage db sync`, or set "
            "[placement_database]sync_on_startup."
        )


def check_has_tables(store: Store) -> None:
    """Check that the database has a Placement schema of any revision.  Raises: SchemaTooOld."""
    with store.read() as tx:
        has_schema = sa.inspect(tx.connection).has_table("resource_providers")
    if not has_schema:
        raise SchemaTooOld(
            "The database has no Placement schema. Run `placement-manage db sync`, and check that "
            "[placement_database]connection names the right database."
        )
