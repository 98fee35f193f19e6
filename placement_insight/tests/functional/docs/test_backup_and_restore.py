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
from placement.tests.support.factories import (
    allocations_of,
    assert_sound,
    claim,
    new_provider,
    uuid,
)
from placement.tests.support.servers import USER
from placement.tests.support.snapshots import contents
from placement_insight.history.observer import History
from placement_insight.tests.functional.docs.pages import executed
from placement_insight.tests.functional.history.replay import State, oldest_first, state_of

BACKUPS = executed("admin/backup-and-restore", "Backup")
*RESTORES, SYNC = executed("admin/backup-and-restore", "Restore")
PROGRAMS = {"mariadb": "mariadb", "postgresql": "pg_", "sqlite": "sqlite3"}


def runner(folder, server, name):
    """Return a function that runs the command for a kind of database, on the one with the name."""
    variables = {"HOME": str(folder), "PATH": os.environ["PATH"]}
    if server is None:
        (folder / "backups").mkdir()
    else:
        options = f"[client]\nuser=root\nsocket={server.socket}\n"
        (folder / ".my.cnf").write_text(options)
        variables |= {"PGHOST": str(server.folder), "PGUSER": USER, "PGPORT": str(server.port)}
    program = PROGRAMS["sqlite" if server is None else server.name]

    def run(commands):
        (command,) = (each for each in commands if each.startswith(program))
        command = command.replace("/var/lib/placement", str(folder))
        command = command.replace("/var/backups", str(folder / "backups"))
        command = re.sub(r"\bplacement(?= |$)", name, command)
        subprocess.run(["bash", "-euc", command], cwd=folder, env=variables, check=True)

    return run


@pytest.fixture
def database(server, worker, backend, tmp_path):
    """The URL of a database, and a function that runs a command of the page on it."""
    name = f"saved_{worker}"
    if backend == "sqlite":
        yield f"sqlite:///{tmp_path}/placement.sqlite", runner(tmp_path, None, name)
        return
    database_server = server(backend)
    database_server.create(name)
    yield database_server.url(name), runner(tmp_path, database_server, name)
    database_server.drop(name)


PROCESSES = pytest.mark.parametrize(
    "running", [0, 2], ids=["processes are stopped", "processes run"]
)


@PROCESSES
@pytest.mark.long
def test_a_backup_is_restored(database, monkeypatch, running):
    url, run = database
    check_restore([url], run, monkeypatch, running)


def check_restore(urls, run, monkeypatch, running):
    """Follow the page, with a number of processes that run at each URL of the database.

    They have the restored data a second later, before `db sync`.
    """
    url = urls[0]
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", url)
    program, *arguments = SYNC.split()
    assert (program, manage.main(arguments)) == ("placement-manage", 0)
    store = Store(DatabaseSettings(connection=url))
    seed.sync(store)
    store = store.writing_with(observer=History(store, 1000))
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
        settings = [DatabaseSettings(connection=each) for each in urls for _ in range(running)]
        processes = [stack.enter_context(Process(each)) for each in settings]
        run(RESTORES)
        time.sleep(2 * server_checks.INTERVAL_SECONDS * bool(running))
        restored = Store(DatabaseSettings(connection=urls[-1]))
        for _ in range(2):
            expected = contents(Engine(restored).current())
            found = [contents(each.engine.current()) for each in processes]
            assert found == [expected] * len(processes)
            assert manage.main(arguments) == 0
        assert [error for each in processes for error in each.errors] == []
    assert allocations_of(restored, kept) == {host: {"VCPU": 2}}
    assert allocations_of(restored, later) == {}
    assert restored.epoch() != epoch
    assert_sound(restored)
    allocation.delete(restored.writing_with(observer=History(restored, 1000)), kept)
    replayed = State().replay(oldest_first(restored)).values()
    assert replayed == state_of(restored).values()
    assert len(oldest_first(restored)) == 4  # with the inventory, none of what the restore undid
    restored.dispose()
