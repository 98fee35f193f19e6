"""The options of ``openstack placement identity``, which ``placement-manage identity`` has too."""

import argparse
import re

from placement_insight.audit.identity.model import DAYS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that select the providers and the refused requests."""
    parser.add_argument("host", metavar="<name>", help="A host name, or the UUID of a provider.")
    parser.add_argument(
        "--days",
        type=_days,
        default=DAYS,
        metavar="<days>",
        help=f"Include refused requests of the last days. Default: {DAYS}.",
    )


def _days(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,2}", text):
        raise argparse.ArgumentTypeError(f"{text} is not a number of days from 1 to 999.")
    return int(text)
