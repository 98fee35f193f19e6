"""A cloud in a database is the cloud that was built."""

import sqlalchemy as sa

from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.engine.engine import load
from placement.tests.support.factories import assert_sound, new_provider
from placement.tests.support.provider_tables import snapshot_of_states
from placement.tests.support.snapshots import by_name
from placement_insight.demo.cloud import cloud
from placement_insight.tests.support import clouds


def test_a_loaded_cloud_is_the_cloud_that_was_built(store):
    built = cloud(45)
    clouds.load(store, built)
    assert_sound(store)
    with store.read() as tx:
        view = load(tx)
    assert by_name(view.snapshot) == by_name(snapshot_of_states(built.states))
    new_provider(store)


def test_the_command_writes_a_database_and_the_servers(tmp_path, capsys):
    file, servers = tmp_path / "serve" / "placement.sqlite", tmp_path / "servers"
    clouds.main([str(file), "--hosts", "30", "--servers", str(servers)])
    built = cloud(30)
    assert f"{len(built.states)} providers" in capsys.readouterr().out
    assert len(servers.read_text().splitlines()) == len(built.servers)
    store = Store(DatabaseSettings(connection=f"sqlite:///{file}"))
    with store.read() as tx:
        number = tx.connection.scalar(sa.text("SELECT count(*) FROM resource_providers"))
    store.dispose()
    assert number == len(built.states)
