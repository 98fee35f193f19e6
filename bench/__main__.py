"""Run the benchmark: ``make bench``, or ``python -m bench --help``."""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.answers import WrongAnswer
from bench.databases import SERVERS, Database
from bench.harness import OURS, REFERENCE, Budget, Services, Stage
from bench.limits import limits, version
from bench.pages import DOCS, RESULTS, write
from bench.report import Report
from bench.rows import Row, by_world, rows
from bench.services import Service, install_reference
from bench.world_loader import load
from bench.worlds import World

PROJECT = Path(__file__).parents[1]
WHOLE = Budget(seconds=5, samples=300, cutoff_seconds=60, restarts=3, turns=3)
QUICK = Budget(seconds=1, samples=100, cutoff_seconds=5, restarts=1, turns=1)
# both speak to one server, each through the driver that its operators would choose
POSTGRESQL_DRIVERS = {OURS: "psycopg", REFERENCE: "psycopg2"}


def main() -> int:
    """Measure all rows; 0 unless an answer was wrong."""
    asked, began = arguments(), time.monotonic()
    console = Console(width=None if sys.stdout.isatty() else 160)
    chosen = [row for row in rows(quick=asked.quick) if asked.only in row.name]
    report = Report(asked.database, " ".join(["python -m bench", *sys.argv[1:]]))
    with ExitStack() as stack:
        watch = stack.enter_context(watching(console, len(chosen)))
        watch.say("installing the reference, unless it is there")
        environments = {OURS: Path(sys.prefix), REFERENCE: install_reference(asked.folder)}
        watch.say("starting the database")
        run = stack.enter_context(started(asked.database, environments, asked.folder / "run"))
        watch.say("measuring the machine")
        report.version, report.limits = run.version(), run.limits()
        for world, together in by_world(chosen):
            watch.say(f"loading {world.name}")
            stage = run.prepare(world, QUICK if asked.quick else WHOLE)
            for row in together:
                watch.say(row.name)
                measure(row, stage, report)
                watch.done(report.line(row))
    finish(report, asked, console)
    console.print(f"{time.monotonic() - began:.0f} s")
    return 1 if report.mistakes else 0


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--database", choices=sorted(SERVERS), default="mariadb")
    parser.add_argument("--quick", action="store_true", help="fewer rows, under 3 minutes")
    parser.add_argument(
        "--record", action="store_true", help="keep the results of a quick run, as of a whole one"
    )
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="rows whose name holds the text"
    )
    parser.add_argument(
        "--folder", type=Path, default=PROJECT / ".bench", help="where the reference is installed"
    )
    return parser.parse_args()


class Watch:
    """What is going on, for who watches: a bar on a terminal, and a line for each row."""

    def __init__(self, progress: Progress, rows: int) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=rows)

    def say(self, what: str) -> None:
        """Show what is being done now."""
        self._progress.update(self._task, description=what)

    def done(self, line: str) -> None:
        """Print the line of a row that is done."""
        self._progress.console.print(line, highlight=False, soft_wrap=True, markup=False)
        self._progress.advance(self._task)


@contextmanager
def watching(console: Console, rows: int) -> Iterator[Watch]:
    """Show progress while the block runs."""
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield Watch(progress, rows)


class Run:
    """A database server with both services' schemas in it; logs go into a folder."""

    def __init__(self, database: Database, services: Services, logs: Path) -> None:
        self._database = database
        self._services = services
        self._logs = logs

    def seed(self) -> None:
        """Make the reference's schema, with the classes and traits its first start adds."""
        reference = self._services[REFERENCE]
        self._database.create(REFERENCE)
        reference.manage("db", "sync")
        reference.start()
        reference.stop()
        self._database.copy(REFERENCE, "seed")

    def version(self) -> str:
        """The version of the database server."""
        return version(self._database)

    def limits(self) -> Mapping[str, float]:
        """What the database and uwsgi take without either service, in milliseconds."""
        return limits(self._database, self._logs / "bare")

    def prepare(self, world: World, budget: Budget) -> Stage:
        """Fill the reference's schema, move a copy of it over to ours, and start both."""
        self.stop()
        self._database.copy("seed", REFERENCE)
        place = load(self._database.url(REFERENCE), world)
        self._database.copy(REFERENCE, OURS)
        self._services[OURS].manage("db", "sync")
        stage = Stage(self._services, place, budget)
        for name in self._services:
            stage.restart(name)
        return stage

    def stop(self) -> None:
        """Stop both services."""
        for service in self._services.values():
            service.stop()


@contextmanager
def started(kind: str, environments: dict[str, Path], logs: Path) -> Iterator[Run]:
    """Start a database server and put the reference's schema in it; stop all at the end.

    The services' configurations and logs stay in a folder of each below ``logs``.
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
        run = Run(database, services, logs)
        stack.callback(run.stop)
        run.seed()
        yield run


def measure(row: Row, stage: Stage, report: Report) -> None:
    """Measure one row; a wrong answer fails the run at its end."""
    try:
        report.add(row, stage.audited(row.measure.measure(stage)))
    except (WrongAnswer, OSError, ValueError) as mistake:
        report.fail(row, mistake)


def finish(report: Report, asked: argparse.Namespace, console: Console) -> None:
    """Show the table and write the results; into the documentation, too, if they are to stay."""
    console.print(report.table())
    for name, mistake in report.mistakes.items():
        console.print(f"WRONG {name}: {mistake}", highlight=False, markup=False, style="bold red")
    if asked.only:
        return
    stays = asked.record or not asked.quick
    results = RESULTS if stays else asked.folder / "quick"
    report.write_json(results / f"{asked.database}.json")
    if stays:
        write(RESULTS, DOCS)


if __name__ == "__main__":
    sys.exit(main())
