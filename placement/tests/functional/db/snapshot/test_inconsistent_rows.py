"""Inconsistent rows of other programs do not affect reads of other rows."""

import pytest
import sqlalchemy as sa

from placement import exception
from placement.cmd import status
from placement.core.model import Provider, UpdateProvider
from placement.db import clocks, tables
from placement.db.snapshot import changes
from placement.db.snapshot.load import SnapshotReader
from placement.engine.engine import Engine
from placement.objects import provider
from placement.tests.support.factories import claim, new_provider, uuid
from placement.tests.support.snapshots import by_name


@pytest.fixture
def hosts(store):
    """Two hosts; the first gets the odd row."""
    changes.warn_once.cache_clear()
    return [new_provider(store, name, VCPU=8) for name in ("odd", "sound")]


def execute(store, statement, **values):
    store.write(lambda tx: tx.connection.execute(sa.text(statement), values))


def reported(store):
    with store.read() as tx:
        return list(status.inconsistent_rows(tx.connection))


def test_consistent_database_has_no_odd_rows(store, hosts):
    assert reported(store) == []


INVENTORY = (
    "INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit,"
    " max_unit, step_size, allocation_ratio, used)"
    " VALUES (:id, :class, 8, 0, 1, 8, :step, 1.0, 0)"
)


@pytest.mark.parametrize(
    ("values", "text"),
    [({"class": 4444, "step": 1}, "does not exist"), ({"class": 1, "step": 0}, "step_size")],
    ids=["class", "step"],
)
def test_an_odd_inventory_is_left_out(store, hosts, caplog, values, text):
    id_ = provider.show(store, hosts[0]).id
    execute(store, INVENTORY, id=id_, **values)
    engine = Engine(store)
    for _ in range(2):
        states = by_name(engine.current())
        assert states["odd"].inventories.keys() == {"VCPU"}
        assert states["sound"].inventories.keys() == {"VCPU"}
        engine = Engine(store)
    assert caplog.text.count("are left out") == 1
    assert text in "".join(reported(store))
    claim(store, uuid(), {hosts[0]: {"VCPU": 1}})
    if values["step"] == 0:
        with pytest.raises(exception.NotAllocatable):
            claim(store, uuid(), {hosts[0]: {"MEMORY_MB": 1}})


TRAIT = (
    "INSERT INTO resource_provider_traits (resource_provider_id, trait_id) VALUES (:id, :trait)"
)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)  # others have foreign keys
def test_a_trait_that_does_not_exist_is_left_out(store, hosts, caplog):
    id_ = provider.show(store, hosts[0]).id
    execute(store, TRAIT, id=id_, trait=1)
    engine = Engine(store)
    traits = by_name(engine.current())["odd"].traits
    assert len(traits) == 1
    assert "left out" not in caplog.text
    execute(store, TRAIT, id=id_, trait=4444)
    store.write(lambda tx: tx.publish([id_]))
    for reader in (engine, Engine(store)):
        assert by_name(reader.current())["odd"].traits == traits
    assert caplog.text.count("Traits that do not exist are left out of providers.") == 1


def test_uuids_with_separators_of_texts_are_read(store, hosts):
    """Another program, or a hand, wrote them: the reads of all other providers still succeed."""
    id_ = provider.show(store, hosts[0]).id
    engine = Engine(store)
    engine.current()
    execute(store, "INSERT INTO placement_aggregates (id, uuid) VALUES (1, 'a|~0')")
    execute(
        store,
        "INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id)"
        " VALUES (:id, 1)",
        id=id_,
    )
    claim(store, uuid(), {hosts[0]: {"VCPU": 1}})  # stamps the provider
    for reader in (engine, Engine(store)):
        assert by_name(reader.current())["odd"].aggregates == {"a|~0"}
    execute(store, "UPDATE resource_providers SET uuid = 'u|~1' WHERE id = :id", id=id_)
    states = by_name(Engine(store).current())
    assert (states["odd"].provider.uuid, states["sound"].provider.uuid) == ("u|~1", hosts[1])


def test_changed_provider_with_a_separator_in_its_aggregate_is_not_a_load(store, hosts):
    execute(store, "INSERT INTO placement_aggregates (id, uuid) VALUES (1, 'a|~0')")
    execute(
        store, "INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id)"
        " SELECT id, 1 FROM resource_providers"
    )  # fmt: skip
    with store.read() as tx:
        now = clocks.values(tx.connection)
    claim(store, uuid(), {hosts[0]: {"VCPU": 1}})
    changed = store.read_once(lambda tx: changes.read(tx.connection, now, store.probe()))
    with store.read() as tx:
        (state,) = changed.states(SnapshotReader(tx.connection).names())
    assert state.aggregates == {"a|~0"}


def test_an_aggregate_without_uuid_is_left_out(store, hosts):
    engine = Engine(store)
    engine.current()
    execute(store, "INSERT INTO placement_aggregates (id, uuid) VALUES (1, NULL)")
    execute(
        store, "INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id)"
        " SELECT id, 1 FROM resource_providers"
    )  # fmt: skip
    claim(store, uuid(), {hosts[0]: {"VCPU": 1}})  # stamps the provider
    for reader in (engine, Engine(store)):
        assert by_name(reader.current())["odd"].aggregates == frozenset()


def test_a_loop_of_parents_is_left_out(store, hosts, caplog):
    child = new_provider(store, "child", hosts[0])
    engine = Engine(store)
    engine.current()
    ids = [provider.show(store, each).id for each in (hosts[0], child)]
    parent = "UPDATE resource_providers SET parent_provider_id = :child WHERE id = :id"
    execute(store, parent, id=ids[0], child=ids[1])
    assert by_name(Engine(store).current()).keys() == {"sound"}
    assert "loop of parents" in caplog.text
    assert "2 resource providers are in or below a loop" in "".join(reported(store))
    store.write(lambda tx: tx.publish(ids))  # a running process reads both
    assert by_name(engine.current()).keys() == {"sound"}


def test_a_provider_in_a_loop_of_parents_can_be_moved_out_of_it(store, hosts):
    child = new_provider(store, "child", hosts[0])
    ids = [provider.show(store, each).id for each in (hosts[0], child)]
    parent = "UPDATE resource_providers SET parent_provider_id = :child WHERE id = :id"
    execute(store, parent, id=ids[0], child=ids[1])
    with pytest.raises(exception.CannotSaveProvider, match="creating loop"):
        provider.update(store, UpdateProvider(hosts[0], "odd", hosts[0], may_move=True))
    moved = provider.update(store, UpdateProvider(hosts[0], "odd", hosts[1], may_move=True))
    assert (moved.parent_uuid, moved.root_uuid) == (hosts[1], hosts[1])
    assert provider.show(store, child).root_uuid == hosts[1]
    assert by_name(Engine(store).current()).keys() == {"odd", "child", "sound"}


def test_a_provider_without_name_is_shown_with_its_uuid(store, hosts):
    execute(store, "UPDATE resource_providers SET name = NULL WHERE name = 'odd'")
    assert by_name(Engine(store).current()).keys() == {hosts[0], "sound"}
    shown = provider.show(store, hosts[0])
    assert isinstance(shown, Provider)
    assert shown.name == hosts[0]
    assert "have no name" in "".join(reported(store))
    assert tables.resource_providers.c.name.nullable
