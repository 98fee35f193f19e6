"""``placement-manage identity``: plans that change a provider that a name could mean.

For the operator on the API host: it needs no token, and no running service.
"""

import argparse
import shlex
from functools import partial
from typing import Final

from oslo_config import cfg

from placement import db_api
from placement.conf.base import manage_command
from placement.db.store import Store
from placement.objects import inventory, usage
from placement_insight.audit.consumers.model import ConsumerFilter
from placement_insight.audit.consumers.sql import all_matching
from placement_insight.audit.identity import command
from placement_insight.audit.identity.model import CannotPlan, StoredAmounts
from placement_insight.audit.identity.sql import identify

DESCRIPTION: Final = "Write a plan that adopts, renames or retires a provider of a host."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to its parser."""
    command.add_identity_arguments(parser)


def run(conf: cfg.ConfigOpts) -> int:
    """Write the plan, and return 0.

    Raises: CannotPlan.
    """
    options = conf.category
    if not command.requests_plan(options):
        raise CannotPlan(
            f"{command.PAIRED} `openstack placement identity {shlex.quote(options.host)}` lists "
            "the providers."
        )
    with db_api.opened(conf) as store:
        identity = identify(store, options.host, options.days)
        read = partial(_stored_amounts, store)
        print(command.write_plan(options, identity, read, manage_command(conf)))
    return 0


def _stored_amounts(store: Store, source: str, target: str) -> StoredAmounts:
    return StoredAmounts(
        list(all_matching(store, ConsumerFilter(provider=source))),
        inventory.list_of(store, target).inventories,
        usage.of_provider(store, target).usages,
    )
