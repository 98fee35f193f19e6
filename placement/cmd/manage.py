"""``placement-manage``: maintenance of the database."""

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import prettytable
from oslo_config import cfg
from oslo_log import log

from placement import conf as options
from placement import db_api, surface, terminal
from placement.cmd import errors
from placement.conf.base import parse
from placement.db.maintenance import data_migrations
from placement.db.maintenance.data_migrations import Migration
from placement.db.schema import migration, revisions
from placement.db.store import Store

LOG = logging.getLogger(__name__)

BATCH_SIZE = 50

Command = Callable[[cfg.ConfigOpts], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name, and return the exit status."""
    command_line = sys.argv[1:] if arguments is None else arguments
    conf = cfg.ConfigOpts()
    return errors.run("placement-manage", lambda: _run(conf, command_line), conf)


def _run(conf: cfg.ConfigOpts, arguments: Sequence[str]) -> int:
    log.register_options(conf)
    conf.set_default("use_stderr", True)  # standard output has only the result
    options.register_opts(conf)
    conf.register_cli_opt(
        cfg.SubCommandOpt("category", title="Command categories", handler=_add_categories)
    )
    try:
        parse(conf, arguments)
    except cfg.RequiredOptError:
        # help and commands on the configuration do not need the database options
        if conf.category.name and conf.category.command and conf.category.needs_database:
            raise
    if not conf.category.name:
        conf.print_help()
        return 1
    log.setup(conf, "placement")
    command: Command = conf.category.run
    return command(conf)


def _add_categories(categories: Any) -> None:
    """Add the categories and their commands to the parser that oslo.config passes."""
    categories.required = False
    commands = _category(categories, "db", "Manage the database.")
    _add(commands, "sync", _sync, "Upgrade the schema, and reconcile the usage counters.")
    _add(commands, "version", _version, "Print the revision of the schema.")
    stamp = _add(commands, "stamp", _stamp, "Record a revision without applying it.")
    stamp.add_argument("revision", metavar="<revision>", help="A revision, or head.")
    migrate = _add(
        commands,
        "online_data_migrations",
        _migrate_data,
        "Migrate data to the newest format while the service runs.",
    )
    migrate.add_argument(
        "--max-count",
        metavar="<number>",
        help="Maximum number of rows to migrate; by default all, in batches.",
    )
    surface.installed().add_commands(partial(_add, categories))


def _add(commands: Any, name: str, run: Command, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(run=run, command=name, needs_database=True)
    return parser


def _category(categories: Any, name: str, text: str) -> Any:
    """Add a category, which prints its help without a command; return its commands."""
    parser = categories.add_parser(name, help=text)
    parser.set_defaults(run=lambda _conf: parser.print_help() or 0, command=None)
    return parser.add_subparsers(dest="command")


def _sync(conf: cfg.ConfigOpts) -> int:
    with db_api.opened(conf) as store, terminal.progress_line() as report:
        store.ping()
        migration.sync(store, report)
    return 0


def _version(conf: cfg.ConfigOpts) -> int:
    with db_api.opened(conf) as store:
        print(revisions.version(store))
    return 0


def _stamp(conf: cfg.ConfigOpts) -> int:
    with db_api.opened(conf) as store:
        store.ping()
        migration.stamp(store, conf.category.revision)
    return 0


# --- online data migrations -------------------------------------------------------------


def _migrate_data(conf: cfg.ConfigOpts) -> int:
    """Run the migrations; return 0: complete, 1: run again, 2: one failed, 127: bad argument."""
    max_count = conf.category.max_count
    limit = BATCH_SIZE if max_count is None else _positive(max_count)
    if limit is None:
        print("Must supply a positive value for max_count")
        return 127
    with db_api.opened(conf) as store:
        revisions.check_has_tables(store)
        run = _Run(store, data_migrations.all_of(db_api.incomplete_consumer(conf)))
        if max_count is None:
            print(f"Running batches of {limit} until complete")
            while run.batch(limit):
                pass
        migrated_some = max_count is not None and run.batch(limit) > 0
    table = prettytable.PrettyTable(["Migration", "Total Found", "Completed"])
    table.add_rows([[name, migrated, migrated] for name, migrated in run.counts.items()])
    print(table)
    if migrated_some:
        return 1
    if run.failed:
        print("Some migrations failed unexpectedly. Check log for details.")
        return 2
    return 0


def _positive(text: str) -> int | None:
    try:
        number = int(text)
    except ValueError:
        return None
    return number if number > 0 else None


@dataclass
class _Run:
    """One run of the migrations, with the numbers of migrated rows."""

    store: Store
    migrations: Mapping[str, Migration]
    counts: Counter[str] = field(default_factory=Counter)
    failed: bool = False

    def batch(self, limit: int) -> int:
        """Migrate at most ``limit`` rows in all migrations; return their number."""
        remaining = limit
        for name in self.migrations:
            if remaining > 0:
                migrated = self._run_one(name, remaining)
                self.counts[name] += migrated
                remaining -= migrated
        return limit - remaining

    def _run_one(self, name: str, limit: int) -> int:
        try:
            migrated = self.migrations[name](self.store, limit)
        except Exception:
            print(f"Error attempting to run {name}")
            LOG.exception("Error attempting to run %s", name)
            self.failed = True
            return 0
        if migrated:
            print(f"{migrated} rows matched query {name}, {migrated} migrated")
        return migrated


if __name__ == "__main__":
    sys.exit(main())
