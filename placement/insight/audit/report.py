"""The audit of the database: findings, bounded in number."""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import chain

from placement.db import clocks
from placement.db.store import Store
from placement.engine.engine import View
from placement.insight.audit.kinds import Audit, findings
from placement.insight.audit.live_consumers import NO_LIST, LiveFindings
from placement.insight.audit.model import (
    AuditedProviders,
    AuditedState,
    AuditSettings,
    Skipped,
    young,
)
from placement.insight.audit.sql import read_state
from placement.insight.audit.trees import edited_providers


def audit(
    store: Store,
    settings: AuditSettings,
    live: Callable[[AuditedProviders], LiveFindings] | None = None,
    *,
    served: View | None = None,
) -> Audit:
    """Return the findings in the database, from one transaction, and about live consumers.

    ``served`` is the snapshot of this process: rows that differ from it were changed by SQL.
    Cost: a few scans of the tables in the database; writers are not locked.
    """
    at = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
    with store.read() as tx:
        written_before = at - timedelta(minutes=settings.grace_minutes)
        is_served = served is not None and clocks.values(tx.connection) == served.clocks
        state = read_state(tx.connection, written_before, settings.at_most + 1)
    providers = _providers(state)
    of_live = live(providers) if live else NO_LIST
    days = settings.stale_days
    stale_before = None if days is None else at - timedelta(days=days)
    counts: Counter[str] = Counter()
    reported = []
    edited = edited_providers(state, _uuids(served)) if served and is_served else ()
    found = findings(state, of_live.findings, stale_before=stale_before)
    for finding in chain(found, edited):
        if not settings.covers(finding.code):
            continue
        counts[finding.code] += 1
        if counts[finding.code] <= settings.at_most:
            reported.append(finding.listed(providers.names, settings.commands))
    truncated = [code for code, count in counts.items() if count > settings.at_most]
    reason = young(settings.grace_minutes)
    skipped = [
        Skipped(code, count, reason)
        for code, count in state.young.items()
        if count and settings.covers(code)
    ]
    return Audit(at, reported, truncated, [*skipped, *of_live.skipped])


def _uuids(view: View) -> Mapping[int, str]:
    """Return the UUIDs in a snapshot by id."""
    forest = view.snapshot.forest
    return dict(zip(forest.ids.tolist(), forest.uuids, strict=True))


def _providers(state: AuditedState) -> AuditedProviders:
    uuids = {id_: provider.uuid for id_, provider in state.providers.items()}
    return AuditedProviders(
        names={provider.uuid: provider.name for provider in state.providers.values()},
        roots={
            provider.uuid: uuids[provider.root_id]
            for provider in state.providers.values()
            if provider.root_id in uuids
        },
        hosts={uuids[id_] for id_ in state.compute_nodes if id_ in uuids},
        aggregates={
            uuids[id_]: aggregates for id_, aggregates in state.aggregated.items() if id_ in uuids
        },
    )
