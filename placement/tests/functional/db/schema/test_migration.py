"""The schema: compatibility with other implementations, upgrades and reconciliation."""

from concurrent.futures import ThreadPoolExecutor, wait

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

from placement import db_api
from placement.core.model import Inventory
from placement.db import clocks, tables, usage_counters
from placement.db.schema import migration, revisions, seed
from placement.db.schema.migration import COMMON_HEAD
from placement.db.schema.revisions import REVISIONS
from placement.db.store import Store
from placement.engine.engine import Engine
from placement.tests.functional.db.schema import sync_without_get_lock
from placement.tests.support.sql import (
    ADD_ALLOCATION,
    ADD_CONSUMER,
    ADD_INVENTORY,
    ADD_PROVIDER,
    GROW,
    NOW,
    SET_ROOT,
    execute,
    scalar,
)
from placement.tests.support.stores import replaced_store

# Of each table: columns (not null marked !), unique constraints, indexes, foreign keys. The
# times, the integer primary key and, on MySQL, indexes created for foreign keys are omitted.
COMMON = {
    "resource_providers": (
        {"uuid!", "name", "generation", "root_provider_id", "parent_provider_id"},
        {"uniq_resource_providers0uuid": ["uuid"], "uniq_resource_providers0name": ["name"]},
        {
            "resource_providers_root_provider_id_idx": ["root_provider_id"],
            "resource_providers_parent_provider_id_idx": ["parent_provider_id"],
        },
        {
            ("root_provider_id", "resource_providers.id"),
            ("parent_provider_id", "resource_providers.id"),
        },
    ),
    "inventories": (
        {
            *("resource_provider_id!", "resource_class_id!", "total!", "reserved!"),
            *("min_unit!", "max_unit!", "step_size!", "allocation_ratio!"),
        },
        {
            "uniq_inventories0resource_provider_resource_class": [
                "resource_provider_id",
                "resource_class_id",
            ]
        },
        {"inventories_resource_class_id_idx": ["resource_class_id"]},
        set(),
    ),
    "allocations": (
        {"resource_provider_id!", "consumer_id!", "resource_class_id!", "used!"},
        {},
        {
            "allocations_resource_provider_class_used_idx": [
                "resource_provider_id",
                "resource_class_id",
                "used",
            ],
            "allocations_resource_class_id_idx": ["resource_class_id"],
            "allocations_consumer_id_idx": ["consumer_id"],
        },
        set(),
    ),
    "resource_classes": ({"name!"}, {"uniq_resource_classes0name": ["name"]}, {}, set()),
    "traits": ({"name!"}, {"uniq_traits0name": ["name"]}, {}, set()),
    "resource_provider_traits": (
        {"trait_id!", "resource_provider_id!"},
        {},
        {
            "resource_provider_traits_resource_provider_trait_idx": [
                "resource_provider_id",
                "trait_id",
            ]
        },
        {("trait_id", "traits.id"), ("resource_provider_id", "resource_providers.id")},
    ),
    "placement_aggregates": ({"uuid"}, {"uniq_placement_aggregates0uuid": ["uuid"]}, {}, set()),
    "resource_provider_aggregates": (
        {"resource_provider_id!", "aggregate_id!"},
        {},
        {"resource_provider_aggregates_aggregate_id_idx": ["aggregate_id"]},
        set(),
    ),
    "projects": ({"external_id!"}, {"uniq_projects0external_id": ["external_id"]}, {}, set()),
    "users": ({"external_id!"}, {"uniq_users0external_id": ["external_id"]}, {}, set()),
    "consumers": (
        {"uuid!", "project_id!", "user_id!", "generation!", "consumer_type_id"},
        {"uniq_consumers0uuid": ["uuid"]},
        {
            "consumers_project_id_uuid_idx": ["project_id", "uuid"],
            "consumers_project_id_user_id_uuid_idx": ["project_id", "user_id", "uuid"],
            "consumers_consumer_type_id_idx": ["consumer_type_id"],
        },
        {("consumer_type_id", "consumer_types.id")},
    ),
    "consumer_types": ({"name!"}, {"uniq_consumer_types0name": ["name"]}, {}, set()),
}
PLACEMENT = {
    "clocks": ({"value!"}, {}, {}, set()),
    "removed_providers": (
        {"provider_id!", "stamp!", "uuid"},
        {},
        {"removed_providers_stamp_idx": ["stamp"]},
        set(),
    ),
    "insight_requests": (
        {
            *("kind!", "reason!", "request_id", "global_request_id", "project_id", "user_id"),
            *("microversion!", "query", "claim", "explanation!", "subject"),
            *("equal_key!", "requests!", "superseded!", "last_at!", "latest!"),
        },
        {},
        {
            "insight_requests_equal_key_idx": ["equal_key"],
            "insight_requests_request_id_idx": ["request_id"],
            "insight_requests_global_request_id_idx": ["global_request_id"],
        },
        set(),
    ),
    "insight_changes": (
        {
            *("kind!", "request_id", "global_request_id", "project_id", "user_id"),
            *("provider_uuid", "consumer_uuid", "change!"),
        },
        {},
        {
            "insight_changes_provider_uuid_idx": ["provider_uuid", "id"],
            "insight_changes_consumer_uuid_idx": ["consumer_uuid", "id"],
            "insight_changes_request_id_idx": ["request_id"],
            "insight_changes_global_request_id_idx": ["global_request_id"],
        },
        set(),
    ),
    "insight_change_providers": (
        {"change_id!", "provider_uuid!"},
        {},
        {"insight_change_providers_provider_uuid_idx": ["provider_uuid", "change_id"]},
        set(),
    ),
}
REDUNDANT = {
    "inventories_resource_provider_id_idx",
    "inventories_resource_provider_resource_class_idx",
    "ix_placement_aggregates_uuid",
    "resource_providers_name_idx",
    "resource_providers_uuid_idx",
}
PRIMARY_KEYS = {
    "resource_provider_traits": ["trait_id", "resource_provider_id"],
    "resource_provider_aggregates": ["resource_provider_id", "aggregate_id"],
    "removed_providers": ["provider_id", "stamp"],
}


# MySQL does not distinguish it from a constraint
UNIQUE_INDEX = "insight_requests_equal_key_idx"


def described(engine):
    """Return the schema of a database in the form of COMMON."""
    inspector = sa.inspect(engine)
    return {
        table: (
            {
                column["name"] + ("" if column["nullable"] else "!")
                for column in inspector.get_columns(table)
                if column["name"] not in {"id", "created_at", "updated_at"}
            },
            {
                each["name"]: each["column_names"]
                for each in inspector.get_unique_constraints(table)
                if each["name"] != UNIQUE_INDEX
            },
            {
                each["name"]: each["column_names"]
                for each in inspector.get_indexes(table)
                if not each["unique"] or each["name"] == UNIQUE_INDEX
            },
            {
                (each["constrained_columns"][0], each["referred_table"] + ".id")
                for each in inspector.get_foreign_keys(table)
            },
        )
        for table in inspector.get_table_names()
        if table != "alembic_version"
    }


def test_upstream_revisions_precede_ours():
    script = ScriptDirectory.from_config(migration._config())
    scripts = [each.revision for each in script.walk_revisions()][::-1]
    assert scripts == [
        "b4ed3a175331",
        "611cd6dffd7b",
        "b5c396305c25",
        "422ece571366",
        "a082b8bb98d0",
        "c0de5a1d7e10",
    ]
    assert scripts == [*REVISIONS]


def test_upstream_revisions_create_the_upstream_schema(empty_store):
    migration.upgrade(empty_store, COMMON_HEAD)
    assert described(empty_store.engines().writer) == COMMON
    inspector = sa.inspect(empty_store.engines().writer)
    for table in COMMON:
        keys = inspector.get_pk_constraint(table)["constrained_columns"]
        assert keys == PRIMARY_KEYS.get(table, ["id"])
        assert {"created_at", "updated_at"} <= {
            each["name"] for each in inspector.get_columns(table)
        }


def test_the_first_revision_has_indexes_that_the_fifth_drops(empty_store):
    migration.upgrade(empty_store, "b4ed3a175331")
    schema = described(empty_store.engines().writer)
    assert "consumer_types" not in schema
    assert "consumer_type_id" not in schema["consumers"][0]
    assert {name for table in schema.values() for name in table[2]} >= REDUNDANT


def test_our_revision_only_adds(empty_store):
    migration.upgrade(empty_store)
    expected = {table: list(parts) for table, parts in COMMON.items()} | PLACEMENT
    expected["inventories"][0] = COMMON["inventories"][0] | {"used!"}
    expected["resource_providers"][0] = COMMON["resource_providers"][0] | {
        "stamp!",
        "counted_generation!",
    }
    expected["resource_providers"][2] = COMMON["resource_providers"][2] | {
        "resource_providers_stamp_idx": ["stamp"]
    }
    assert described(empty_store.engines().writer) == {
        table: tuple(parts) for table, parts in expected.items()
    }


def test_models_equal_the_schema_of_the_revisions(empty_store):
    tables.metadata.create_all(empty_store.engines().writer)
    at_once = described(empty_store.engines().writer)
    tables.metadata.drop_all(empty_store.engines().writer)
    migration.upgrade(empty_store)
    assert described(empty_store.engines().writer) == at_once


def test_a_provider_without_root_stops_the_second_revision(empty_store):
    migration.upgrade(empty_store, "b4ed3a175331")
    execute(empty_store, "INSERT INTO resource_providers (uuid, name) VALUES ('u', 'cn')")
    with pytest.raises(RuntimeError, match="placement-manage db online_data_migrations"):
        migration.upgrade(empty_store)
    assert revisions.version(empty_store) == "b4ed3a175331"


def test_an_allocation_without_consumer_stops_the_third_revision(empty_store):
    migration.upgrade(empty_store, "611cd6dffd7b")
    execute(
        empty_store,
        "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used)"
        " VALUES (1, 'c', 0, 1)",
    )
    with pytest.raises(RuntimeError, match="placement-manage db online_data_migrations"):
        migration.upgrade(empty_store)
    assert revisions.version(empty_store) == "611cd6dffd7b"


def test_failed_upgrade_is_resumed(empty_store):
    test_a_provider_without_root_stops_the_second_revision(empty_store)
    execute(empty_store, "UPDATE resource_providers SET root_provider_id = id")
    migration.upgrade(empty_store)
    assert revisions.version(empty_store) == migration.HEAD


def test_concurrent_upgrades_succeed(empty_store):
    stores = [Store(empty_store.settings) for _ in range(4)]

    def start(store):
        migration.sync(store)
        seed.sync(store)

    with ThreadPoolExecutor(len(stores)) as pool:
        list(pool.map(start, stores))
    assert revisions.version(empty_store) == migration.HEAD
    assert scalar(empty_store, "SELECT COUNT(*) FROM resource_classes") == 21
    for store in stores:
        store.dispose()


def test_stamp_records_a_revision_without_applying_it(empty_store):
    migration.upgrade(empty_store)
    tables = described(empty_store.engines().writer)
    migration.stamp(empty_store, COMMON_HEAD)
    assert revisions.version(empty_store) == COMMON_HEAD
    assert described(empty_store.engines().writer) == tables
    migration.stamp(empty_store, "head")
    assert revisions.version(empty_store) == migration.HEAD


def test_a_database_without_tables_has_no_revision(empty_store):
    assert revisions.version(empty_store) is None


def test_service_refuses_an_old_schema(empty_store):
    migration.upgrade(empty_store, COMMON_HEAD)
    with pytest.raises(revisions.SchemaTooOld, match="placement-manage db sync"):
        revisions.check_is_new_enough(empty_store)


def test_service_accepts_a_newer_schema(empty_store):
    migration.sync(empty_store)
    execute(empty_store, "UPDATE alembic_version SET version_num = 'ffffffffffff'")
    revisions.check_is_new_enough(empty_store)


def test_database_stamped_by_another_implementation_is_upgraded(inherited):
    """It stamps its own newest revision, and keeps the additions of this service."""
    migration.sync(inherited)
    migration.stamp(inherited, COMMON_HEAD)
    execute(inherited, "UPDATE inventories SET used = 77")
    migration.sync(inherited)
    assert revisions.version(inherited) == migration.HEAD
    with inherited.read() as tx:
        assert usage_counters.differences(tx.connection) == []


# --- upgrades at once, without a lock that all processes know ---------------------------


def test_concurrent_upgrades_end_with_a_sentence_where_get_lock_is_forbidden(mariadb_store):
    """As on the nodes of a Galera cluster: each process completes the upgrade, or ends.

    The next one completes what they have left.
    """
    url = mariadb_store.settings.connection
    syncs = [sync_without_get_lock.start(url) for _ in range(4)]
    outputs = [sync.communicate(timeout=300)[0] for sync in syncs]
    assert all("GET_LOCK is refused" in output for output in outputs)
    for sync, output in zip(syncs, outputs, strict=True):
        assert sync.returncode == 0 or "was interrupted" in output, output
        assert "Traceback" not in output
    migration.sync(mariadb_store)
    assert recorded(mariadb_store) == [migration.HEAD]
    assert scalar(mariadb_store, "SELECT COUNT(*) FROM clocks") == clocks.CLOCKS


def test_the_first_revision_is_not_recorded_after_a_later_one(mariadb_store):
    """Another process upgrades the whole schema while this one applies the first revision."""
    outputs = []

    def upgrade_before_the_insert(_connection, _cursor, statement, *_):
        if statement.startswith("INSERT INTO alembic_version") and not outputs:
            another = sync_without_get_lock.start(mariadb_store.settings.connection)
            outputs.append((another.communicate(timeout=300)[0], another.returncode))

    engine = mariadb_store.engines().writer
    sa.event.listen(engine, "before_cursor_execute", upgrade_before_the_insert)
    with pytest.raises(migration.UpgradeInterrupted, match=r"another node .* db sync` again"):
        migration.upgrade(mariadb_store)
    ((output, returncode),) = outputs
    assert returncode == 0, output
    assert recorded(mariadb_store) == [migration.HEAD]
    migration.upgrade(mariadb_store)


def test_a_revision_that_another_process_applies_does_not_lack_tables(mariadb_store):
    """The other process does so while this one compares the database with the tables."""
    outputs = []

    def upgrade_before_the_read(_connection, _cursor, statement, *_):
        if "FROM alembic_version" in statement and not outputs:
            another = sync_without_get_lock.start(mariadb_store.settings.connection)
            outputs.append((another.communicate(timeout=300)[0], another.returncode))

    migration.upgrade(mariadb_store, COMMON_HEAD)
    engine = mariadb_store.engines().writer
    sa.event.listen(engine, "before_cursor_execute", upgrade_before_the_read)
    migration.upgrade(mariadb_store)
    ((output, returncode),) = outputs
    assert returncode == 0, output
    assert recorded(mariadb_store) == [migration.HEAD]


def test_an_upgrade_waits_for_another(empty_store):
    """On one server: an open transaction of another upgrade is waited for, not interrupted."""
    other = Store(empty_store.settings)
    with ThreadPoolExecutor(1) as pool:
        with migration._exclusive(other):
            waiting = pool.submit(migration.upgrade, empty_store)
            assert not wait([waiting], timeout=1).done
            assert revisions.version(empty_store) is None
        waiting.result(60)
    other.dispose()
    assert revisions.version(empty_store) == migration.HEAD


@pytest.fixture
def mariadb_store(empty_store):
    if empty_store.settings.backend != "mysql":
        pytest.skip("on other databases all processes know the lock")
    return empty_store


def recorded(store):
    """Return the recorded revisions."""
    with store.read() as tx:
        return list(tx.connection.scalars(sa.text("SELECT version_num FROM alembic_version")))


# --- upgrades that are interrupted -----------------------------------------------------


class Killed(Exception):  # noqa: N818
    """Aborts an upgrade, like the end of its process."""


def interrupt(store, number):
    """Abort an upgrade before its n-th write statement."""
    executed = []

    def count(_connection, _cursor, statement, *_):
        if statement.lstrip().upper().startswith(("CREATE", "ALTER", "DROP", "INSERT", "UPDATE")):
            executed.append(statement)
            if len(executed) == number:
                raise Killed

    sa.event.listen(store.engines().writer, "before_cursor_execute", count)
    try:
        migration.upgrade(store)
    except Killed:
        return True
    finally:
        sa.event.remove(store.engines().writer, "before_cursor_execute", count)
    return False


def test_an_interrupted_upgrade_is_completed_by_the_next(empty_store):
    """Interrupted at every sixth statement; MySQL keeps the completed steps."""
    number, interruptions = 1, 0
    while interrupt(empty_store, number):
        number, interruptions = number + 5, interruptions + 1
        if revisions.version(empty_store) == migration.HEAD:
            break
    migration.upgrade(empty_store)
    assert interruptions > 3
    assert revisions.version(empty_store) == migration.HEAD
    seed.sync(empty_store)
    with empty_store.read() as tx:
        assert set(clocks.values(tx.connection)) == set(range(clocks.CLOCKS))
    upgraded = described(empty_store.engines().writer)
    with empty_store.engines().writer.begin() as connection:
        drop_all(connection)
    migration.upgrade(empty_store)
    assert described(empty_store.engines().writer) == upgraded


def drop_all(connection):
    tables = sa.MetaData()
    tables.reflect(connection)
    tables.drop_all(connection)


def test_counters_are_summed_before_their_revision_is_recorded(inherited):
    """A process that starts then must not read usage counters of 0."""
    migration.upgrade(inherited)
    with inherited.read() as tx:
        assert usage_counters.differences(tx.connection) == []


def test_startup_reconciles_usage_counters(inherited, conf, caplog):
    """Another implementation wrote allocations, and `db sync` was not run."""
    migration.sync(inherited)
    execute(inherited, "UPDATE inventories SET used = 0")
    conf.set_override("connection", inherited.settings.connection, "placement_database")
    with replaced_store(Store(inherited.settings)) as store:
        db_api.store(conf)
        store.dispose()
    assert "usage counters" in caplog.text
    with inherited.read() as tx:
        assert usage_counters.differences(tx.connection) == []


# --- a database of another implementation ----------------------------------------------


def provider(id_, name, root, parent=None):
    row = {"now": NOW, "id": id_, "uuid": f"uuid-{id_}", "name": name, "parent": parent}
    return row, {"id": id_, "root": root}


@pytest.fixture
def inherited(empty_store):
    """A database created and filled by another implementation, at its newest revision."""
    migration.upgrade(empty_store, COMMON_HEAD)
    for row, root in (provider(1, "cn1", 1), provider(2, "numa0", 1, parent=1)):
        execute(empty_store, ADD_PROVIDER, row)
        execute(empty_store, SET_ROOT, root)
    # standard classes 1 and 2; MySQL replaces the id 0 by a generated one, so class 0 is omitted
    execute(
        empty_store,
        "INSERT INTO resource_classes (created_at, id, name) VALUES (:now, :id, :name)",
        {"now": NOW, "id": 1, "name": "MEMORY_MB"},
        {"now": NOW, "id": 10001, "name": "CUSTOM_FPGA"},
    )
    execute(
        empty_store,
        "INSERT INTO traits (created_at, name) VALUES (:now, :name)",
        {"now": NOW, "name": "HW_CPU_X86_AVX2"},
        {"now": NOW, "name": "CUSTOM_RED"},
    )
    execute(
        empty_store,
        "INSERT INTO resource_provider_traits (created_at, trait_id, resource_provider_id)"
        " SELECT created_at, id, 2 FROM traits",
    )
    execute(
        empty_store,
        "INSERT INTO placement_aggregates (created_at, uuid) VALUES (:now, 'rack')",
        {"now": NOW},
    )
    execute(
        empty_store,
        "INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id)"
        " SELECT 1, id FROM placement_aggregates",
    )
    execute(
        empty_store,
        ADD_INVENTORY,
        {"now": NOW, "provider": 1, "class": 1, "total": 1024},
        {"now": NOW, "provider": 2, "class": 10001, "total": 4},
    )
    for table in ("projects", "users"):
        execute(empty_store, f"INSERT INTO {table} (external_id) VALUES ('somebody')")
    execute(empty_store, "INSERT INTO consumer_types (name) VALUES ('INSTANCE')")
    for consumer in ("a", "b"):
        execute(empty_store, ADD_CONSUMER, {"now": NOW, "uuid": consumer})
        execute(
            empty_store,
            ADD_ALLOCATION,
            {"now": NOW, "provider": 1, "class": 1, "consumer": consumer, "used": 256},
        )
    return empty_store


def by_name(snapshot):
    """Return the state of each provider."""
    return {state.provider.name: state for state in snapshot.states()}


def test_database_of_another_implementation_is_served(inherited):
    migration.sync(inherited)
    seed.sync(inherited)
    revisions.check_is_new_enough(inherited)
    providers = by_name(Engine(inherited).current())
    assert set(providers) == {"cn1", "numa0"}
    cn1, numa0 = providers["cn1"], providers["numa0"]
    assert cn1.inventories == {"MEMORY_MB": Inventory(1024, max_unit=1024, allocation_ratio=1.5)}
    assert cn1.used == {"MEMORY_MB": 512}
    assert cn1.aggregates == {"rack"}
    assert numa0.provider.parent_uuid == numa0.provider.root_uuid == cn1.provider.uuid
    assert numa0.traits == {"HW_CPU_X86_AVX2", "CUSTOM_RED"}
    assert numa0.used == {}


def test_migrated_database_remains_writable_by_other_implementations(inherited):
    migration.sync(inherited)
    seed.sync(inherited)
    engine = Engine(inherited)
    assert set(by_name(engine.current())) == {"cn1", "numa0"}

    row, root = provider(3, "cn3", 3)
    execute(inherited, ADD_PROVIDER, row)
    execute(inherited, SET_ROOT, root)
    execute(inherited, ADD_INVENTORY, {"now": NOW, "provider": 3, "class": 1, "total": 64})
    execute(inherited, ADD_CONSUMER, {"now": NOW, "uuid": "c"})
    execute(
        inherited,
        ADD_ALLOCATION,
        {"now": NOW, "provider": 3, "class": 1, "consumer": "c", "used": 16},
    )
    execute(inherited, GROW, {"now": NOW, "id": 3, "generation": 0})
    with inherited.read() as tx:
        assert len(usage_counters.differences(tx.connection)) == 1

    migration.sync(inherited)
    with inherited.read() as tx:
        assert usage_counters.differences(tx.connection) == []
    # the process that was already running reads it as well
    cn3 = by_name(engine.current())["cn3"]
    assert cn3.used == {"MEMORY_MB": 16}
    assert cn3.provider.generation == 1


def test_sync_at_the_newest_revision_reconciles_usage_counters(inherited):
    migration.sync(inherited)
    execute(inherited, "UPDATE inventories SET used = 77")
    before = inherited.probe()
    migration.sync(inherited)
    with inherited.read() as tx:
        used = tx.connection.execute(sa.text("SELECT used FROM inventories ORDER BY id"))
        assert used.scalars().all() == [512, 0]
    assert inherited.probe() != before
