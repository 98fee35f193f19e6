"""The scripts that move the tables of Placement out of ``nova_api``, on real servers."""

import os
import stat
import subprocess
import sys
from contextlib import chdir
from importlib import resources
from pathlib import Path

import pytest
import sqlalchemy as sa
import webtest

from placement import db_api, deploy
from placement.db.schema import migration, revisions
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.tests.support.processes import LATEST
from placement.tests.support.sql import ADD_ALLOCATION, ADD_INVENTORY, NOW
from placement.tests.support.sql import execute as execute_in
from placement.tests.support.stores import replaced_store
from placement.wsgi import read_configuration
from placement_insight.tests.functional.docs.pages import executed

pytestmark = pytest.mark.long

MOVE = executed("admin/migration", "Migration from nova_api")
INITIAL = "b4ed3a175331"
SCRIPTS = {"mariadb": "mysql-migrate-db.sh", "postgresql": "postgresql-migrate-db.sh"}
UUIDS = [f"{number}b6f6b5e-3f0c-4b8e-9d0c-6f6f1b8d8a10" for number in range(3)]


def script_of(backend):
    return resources.files("placement_db_tools") / SCRIPTS[backend]


@pytest.fixture(params=["mariadb", "postgresql"])
def backend(request):
    return request.param


@pytest.fixture
def user(backend, worker):
    """A user name and a password with special characters."""
    if backend == "mariadb":
        return f"nova api {worker}", 'pa"ss\\w$ord #1'
    return "placement", "trusted"


@pytest.fixture
def servers_of(server, backend, user):
    """The server, with the user created."""
    database_server = server(backend)
    user, password = user
    if backend == "mariadb":
        quoted = password.replace("\\", "\\\\")
        database_server.execute(
            f"CREATE OR REPLACE USER '{user}'@'127.0.0.1' IDENTIFIED BY '{quoted}'"
        )
        database_server.execute(f"GRANT ALL ON *.* TO '{user}'@'127.0.0.1'")
    return database_server


@pytest.fixture
def databases(servers_of, worker):
    """The names of a filled database ``nova_api`` and of an empty one."""
    names = [f"nova_api_{worker}", f"moved_{worker}"]
    for name in names:
        servers_of.create(name)
    fill(servers_of.url(names[0]))
    yield names
    for name in names:
        servers_of.drop(name)


def fill(url):
    """Create the schema of nova: additional tables and a column, and no recorded revision."""
    store = Store(DatabaseSettings(connection=url))
    migration.upgrade(store, INITIAL)
    execute_in(store, "DROP TABLE alembic_version")
    execute_in(store, "CREATE TABLE cell_mappings (id INTEGER PRIMARY KEY, name VARCHAR(255))")
    execute_in(store, "CREATE TABLE migrate_version (version INTEGER)")
    execute_in(store, "ALTER TABLE resource_providers ADD COLUMN can_host INTEGER DEFAULT 0")
    seed_standard_classes(store)
    for number, uuid in enumerate(UUIDS[:2]):
        execute_in(
            store,
            "INSERT INTO resource_providers (created_at, uuid, name, generation)"
            " VALUES (:now, :uuid, :name, 1)",
            {"now": NOW, "uuid": uuid, "name": f"host{number}"},
        )
    execute_in(store, "UPDATE resource_providers SET root_provider_id = id")
    execute_in(store, ADD_INVENTORY, {"now": NOW, "provider": 1, "class": 2, "total": 1024})
    execute_in(
        store, "INSERT INTO traits (created_at, name) VALUES (:now, 'CUSTOM_RED')", {"now": NOW}
    )
    execute_in(store, "INSERT INTO resource_provider_traits VALUES (NULL, NULL, 1, 1)")
    execute_in(store, "INSERT INTO placement_aggregates (uuid) VALUES (:uuid)", {"uuid": UUIDS[2]})
    execute_in(store, "INSERT INTO resource_provider_aggregates VALUES (NULL, NULL, 1, 1)")
    for table in ("projects", "users"):
        execute_in(store, f"INSERT INTO {table} (external_id) VALUES ('somebody')")
    execute_in(
        store,
        "INSERT INTO consumers (uuid, project_id, user_id, generation) VALUES (:uuid, 1, 1, 1)",
        {"uuid": UUIDS[2]},
    )
    allocation = {"now": NOW, "provider": 1, "consumer": UUIDS[2], "class": 2, "used": 256}
    execute_in(store, ADD_ALLOCATION, allocation)
    store.dispose()


def seed_standard_classes(store):
    def work(tx):
        table = sa.table("resource_classes", sa.column("id"), sa.column("name"))
        rows = [{"id": 0, "name": "VCPU"}, {"id": 2, "name": "DISK_GB"}]
        tx.connection.execute(table.insert(), rows)

    store.write(work)


def run(script, *arguments, **environment):
    environ = {name: text for name, text in os.environ.items() if not name.startswith("OS_")}
    path = f"{Path(sys.executable).parent}:{environ['PATH']}"
    return subprocess.run(
        [script, *arguments],
        env=environ | {"PATH": path} | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def configured(tmp_path, backend, user, servers_of, databases):
    """The configuration file of --mkconfig, with values."""
    file = tmp_path / "migrate-db.rc"
    assert run(script_of(backend), "--mkconfig", file).returncode == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    name, password = user
    text = file.read_text()
    for side, database in zip(("NOVA_API", "PLACEMENT"), databases, strict=True):
        for option, value in {
            "USER": f"'{name}'",
            "PASS": f"'{password}'",
            "DB": database,
            "DB_HOST": "127.0.0.1",
            "DB_PORT": str(servers_of.port),
        }.items():
            lines = [line for line in text.splitlines() if line.startswith(f"{side}_{option}=")]
            assert len(lines) == 1
            text = text.replace(lines[0], f"{side}_{option}={value}")
    file.write_text(text)
    return file


@pytest.fixture
def moved_url(servers_of, databases):
    return servers_of.url(databases[1])


def migrate(backend, file, url, *options, **environment):
    return run(
        script_of(backend),
        *options,
        "--migrate",
        file,
        OS_PLACEMENT_DATABASE__CONNECTION=url,
        **environment,
    )


def migrate_and_stamp(backend, file, url, *options):
    """Migrate with a ``placement-manage`` that does nothing, and stamp in this process.

    The command takes a second; ``test_tables_are_moved_and_served_from`` runs it.
    """
    command = file.with_name("placement-manage")
    command.write_text('#!/bin/sh\necho "called: $@"\n')
    command.chmod(0o755)
    path = f"{command.parent}:{os.environ['PATH']}"
    result = migrate(backend, file, url, *options, PATH=path)
    assert f"called: db stamp {INITIAL}\n" in result.stdout
    store = Store(DatabaseSettings(connection=url))
    migration.stamp(store, INITIAL)
    store.dispose()
    return result


@pytest.mark.parametrize("backend", ["mariadb"])
def test_the_configuration_is_not_searched_in_path(backend, tmp_path, moved_url):
    """`--migrate rc` sourced a file of this name in a directory of PATH."""
    (tmp_path / "rc").write_text("NOVA_API_USER=u\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "rc").write_text(f"touch {tmp_path}/executed\n")
    path = f"{tmp_path}/bin:{os.environ['PATH']}"
    with chdir(tmp_path):
        result = migrate(backend, "rc", moved_url, PATH=path)
    assert "NOVA_API_PASS is not set in rc" in result.stderr
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    ("options", "move"),
    [([], migrate), (["--skip-locks"], migrate_and_stamp)],
    ids=["locks", "skip-locks"],
)
def test_tables_are_moved_and_served_from(backend, configured, moved_url, options, move):
    result = move(backend, configured, moved_url, *options)
    assert (result.returncode, "ERROR" in result.stderr) == (0, False), result.stderr
    assert "resource_providers: 2 rows" in result.stdout

    store = Store(DatabaseSettings(connection=moved_url))
    assert revisions.version(store) == INITIAL
    with store.read() as tx:
        assert not {"cell_mappings", "migrate_version"} & set(
            sa.inspect(tx.connection).get_table_names()
        )
    migration.sync(store)
    store.dispose()
    serves(moved_url)


def serves(url):
    """Check that the service reads the moved data, and can write."""
    conf = read_configuration([], {("placement_database", "connection"): url})
    conf.set_override("auth_strategy", "noauth2", "api")
    store = Store(db_api.settings(conf))
    with replaced_store(store):
        http = webtest.TestApp(deploy.loadapp(conf))
        shown = http.get("/allocation_candidates?resources=DISK_GB:1", headers=LATEST).json
        assert shown["provider_summaries"][UUIDS[0]]["resources"] == {
            "DISK_GB": {"capacity": 1536, "used": 256}
        }
        assert shown["provider_summaries"][UUIDS[0]]["traits"] == ["CUSTOM_RED"]
        response = http.get(f"/allocations/{UUIDS[2]}", headers=LATEST).json
        assert response["allocations"][UUIDS[0]]["resources"] == {"DISK_GB": 256}
        http.post_json("/resource_providers", {"name": "host9"}, headers=LATEST)
        http.put("/traits/CUSTOM_BLUE", headers=LATEST)
    store.dispose()


@pytest.mark.parametrize("backend", ["mariadb"], indirect=True)
def test_the_commands_of_the_page_move_the_tables(configured, moved_url, tmp_path):
    """With the configuration file in another folder, and the script in a folder of PATH."""
    (tmp_path / "mysql-migrate-db.sh").symlink_to(script_of("mariadb"))
    values, file = configured.read_text(), tmp_path / "root.rc"
    make, *others = (each.replace("/root/migrate-db.rc", str(file)) for each in MOVE)
    path = f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    edit = f"cat > {file} <<'END'\n{values}\nEND"
    result = subprocess.run(
        ["bash", "-euc", "\n".join([make, edit, *others])],
        env=os.environ | {"PATH": path, "OS_PLACEMENT_DATABASE__CONNECTION": moved_url},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    serves(moved_url)


def test_a_database_with_tables_is_not_written_to(
    backend, configured, moved_url, databases, servers_of
):
    servers_of.execute("CREATE TABLE traits (id INTEGER)", databases[1])
    result = migrate(backend, configured, moved_url)
    assert result.returncode == 2
    assert f"{databases[1]} is not empty: it has traits" in result.stderr


def test_unreachable_database_is_reported(backend, configured, moved_url, databases):
    text = configured.read_text()
    configured.write_text(text.replace(f"PLACEMENT_DB={databases[1]}", "PLACEMENT_DB=nowhere"))
    result = migrate(backend, configured, moved_url)
    assert (result.returncode, "database of placement is not reached" in result.stderr) == (
        2,
        True,
    )


def test_a_missing_table_is_named(backend, configured, moved_url, databases, servers_of):
    servers_of.execute("DROP TABLE allocations", databases[0])
    result = migrate(backend, configured, moved_url)
    assert (result.returncode, "has no table allocations" in result.stderr) == (2, True)


def test_tables_may_be_moved_one_after_the_other(backend, configured, moved_url, servers_of):
    text = configured.read_text()
    line = next(line for line in text.splitlines() if line.startswith("MIGRATE_TABLES="))
    names = line.partition("=")[2].strip('"').split()
    late = ["allocations", "inventories"]
    early = [name for name in names if name not in late]
    for tables in (early, late):
        configured.write_text(text.replace(line, f'MIGRATE_TABLES="{" ".join(tables)}"'))
        result = migrate_and_stamp(backend, configured, moved_url)
        assert (result.returncode, "ERROR" in result.stderr) == (0, False), result.stderr
    store = Store(DatabaseSettings(connection=moved_url))
    migration.sync(store)
    store.dispose()
    serves(moved_url)


def test_stamp_is_left_to_the_operator_without_configuration(backend, configured, tmp_path):
    (tmp_path / "placement.conf").touch()  # the machine may have a configuration of its own
    result = run(script_of(backend), "--migrate", configured, HOME=str(tmp_path))
    assert (result.returncode, f"placement-manage db stamp {INITIAL}" in result.stderr) == (
        4,
        True,
    )


@pytest.mark.parametrize("arguments", [[], ["--migrate"], ["--mkconfig"], ["--unknown", "x"]])
def test_invalid_usage_is_reported(backend, arguments):
    result = run(script_of(backend), *arguments)
    assert (result.returncode, "--mkconfig FILE" in result.stderr) == (1, True)


def test_a_configuration_is_not_overwritten(backend, tmp_path):
    file = tmp_path / "rc"
    file.write_text("mine")
    assert run(script_of(backend), "--mkconfig", file).returncode == 1
    assert file.read_text() == "mine"


def test_a_configuration_is_not_written_through_a_dangling_link(backend, tmp_path):
    (tmp_path / "rc").symlink_to("elsewhere")
    result = run(script_of(backend), "--mkconfig", tmp_path / "rc")
    assert (result.returncode, "exists" in result.stderr) == (1, True)
    assert not (tmp_path / "elsewhere").exists()


def test_a_symbolic_link_runs_the_script(backend, tmp_path):
    script, link, file = script_of(backend), tmp_path / "bin" / "link", tmp_path / "rc"
    link.parent.mkdir()
    link.symlink_to(os.path.relpath(script, link.parent))
    result = run(link, "--mkconfig", file)
    assert (result.returncode, result.stderr) == (0, "")
    port = {"mariadb": 3306, "postgresql": 5432}[backend]
    assert f'NOVA_API_DB_PORT="{port}"' in file.read_text()
    assert "--mkconfig FILE" in run(link, "--help").stdout
