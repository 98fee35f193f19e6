"""The statement that reads changed providers: its plan, and providers without a root."""

import pytest

from placement.core.model import Inventory
from placement.db import clocks
from placement.db.snapshot import changes
from placement.db.snapshot.load import SnapshotReader
from placement.db.tables import resource_providers
from placement.engine.engine import Engine
from placement.tests.support.factories import new_provider, set_inventories

PROVIDERS = 20_000


INSERT_PROVIDERS = (
    "INSERT INTO resource_providers"
    " (id, uuid, name, generation, root_provider_id, stamp, counted_generation)"
    " SELECT id, gen_random_uuid(), 'host' || id, 0, id, (id %% 32)::bigint << 40, 0"
    f" FROM generate_series(1, {PROVIDERS}) AS id"
)
LOCK = "LOCK TABLE resource_providers IN SHARE UPDATE EXCLUSIVE MODE"
ANALYZE = "ANALYZE resource_providers"
FORGET = "DELETE FROM pg_statistic WHERE starelid = 'resource_providers'::regclass"


@pytest.mark.parametrize("has_statistics", [True, False], ids=["statistics", "no statistics"])
def test_changes_of_some_clocks_do_not_scan_all_providers(store, backend, has_statistics):
    """The lock keeps autovacuum away; statistics of rows that other tests wrote are forgotten."""
    if backend != "postgresql":
        pytest.skip("plans of PostgreSQL")
    # rolled back: in a run of all tests, the deletion of so many rows has taken a minute
    with store.engines().writer.connect() as connection:
        for statement in (LOCK, FORGET, INSERT_PROVIDERS, *([ANALYZE] if has_statistics else ())):
            connection.exec_driver_sql(statement)
        lines = explained(connection)
    assert "Seq Scan on resource_providers" not in lines, lines
    assert lines.count("resource_providers_pkey") == 2, lines  # the parent and the root


def explained(connection):
    """Return the plan of the statement for the changes of 8 of 32 clocks."""
    moved = range(8)
    seen = {clock: clocks.first_value(clock) for clock in moved}
    statement = changes.since(len(moved), "postgresql", has_names=False)
    text = statement.params(changes.parameters(seen, moved)).compile(
        dialect=connection.dialect, compile_kwargs={"literal_binds": True}
    )
    return "\n".join(connection.exec_driver_sql(f"EXPLAIN {text}").scalars())


def test_few_statements_read_the_changes_of_any_number_of_clocks():
    seen = {clock: clocks.first_value(clock) for clock in range(clocks.CLOCKS)}
    for moved in range(clocks.PROVIDER_CLOCKS + 1):
        now = seen | {clock: seen[clock] + 1 for clock in range(moved)}
        read = changes.clocks_to_read(seen, now)
        assert set(read) >= set(range(moved))
        assert len(read) in {0, 1, 2, 4, 8, 16, 32}
        assert len(set(read)) == len(read) <= max(2 * moved - 1, 0)


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


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_all_digits_of_a_ratio_are_read(store):
    """MySQL and PostgreSQL store fewer digits."""
    provider, ratio = new_provider(store, "host"), 16.000000000000004
    engine = Engine(store)
    engine.current()
    set_inventories(store, provider, VCPU=Inventory(total=8, allocation_ratio=ratio))
    assert engine.current().state(provider).inventories["VCPU"].allocation_ratio == ratio
