"""The ids of a table, or the generations of a provider, are used up."""

import pytest

from placement import exception
from placement.db.maintenance.used_numbers import LAST, shares_of_ids, used_numbers
from placement.db.schema import migration
from placement.db.tables import NUMBERED, allocations, consumers, projects, resource_providers
from placement.engine.engine import Engine
from placement.tests.support.factories import (
    assert_sound,
    claim,
    generation,
    new_provider,
    rows,
    set_inventories,
    uuid,
)
from placement.tests.support.snapshots import contents
from placement.tests.support.sql import execute

TABLES = ["allocations", "consumers", "inventories", "resource_providers"]
BIGINT = {
    "mariadb": ["ALTER TABLE {} MODIFY id BIGINT NOT NULL AUTO_INCREMENT"],
    "postgresql": [
        "ALTER TABLE {} ALTER COLUMN id TYPE BIGINT",
        "ALTER SEQUENCE {}_id_seq AS BIGINT",
    ],
}
INTEGER = {
    "mariadb": ["ALTER TABLE {} MODIFY id INTEGER NOT NULL AUTO_INCREMENT"],
    "postgresql": [
        "ALTER SEQUENCE {}_id_seq AS INTEGER",
        "ALTER TABLE {} ALTER COLUMN id TYPE INTEGER",
    ],
}


@pytest.fixture
def server_store(store, backend):
    """A store whose numbers have 32 bits and are small, as those of the next tests."""
    if backend == "sqlite":
        pytest.skip("numbers have 64 bits")
    for table in TABLES:
        set_last_id(store, backend, table, 1)
    yield store
    execute(store, "DELETE FROM allocations")
    execute(store, "DELETE FROM consumers")
    execute(store, "DELETE FROM inventories")
    execute(store, "UPDATE resource_providers SET root_provider_id = NULL")
    execute(store, "DELETE FROM resource_providers")
    for table in TABLES:
        set_last_id(store, backend, table, 1)


def set_last_id(store, backend, table, last):
    """Let the next row of the table get the id after ``last``."""
    if backend == "postgresql":
        execute(store, f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), {last})")
    else:
        execute(store, f"ALTER TABLE {table} AUTO_INCREMENT = {last + 1}")


def set_generation(store, value):
    execute(
        store, f"UPDATE resource_providers SET generation = {value}, counted_generation = {value}"
    )


def high(store):
    with store.read() as tx:
        return [
            (each.column, f"{each.share:.0%}")
            for each in used_numbers(tx.connection)
            if each.is_high
        ]


def write_often(store, table, host):
    for _ in range(3):
        if table in {"inventories", "resource_providers"}:
            new_provider(store, VCPU=8)
        else:
            claim(store, uuid(), {host: {"VCPU": 1}})


@pytest.mark.parametrize("last", [LAST, LAST - 1], ids=["none is left", "one is left"])
@pytest.mark.parametrize("table", TABLES)
def test_error_names_the_table_whose_ids_are_used_up(server_store, backend, table, last):
    host = new_provider(server_store, VCPU=8)
    set_last_id(server_store, backend, table, last)
    with pytest.raises(exception.NumbersUsedUp) as caught:
        write_often(server_store, table, host)
    assert caught.value.tables == (table,)
    assert f"cannot write to {table}: " in str(caught.value)


@pytest.mark.parametrize("table", ["allocations", "consumers", "inventories"])
def test_ids_of_64_bits_continue(server_store, backend, table):
    """The statements are those of the page "Troubleshooting"."""
    host = new_provider(server_store, VCPU=8)
    set_last_id(server_store, backend, table, LAST)
    try:
        for statement in BIGINT[backend]:
            execute(server_store, statement.format(table))
        write_often(server_store, table, host)
        migration.sync(server_store)
        write_often(server_store, table, host)
        assert high(server_store) == []
    finally:
        execute(server_store, f"DELETE FROM {table}")
        set_last_id(server_store, backend, table, 1)
        for statement in INTEGER[backend]:
            execute(server_store, statement.format(table))


def test_error_names_the_table_whose_generations_are_used_up(server_store, backend):
    """PostgreSQL does not name it: the error has all tables of the message."""
    host = new_provider(server_store, VCPU=8)
    set_generation(server_store, LAST)
    with pytest.raises(exception.NumbersUsedUp) as caught:
        claim(server_store, uuid(), {host: {"VCPU": 1}})
    tables = caught.value.tables
    assert "resource_providers" in tables
    assert len(tables) == 1 or backend == "postgresql"
    set_generation(server_store, 0)
    claim(server_store, uuid(), {host: {"VCPU": 1}})
    assert generation(server_store, host) == 1


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_numbers_of_64_bits_are_loaded_and_refreshed(store):
    """The numbers of SQLite are not used up; the next id is the one after the largest."""
    engine, host = Engine(store), new_provider(store)
    execute(store, f"UPDATE resource_providers SET id = {LAST}, root_provider_id = {LAST}")
    set_inventories(store, host, VCPU=8)
    set_generation(store, LAST)
    engine.current()
    other = new_provider(store, VCPU=8)
    claim(store, uuid(), {host: {"VCPU": 1}, other: {"VCPU": 2}})
    snapshot = engine.current()
    assert snapshot.state(host).provider.generation == LAST + 1
    assert snapshot.state(other).provider.id == LAST + 1
    assert contents(snapshot) == contents(Engine(store).current())
    assert_sound(store)


def test_used_numbers_are_high_from_70_percent(server_store, backend):
    new_provider(server_store, VCPU=8)
    assert high(server_store) == []
    set_last_id(server_store, backend, "allocations", LAST * 7 // 10 + 1)
    set_generation(server_store, LAST)
    assert shares_of_ids(server_store)["allocations.id"] == pytest.approx(0.7)
    assert high(server_store) == [
        ("allocations.id", "70%"),
        ("resource_providers.generation", "100%"),
    ]


def sequences(store):
    with store.read() as tx:
        return {
            name: tx.connection.exec_driver_sql(f"SELECT last_value FROM {name}_id_seq").scalar()
            for name in NUMBERED
        }


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_sequences_behind_the_rows_are_reported_and_set_by_a_sync(store):
    """As after logical replication, which copies rows without sequences."""
    host = new_provider(store, VCPU=8)
    for project in "12":
        claim(store, uuid(), {host: {"VCPU": 1}}, project_id=project, type=f"TYPE_{project}")
    migration.sync(store)
    before = sequences(store)
    migration.sync(store)
    assert sequences(store) == before
    for table in NUMBERED:
        execute(store, f"SELECT setval('{table}_id_seq', max(id), false) FROM {table}")
    with pytest.raises(exception.DatabaseUnavailable) as caught:
        new_provider(store)
    assert '"resource_providers_pkey": its sequence is behind the rows' in caught.value.reason
    migration.sync(store)
    for table in (allocations, consumers, resource_providers, projects):
        assert sequences(store)[table.name] == max(row.id for row in rows(store, table))
    claim(store, uuid(), {new_provider(store, VCPU=1): {"VCPU": 1}}, project_id="3", type="THIRD")
