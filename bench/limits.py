"""The machine of a run, and the lower bounds of latencies on it.

No request that reads the database takes less than one round trip, no write less than a
commit, and no body is sent faster than uWSGI sends zeros.
"""

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bench import baseline_app
from bench.client import Get
from bench.databases import Database
from bench.services import Service

SAMPLES = 200
BODY_MB = 8
_VERSION = {
    "mysql": "SELECT version()",
    "postgresql": "SHOW server_version",
    "sqlite": "SELECT sqlite_version()",
}


def machine() -> Mapping[str, Any]:
    """The computer and its Python."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": _processor(Path("/proc/cpuinfo")),
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "load": os.getloadavg(),
    }


def _processor(information: Path) -> str:
    """The model of the first core, as reported by Linux."""
    lines = information.read_text().splitlines() if information.exists() else []
    models = (line.partition(": ")[2] for line in lines if line.startswith("model name"))
    return next(models, platform.processor())


def version(database: Database) -> str:
    """The version that the database server reports."""
    engine = sa.create_engine(database.url("seed"), poolclass=sa.NullPool)
    with engine.connect() as connection:
        statement = _VERSION[engine.dialect.name]
        return str(connection.exec_driver_sql(statement).scalar_one())


def limits(database: Database, folder: Path) -> Mapping[str, float]:
    """Medians in milliseconds; the folder is for the logs of uWSGI."""
    return {**_database_limits(database), **_server_limits(folder)}


def _database_limits(database: Database) -> Mapping[str, float]:
    database.create("scratch")
    engine = sa.create_engine(database.url("scratch"))
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE scratch (id INTEGER)")
        connection.commit()

        def insert() -> None:
            connection.exec_driver_sql("INSERT INTO scratch VALUES (1)")
            connection.commit()

        commit = _median(insert)
        connection.execution_options(isolation_level="AUTOCOMMIT")
        trip = _median(lambda: connection.exec_driver_sql("SELECT 1").all())
    engine.dispose()
    return {"SELECT 1": trip, "INSERT of a row and COMMIT": commit}


def _server_limits(folder: Path) -> Mapping[str, float]:
    application = f"--wsgi-file={baseline_app.__file__}"
    service = Service("baseline", Path(sys.prefix), folder, url="", application=application)
    service.start()
    try:
        connection = service.connect(60)
        empty = _median(lambda: connection.send(Get("/0")))
        full = _median(lambda: connection.send(Get(f"/{BODY_MB * 10**6}")))
        connection.close()
    finally:
        service.stop()
    return {"GET of an empty response": empty, "each MB of a response": (full - empty) / BODY_MB}


def _median(act: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(SAMPLES):
        began = time.perf_counter()
        act()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds) * 1000
