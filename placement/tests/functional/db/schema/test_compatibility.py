"""A recorded revision whose tables or columns are missing, on each database."""

import re

import pytest
import sqlalchemy as sa

from placement.cmd import manage
from placement.db.schema import migration, revisions
from placement.db.schema.revisions import RevisionNotApplied
from placement.tests.support.sql import execute, scalar

ALEMBIC_VERSION = "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"
ADD_REVISION = "INSERT INTO alembic_version (version_num) VALUES (:revision)"


@pytest.fixture
def run(empty_database_url, monkeypatch, capsys):
    """Return a function that runs `placement-manage db`, and returns exit code and error."""
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", empty_database_url)

    def run(*arguments):
        code = manage.main(["db", *arguments])
        return code, capsys.readouterr().err

    return run


def tables(store):
    with store.read() as tx:
        return set(sa.inspect(tx.connection).get_table_names())


def record(store, revision):
    """Record a revision without a check."""
    if "alembic_version" not in tables(store):
        execute(store, ALEMBIC_VERSION)
    execute(store, "DELETE FROM alembic_version")
    execute(store, ADD_REVISION, {"revision": revision})
    store.dispose()


@pytest.mark.parametrize(
    "revision", ["head", migration.HEAD, migration.COMMON_HEAD, "b4ed3a175331"]
)
def test_an_empty_database_is_not_stamped(run, empty_store, revision):
    code, error = run("stamp", revision)
    assert code == 1
    recorded = migration.HEAD if revision == "head" else revision
    assert f"Revision {recorded} was not recorded: the database lacks" in error
    assert " resource_providers, traits" in error
    assert "Run `placement-manage db sync`" in error
    assert "SQLiteImpl" not in error
    assert tables(empty_store) <= {"alembic_version"}
    assert revisions.version(empty_store) is None


def test_tables_may_be_copied_after_the_revision_is_recorded(run, empty_store):
    """As the scripts of migration do if MIGRATE_TABLES names some of the tables."""
    migration.upgrade(empty_store, "b4ed3a175331")
    execute(empty_store, "DROP TABLE inventories")
    empty_store.dispose()
    code, error = run("stamp", "b4ed3a175331")
    assert code == 0
    assert "but the database lacks inventories. Copy them" in error
    code, error = run("sync")
    assert code == 1
    assert "lacks inventories" in error


def test_the_missing_columns_are_named(run, empty_store):
    migration.upgrade(empty_store)
    assert run("stamp", migration.COMMON_HEAD)[0] == 0
    execute(empty_store, "ALTER TABLE resource_providers DROP COLUMN counted_generation")
    empty_store.dispose()
    code, error = run("stamp", "head")
    assert code == 1
    assert "lacks resource_providers.counted_generation. Run" in error
    assert revisions.version(empty_store) == migration.COMMON_HEAD
    assert run("sync")[0] == 0
    assert revisions.version(empty_store) == migration.HEAD


@pytest.mark.parametrize("revision", [migration.HEAD, migration.COMMON_HEAD])
@pytest.mark.parametrize("applied", [None, "b4ed3a175331"])
def test_sync_names_the_revision_to_stamp(run, empty_store, revision, applied):
    """The two commands that the sentence names complete the schema."""
    if applied:
        migration.upgrade(empty_store, applied)
    record(empty_store, revision)
    code, error = run("sync")
    assert code == 1
    assert f"The database records revision {revision} but lacks" in error
    (way_out,) = re.findall(
        r"run `placement-manage db stamp (\w+)`, then `placement-manage db s", error
    )
    assert way_out == (applied or "base")
    assert run("stamp", way_out)[0] == 0
    assert run("sync")[0] == 0
    revisions.check_is_new_enough(empty_store)
    assert scalar(empty_store, "SELECT version_num FROM alembic_version") == migration.HEAD


def test_the_service_names_what_is_missing_instead_of_one_revision_twice(empty_store):
    migration.upgrade(empty_store, migration.COMMON_HEAD)
    record(empty_store, migration.HEAD)
    with pytest.raises(RevisionNotApplied, match=r"lacks clocks.* stamp 422ece571366`"):
        revisions.check_is_new_enough(empty_store)


def test_a_removed_table_is_created_again(run, empty_store):
    migration.upgrade(empty_store)
    execute(empty_store, "DROP TABLE insight_requests")
    empty_store.dispose()
    code, error = run("sync")
    assert code == 1
    assert "lacks insight_requests. If it is the right database" in error
    assert run("stamp", *re.findall(r"db stamp (\w+)", error))[0] == 0
    assert run("sync")[0] == 0
    assert "insight_requests" in tables(empty_store)


def test_base_is_accepted(run, empty_store):
    migration.upgrade(empty_store)
    assert run("stamp", "base")[0] == 0
    assert revisions.version(empty_store) is None
    assert run("sync")[0] == 0
    assert revisions.version(empty_store) == migration.HEAD
