"""The options that commands of ``openstack`` and of ``placement-manage`` share."""

import argparse
import re

from placement_insight.audit.finding import Commands
from placement_insight.audit.identity.model import DAYS
from placement_insight.audit.kinds import KINDS
from placement_insight.audit.model import GRACE_MINUTES
from placement_insight.names import option


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``audit`` that select the findings."""
    parser.add_argument(
        "--code",
        action="append",
        default=[],
        choices=list(KINDS),
        metavar="<code>",
        help="Report only findings with this code. Can be repeated.",
    )
    parser.add_argument(
        "--grace-minutes",
        type=_whole,
        default=GRACE_MINUTES,
        metavar="<minutes>",
        help="Ignore allocations and consumers written in so many minutes until now. Default: 30.",
    )
    parser.add_argument(
        "--stale-days",
        type=_whole,
        metavar="<days>",
        help="Also report providers with allocations whose generation did not change for this "
        "number of days.",
    )
    parser.add_argument(
        "--live",
        metavar="<source>",
        help="Also report consumers that are not in a list of live consumers: nova (servers and "
        "migrations of all projects, and hypervisors), a file with a UUID and optionally a host "
        "per line, or - for standard input.",
    )
    parser.add_argument(
        "--type",
        action="append",
        default=[],
        metavar="<type>",
        help="State that the list contains all live consumers of this type; unknown stands for "
        "consumers without a type. Can be repeated. Default: INSTANCE; if nova is the source, "
        "also MIGRATION, and consumers without a type on hosts of nova.",
    )
    parser.add_argument(
        "--allow-many-orphans",
        action="store_true",
        help="Accept a list that is empty, or does not contain more than half of the consumers.",
    )


def add_identity_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``identity`` that select the providers and the refused requests."""
    parser.add_argument("host", metavar="<name>", help="A host name, or the UUID of a provider.")
    parser.add_argument(
        "--days",
        type=_days,
        default=DAYS,
        metavar="<days>",
        help=f"Include refused requests of the last days. Default: {DAYS}.",
    )


def commands(options: argparse.Namespace, programs: Commands, audit: str) -> Commands:
    """Return the commands that write a plan with the options in use.

    ``audit`` is the program in use, which compares with a list of live consumers;
    ``placement-manage`` plans the rest.
    """
    grace: list[str] = []
    if options.grace_minutes != GRACE_MINUTES:
        grace = [f"--grace-minutes {options.grace_minutes}"]
    cloud = getattr(options, "os_cloud", None)  # an option of placement-manage
    live = [
        option("--live", options.live or "nova"),
        *(option("--type", name) for name in options.type),
        *([option("--os-cloud", cloud)] if cloud else []),
        *(["--allow-many-orphans"] if options.allow_many_orphans else []),
        *grace,
    ]
    return programs._replace(
        audit=" ".join((f"{programs.manage} audit", *grace)),
        live_audit=" ".join((audit, *live)),
        in_use=" ".join((audit, *(live if options.live else grace))),
    )


def _whole(text: str) -> int:
    if not re.fullmatch("[0-9]{1,6}", text):
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 to 999999")
    return int(text)


def _days(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,2}", text):
        raise argparse.ArgumentTypeError(f"{text} is not a number of days from 1 to 999.")
    return int(text)
