"""The findings of an audit, as JSON."""

from collections.abc import Sequence
from datetime import datetime

from placement.core.insight.document import document
from placement.core.insight.finding import Finding
from placement.core.timestamps import timestamp


def findings(at: datetime, reported: Sequence[Finding], truncated: Sequence[str]) -> bytes:
    """Return the body of findings; ``at`` is the time of the audit (naive UTC)."""
    return document(
        at=timestamp(at),
        findings=[_finding(each) for each in reported],
        truncated=list(truncated),
    )


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "rows": dict(finding.rows),
        "cause": finding.cause,
        "repair": finding.repair,
    }
