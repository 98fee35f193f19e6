"""A load reads whole tables as few long rows, and exactly what a read row by row returns."""

import random
import tracemalloc
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from placement import exception
from placement.db import tables
from placement.db.snapshot import load
from placement.db.snapshot.load import SnapshotReader
from placement.tests.support.factories import claim, new_provider, uuid
from placement.tests.support.snapshots import loaded

NAMES = (
    *("plain", "a|b|", "~", "~0~1|", "quotes \"' \\ %s", "line\nbreak\x1e", "", "ünïcode 漢字"),
    None,
)
RATIOS = (1.0, 16.0, 1.1, 0.333333, 1e-3)
IDS = (1, 2, 1023, 1024, 1025, 65_535, 65_536, 1_000_000_000, *range(5_000, 5_100))
START = datetime(2026, 1, 2, 3, 4, 5)


@pytest.fixture
def insert(store):
    """Return a function that inserts rows into a table, without the checks of the service."""

    def run(table, rows):
        store.write(lambda tx: tx.connection.execute(sa.insert(table), rows))

    return run


def written(insert, random_):
    """Write random providers, some of which are in trees, with random parts."""
    roots, providers = {}, []
    for id_ in IDS:
        parent = random_.choice([None, *roots]) if roots else None
        roots[id_] = roots.get(parent, id_)
        name = random_.choice(NAMES)
        providers.append(
            {
                "id": id_,
                "uuid": uuid(),
                "name": name if name is None else f"{name}{id_}",
                "generation": random_.choice([None, 0, 7, 2**31 - 1]),
                "parent_provider_id": parent,
                "root_provider_id": random_.choice([roots[id_]] * 9 + [None]),
                "created_at": random_.choice([None, START]),
                "updated_at": random_.choice([None, START + timedelta(seconds=id_ % 7)]),
            }
        )
    insert(tables.resource_providers, [{**each, "parent_provider_id": None} for each in providers])
    return providers


def set_parents(store, providers):
    table = tables.resource_providers
    for each in providers:
        statement = sa.update(table).where(table.c.id == each["id"])
        values = {"parent_provider_id": each["parent_provider_id"]}
        store.write(lambda tx, s=statement, v=values: tx.connection.execute(s.values(**v)))


def inventory(random_, provider_id, class_id):
    return {
        "resource_provider_id": provider_id,
        "resource_class_id": class_id,
        "total": random_.choice([1, 8, 2**31 - 1]),
        "reserved": random_.choice([0, 1]),
        "min_unit": 1,
        "max_unit": 8,
        "step_size": random_.choice([1, 2]),
        "allocation_ratio": random_.choice(RATIOS),
        "used": random_.choice([0, 3, 2**40]),
    }


def table_of(tx):
    reader = SnapshotReader(tx.connection)
    return reader.table(reader.names())


def both_ways(store):
    """Return the states of a load, and those read row by row, by id."""
    with store.read() as tx:
        table = table_of(tx)
        states = (table.state(index) for index in range(len(table)))
        return {state.provider.id: state for state in states}, loaded(tx)


@pytest.mark.parametrize("seed", range(3))
def test_a_load_is_exact(store, insert, seed):
    random_ = random.Random(seed)
    providers = written(insert, random_)
    set_parents(store, providers)
    aggregates = [{"id": number, "uuid": uuid()} for number in (1, 2, 3)]
    insert(tables.placement_aggregates, aggregates)
    chosen = [(id_, number) for id_ in IDS for number in (0, 1, 2) if random_.random() < 0.5]
    insert(tables.inventories, [inventory(random_, *each) for each in chosen])
    insert(
        tables.resource_provider_traits,
        [{"resource_provider_id": id_, "trait_id": number + 1} for id_, number in chosen],
    )
    insert(
        tables.resource_provider_aggregates,
        [{"resource_provider_id": id_, "aggregate_id": number + 1} for id_, number in chosen],
    )
    at_once, row_by_row = both_ways(store)
    assert at_once == row_by_row
    assert len(at_once) > len(IDS) / 2


def test_equal_parts_of_a_load_are_one_object(store):
    hosts = [new_provider(store, VCPU=8) for _ in range(2)]
    claim(store, uuid(), {hosts[0]: {"VCPU": 3}})
    statement = sa.update(tables.resource_providers).values(updated_at=START)
    store.write(lambda tx: tx.connection.execute(statement))
    at_once, _ = both_ways(store)
    first, second = at_once.values()
    assert (first.used, second.used) == ({"VCPU": 3}, {})
    assert first.inventories is second.inventories
    assert first.provider.modified_at is second.provider.modified_at


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)  # others have foreign keys
def test_parts_of_a_provider_that_does_not_exist_are_left_out(store, insert):
    host = new_provider(store, VCPU=8)
    insert(tables.inventories, [inventory(random.Random(1), 4444, 1)])
    for table, name in (
        (tables.resource_provider_traits, "trait_id"),
        (tables.resource_provider_aggregates, "aggregate_id"),
    ):
        insert(table, [{"resource_provider_id": 4444, name: 1}])
    insert(tables.placement_aggregates, [{"id": 1, "uuid": uuid()}])
    at_once, row_by_row = both_ways(store)
    assert at_once == row_by_row
    assert [state.provider.uuid for state in at_once.values()] == [host]
    assert [state.inventories.keys() for state in at_once.values()] == [{"VCPU"}]


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)  # MariaDB refuses it by default
def test_a_date_of_zeros_is_no_time(store):
    new_provider(store)
    zeros = "UPDATE resource_providers SET updated_at = '0000-00-00 00:00:00'"
    store.write(lambda tx: tx.connection.execute(sa.text(zeros)))
    with store.read() as tx:
        assert list(table_of(tx).modified_at) == [None]


def test_an_empty_database(store):
    assert both_ways(store) == ({}, {})


def test_texts_of_the_server_are_complete(store):
    """The default length of MySQL, 1,024 bytes, would cut the last provider off."""
    expected = {new_provider(store, f"{number:0>200}") for number in range(20)}
    at_once, _ = both_ways(store)
    assert {state.provider.uuid for state in at_once.values()} == expected


@pytest.mark.parametrize("backend", ["mariadb"], indirect=True)
@pytest.mark.parametrize("length", [128, 256])
def test_a_truncated_text_is_an_error_that_names_the_setting(store, length):
    new_provider(store, "x" * 200)
    with store.read() as tx:
        tx.connection.exec_driver_sql(f"SET SESSION group_concat_max_len = {length}")
        with pytest.raises(exception.DatabaseUnavailable) as raised:
            table_of(tx)
    assert "group_concat_max_len" in raised.value.reason


def test_memory_for_a_provider_with_many_traits():
    """It grows with the number of traits, not with its square."""
    ids_of = {(trait_id,): [7] for trait_id in range(5000)}
    tracemalloc.start()
    shared = load._sets({7: 0}, ids_of, list)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert shared.values == [list(ids_of)]
    assert peak < 5_000_000
