"""``placement-manage permission check``: which calls of other services a set of roles may send.

It reads the configuration and the policy files of this host: no token, no database, no service.
"""

import argparse
import json
from typing import Final

from oslo_config import cfg

from placement.cmd.errors import CommandError
from placement.policy import Policy, policy_files, rule_names
from placement.policy.files import problems
from placement_insight.documents import document
from placement_insight.fitted_tables import table_text
from placement_insight.permissions import command as permissions_command
from placement_insight.permissions.model import SERVICES, Permissions, permissions

ALLOWED: Final = 0

DESCRIPTION = "List the calls of other services that the policy denies to a set of roles."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to its parser."""
    parser.set_defaults(needs_database=False)
    permissions_command.add_permission_arguments(parser)
    parser.add_argument(
        "--service", choices=SERVICES, help="Check only the calls of this service."
    )
    parser.add_argument("--json", action="store_true", help="Print JSON, with all calls.")


def run(conf: cfg.ConfigOpts) -> int:
    """Print the denied calls; return 0, or 3 if there are any.

    Raises: CommandError if a policy file is invalid.
    """
    options = conf.category
    if wrong := list(problems(policy_files(conf), rule_names())):
        raise CommandError("\n".join(f"{problem}." for problem in wrong))
    report = permissions(
        Policy(conf).decisions(),
        options.roles,
        project_id=options.project_id,
        service=options.service,
    )
    print(json.dumps(document(**report)) if options.json else _text(report, options))
    return permissions_command.DENIED if report["denied"] else ALLOWED


def _text(report: Permissions, options: argparse.Namespace) -> str:
    lines = list(permissions_command.remarks(report))
    columns, rows = permissions_command.table(report, options)
    if rows:
        texts = [list(map(_cell, row)) for row in rows]
        lines.append(table_text(columns, texts, permissions_command.important(options)))
    return "\n".join((*lines, permissions_command.summary(report)))


def _cell(value: object) -> str:
    return permissions_command.yes_or_no(value) if isinstance(value, bool) else str(value)
