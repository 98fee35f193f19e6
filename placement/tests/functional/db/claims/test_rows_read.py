"""Reads of allocations read the rows that they return, and not those of other providers."""

import pytest
import sqlalchemy as sa

from placement.db.grouped_rows import Truncated
from placement.db.schema import migration, seed
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.db.tables import (
    allocations,
    consumers,
    projects,
    resource_classes,
    resource_providers,
    users,
)
from placement.tests.support import servers
from placement.tests.support.factories import claim, new_provider, uuid

ON_THE_PROVIDER, IN_ALL = 1500, 3000


@pytest.fixture
def backend():
    """MariaDB counts the rows that a session reads."""
    return "mariadb"


@pytest.fixture
def crowded(store):
    return crowd(store)


def crowd(store):
    """Add a provider that has half of the consumers of the only project."""
    provider, other = (new_provider(store, VCPU=10_000) for _ in range(2))
    claim(store, uuid(), {other: {"VCPU": 1}})

    def add(tx):
        def id_of(table, **values):
            return tx.connection.scalar(sa.select(table.c.id).filter_by(**values))

        owner = {"project_id": id_of(projects), "user_id": id_of(users)}
        vcpu = {"resource_class_id": id_of(resource_classes, name="VCPU"), "used": 1}
        ids = [id_of(resource_providers, uuid=one) for one in (provider, other)]
        new = [(uuid(), ids[number >= ON_THE_PROVIDER]) for number in range(IN_ALL)]
        tx.connection.execute(consumers.insert(), [{"uuid": one, **owner} for one, _ in new])
        tx.connection.execute(
            allocations.insert(),
            [{"consumer_id": one, "resource_provider_id": id_, **vcpu} for one, id_ in new],
        )

    store.write(add)
    with store.read() as tx:
        tx.connection.exec_driver_sql("ANALYZE TABLE consumers, allocations").all()
    return provider


def rows_read(connection):
    counters = connection.exec_driver_sql("SHOW SESSION STATUS LIKE 'Handler_read%%'").all()
    return sum(int(number) for name, number in counters if "rnd" not in name)  # rnd: the sort


def test_allocations_of_a_crowded_provider(store, crowded):
    def read(tx):
        before = rows_read(tx.connection)
        found = tx.allocations.on_provider(crowded).allocations
        return len(found), rows_read(tx.connection) - before

    found, rows = store.read_once(read)
    assert found == ON_THE_PROVIDER
    assert rows < 3 * found  # an allocation and its consumer, each by a key


def test_allocations_that_are_too_long_for_one_text_are_several(store, crowded):
    with store.read() as tx:
        at_once = [*tx.allocations.on_provider(crowded).allocations.items()]
        tx.connection.exec_driver_sql("SET SESSION group_concat_max_len = 65536")
        found = [*tx.allocations.on_provider(crowded).allocations.items()]
    assert found == at_once == sorted(found, key=lambda each: each[0])  # the same bytes
    assert len(found) == ON_THE_PROVIDER


def test_allocations_that_are_too_long_for_a_message_are_several_texts():
    """The server returns NULL in place of a text that is too long."""
    with servers.private("mariadb", durable=False) as server:
        server.create("placement")
        store = Store(DatabaseSettings(connection=server.tcp_url("placement"), max_retries=0))
        migration.upgrade(store)
        seed.sync(store)
        crowded = crowd(store)
        server.execute("SET GLOBAL max_allowed_packet = 65536")
        store.dispose()  # a connection keeps the value that it began with
        with store.read() as tx:
            assert len(tx.allocations.on_provider(crowded).allocations) == ON_THE_PROVIDER
        store.dispose()


def test_texts_that_remain_too_long_are_an_error_that_names_the_settings(store, crowded):
    with store.read() as tx:
        tx.connection.exec_driver_sql("SET SESSION group_concat_max_len = 100")
        with pytest.raises(Truncated) as raised:
            tx.allocations.on_provider(crowded)
    assert "group_concat_max_len or max_allowed_packet" in raised.value.reason
