"""How long pages of ``GET /insight/consumers`` take with a million allocations.

``python -m bench.consumer_pages [mariadb|postgresql|sqlite] [consumers]`` fills a private database
with consumers of three classes each and prints the fastest and the median of several reads of
each kind of page, in milliseconds. Not part of the figures of ``python -m bench``.
"""

import random
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench import databases
from placement.db import tables
from placement.db.schema import migration, seed
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.insight.consumers.model import ConsumerFilter
from placement.insight.consumers.sql import page

HOSTS, PROJECTS, USERS = 5_000, 1_000, 2_000
CLASSES = (0, 1, 2)  # VCPU, MEMORY_MB, DISK_GB
CHUNK = 20_000
REPEATS = 7
LIMIT = 1_000
START = datetime(2024, 1, 1, tzinfo=UTC).replace(tzinfo=None)


def fill(store: Store, count: int) -> tuple[str, str]:
    """Insert the consumers; return the UUID of a host and of a consumer in the middle."""
    numbers = random.Random(7)
    hosts = [str(uuid.UUID(int=numbers.getrandbits(128))) for _ in range(HOSTS)]
    with store.engines().writer.begin() as connection:
        for table, prefix, most in ((tables.projects, "p", PROJECTS), (tables.users, "u", USERS)):
            rows = [{"id": n, "external_id": f"{prefix}{n}"} for n in range(1, most + 1)]
            connection.execute(table.insert(), rows)
        connection.execute(tables.consumer_types.insert(), {"id": 1, "name": "INSTANCE"})
        providers = [
            {"id": n, "uuid": host, "name": f"host{n}", "root_provider_id": n, "generation": 0}
            for n, host in enumerate(hosts, 1)
        ]
        connection.execute(tables.resource_providers.insert(), providers)
    middle = ""
    for first in range(0, count, CHUNK):
        consumers = [_consumer(numbers, n) for n in range(first, min(first + CHUNK, count))]
        middle = str(consumers[0]["uuid"])
        with store.engines().writer.begin() as connection:
            connection.execute(tables.consumers.insert(), consumers)
            connection.execute(
                tables.allocations.insert(),
                [row for each in consumers for row in _allocations(numbers, str(each["uuid"]))],
            )
    return hosts[HOSTS // 2], middle


def _consumer(numbers: random.Random, number: int) -> dict[str, object]:
    project = min(int(numbers.paretovariate(0.5)), PROJECTS)  # a few have most
    return {
        "uuid": str(uuid.UUID(int=numbers.getrandbits(128))),
        "project_id": project,
        "user_id": numbers.randint(1, USERS),
        "generation": 1,
        "consumer_type_id": 1,
        "created_at": START + timedelta(minutes=number),
    }


def _allocations(numbers: random.Random, consumer: str) -> Iterator[dict[str, object]]:
    host = numbers.randint(1, HOSTS)
    for resource_class in CLASSES:
        yield {
            "resource_provider_id": host,
            "consumer_id": consumer,
            "resource_class_id": resource_class,
            "used": 2,
            "created_at": START,
        }


def main(kind: str = "mariadb", count: str = "333334") -> None:
    """Fill a database of this kind and print the times."""
    with tempfile.TemporaryDirectory() as folder, getattr(databases, kind)(Path(folder)) as server:
        server.create("placement")
        store = Store(DatabaseSettings(connection=server.url("placement")))
        migration.upgrade(store)
        seed.sync(store)
        begun = time.monotonic()
        host, middle = fill(store, int(count))
        print(
            f"{kind}: {count} consumers, {int(count) * 3} allocations, "
            f"filled in {time.monotonic() - begun:.0f} s"
        )
        _analyze(store)
        everyone = ConsumerFilter(limit=LIMIT)
        for name, wanted in {
            "the first page": everyone,
            "a page in the middle": replace(everyone, marker=middle),
            "of a large project": replace(everyone, project_id="p1"),
            "of a small project": replace(everyone, project_id="p777"),
            "of a user in a project": replace(everyone, project_id="p1", user_id="u7"),
            "of a user": replace(everyone, user_id="u7"),
            "of a type": replace(everyone, type="INSTANCE"),
            "without a type": replace(everyone, type="unknown"),
            "on a host": replace(everyone, provider=host),
            "in a tree": replace(everyone, in_tree=host),
            "the oldest 100": replace(
                everyone, created_before=(START + timedelta(minutes=100)).replace(tzinfo=UTC)
            ),
        }.items():
            times, rows = [], 0
            for _ in range(REPEATS):
                begun = time.perf_counter()
                rows = len(page(store, wanted).consumers)
                times.append((time.perf_counter() - begun) * 1000)
            print(
                f"{name:24} {rows:6} rows {min(times):8.1f} ms {statistics.median(times):8.1f} ms"
            )
        store.dispose()


def _analyze(store: Store) -> None:
    """Have the planner know the tables, as a running server does."""
    words = {"mysql": "ANALYZE TABLE", "mariadb": "ANALYZE TABLE"}
    with store.engines().writer.connect() as connection:
        word = words.get(connection.dialect.name, "ANALYZE")
        for table in ("consumers", "allocations"):
            connection.exec_driver_sql(f"{word} {table}")
        connection.commit()


if __name__ == "__main__":
    main(*sys.argv[1:])
