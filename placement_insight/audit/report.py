"""The audit of the database: findings, bounded in number."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain

import sqlalchemy as sa

from placement.core.changes import InventoryChange
from placement.core.model import ProviderState
from placement.core.snapshot.snapshot import Snapshot
from placement.db import clocks
from placement.db.store import Store
from placement.engine.engine import View, loaded
from placement_insight.audit.finding import Named
from placement_insight.audit.kinds import Audit, findings, in_order
from placement_insight.audit.live_consumers import NO_LIST, LiveFindings
from placement_insight.audit.model import (
    AuditedProviders,
    AuditedState,
    AuditSettings,
    LeftOut,
    young,
)
from placement_insight.audit.names import lost_parents
from placement_insight.audit.sql import read_state
from placement_insight.audit.trees import EditedProvider, trees
from placement_insight.history.sql import changes_of_kind


def audit(
    store: Store,
    settings: AuditSettings,
    live: Callable[[AuditedProviders], LiveFindings] | None = None,
    *,
    served: View | None = None,
) -> Audit:
    """Return the findings in the database, from one transaction, and about live consumers.

    ``served`` is the snapshot of this process: rows that differ from it were changed by SQL.
    Cost: a few scans of the tables in the database, and a load; writers are not locked.
    """
    at = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
    with store.read() as tx:
        written_before = at - timedelta(minutes=settings.grace_minutes)
        stored = None
        if served is not None and clocks.values(tx.connection) == served.clocks:
            stored = loaded(tx).snapshot
        state = read_state(tx.connection, written_before, settings.at_most + 1)
        state = _with_changes(tx.connection, state)
    providers = _providers(state)
    of_live = live(providers) if live else NO_LIST
    days = settings.stale_days
    stale_before = None if days is None else at - timedelta(days=days)
    counts: Counter[str] = Counter()
    reported = []
    edited = edited_providers(stored, served.snapshot) if stored and served else ()
    found = findings(state, stale_before=stale_before)
    for finding in chain(found, of_live.findings, edited):
        if not settings.covers(finding.code):
            continue
        counts[finding.code] += 1
        if counts[finding.code] <= settings.at_most:
            reported.append(finding.listed(providers.names, settings.commands))
    truncated = [code for code, count in counts.items() if count > settings.at_most]
    skipped = [
        LeftOut(code, count, young(settings.grace_minutes))
        for code, count in state.young.items()
        if count and settings.covers(code)
    ]
    return Audit(at, in_order(reported), truncated, [*skipped, *of_live.skipped])


def _with_changes(connection: sa.Connection, state: AuditedState) -> AuditedState:
    """Return the state with the recorded changes of inventories whose usage exceeds them."""
    exceeded = {each.provider.uuid for each in state.inventories if each.is_exceeded}
    changes = changes_of_kind(connection, InventoryChange, exceeded)
    inventories = [
        each._replace(changes=changes.get(each.provider.uuid, ())) for each in state.inventories
    ]
    return replace(state, inventories=inventories)


def _providers(state: AuditedState) -> AuditedProviders:
    providers = state.providers.values()
    uuids = {provider.id: provider.uuid for provider in providers}
    names = {provider.uuid: provider.name for provider in providers}
    parents = {each.uuid: uuids.get(each.parent_id or 0) for each in providers}
    faulty = {str(each.provider.uuid): each for each in trees(state)}
    without_root = {uuid for uuid, each in faulty.items() if each.root is None}
    return AuditedProviders(
        names,
        {},
        {*state.hosts} - without_root,
        state.aggregates,
        state.disabled,
        state.lone_allocations.keys(),
        without_root,
        {str(each.provider.uuid) for each in lost_parents(state)},
    ).in_trees({**parents, **{uuid: each.expected_parent for uuid, each in faulty.items()}})


def edited_providers(stored: Snapshot, served: Snapshot) -> Iterator[EditedProvider]:
    """Yield the providers that the database and the snapshot, at the same clocks, have otherwise.

    Every write of the service advances the clocks, so these rows were changed by SQL.
    """
    rows, served_rows = (
        dict(zip(each.forest.ids.tolist(), range(each.size), strict=True))
        for each in (stored, served)
    )
    for id_ in sorted(rows.keys() | served_rows.keys()):
        new = stored.entries.state(rows[id_]) if id_ in rows else None
        old = served.entries.state(served_rows[id_]) if id_ in served_rows else None
        if differences := _differences(new, old):
            provider, *_ = [each.provider for each in (new, old) if each is not None]
            yield EditedProvider(
                provider=Named(provider.uuid, provider.name),
                cause=f"changed by SQL: {', '.join(differences)}; the service returns older data",
                provider_id=id_,
                stored=new.provider.uuid if new else None,
                served=old.provider.uuid if old else None,
                differences=differences,
            )


def _differences(one: ProviderState | None, other: ProviderState | None) -> Sequence[str]:
    """Return the names of the parts in which two states of a provider differ."""
    if one is None or other is None:
        return ["removed" if one is None else "created"]
    parts = ((_OF_PROVIDER, one.provider, other.provider), (_OF_STATE, one, other))
    return [
        name
        for names, new, old in parts
        for name in names
        if (getattr(new, name) or None) != (getattr(old, name) or None)
    ]


_OF_PROVIDER = ("uuid", "name", "generation", "parent_uuid", "root_uuid")
_OF_STATE = ("inventories", "used", "traits", "aggregates")
