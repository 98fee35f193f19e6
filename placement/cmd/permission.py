"""``placement-manage permission check``: which calls of other services a set of roles may send.

It reads the configuration and the policy files of this host: no token, no database, no service.
"""

import argparse
import json
import sys
from typing import Final

import prettytable
from oslo_config import cfg

from placement.conf import register_policy_opts
from placement.insight.permissions import command as permissions_command
from placement.insight.permissions import http as render
from placement.insight.permissions.command import DENIED, Document, yes_or_no
from placement.insight.permissions.model import SERVICES, permissions, role_names
from placement.policy import Policy, policy_files, rule_names
from placement.policy.files import problems

ALLOWED: Final = 0
INVALID: Final = 1

DESCRIPTION = "List the calls of other services that the policy denies to a set of roles."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to its parser."""
    parser.set_defaults(needs_database=False)
    permissions_command.add_permission_arguments(parser, roles=_roles)
    parser.add_argument(
        "--service", choices=SERVICES, help="Check only the calls of this service."
    )
    parser.add_argument("--json", action="store_true", help="Print JSON, with all calls.")


def _roles(text: str) -> tuple[str, ...]:
    roles = role_names(text)
    if not roles:
        raise argparse.ArgumentTypeError("names no role. Write --roles reader,member")
    return roles


def run(conf: cfg.ConfigOpts) -> int:
    """Print the denied calls; return 0, 3 if there are any, or 1 if a policy file is invalid."""
    options = conf.category
    register_policy_opts(conf)
    wrong = list(problems(policy_files(conf), rule_names()))
    for problem in wrong:
        print(f"placement-manage: {problem}.", file=sys.stderr)
    if wrong:
        return INVALID
    checked = permissions(
        Policy(conf).decisions(),
        options.roles,
        project_id=options.project_id,
        service=options.service,
    )
    body = render.permissions_document(checked)
    print(body.decode() if options.json else _text(json.loads(body), options))
    return DENIED if checked.denied else ALLOWED


def _text(document: Document, options: argparse.Namespace) -> str:
    lines = list(permissions_command.remarks(document))
    if calls := permissions_command.shown_calls(document, options):
        columns = permissions_command.columns(options)
        table = prettytable.PrettyTable(columns, align="l")
        table.add_rows([[_cell(call[name]) for name in columns] for call in calls])
        lines.append(str(table))
    return "\n".join((*lines, permissions_command.summary(document)))


def _cell(value: str | bool) -> str:
    return yes_or_no(value) if isinstance(value, bool) else value
