"""The audit of the database: findings, bounded in number, and their JSON document."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from placement.core.text import timestamp
from placement.db.store import Store
from placement.insight.audit.findings import findings
from placement.insight.audit.model import ERROR, AuditSettings, Finding
from placement.insight.audit.sql import AuditReader
from placement.insight.documents import document


@dataclass(frozen=True, slots=True)
class Audit:
    """The findings in the order of their codes; codes in ``truncated`` have further findings.

    ``at`` is the time of the audit (naive UTC).
    """

    at: datetime
    findings: Sequence[Finding]
    truncated: Sequence[str]

    @property
    def has_errors(self) -> bool:
        """Whether a finding has the severity ``error``."""
        return any(finding.severity == ERROR for finding in self.findings)


def audit(
    store: Store,
    settings: AuditSettings,
    live: Iterable[Finding] = (),
    *,
    now: datetime | None = None,
) -> Audit:
    """Return the findings in the database, from one transaction, and about live consumers.

    Cost: a few scans of the tables in the database; writers are not locked.
    """
    at = (now or datetime.now(UTC)).replace(tzinfo=None, microsecond=0)
    with store.read() as tx:
        state = AuditReader(tx.connection).state(
            at - timedelta(minutes=settings.grace_minutes), settings.at_most + 1
        )
    counts: Counter[str] = Counter()
    reported = []
    for finding in findings(state, live, now=at, stale_days=settings.stale_days):
        if settings.codes and finding.code not in settings.codes:
            continue
        counts[finding.code] += 1
        if counts[finding.code] <= settings.at_most:
            reported.append(finding)
    truncated = [code for code, count in counts.items() if count > settings.at_most]
    return Audit(at, reported, truncated)


def findings_document(report: Audit) -> bytes:
    """Return the body of findings."""
    return document(
        at=timestamp(report.at),
        findings=[_finding(finding) for finding in report.findings],
        truncated=list(report.truncated),
    )


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "rows": dict(finding.rows),
        "cause": finding.cause,
        "repair": finding.repair,
    }
