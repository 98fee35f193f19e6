"""The options of ``openstack placement audit`` and ``placement-manage audit``."""

import argparse

from placement.insight.audit import live_sources
from placement.insight.audit.model import GRACE_MINUTES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that select the findings."""
    parser.add_argument(
        "--grace-minutes",
        type=_whole,
        default=GRACE_MINUTES,
        metavar="<minutes>",
        help="Ignore allocations and consumers written in the last minutes. Default: 30.",
    )
    parser.add_argument(
        "--stale-days",
        type=_whole,
        metavar="<days>",
        help="Also report providers with allocations whose generation did not change for this "
        "number of days.",
    )
    live_sources.add_arguments(parser)


def _whole(text: str) -> int:
    number = int(text)
    if not 0 <= number < 10**6:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 999999")
    return number
