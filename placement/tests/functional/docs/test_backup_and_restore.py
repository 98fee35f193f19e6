"""The commands of the page about backups save a database and restore it."""

import os
import re
import subprocess
import time
from contextlib import ExitStack

import pytest

from placement.cmd import manage
from placement.db.connections import server_checks
from placement.db.schema import seed
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.engine.engine import Engine
from placement.objects import allocation
from placement.tests.functional.db.connections.dumps import Process
from placement.tests.functional.docs.pages import executed
from placement.tests.support.factories import (
    allocations_of,
    assert_sound,
    claim,
    new_provider,
    uuid,
)
from placement.tests.support.servers import USER
from placement.tests.support.snapshots import contents

BACKUPS = executed("admin/backup-and-restore", "Backup")
*RESTORES, SYNC = executed("admin/backup-and-restore", "Restore")
PROGRAMS = {"mariadb": "mariadb", "postgresql": "pg_", "sqlite": "sqlite3"}


@pytest.fixture
def database(server, worker, backend, tmp_path):
    """The URL of a database, and a function that runs a command of the page on it."""
    name = f"saved_{worker}"
    variables = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    if backend == "sqlite":
        (tmp_path / "backups").mkdir()
        url = f"sqlite:///{tmp_path}/placement.sqlite"
    else:
        database_server = server(backend)
        database_server.create(name)
        url = database_server.url(name)
        options = f"[client]\nuser=root\nsocket={database_server.socket}\n"
        (tmp_path / ".my.cnf").write_text(options)
        variables |= {"PGHOST": str(database_server.folder), "PGUSER": USER}
        variables |= {"PGPORT": str(database_server.port)}

    def run(commands):
        """Run the command for this kind of database."""
        (command,) = (each for each in commands if each.startswith(PROGRAMS[backend]))
        command = command.replace("/var/lib/placement", str(tmp_path))
        command = command.replace("/var/backups", str(tmp_path / "backups"))
        command = re.sub(r"\bplacement(?= |$)", name, command)
        subprocess.run(["bash", "-euc", command], cwd=tmp_path, env=variables, check=True)

    yield url, run
    if backend != "sqlite":
        server(backend).drop(name)


@pytest.mark.parametrize("running", [0, 2], ids=["processes are stopped", "processes run"])
def test_a_backup_is_restored(database, monkeypatch, running):
    """Processes that run have the restored data a second later, before `db sync`."""
    url, run = database
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", url)
    program, *arguments = SYNC.split()
    assert (program, manage.main(arguments)) == ("placement-manage", 0)
    store = Store(DatabaseSettings(connection=url))
    seed.sync(store)
    host, kept, later = new_provider(store, VCPU=8), uuid(), uuid()
    claim(store, kept, {host: {"VCPU": 2}})
    run(BACKUPS)
    allocation.delete(store, kept)
    claim(store, later, {host: {"VCPU": 1}})
    new_provider(store, VCPU=8)
    epoch = store.epoch()
    store.dispose()
    time.sleep(1.1)  # MariaDB tells restored tables apart by a creation time in seconds
    with ExitStack() as stack:
        processes = [stack.enter_context(Process(store.settings)) for _ in range(running)]
        run(RESTORES)
        time.sleep(2 * server_checks.INTERVAL_SECONDS * bool(running))
        restored = Store(DatabaseSettings(connection=url))
        for _ in range(2):
            expected = contents(Engine(restored).current())
            assert [contents(each.engine.current()) for each in processes] == [expected] * running
            assert manage.main(arguments) == 0
        assert [error for each in processes for error in each.errors] == []
    assert allocations_of(restored, kept) == {host: {"VCPU": 2}}
    assert allocations_of(restored, later) == {}
    assert restored.epoch() != epoch
    assert_sound(restored)
    restored.dispose()
