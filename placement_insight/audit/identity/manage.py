"""``placement-manage identity``: plans that change a provider that a name could mean.

For the operator on the API host: it needs no token, and no running service.
"""

import argparse
import os
from functools import partial
from typing import Final

from oslo_config import cfg

from placement import db_api
from placement.conf.base import manage_command
from placement.core.text import nouns
from placement_insight.audit.command import add_identity_arguments
from placement_insight.audit.identity import plans
from placement_insight.audit.identity.plans import CannotPlan
from placement_insight.audit.identity.sql import identify
from placement_insight.audit.repair.plan_file import apply_command, plan_text
from placement_insight.names import argument

DESCRIPTION: Final = "Write a plan that adopts, renames or retires a provider of a host."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to its parser."""
    add_identity_arguments(parser)
    parser.add_argument(
        "--plan",
        metavar="<file>",
        help="Write the change to a new file, which placement-manage audit --apply applies.",
    )
    changes = parser.add_mutually_exclusive_group()
    changes.add_argument(
        "--adopt",
        metavar="<uuid>",
        help="Move the allocations of this provider to the provider with the name, and remove "
        "this provider.",
    )
    changes.add_argument(
        "--rename", nargs=2, metavar=("<uuid>", "<new name>"), help="Rename this provider."
    )
    changes.add_argument(
        "--retire",
        metavar="<uuid>",
        help="Remove this provider and its descendants, which must have no allocations.",
    )


def run(conf: cfg.ConfigOpts) -> int:
    """Write the plan, and return 0.

    Raises: CannotPlan, OSError.
    """
    options = conf.category
    if not (options.plan and (options.adopt or options.rename or options.retire)):
        raise CannotPlan(
            "Give --plan FILE together with one of --adopt, --rename and --retire. `openstack "
            f"placement identity {argument(options.host)}` lists the providers."
        )
    with db_api.opened(conf) as store:
        identity = identify(store, options.host, options.days)
        if options.rename:
            actions = plans.rename(identity, *options.rename)
        elif options.retire:
            actions = plans.retire(identity, options.retire)
        else:
            actions = plans.adopt(store, identity, options.adopt)
    text = plan_text(identity.database, actions, identity.names)
    try:
        private = partial(os.open, mode=0o600)
        with open(options.plan, "x", encoding="utf-8", opener=private) as file:
            file.write(text)
    except FileExistsError:
        raise CannotPlan(f"The file {options.plan} exists. Name another file.") from None
    print(
        f"Wrote {len(actions)} {nouns(len(actions), 'action')} to {options.plan}. Read them, "
        f"then run `{apply_command(options.plan, manage_command(conf))}` on an API host."
    )
    return 0
