"""Dumps by the tools of MariaDB and PostgreSQL, restored in place while processes read."""

import re
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack

from placement import exception
from placement.db.connections import server_checks
from placement.db.store import Store
from placement.engine.engine import Engine
from placement.objects import provider
from placement.tests.support import servers
from placement.tests.support.factories import claim, new_provider, set_inventories, uuid
from placement.tests.support.snapshots import contents

MARIADB_PAUSES = ("DROP TABLE", "LOCK TABLES", "UNLOCK TABLES")
POSTGRESQL_PAUSES = ("DROP TABLE", "CREATE TABLE", "COPY", "ALTER TABLE ONLY .*resource")


class Dump:
    """A dump of one database, which is restored while others use it.

    The restore pauses before some statements, if a client sends them.
    """

    pauses: Sequence[str] = ()

    def __init__(self, server, name):
        self._name = name
        self._is_postgresql = server.name == "postgresql"
        if self._is_postgresql:
            place = {"host": server.folder, "port": server.port, "username": servers.USER}
        else:
            place = {"user": "root", "socket": server.socket}
        self._options = [f"--{option}={value}" for option, value in place.items()]
        self._text = b""

    def command(self, program, *arguments):
        """Return a command line for the server."""
        path = (
            servers.PostgreSql._program(program)[-1]
            if self._is_postgresql
            else servers.find(program)
        )
        return [path, *self._options, *arguments]

    def save(self):
        """Dump the database."""
        self._text = subprocess.run(self.saving(), check=True, capture_output=True).stdout

    def restore(self, pause_seconds):
        """Restore the dump."""
        starts = "|".join(self.pauses) or "$."
        parts = re.split(f"^(?={starts})".encode(), self._text, flags=re.MULTILINE)
        with subprocess.Popen(
            self.restoring(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        ) as process:
            for part in parts:
                process.stdin.write(part)
                process.stdin.flush()
                time.sleep(pause_seconds if len(parts) > 1 else 0)
            process.stdin.close()
            assert process.wait() == 0

    def saving(self):
        """Return the command that writes a dump to its output."""
        raise NotImplementedError

    def restoring(self):
        """Return the command that restores a dump from its input."""
        raise NotImplementedError


class OfMariaDb(Dump):
    """``mariadb < dump``."""

    server, pauses = "mariadb", MARIADB_PAUSES

    def saving(self):
        return self.command("mariadb-dump", "--single-transaction", self._name)

    def restoring(self):
        return self.command("mariadb", self._name)


class Plain(Dump):
    """``psql < dump``."""

    server, pauses = "postgresql", POSTGRESQL_PAUSES
    transaction: Sequence[str] = ()

    def saving(self):
        return self.command("pg_dump", "--clean", "--if-exists", self._name)

    def restoring(self):
        options = ["--quiet", "--set=ON_ERROR_STOP=1", f"--dbname={self._name}"]
        return self.command("psql", *options, *self.transaction)


class Archive(Dump):
    """``pg_restore``."""

    server = "postgresql"
    transaction: Sequence[str] = ()

    def saving(self):
        return self.command("pg_dump", "--format=custom", self._name)

    def restoring(self):
        options = ["--clean", "--if-exists", f"--dbname={self._name}"]
        return self.command("pg_restore", *options, *self.transaction)


class PlainTransaction(Plain):
    """``psql --single-transaction < dump``."""

    transaction = ("--single-transaction",)


class ArchiveTransaction(Archive):
    """``pg_restore --single-transaction``."""

    transaction = ("--single-transaction",)


KINDS = (OfMariaDb, Plain, PlainTransaction, Archive, ArchiveTransaction)


HOSTS = 20


def prepare(dump, store):
    """Dump a database with hosts, and change it, so that processes load again when they return."""
    hosts = [new_provider(store, VCPU=8) for _ in range(HOSTS)]
    dump.save()
    for host in hosts[::2]:
        claim(store, uuid(), {host: {"VCPU": 2}})
    provider.delete(store, hosts[1])
    set_inventories(store, hosts[3], VCPU=4, MEMORY_MB=512)
    new_provider(store, VCPU=4)
    time.sleep(1.1)  # MariaDB tells restored tables apart by a creation time in seconds


class Process:
    """A process of the service, with connections of its own, which reads again and again.

    ``errors`` has the errors for which a client would get another status than 404 and 503.
    """

    def __init__(self, settings):
        self._store = Store(settings)
        self._is_stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.engine = Engine(self._store)
        self.errors = []

    def __enter__(self):
        self.engine.current()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_stopped.set()
        self._thread.join()
        self._store.dispose()

    def _run(self):
        while not self._is_stopped.wait(0.01):
            for read in (self.engine.current, lambda: provider.show(self._store, uuid())):
                try:
                    read()
                except (exception.DatabaseUnavailable, exception.ProviderNotFound):
                    pass
                except Exception as error:
                    self.errors.append(error)


def check_restore(dump, stores, pause_seconds):
    """Restore a dump; processes that read meanwhile, and idle ones, then equal new processes."""
    idle = [Engine(store) for store in stores]
    for engine in idle:
        engine.current()
    with ExitStack() as stack:
        processes = [stack.enter_context(Process(store.settings)) for store in stores]
        dump.restore(pause_seconds)
        time.sleep(2 * server_checks.INTERVAL_SECONDS)
        engines = [*idle, *(process.engine for process in processes)]
        found = [contents(engine.current()) for engine in engines]
    expected = contents(Engine(stores[0]).current())
    assert len(expected["uuids"]) == HOSTS
    assert [at for at, each in enumerate(found) if each != expected] == []
    assert [error for process in processes for error in process.errors] == []
