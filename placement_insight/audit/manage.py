"""``placement-manage audit``: findings in the database, their repair, and exit statuses."""

import argparse
import json
import sys
from functools import partial
from typing import Any, Final

from oslo_config import cfg

from placement import db_api
from placement.conf.base import manage_command
from placement.db.store import Store
from placement_insight.audit import command as audit_command
from placement_insight.audit.consumers.model import ConsumerFilter
from placement_insight.audit.consumers.sql import all_matching
from placement_insight.audit.finding import Commands
from placement_insight.audit.kinds import Audit
from placement_insight.audit.live_consumers import LiveFindings, live_findings
from placement_insight.audit.live_sources import connect
from placement_insight.audit.model import FOUND, MOST_OF_ONE_CODE, AuditedProviders, AuditSettings
from placement_insight.audit.repair import manage as repair
from placement_insight.audit.repair.plan_file import apply_command, write_plan
from placement_insight.audit.report import audit
from placement_insight.audit.text import findings_text, overview_text
from placement_insight.documents import document
from placement_insight.fitted_tables import fitted_lines

CLEAN: Final = 0

ALL: Final = 10**7

DESCRIPTION = (
    "Report inconsistent data in the database, and repair it in two steps: --plan and --apply. "
    "Without --apply, nothing is changed, and writers do not wait."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to its parser."""
    parser.add_argument("--json", action="store_true", help="Print the findings as JSON.")
    audit_command.add_arguments(parser)
    parser.add_argument(
        "--os-cloud",
        metavar="<cloud>",
        help="The cloud in clouds.yaml for --live nova. Default: the variables OS_*.",
    )
    steps = parser.add_mutually_exclusive_group()
    steps.add_argument(
        "--plan", metavar="<file>", help="Write the actions that repair the findings to a file."
    )
    steps.add_argument("--apply", metavar="<file>", help="Apply a plan, or an undo file.")
    parser.add_argument(
        "--undo",
        metavar="<file>",
        help="The undo file that --apply writes. Default: the name of the plan followed by .undo.",
    )
    parser.add_argument(
        "--unconfirmed",
        action="store_true",
        help="Undo also actions whose commit is not confirmed, because a program was interrupted.",
    )
    parser.add_argument(
        "--any-epoch",
        action="store_true",
        help="Apply a file even if the database was restored, or db sync was run, after the "
        "file was written.",
    )


def run(conf: cfg.ConfigOpts) -> int:
    """Print the findings; return 0, or 3 if there are errors or warnings.

    With ``--apply``, see :func:`placement_insight.audit.repair.manage.run`.
    """
    options = conf.category
    if options.apply:
        return repair.run(conf)
    manage = manage_command(conf)
    with db_api.opened(conf) as store:
        report = _audit(store, options, manage)
        if options.plan:
            return _write_plan(store, report, options, manage)
    print(
        json.dumps(document(**report.as_json()))
        if options.json
        else _text(report, options, manage)
    )
    return FOUND if report.has_errors else CLEAN


def _text(report: Audit, options: Any, manage: str) -> str:
    """Return the findings; at a terminal those of all codes are an overview."""
    fit = partial(fitted_lines, output=sys.stdout)
    if options.code or not sys.stdout.isatty():
        return findings_text(report.findings, report.truncated, report.skipped, fit)
    in_use = audit_command.commands(options, Commands(), f"{manage} audit").in_use
    return overview_text(report.findings, report.truncated, report.skipped, in_use, fit)


def _audit(store: Store, options: Any, manage: str) -> Audit:
    settings = AuditSettings(
        options.grace_minutes,
        options.stale_days,
        frozenset(options.code),
        at_most=ALL if options.plan or options.live else MOST_OF_ONE_CODE,
        commands=audit_command.commands(options, Commands(manage=manage), f"{manage} audit"),
    )

    def live(providers: AuditedProviders) -> LiveFindings:
        consumers = all_matching(store, ConsumerFilter(limit=10_000))
        return live_findings(consumers, providers, options, partial(connect, options.os_cloud))

    return audit(store, settings, live if options.live else None)


def _write_plan(store: Store, report: Audit, options: Any, manage: str) -> int:
    planned = write_plan(options.plan, str(store.epoch()), report.findings, options.code)
    print(fitted_lines(planned.text(options.plan, report.skipped), sys.stdout))
    if planned.actions:
        print(f"To apply them: {apply_command(options.plan, manage)}")
    return FOUND if report.has_errors or planned.actions else CLEAN
