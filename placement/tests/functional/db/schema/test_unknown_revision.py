"""Databases at a revision of a later release: an invented next revision, on each database."""

import pytest
import sqlalchemy as sa

from placement import db_api
from placement.db import tables
from placement.db.schema import migration, revisions
from placement.db.schema.revisions import IncompatibleSchema
from placement.objects import allocation
from placement.tests.support.factories import claim, new_provider, uuid
from placement.tests.support.sql import execute
from placement.tests.support.stores import replaced_store

NEXT = "feedfacecafe"


def at_next_revision(store, *statements, since=migration.COMMON_HEAD):
    """Upgrade the database to a revision, then by statements to an unknown one."""
    migration.upgrade(store, since)
    for statement in statements:
        execute(store, statement)
    execute(store, "UPDATE alembic_version SET version_num = :next", {"next": NEXT})


def columns(store, table):
    with store.read() as tx:
        return {column["name"] for column in sa.inspect(tx.connection).get_columns(table)}


ADDITIVE = (
    "ALTER TABLE resource_providers ADD COLUMN note VARCHAR(20)",
    "ALTER TABLE consumers ADD COLUMN weight INTEGER DEFAULT 1 NOT NULL",
    "CREATE TABLE next_things (id INTEGER)",
)


def test_sync_completes_an_additive_revision_of_upstream(empty_store, caplog):
    at_next_revision(empty_store, *ADDITIVE)
    migration.sync(empty_store)
    revisions.check_is_new_enough(empty_store)
    assert revisions.version(empty_store) == migration.HEAD
    assert NEXT in caplog.text
    assert "note" in columns(empty_store, "resource_providers")


def test_service_reads_and_writes_after_an_additive_revision(empty_store, conf_of_empty):
    at_next_revision(empty_store, *ADDITIVE)
    migration.sync(empty_store)
    with replaced_store(empty_store):
        store = db_api.store(conf_of_empty)
    host, consumer = new_provider(store, VCPU=4), uuid()
    claim(store, consumer, {host: {"VCPU": 2}})
    assert list(allocation.of_consumer(store, consumer).allocations) == [host]


def test_service_starts_at_a_later_revision_of_its_own(empty_store, caplog):
    at_next_revision(empty_store, *ADDITIVE, since="head")
    revisions.check_is_new_enough(empty_store)
    assert f"at revision {NEXT}, which this release does not know. Checked: " in caplog.text
    migration.sync(empty_store)
    assert revisions.version(empty_store) == NEXT


def test_service_does_not_start_before_sync(empty_store):
    at_next_revision(empty_store, *ADDITIVE)
    with pytest.raises(revisions.SchemaTooOld, match=f"revision {NEXT}.*placement-manage db sync"):
        revisions.check_is_new_enough(empty_store)


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (
            "DROP TABLE resource_provider_traits",
            "resource_provider_traits is missing",
        ),
        ("ALTER TABLE traits RENAME COLUMN name TO label", "traits.name is missing"),
        (
            "CREATE TABLE copied (id INTEGER, uuid VARCHAR(36), extra INTEGER NOT NULL)",
            "the column placement_aggregates.extra requires a value",
        ),
    ],
)
def test_other_revisions_are_refused_in_a_sentence(empty_store, statement, problem):
    statements = [statement]
    if "copied" in statement:
        statements += ["DROP TABLE placement_aggregates"]
        statements += ["ALTER TABLE copied RENAME TO placement_aggregates"]
    at_next_revision(empty_store, *statements)
    for refused in (migration.sync, revisions.check_is_new_enough):
        with pytest.raises(IncompatibleSchema, match=f"at revision {NEXT}.*{problem}"):
            refused(empty_store)
    assert revisions.version(empty_store) == NEXT


def test_the_checked_tables_are_those_of_upstream(empty_store):
    migration.upgrade(empty_store, migration.COMMON_HEAD)
    with empty_store.read() as tx:
        upstream = set(sa.inspect(tx.connection).get_table_names())
    migration.upgrade(empty_store)
    assert upstream - {"alembic_version"} < set(tables.metadata.tables)
