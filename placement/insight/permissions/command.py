"""The options of the ``permission check`` commands of openstack and placement-manage."""

import argparse
from collections.abc import Callable
from typing import Any, Final

DENIED: Final = 3
"""The exit status if at least one call is denied."""


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
