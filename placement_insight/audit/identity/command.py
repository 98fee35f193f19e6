"""The options of ``openstack placement identity`` and ``placement-manage identity``."""

import argparse
import os
import re
from functools import partial
from typing import Final

from placement.core.text import nouns
from placement_insight.audit.identity.model import DAYS, CannotPlan, Identity, ReadAmounts

PAIRED: Final = "Give --plan FILE together with one of --adopt, --rename and --retire."


def add_identity_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser of a command."""
    parser.add_argument("host", metavar="<name>", help="A host name, or the UUID of a provider.")
    parser.add_argument(
        "--days",
        type=_days,
        default=DAYS,
        metavar="<days>",
        help=f"Include refused requests of the last days. Default: {DAYS}.",
    )
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
        "--rename",
        nargs=2,
        metavar=("<uuid>", "<new name>"),
        help="Rename this provider.",
    )
    changes.add_argument(
        "--retire",
        metavar="<uuid>",
        help="Remove this provider and its descendants, which must have no allocations.",
    )


def _days(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,2}", text):
        raise argparse.ArgumentTypeError(f"{text} is not a number of days from 1 to 999.")
    return int(text)


def requests_plan(options: argparse.Namespace) -> bool:
    """Return whether the options request a plan.

    Raises: CannotPlan if they have only the file, or only the change.
    """
    is_changed = bool(options.adopt or options.rename or options.retire)
    if is_changed != bool(options.plan):
        raise CannotPlan(PAIRED)
    return is_changed


def write_plan(
    options: argparse.Namespace,
    identity: Identity,
    read: ReadAmounts,
    manage: str = "placement-manage",
) -> str:
    """Write the plan that the options request; return a message about it.

    ``manage`` is the command on an API host, with the global options in use.
    Raises: CannotPlan, OSError.
    """
    # Actions have SQL, and each command of `openstack` imports this module.
    from placement_insight.audit.identity import plans  # noqa: PLC0415
    from placement_insight.audit.repair.plan_file import apply_command, plan_text  # noqa: PLC0415

    if options.rename:
        actions = plans.rename(identity, *options.rename)
    elif options.retire:
        actions = plans.retire(identity, options.retire)
    else:
        actions = plans.adopt(identity, options.adopt, read)
    text = plan_text(identity.database, actions, identity.names)
    try:
        private = partial(os.open, mode=0o600)
        with open(options.plan, "x", encoding="utf-8", opener=private) as file:
            file.write(text)
    except FileExistsError:
        raise CannotPlan(f"The file {options.plan} exists. Name another file.") from None
    return (
        f"Wrote {len(actions)} {nouns(len(actions), 'action')} to {options.plan}. Read them, "
        f"then run `{apply_command(options.plan, manage)}` on an API host."
    )
