"""The commands of the page about backups save a database and restore it."""

import os
import re
import subprocess

import pytest

from placement.cmd import manage
from placement.db.schema import seed
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.objects import allocation
from placement.tests.functional.docs.pages import executed
from placement.tests.support.factories import allocations_of, claim, new_provider, uuid
from placement.tests.support.servers import USER

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


def test_a_backup_is_restored(database, monkeypatch):
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
    epoch = store.epoch()
    store.dispose()
    run(RESTORES)
    assert manage.main(arguments) == 0
    restored = Store(DatabaseSettings(connection=url))
    assert allocations_of(restored, kept) == {host: {"VCPU": 2}}
    assert allocations_of(restored, later) == {}
    assert restored.epoch() != epoch
    restored.dispose()
