"""Run the benchmark: ``make bench``, or ``python -m bench --help``."""

import argparse
import importlib.util
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.databases import SERVERS, Database
from bench.harness import PLACEMENT, UPSTREAM, Budget, Harness, Services
from bench.limits import limits, version
from bench.pages import DOCS, RESULTS, write
from bench.report import Report
from bench.responses import WrongResponse
from bench.rows import Row, by_world, rows
from bench.services import MYSQLCLIENT, Service, install_upstream
from bench.worlds import World, load

PROJECT = Path(__file__).parents[1]
FULL = Budget(seconds=5, samples=300, cutoff_seconds=60, restarts=3, rounds=3)
QUICK = Budget(seconds=1, samples=100, cutoff_seconds=5, restarts=1, rounds=1)
# one server for both, each with the driver that its operators use
POSTGRESQL_DRIVERS = {PLACEMENT: "psycopg", UPSTREAM: "psycopg2"}


def main() -> int:
    """Measure all rows; return 1 if a response was wrong."""
    options, began = arguments(), time.monotonic()
    chosen = [row for row in rows(quick=options.quick) if options.only in row.name]
    report = Report(options.database, " ".join(["python -m bench", *sys.argv[1:]]))
    show("installing openstack-placement")
    drivers = [MYSQLCLIENT] if options.database == "mariadb-mysqlclient" else []
    upstream = install_upstream(options.folder, *drivers)
    environments = {PLACEMENT: Path(sys.prefix), UPSTREAM: upstream}
    show("starting the database server")
    with started(options.database, environments, options.folder / "run") as run:
        report.version, report.limits = run.version(), run.limits()
        for world, rows_of_world in by_world(chosen):
            show(f"loading {world.name}")
            harness = run.prepare(world, QUICK if options.quick else FULL)
            for row in rows_of_world:
                measure(row, harness, report)
                print(report.line(row), flush=True)
    finish(report, options)
    for name, error in report.errors.items():
        print(f"WRONG {name}: {error}")
    print(f"{len(chosen)} rows, {len(report.errors)} wrong, {time.monotonic() - began:.0f} s")
    return 1 if report.errors else 0


def show(activity: str) -> None:
    """Print what is done before the next row is measured."""
    print(f"{activity} ...", file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    add_options(parser)
    parser.add_argument("--quick", action="store_true", help="fewer rows, under 3 minutes")
    parser.add_argument(
        "--record",
        action="store_true",
        help="write the results of a quick run, or of some rows, to bench/results",
    )
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="rows whose name contains the text"
    )
    options = parser.parse_args()
    if options.database == "mariadb-mysqlclient" and not importlib.util.find_spec("MySQLdb"):
        parser.error(
            "mysqlclient is not installed in this environment: install the extra, for example by "
            "pip install -e .[mysqlclient]; it needs gcc and libmariadb-dev"
        )
    return options


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of programs that start both services."""
    parser.add_argument("--database", choices=sorted(SERVERS), default="mariadb")
    parser.add_argument(
        "--folder",
        type=Path,
        default=PROJECT / ".bench",
        help="where openstack-placement is installed",
    )


class Run:
    """A database server with the schemas of both services."""

    def __init__(self, database: Database, services: Services) -> None:
        self._database = database
        self._services = services

    def seed(self) -> None:
        """Create the schema of openstack-placement, with the standard classes and traits."""
        upstream = self._services[UPSTREAM]
        self._database.create(UPSTREAM)
        upstream.manage("db", "sync")
        upstream.start()
        upstream.stop()
        self._database.copy(UPSTREAM, "seed")

    def version(self) -> str:
        """The version of the database server."""
        return version(self._database)

    def limits(self) -> Mapping[str, float]:
        """Latencies of the database without either service, in milliseconds."""
        return limits(self._database)

    def prepare(self, world: World, budget: Budget) -> Harness:
        """Load the world for openstack-placement, migrate a copy for this service, start both."""
        self.stop()
        self._database.copy("seed", UPSTREAM)
        loaded_world = load(self._database.url(UPSTREAM), world)
        self._database.copy(UPSTREAM, PLACEMENT)
        self._services[PLACEMENT].manage("db", "sync")
        harness = Harness(self._services, loaded_world, budget, self._database.processes)
        for name in self._services:
            harness.restart(name)
        return harness

    def start_empty(self) -> Services:
        """Start both services without providers."""
        self.stop()
        for name in self._services:
            self._database.copy("seed", name)
        self._services[PLACEMENT].manage("db", "sync")
        for service in self._services.values():
            service.start()
        return self._services

    def stop(self) -> None:
        """Stop both services."""
        for service in self._services.values():
            service.stop()


@contextmanager
def started(kind: str, environments: dict[str, Path], logs: Path) -> Iterator[Run]:
    """Start a database server with the schema of openstack-placement; stop all at the end.

    Configuration and logs of each service are kept below ``logs``.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        database = stack.enter_context(SERVERS[kind](folder))
        services = {
            name: Service(
                name, environment, logs / name, database.url(name, POSTGRESQL_DRIVERS[name])
            )
            for name, environment in environments.items()
        }
        run = Run(database, services)
        stack.callback(run.stop)
        run.seed()
        yield run


def measure(row: Row, harness: Harness, report: Report) -> None:
    """Measure one row; a wrong response is reported at the end of the run."""
    try:
        report.add(row, harness.audited(row.measure.measure(harness)))
    except (WrongResponse, OSError, ValueError) as error:
        report.fail(row, error)


def finish(report: Report, options: argparse.Namespace) -> None:
    """Write the results; those of a full run go to the documentation."""
    if options.only and not options.record:
        return
    is_kept = options.record or not options.quick
    path = (RESULTS if is_kept else options.folder / "quick") / f"{options.database}.json"
    if options.only:
        report.merge_into(path)
    else:
        report.write_json(path)
    if is_kept:
        write(RESULTS, DOCS)


if __name__ == "__main__":
    sys.exit(main())
