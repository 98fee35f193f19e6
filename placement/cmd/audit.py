"""``placement-manage audit``: what is wrong in the database, and exit statuses for monitoring."""

import argparse
import json
from typing import Final

from oslo_config import cfg

from placement import db_api
from placement.core.insight.audit import GRACE_MINUTES, AuditSettings
from placement.core.insight.findings import SEVERITIES, Finding
from placement.insight.audit import Audit, audit
from placement.render import insight_findings

CLEAN: Final = 0
FOUND: Final = 3
"""The exit status if there are findings of the severity ``error``."""

DESCRIPTION = "Report what is wrong in the database. Nothing is changed, and no writer waits."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to its parser."""
    parser.add_argument("--json", action="store_true", help="Print the findings as JSON.")
    parser.add_argument(
        "--code",
        action="append",
        default=[],
        choices=list(SEVERITIES),
        metavar="<code>",
        help="Report this code only; can be repeated.",
    )
    parser.add_argument(
        "--grace-minutes",
        type=_whole,
        default=GRACE_MINUTES,
        metavar="<minutes>",
        help="Leave out allocations and consumers written in the last minutes; 30 by default.",
    )
    parser.add_argument(
        "--stale-days",
        type=_whole,
        metavar="<days>",
        help="Also report providers with allocations whose generation did not change for so long.",
    )


def _whole(text: str) -> int:
    number = int(text)
    if not 0 <= number < 10**6:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 999999")
    return number


def run(conf: cfg.ConfigOpts) -> int:
    """Print the findings; return 0, or 3 if there are findings of the severity ``error``."""
    options = conf.category
    settings = AuditSettings(options.grace_minutes, options.stale_days, frozenset(options.code))
    with db_api.opened(conf) as store:
        found = audit(store, settings)
    print(_json(found) if options.json else _text(found))
    return FOUND if found.has_errors else CLEAN


def _json(found: Audit) -> str:
    return insight_findings.findings(found.at, found.findings, found.truncated).decode()


def _text(found: Audit) -> str:
    lines = [line for finding in found.findings for line in _lines(finding)]
    lines += [f"{code}: there are more than are listed" for code in found.truncated]
    return "\n".join(lines) or "Nothing found"


def _lines(finding: Finding) -> tuple[str, ...]:
    rows = json.dumps(dict(finding.rows))
    cause = f" ({finding.cause})" if finding.cause else ""
    return f"{finding.severity} {finding.code}{cause}: {rows}", f"  repair: {finding.repair}"
