"""The audit of the database: what is wrong, bounded in number."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from placement.core.insight.audit import AuditSettings
from placement.core.insight.findings import ERROR, Finding, findings
from placement.db.store import Store

MOST_OF_ONE_CODE: Final = 1000


@dataclass(frozen=True, slots=True)
class Audit:
    """The findings, in the order of their codes; of the codes in ``truncated`` only the first."""

    at: datetime
    findings: Sequence[Finding]
    truncated: Sequence[str]

    @property
    def has_errors(self) -> bool:
        """Whether anything is wrong: more than notices."""
        return any(finding.severity == ERROR for finding in self.findings)


def audit(store: Store, settings: AuditSettings, now: datetime | None = None) -> Audit:
    """Return what is wrong in the database, as one transaction sees it.

    Cost: a few scans of the tables in the database; writers are not locked.
    """
    at = (now or datetime.now(UTC)).replace(tzinfo=None, microsecond=0)
    with store.read() as tx:
        data = tx.audit.data(
            at - timedelta(minutes=settings.grace_minutes), at_most=MOST_OF_ONE_CODE + 1
        )
    counts: Counter[str] = Counter()
    kept = []
    for finding in findings(data, now=at, stale_days=settings.stale_days):
        if settings.codes and finding.code not in settings.codes:
            continue
        counts[finding.code] += 1
        if counts[finding.code] <= MOST_OF_ONE_CODE:
            kept.append(finding)
    truncated = [code for code, count in counts.items() if count > MOST_OF_ONE_CODE]
    return Audit(at, kept, truncated)
