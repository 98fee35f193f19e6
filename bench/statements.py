"""Count SQL statements and function calls of the main requests: ``make bench-statements``.

The service runs in this process, on SQLite. For each request it counts the SQL statements and
the calls that the project's own code makes, to Python or C functions; calls inside libraries
change with their versions and are not counted. The command fails if a count exceeds that in
``statements.json`` by more than a tenth; ``--record`` writes the file.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from types import FrameType
from typing import Any

import sqlalchemy as sa
from werkzeug.datastructures import Headers
from werkzeug.test import EnvironBuilder, run_wsgi_app

from bench import workloads
from bench.client import Connection, Request, Response
from bench.rows import FLAT, NESTED
from bench.services import CONFIGURATION
from bench.worlds import Kind, LoadedWorld, World, flat, load, nested

RECORDED = Path(__file__).with_name("statements.json")
ALLOWED = 1.1
REPETITIONS = 6
_PACKAGE = str(Path(__file__).parents[1] / "placement") + os.sep
_TESTS = _PACKAGE + "tests" + os.sep

Counts = Mapping[str, int]


def requests() -> Mapping[str, workloads.Workload]:
    """The main requests by name."""
    provider = "/resource_providers/{host}"
    return {
        "candidates, flat, limit=10": workloads.get(f"/allocation_candidates?{FLAT}&limit=10"),
        "candidates, flat, unlimited": workloads.get(f"/allocation_candidates?{FLAT}"),
        "candidates, nested": workloads.get(f"/allocation_candidates?{NESTED}"),
        "providers by resources": workloads.get("/resource_providers?resources=VCPU:1"),
        "provider": workloads.get(provider),
        "inventories": workloads.get(f"{provider}/inventories"),
        "usages": workloads.get(f"{provider}/usages"),
        "traits": workloads.get(f"{provider}/traits"),
        "claim": workloads.claim("host"),
        "claim of one class": workloads.claim("host", {"VCPU": 1}),
        "claim beside 1,000 consumers": workloads.claim("crowded", {"VCPU": 1}),
        "swap": workloads.swap("host"),
        "candidates after a claim, and a claim": workloads.schedule(
            f"/allocation_candidates?{FLAT}&limit=10"
        ),
    }


def world() -> World:
    """Flat hosts, nested ones and one with many consumers."""
    hosts, trees = flat(200), nested(20)
    renamed = [
        Kind("root" if kind.name == "host" else kind.name, kind.count,
             "root" if kind.parent == "host" else kind.parent, kind.inventories, kind.traits)
        for kind in trees.kinds
    ]  # fmt: skip
    crowded = Kind("crowded", 1, inventories={"VCPU": 10_000}, used={"VCPU": 1}, consumers=1000)
    return World("statements", (*hosts.kinds, *renamed, crowded))


class InProcess(Connection):
    """A Connection that calls the service as a WSGI application."""

    def __init__(self, application: Callable[..., Any]) -> None:
        self._application = application

    def send(self, request: Request) -> Response:
        """Return the response of the application, and close it as servers do."""
        body, status, _ = run_wsgi_app(self._application, _environment(request), buffered=True)
        return Response(int(status[:3]), b"".join(body))


def _environment(request: Request) -> dict[str, Any]:
    """Return the WSGI environment of an encoded request."""
    head, _, body = request.wire.partition(b"\r\n\r\n")
    method, path = request.line.split(" ", 1)
    headers = Headers(dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:]))
    return EnvironBuilder(path, method=method, headers=headers, data=body).get_environ()


@dataclass
class _Counter:
    """The number of statements and calls."""

    statements: int = 0
    calls: int = 0

    def statement(self, *_: Any) -> None:
        self.statements += 1

    def call(self, frame: FrameType, event: str, _: Any) -> None:
        caller = frame if event == "c_call" else frame.f_back if event == "call" else None
        if caller is not None and _is_ours(caller.f_code.co_filename):
            self.calls += 1


def _is_ours(filename: str) -> bool:
    return filename.startswith(_PACKAGE) and not filename.startswith(_TESTS)


@contextmanager
def counting() -> Iterator[_Counter]:
    """Count within the block, in this thread."""
    counter = _Counter()
    sa.event.listen(sa.Engine, "before_cursor_execute", counter.statement)
    sys.setprofile(counter.call)
    try:
        yield counter
    finally:
        sys.setprofile(None)
        sa.event.remove(sa.Engine, "before_cursor_execute", counter.statement)


def count(connection: Connection, operation: workloads.Operation) -> Counts:
    """Return the counts of the request with fewest calls of several equal ones.

    The first ones fill the caches. Others include checks that are due once a second; one of
    these detects that the database changed after the service connected, and the snapshot is
    loaded twice.
    """
    counts = [_count_once(connection, operation) for _ in range(REPETITIONS)]
    return min(counts, key=itemgetter("calls"))


def _count_once(connection: Connection, operation: workloads.Operation) -> Counts:
    with counting() as counter:
        response = operation(connection)
    if response.status not in (200, 204):
        raise RuntimeError(f"status {response.status}: {response.body[:300]!r}")
    return {"statements": counter.statements, "calls": counter.calls}


@contextmanager
def service() -> Iterator[tuple[InProcess, LoadedWorld]]:
    """Run the service in this process, over a world of its own."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        url = f"sqlite:///{folder}/placement.sqlite"
        configuration = Path(folder, "placement.conf")
        configuration.write_text(
            CONFIGURATION.format(url=url)
            + f"[DEFAULT]\nlog_file = {folder}/log\nuse_stderr = false\n"
        )
        sync = [str(Path(sys.prefix, "bin/placement-manage")), f"--config-file={configuration}"]
        subprocess.run([*sync, "db", "sync"], check=True)
        os.environ["OS_PLACEMENT_CONFIG_DIR"] = folder
        # the import reads the configuration, and adds the standard classes and traits
        from placement.wsgi.api import application  # noqa: PLC0415

        loaded_world = load(url, world())
        subprocess.run([*sync, "db", "sync"], check=True)
        yield InProcess(application), loaded_world


def measured() -> dict[str, Counts]:
    """Count all main requests."""
    with service() as (connection, loaded_world):
        numbers = random.Random(0)
        return {
            name: count(connection, make(loaded_world, numbers))
            for name, make in requests().items()
        }


def regressions(measurements: Mapping[str, Counts], recorded: Mapping[str, Counts]) -> list[str]:
    """Describe the counts that exceed the recorded ones by more than a tenth, or are new."""
    return [
        f"{name}: {number} {what}, recorded {recorded.get(name, {}).get(what)}"
        for name, counts in measurements.items()
        for what, number in counts.items()
        if number > ALLOWED * recorded.get(name, {}).get(what, -1)
    ]


def main() -> int:
    """Count and compare; return 1 if a count increased."""
    parser = argparse.ArgumentParser(prog="bench.statements", description=__doc__)
    parser.add_argument(
        "--record", action="store_true", help="write the counts to statements.json"
    )
    record = parser.parse_args().record
    measurements = measured()
    for name, counts in measurements.items():
        print(f"{name:40} {counts['statements']:4} statements {counts['calls']:8} calls")
    if record:
        RECORDED.write_text(json.dumps(measurements, indent=1) + "\n")
        return 0
    increases = regressions(measurements, json.loads(RECORDED.read_text()))
    print(
        "\n".join(increases)
        or f"{len(measurements)} requests, none increased by more than a tenth"
    )
    return 1 if increases else 0


if __name__ == "__main__":
    sys.exit(main())
