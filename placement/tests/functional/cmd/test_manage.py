"""The commands ``placement-manage`` and ``placement-status``."""

import json
import os
import pty
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
import sqlalchemy as sa

from placement.cmd import manage, status
from placement.db import tables
from placement.db.schema import migration, seed
from placement.engine.engine import Engine
from placement.tests.support.factories import claim, new_provider, uuid
from placement.tests.support.processes import read_terminal
from placement.tests.support.sql import (
    ADD_ALLOCATION,
    ADD_INVENTORY,
    ADD_PROVIDER,
    NOW,
    execute,
    scalar,
)
from placement.tests.support.waiting import SECONDS_OF_COMMANDS

NOBODY = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def run(empty_database_url, monkeypatch, capsys):
    """Return a function that runs a command, and returns its exit status and what it printed."""
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", empty_database_url)
    monkeypatch.setenv("OS_API__AUTH_STRATEGY", "noauth2")

    def run(main, *arguments):
        return main(list(arguments)), capsys.readouterr()

    return run


def test_sync_prints_nothing_and_version_prints_the_revision(run):
    code, printed = run(manage.main, "db", "version")
    assert (code, printed.out) == (0, "None\n")
    code, printed = run(manage.main, "db", "sync")
    assert (code, printed.out) == (0, "")
    code, printed = run(manage.main, "db", "version")
    assert (code, printed.out) == (0, f"{migration.HEAD}\n")
    assert run(manage.main, "db", "sync")[0] == 0


def test_stamp_accepts_known_revisions(run):
    assert run(manage.main, "db", "sync")[0] == 0
    assert run(manage.main, "db", "stamp", "a082b8bb98d0")[0] == 0
    assert run(manage.main, "db", "version")[1].out == "a082b8bb98d0\n"
    code, printed = run(manage.main, "db", "stamp", "unheard_of")
    assert code == 1
    assert "Can't locate revision identified by 'unheard_of'" in printed.err


@pytest.fixture
def others(empty_store):
    """A database filled by another implementation, with wrong usage counters."""
    migration.upgrade(empty_store, migration.COMMON_HEAD)
    provider = {"now": NOW, "id": 1, "uuid": uuid(), "name": "host1", "parent": None}
    execute(empty_store, ADD_PROVIDER, provider)
    execute(empty_store, ADD_INVENTORY, {"now": NOW, "provider": 1, "class": 1, "total": 64})
    allocation_row = {"now": NOW, "provider": 1, "class": 1, "consumer": uuid(), "used": 4}
    execute(empty_store, ADD_ALLOCATION, allocation_row)
    empty_store.dispose()


@pytest.mark.parametrize("backend", ["sqlite"])
class TestProgress:
    def sync(self, url, stderr):
        command = [sys.executable, "-m", "placement.cmd.manage", "db", "sync"]
        environ = os.environ | {"OS_PLACEMENT_DATABASE__CONNECTION": url}
        return subprocess.run(
            command,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=stderr,
            check=True,
            timeout=SECONDS_OF_COMMANDS,
        )

    @pytest.mark.long
    def test_progress_is_shown_on_a_terminal(self, others, empty_database_url):
        self.sync(empty_database_url, subprocess.PIPE)
        with closing(sqlite3.connect(sa.make_url(empty_database_url).database)) as database:
            database.execute("UPDATE inventories SET used = 77")
            database.commit()
        terminal, its_other_end = pty.openpty()
        result = self.sync(empty_database_url, its_other_end)
        os.close(its_other_end)
        shown = read_terminal(terminal)
        os.close(terminal)
        assert result.stdout == b""
        *_, comparing, corrected, end = shown.split(b"\r\x1b[K")
        assert comparing == b"Comparing usage counters with allocations"
        assert corrected == b"Checked the usage counters of 1 of 1 providers"
        assert end == b""

    def test_progress_is_not_written_to_a_file(self, others, empty_database_url):
        result = self.sync(empty_database_url, subprocess.PIPE)
        assert result.stdout == b""
        lines = result.stderr.decode().splitlines()
        assert lines
        assert all(" INFO alembic.runtime.migration " in line for line in lines)


def make_first_revision(store):
    """Create a database with data that the second and third revision refuse."""
    migration.upgrade(store, "b4ed3a175331")
    execute(
        store,
        "INSERT INTO resource_providers (uuid, name, parent_provider_id) VALUES (:n, :n, :parent)",
        {"n": "cn1", "parent": None},
    )
    first = scalar(store, "SELECT id FROM resource_providers")
    execute(
        store,
        "INSERT INTO resource_providers (uuid, name, parent_provider_id) VALUES (:n, :n, :parent)",
        {"n": "numa0", "parent": first},
        {"n": "cn2", "parent": None},
    )
    for consumer in ("a", "b"):
        execute(
            store,
            ADD_ALLOCATION,
            *(
                {"now": NOW, "provider": 1, "class": class_, "consumer": consumer, "used": 1}
                for class_ in (0, 1)
            ),
        )


def test_online_data_migrations_run_in_batches(run, empty_store):
    make_first_revision(empty_store)
    code, printed = run(manage.main, "db", "online_data_migrations")
    assert code == 0
    assert printed.out == (
        "Running batches of 50 until complete\n"
        "3 rows matched query set_root_provider_ids, 3 migrated\n"
        "2 rows matched query create_incomplete_consumers, 2 migrated\n"
        "+-----------------------------+-------------+-----------+\n"
        "|          Migration          | Total Found | Completed |\n"
        "+-----------------------------+-------------+-----------+\n"
        "|    set_root_provider_ids    |      3      |     3     |\n"
        "| create_incomplete_consumers |      2      |     2     |\n"
        "+-----------------------------+-------------+-----------+\n"
    )
    assert run(manage.main, "db", "sync")[0] == 0
    assert scalar(empty_store, "SELECT COUNT(*) FROM consumers WHERE generation = 0") == 2
    assert scalar(empty_store, "SELECT external_id FROM projects") == NOBODY
    assert scalar(empty_store, "SELECT external_id FROM users") == NOBODY


def test_root_is_the_end_of_the_parent_chain(run, empty_store):
    make_first_revision(empty_store)
    run(manage.main, "db", "online_data_migrations")
    of_child = (
        "SELECT root.name FROM resource_providers root JOIN resource_providers child"
        " ON child.root_provider_id = root.id WHERE child.name = 'numa0'"
    )
    assert scalar(empty_store, of_child) == "cn1"


def test_max_count_bounds_what_is_migrated(run, empty_store):
    make_first_revision(empty_store)
    limited = ("db", "online_data_migrations", "--max-count")
    code, printed = run(manage.main, *limited, "2")
    assert code == 1
    assert "2 rows matched query set_root_provider_ids, 2 migrated" in printed.out
    assert "Running batches" not in printed.out
    assert "create_incomplete_consumers" not in printed.out
    assert run(manage.main, *limited, "2")[0] == 1
    assert run(manage.main, *limited, "2")[0] == 1
    assert run(manage.main, *limited, "2")[0] == 0


def test_providers_in_a_parent_loop_get_a_root_and_the_loop_is_reported(run, empty_store):
    """Loops of one to three; the snapshot leaves them out until they are resolved."""
    make_first_revision(empty_store)
    add_provider = "INSERT INTO resource_providers (id, uuid, name) VALUES (:id, :name, :name)"
    set_parent = "UPDATE resource_providers SET parent_provider_id = :parent WHERE id = :id"
    parents = {100: 100, 110: 111, 111: 110, 120: 121, 121: 122, 122: 120}
    children = {200: 100, 210: 110, 220: 120}
    added = [{"id": id_, "name": f"p{id_}"} for id_ in [*parents, *children]]
    execute(empty_store, add_provider, *added)
    execute(
        empty_store,
        set_parent,
        *({"id": id_, "parent": parent} for id_, parent in (parents | children).items()),
    )
    code, printed = run(manage.main, "db", "online_data_migrations")
    assert code == 0
    assert "12 rows matched query set_root_provider_ids" in printed.out
    rootless = "SELECT COUNT(*) FROM resource_providers WHERE root_provider_id IS NULL"
    assert scalar(empty_store, rootless) == 0
    assert run(manage.main, "db", "sync")[0] == 0
    _, printed = run(status.main, "upgrade", "check")
    assert "9 resource providers are in or below a loop of parents" in " ".join(
        printed.out.replace("|", " ").split()
    )


def test_a_provider_whose_parent_does_not_exist_is_a_root(run, empty_store):
    make_first_revision(empty_store)
    without_check = {
        "mysql": "SET foreign_key_checks = 0",
        "postgresql": "SET session_replication_role = replica",
        "sqlite": "SELECT 1",
    }[empty_store.settings.backend]

    def add(tx):
        tx.connection.exec_driver_sql(without_check)
        tx.connection.exec_driver_sql(
            "INSERT INTO resource_providers (id, uuid, name, parent_provider_id)"
            " VALUES (100, 'u100', 'p100', 99)"
        )

    empty_store.write(add)
    empty_store.dispose()
    assert run(manage.main, "db", "online_data_migrations")[0] == 0
    assert (
        scalar(empty_store, "SELECT root_provider_id FROM resource_providers WHERE id = 100")
        == 100
    )


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("count", ["0", "-1", "many"])
def test_max_count_is_a_positive_number(run, count):
    code, printed = run(manage.main, "db", "online_data_migrations", "--max-count", count)
    assert (code, printed.out) == (127, "Must supply a positive value for max_count\n")


def test_failed_migration_is_reported(run, empty_store):
    migration.upgrade(empty_store, "b4ed3a175331")
    execute(empty_store, "DROP TABLE allocations")
    code, printed = run(manage.main, "db", "online_data_migrations")
    assert code == 2
    assert "Error attempting to run create_incomplete_consumers" in printed.out
    assert "Some migrations failed unexpectedly. Check log for details." in printed.out


# --- upgrade check ------------------------------------------------------------------------


def test_a_new_database_is_ready(run, empty_store):
    migration.sync(empty_store)
    code, printed = run(status.main, "upgrade", "check")
    assert code == 0, printed.out
    assert "Upgrade Check Results" in printed.out
    assert printed.out.count("Result: Success") == 10


def test_upgrade_check_warns_when_most_ids_are_used(run, empty_store):
    migration.sync(empty_store)
    if empty_store.settings.backend == "sqlite":
        pytest.skip("ids have 64 bits")
    if empty_store.settings.backend == "postgresql":
        use = "SELECT setval('allocations_id_seq', 1600000000)"
    else:
        use = "ALTER TABLE allocations AUTO_INCREMENT = 1600000001"
    empty_store.write(lambda tx: tx.connection.exec_driver_sql(use))
    code, printed = run(status.main, "upgrade", "check")
    assert code == 1
    assert "allocations.id 75%" in " ".join(printed.out.split())


NOT_ROTATED = {"ROTATE_LIMITED_CANDIDATES": "false"}
AT_MOST_500 = {"MAX_ALLOCATION_CANDIDATES": "500"}
BREADTH_FIRST = {"ALLOCATION_CANDIDATES_GENERATION_STRATEGY": "breadth-first"}


@pytest.mark.parametrize("backend", ["sqlite"])
def test_upgrade_check_warns_if_a_limit_always_leaves_out_the_same_hosts(
    run, empty_store, monkeypatch
):
    def warning(**options):
        with monkeypatch.context() as patch:
            for name, value in options.items():
                patch.setenv(f"OS_PLACEMENT__{name}", value)
            code, printed = run(status.main, "upgrade", "check", "--json")
        details = {check["check"]: check["details"] for check in json.loads(printed.out)["checks"]}
        assert code == bool(details["Limited Candidates"]), details
        return details["Limited Candidates"]

    migration.sync(empty_store)
    hosts = [
        {"id": number, "uuid": uuid(), "name": f"cn{number}", "root_provider_id": number}
        for number in range(1, 1002)
    ]
    insert = tables.resource_providers.insert()
    empty_store.write(lambda tx: tx.connection.execute(insert, hosts))
    of_nova = "A response with 1,000 candidates always leaves out the same of 1,001 root providers"
    assert of_nova in warning(**NOT_ROTATED)
    assert "A response with 500 candidates" in warning(**AT_MOST_500)
    assert warning() is None
    assert warning(**NOT_ROTATED, RANDOMIZE_ALLOCATION_CANDIDATES="true") is None
    assert warning(**AT_MOST_500, **BREADTH_FIRST) is None
    assert warning(MAX_ALLOCATION_CANDIDATES="1001") is None


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_commands_in_sentences_read_the_configuration_in_use(run, empty_store, tmp_path):
    file = tmp_path / "east region.conf"
    file.write_text("")
    option, command = ("--config-file", str(file)), f"placement-manage --config-file '{file}' db"
    _, printed = run(manage.main, *option, "db", "online_data_migrations")
    assert f"Run `{command} sync`" in printed.err
    _, printed = run(status.main, *option, "upgrade", "check")
    assert f"Run `{command} sync`" in printed.err
    make_first_revision(empty_store)
    _, printed = run(status.main, *option, "upgrade", "check", "--json")
    details = {each["check"]: each["details"] for each in json.loads(printed.out)["checks"]}
    assert f"`{command} online_data_migrations`" in details["Missing Root Provider IDs"]
    assert f"`{command} sync`" in details["API Startup"]


def test_failed_checks_are_reported(run, empty_store):
    make_first_revision(empty_store)
    code, printed = run(status.main, "upgrade", "check", "--json")
    assert code == 2
    checks = {check["check"]: check for check in json.loads(printed.out)["checks"]}
    roots, consumers = checks["Missing Root Provider IDs"], checks["Incomplete Consumers"]
    assert roots["result"] == 2
    assert (
        "There is at least one resource provider table record which misses its root provider id."
        in roots["details"]
    )
    assert "placement-manage db online_data_migrations" in roots["details"]
    assert consumers["result"] == 1
    assert (
        "There are 2 incomplete consumers table records for existing allocations"
        in consumers["details"]
    )


def test_an_unknown_revision_is_named_with_what_was_checked(run, empty_store):
    migration.sync(empty_store)
    execute(empty_store, "ALTER TABLE traits ADD COLUMN note VARCHAR(20)")
    execute(empty_store, "UPDATE alembic_version SET version_num = 'feedfacecafe'")
    code, printed = run(status.main, "upgrade", "check", "--json")
    (check,) = [
        each for each in json.loads(printed.out)["checks"] if each["check"] == "Database Revision"
    ]
    assert (code, check["result"]) == (1, 1)
    assert "at revision feedfacecafe, which this release does not know" in check["details"]
    assert "Checked: it has all tables and columns" in check["details"]
    execute(empty_store, "ALTER TABLE traits RENAME COLUMN name TO label")
    code, printed = run(status.main, "upgrade", "check", "--json")
    assert code == 2
    assert "traits.name is missing" in printed.out


def test_wrong_usage_counters_are_reported_and_corrected(run, empty_store):
    migration.sync(empty_store)
    seed.sync(empty_store)
    execute(empty_store, ADD_INVENTORY, {"now": NOW, "provider": 1, "class": 1, "total": 64})
    execute(empty_store, "UPDATE inventories SET used = 3")
    code, printed = run(status.main, "upgrade", "check")
    assert code == 2
    assert "Check: Usage Counters" in printed.out
    assert "1 inventories" in printed.out
    assert run(manage.main, "db", "sync")[0] == 0
    assert run(status.main, "upgrade", "check")[0] == 0


def test_running_processes_reload_rows_changed_in_sql(run, empty_store):
    """In SQL, or by an implementation without clocks."""
    migration.sync(empty_store)
    seed.sync(empty_store)
    empty_store.dispose()  # a connection that finds a new schema after a second ends the lineage
    host = new_provider(empty_store, VCPU=64)
    claim(empty_store, uuid(), {host: {"VCPU": 4}})
    engine = Engine(empty_store)
    before = engine.current().state(host)
    execute(empty_store, "UPDATE inventories SET used = 3, total = 128")
    execute(empty_store, "UPDATE resource_providers SET name = 'renamed'")
    assert engine.current().state(host) == before
    assert run(status.main, "upgrade", "check")[0] == 2
    assert run(manage.main, "db", "sync")[0] == 0
    state = engine.current().state(host)
    assert state.provider.name == "renamed"
    assert (state.inventories["VCPU"].total, state.used) == (128, {"VCPU": 4})
    assert run(status.main, "upgrade", "check")[0] == 0


def test_a_check_without_schema_is_an_error(run):
    code, printed = run(status.main, "upgrade", "check")
    assert code == 255
    assert "The database has no Placement schema" in printed.err
