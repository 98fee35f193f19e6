"""The machine of a run, and the lower bounds of latencies on it.

No request that reads the database takes less than one round trip, and no write less than a
commit.
"""

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bench.databases import Database

SAMPLES = 200


def machine() -> Mapping[str, Any]:
    """The computer and its Python."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": _processor(Path("/proc/cpuinfo")),
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "python": platform.python_version(),
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
        return ".".join(map(str, connection.dialect.server_version_info or ()))


def limits(database: Database) -> Mapping[str, float]:
    """Medians in milliseconds."""
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


def _median(act: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(SAMPLES):
        began = time.perf_counter()
        act()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds) * 1000
