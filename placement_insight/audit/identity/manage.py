"""``placement-manage identity``: which providers a name could mean, from the database.

For the operator on the API host: it needs no token, and no running service.
"""

import argparse
import json
import sys
from functools import partial
from typing import Final

from oslo_config import cfg

from placement import db_api
from placement.conf.base import manage_command
from placement.core.text import printable
from placement.db.store import Store
from placement.objects import inventory, usage
from placement_insight.audit.consumers.model import ConsumerFilter
from placement_insight.audit.consumers.sql import all_matching
from placement_insight.audit.identity import command as identity_command
from placement_insight.audit.identity.model import (
    COLUMNS,
    IMPORTANT,
    Identity,
    StoredAmounts,
    rows_of,
)
from placement_insight.audit.identity.sql import identify
from placement_insight.documents import document
from placement_insight.fitted_tables import table_text

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
        identity = identify(store, options.host, options.days)
        read, manage = partial(_stored_amounts, store), manage_command(conf)
        message = identity_command.write_plan(options, identity, read, manage)
    print(json.dumps(document(**identity.as_json())) if options.json else _text(identity))
    if message:
        print(message, file=sys.stderr)
    return FOUND if identity.matches or identity.conflicts else NOT_FOUND


def _stored_amounts(store: Store, source: str, target: str) -> StoredAmounts:
    return StoredAmounts(
        list(all_matching(store, ConsumerFilter(provider=source))),
        inventory.list_of(store, target).inventories,
        usage.of_provider(store, target).usages,
    )


def _text(identity: Identity) -> str:
    """Return the table.  Raises: NothingFound."""
    rows = rows_of(identity)
    texts = [["" if value is None else printable(str(value)) for value in row] for row in rows]
    return table_text(COLUMNS, texts, IMPORTANT)
