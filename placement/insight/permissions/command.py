"""The options and the output of ``permission check`` of openstack and placement-manage.

The output is written from the document of ``GET /insight/permissions``, which is all that a client
of the service has.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

DENIED: Final = 3
"""The exit status if at least one call is denied."""

_COLUMNS: Final = ("service", "method", "path", "allowed", "rule", "needs")

Document = Mapping[str, Any]


def add_permission_arguments(
    parser: argparse.ArgumentParser, *, roles: Callable[[str], Any] = str
) -> None:
    """Add the options; ``roles`` converts the names of the roles."""
    parser.add_argument(
        "--roles",
        required=True,
        type=roles,
        metavar="<role>[,<role>]",
        help="The roles of a token, as `openstack role assignment list --names` shows them.",
    )
    parser.add_argument(
        "--project-id",
        metavar="<id>",
        help="The project of the token, for rules that name a project.",
    )
    parser.add_argument("--all", action="store_true", help="Also list the allowed calls.")
    parser.add_argument("--long", action="store_true", help="Also show the purpose of a call.")


def columns(options: argparse.Namespace) -> Sequence[str]:
    """Return the columns of the table: fields of the calls in the document."""
    return (*_COLUMNS, "purpose") if options.long else _COLUMNS


def shown_calls(document: Document, options: argparse.Namespace) -> Sequence[Document]:
    """Return the calls to list: all calls, or the denied calls."""
    return [call for call in document["calls"] if options.all or not call["allowed"]]


def remarks(document: Document) -> Iterator[str]:
    """Yield the roles that have no effect, in sentences."""
    for role in document["unnamed_roles"]:
        yield f"No rule names the role {role}: it allows nothing."


def summary(document: Document) -> str:
    """Return the number of denied calls, in a sentence."""
    roles, count = ", ".join(document["roles"]), len(document["calls"])
    return f"Denied with the roles {roles}: {document['denied']} of {count} calls."


def yes_or_no(is_allowed: bool) -> str:
    """Return the text of the column ``allowed``."""
    return "yes" if is_allowed else "no"
