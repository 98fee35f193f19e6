"""``placement-manage identity``: which providers a name could mean, from the database.

For the operator on the API host: it needs no token, and no running service.
"""

import argparse
import sys
from collections.abc import Iterator
from typing import Final

import prettytable
from oslo_config import cfg

from placement import db_api
from placement.cmd.errors import CommandError
from placement.core.text import printable
from placement.db.store import Store
from placement.insight.consumers.model import ConsumerFilter, ListedConsumer
from placement.insight.consumers.sql import all_matching
from placement.insight.identity import command as identity_command
from placement.insight.identity.model import (
    COLUMNS,
    CannotPlan,
    Identity,
    Inventories,
    UsedInventory,
    identity_document,
    nothing_found,
    rows_of,
)
from placement.insight.identity.sql import DAYS, identify
from placement.objects import inventory, usage

FOUND: Final = 0
NOT_FOUND: Final = 1

DESCRIPTION = "List the providers that a host name or UUID could mean, and refused requests."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to its parser."""
    identity_command.add_identity_arguments(parser)
    parser.add_argument("--json", action="store_true", help="Print the JSON document.")


def run(conf: cfg.ConfigOpts) -> int:
    """Print the providers, and write the plan; return 0, or 1 if no provider matches the name."""
    options = conf.category
    with db_api.opened(conf) as store:
        identity = identify(store, options.host, DAYS if options.days is None else options.days)
        message = _written(store, options, identity)
    print(identity_document(identity).decode() if options.json else _text(identity))
    if message:
        print(message, file=sys.stderr)
    return FOUND if identity.matches or identity.conflicts else NOT_FOUND


def _written(store: Store, options: argparse.Namespace, identity: Identity) -> str | None:
    try:
        return identity_command.write_plan(options, identity, _DatabaseAmounts(store))
    except CannotPlan as error:
        raise CommandError(str(error)) from error


class _DatabaseAmounts:
    """The amounts that an adoption is checked against, from the database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def consumers(self, uuid: str) -> Iterator[ListedConsumer]:
        """Return the consumers that have allocations on a provider."""
        return all_matching(self._store, ConsumerFilter(provider=uuid))

    def inventories(self, uuid: str) -> Inventories:
        """Return the inventories of a provider."""
        usages = usage.of_provider(self._store, uuid).usages
        return {
            name: UsedInventory(stored, usages.get(name, 0))
            for name, stored in inventory.list_of(self._store, uuid).inventories.items()
        }


def _text(identity: Identity) -> str:
    rows = list(rows_of(identity))
    if not rows:
        return printable(nothing_found(identity))
    table = prettytable.PrettyTable(COLUMNS, align="l")
    table.add_rows([[_cell(value) for value in row] for row in rows])
    return str(table)


def _cell(value: str | int | None) -> str:
    return "" if value is None else printable(str(value))
