"""Which providers a name could mean, with recorded conflicts of the last days."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import sqlalchemy as sa

from placement.core.model import ProviderSummary
from placement.core.text import is_storable
from placement.db.store import Store
from placement.db.tables import resource_providers
from placement.db.transaction import Transaction
from placement.db.writes import chunks
from placement_insight.audit.identity.model import (
    CASE,
    CONFLICT,
    DAYS,
    MATCHES,
    Identity,
    Match,
    NameConflict,
    match_of,
)
from placement_insight.explain.records.model import RecordedRequest, first_id
from placement_insight.explain.records.sql import conflicts
from placement_insight.names import host_name

_provider = resource_providers.c
_root = resource_providers.alias("tree")

MOST_PROVIDERS: Final = 200
MOST_CONFLICTS: Final = 1000
"""The maximum number of recorded conflicts to search, the newest first."""


def identify(store: Store, name: str, days: int = DAYS) -> Identity:
    """Return the providers that a name or UUID could mean, the closest matches first.

    The conflicts were recorded in the last ``days``, and contain the name or one of the
    providers.
    Cost: one pass over the names of all providers, in the database.
    """
    at = datetime.now(UTC)
    with store.read() as tx:
        matches = _similar(tx, name)
        matched_uuids = {match.provider.uuid for match in matches}
        since = first_id(at - timedelta(days=days))
        refused = [
            conflict
            for conflict in map(_conflict, conflicts(tx, since, MOST_CONFLICTS))
            if match_of(name, conflict.name, conflict.uuid) or conflict.holder in matched_uuids
        ]
        conflict_uuids = {
            uuid for conflict in refused for uuid in (conflict.uuid, conflict.holder)
        } - matched_uuids
        matches += [
            Match(CONFLICT, provider)
            for chunk in chunks(sorted(conflict_uuids))
            for provider in tx.providers.summaries(_provider.uuid.in_(chunk))
        ]
        matches = _with_descendants(tx, matches)
    return Identity(name, str(store.epoch()), at, matches, refused)


def _similar(tx: Transaction, name: str) -> list[Match]:
    if not is_storable(name):
        return []
    matches = []
    holder = tx.providers.summary_named(name)
    for provider in tx.providers.summaries(_is_similar(name, host_name(name)), MOST_PROVIDERS):
        reason = match_of(name, provider.name, provider.uuid, is_root=provider.parent_uuid is None)
        if reason is None and holder is not None and provider.uuid == holder.uuid:
            reason = CASE  # the collation of the unique key compares the names as equal
        if reason:
            matches.append(Match(reason, provider))
    return sorted(matches, key=lambda match: (MATCHES.index(match.match), match.provider.name))


def _is_similar(name: str, host: str) -> sa.ColumnElement[bool]:
    """Return the condition for this name or UUID, apart from letter case and a domain.

    ``host`` is the name without a domain. Children whose name begins with ``host`` and a
    dot are included. SQLite, and PostgreSQL with the locale C, ignore the case of ASCII
    letters only.
    """
    lower = sa.func.lower(_provider.name)
    escaped = host.replace("/", "//").replace("%", "/%").replace("_", "/_")
    return sa.or_(
        _provider.uuid == name.lower(),
        _provider.name == name,
        lower == sa.func.lower(name),
        lower == sa.func.lower(host),
        lower.like(sa.func.lower(f"{escaped}.%"), escape="/"),
    )


def _with_descendants(tx: Transaction, matches: Sequence[Match]) -> list[Match]:
    roots = {match.provider.root_uuid for match in matches if match.provider.children}
    children: dict[str, list[ProviderSummary]] = {}
    for chunk in chunks(sorted(filter(None, roots))):
        root_ids = sa.select(_root.c.id).where(_root.c.uuid.in_(chunk))
        for provider in tx.providers.summaries(_provider.root_provider_id.in_(root_ids)):
            if provider.parent_uuid:
                children.setdefault(provider.parent_uuid, []).append(provider)
    return [
        Match(match.match, match.provider, _below(match.provider.uuid, children))
        for match in matches
    ]


def _below(
    uuid: str, children: Mapping[str, Sequence[ProviderSummary]]
) -> tuple[ProviderSummary, ...]:
    """Return the descendants of a provider, children before parents, once even in a loop."""
    descendants: dict[str, ProviderSummary] = {}
    stack = [*children.get(uuid, ())]
    while stack:
        provider = stack.pop()
        if provider.uuid != uuid and provider.uuid not in descendants:
            descendants[provider.uuid] = provider
            stack += children.get(provider.uuid, ())
    return tuple(reversed(descendants.values()))


def _conflict(record: RecordedRequest) -> NameConflict:
    facts = json.loads(record.explanation)
    return NameConflict(
        at=record.last_at,
        reason=record.reason,
        name=facts.get("name", ""),
        uuid=facts.get("uuid", ""),
        holder=facts.get("holder", {}).get("uuid", ""),
        request_id=record.global_request_id or record.request_id,
        user_id=record.user_id,
    )
