"""The options and the output of ``permission check`` of openstack and placement-manage."""

import argparse
from collections.abc import Iterator, Sequence
from typing import Final

from placement_insight.permissions.model import Permissions

DENIED: Final = 3
"""The exit status if at least one call is denied."""

_COLUMNS: Final = ("service", "method", "path", "allowed", "rule", "needs")


def add_permission_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser of a command."""
    parser.add_argument(
        "--roles",
        required=True,
        type=role_names,
        metavar="<role>[,<role>]",
        help="The roles of a token, as openstack role assignment list --names shows them.",
    )
    parser.add_argument(
        "--project-id",
        metavar="<id>",
        help="The project of the token, for rules that name a project.",
    )
    parser.add_argument("--all", action="store_true", help="Also list the allowed calls.")
    parser.add_argument("--long", action="store_true", help="Also show the purpose of a call.")


def role_names(text: str) -> tuple[str, ...]:
    """Return the roles of a comma-separated list, without surrounding blanks and repetitions.

    >>> role_names("reader, member,reader")
    ('reader', 'member')

    Raises: ArgumentTypeError if it names no role.
    """
    names = tuple(dict.fromkeys(name for name in map(str.strip, text.split(",")) if name))
    if not names:
        raise argparse.ArgumentTypeError("names no role. Write --roles reader,member")
    return names


def table(
    report: Permissions, options: argparse.Namespace
) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
    """Return the columns, and a row for each call to list: all calls, or the denied calls."""
    columns = (*_COLUMNS, "purpose") if options.long else _COLUMNS
    calls = [call for call in report["calls"] if options.all or not call["allowed"]]
    return columns, [[dict(call)[name] for name in columns] for call in calls]


def important(options: argparse.Namespace) -> Sequence[str]:
    """Return the columns that a narrow terminal shows first."""
    allowed = ("allowed",) if options.all else ()  # no is the same in each row of denied calls
    return ("service", "method", "path", *allowed, "needs", "rule")


def remarks(report: Permissions) -> Iterator[str]:
    """Yield the roles that have no effect, in sentences."""
    for role in report["unnamed_roles"]:
        yield f"No rule names the role {role}: it allows nothing."


def summary(report: Permissions) -> str:
    """Return the number of denied calls, in a sentence."""
    roles, count = ", ".join(report["roles"]), len(report["calls"])
    return f"Denied with the roles {roles}: {report['denied']} of {count} calls."


def yes_or_no(is_allowed: bool) -> str:
    """Return the text of the column ``allowed``."""
    return "yes" if is_allowed else "no"
