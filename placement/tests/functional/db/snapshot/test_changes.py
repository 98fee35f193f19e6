"""The statement that reads changed providers: its plan, and providers without a root."""

import pytest

from placement.db import clocks
from placement.db.snapshot import changes
from placement.db.snapshot.load import SnapshotReader
from placement.db.tables import resource_providers
from placement.tests.support.factories import new_provider

PROVIDERS = 20_000


def analyze(tx):
    tx.connection.exec_driver_sql("ANALYZE resource_providers")


@pytest.fixture(params=["statistics", "outdated statistics"])
def many_providers(request, store, backend):
    """Many providers, of which PostgreSQL has statistics, or does not have them yet."""
    if backend != "postgresql":
        pytest.skip("plans of PostgreSQL")
    if request.param == "outdated statistics":
        store.write(analyze)
    store.write(
        lambda tx: tx.connection.exec_driver_sql(
            "INSERT INTO resource_providers"
            " (id, uuid, name, generation, root_provider_id, stamp, counted_generation)"
            " SELECT id, gen_random_uuid(), 'host' || id, 0, id, (id %% 32)::bigint << 40, 0"
            f" FROM generate_series(1, {PROVIDERS}) AS id"
        )
    )
    if request.param == "statistics":
        store.write(analyze)


@pytest.mark.usefixtures("many_providers")
def test_changes_of_some_clocks_do_not_scan_all_providers(store):
    moved = range(8)
    seen = {clock: clocks.first_value(clock) for clock in moved}
    statement = changes.since(len(moved), "postgresql", has_names=False)
    with store.read() as tx:
        text = statement.params(changes.parameters(seen, moved)).compile(
            dialect=tx.connection.dialect, compile_kwargs={"literal_binds": True}
        )
        plan = "\n".join(tx.connection.exec_driver_sql(f"EXPLAIN {text}").scalars())
    assert "Seq Scan on resource_providers" not in plan, plan
    assert plan.count("resource_providers_pkey") == 2, plan  # the parent and the root


def test_a_provider_without_root_is_left_out(store):
    new_provider(store, "complete")
    new_provider(store, "without root")
    rootless = resource_providers.c.name == "without root"
    store.write(
        lambda tx: tx.connection.execute(
            resource_providers.update().where(rootless).values(root_provider_id=None)
        )
    )
    never = {clock: clocks.first_value(clock) for clock in range(clocks.CLOCKS)}
    with store.read() as tx:
        changed = changes.read(tx.connection, never, clocks.values(tx.connection))
        states = changed.states(SnapshotReader(tx.connection).names())
    assert [state.provider.name for state in states] == ["complete"]
