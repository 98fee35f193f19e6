"""Writes clouds into databases: ``placement_insight.demo.cloud`` says what a cloud consists of.

    python -m placement_insight.tests.support.clouds FILE [--hosts 10000] [--servers FILE]

writes a SQLite database, and the list of servers that the audit reads with ``--live``. The service
opens the database with ``placement-api --development DIR`` if the file is DIR/placement.sqlite.
"""

import argparse
import sys
from pathlib import Path

from placement.db.schema import migration, seed
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement_insight.demo.cloud import cloud
from placement_insight.demo.database import load

__all__ = ["load", "main"]


def main(arguments: list[str]) -> None:
    """Write a SQLite database with a cloud, and the list of its servers."""
    parser = argparse.ArgumentParser(description="Write a SQLite database with a cloud.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--hosts", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--servers", type=Path, metavar="FILE", help="where to list the servers")
    options = parser.parse_args(arguments)
    options.file.parent.mkdir(parents=True, exist_ok=True)
    written = cloud(options.hosts, options.seed)
    store = Store(DatabaseSettings(connection=f"sqlite:///{options.file.resolve()}"))
    migration.prepare(store)
    seed.sync(store)
    load(store, written)
    store.dispose()
    if options.servers:
        lines = (f"{uuid} {host}\n" for uuid, host in written.servers.items())
        options.servers.write_text("".join(lines))
    print(f"{len(written.states)} providers, {len(written.consumers)} consumers: {options.file}")


if __name__ == "__main__":
    main(sys.argv[1:])
