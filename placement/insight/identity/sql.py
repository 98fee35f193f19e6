"""Which providers a name could mean, with recorded conflicts of the last days."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from placement.core.model import ProviderSummary
from placement.core.text import is_storable
from placement.db.store import Store
from placement.db.transaction import Transaction
from placement.insight.identity.model import (
    CASE,
    CONFLICT,
    MATCHES,
    Identity,
    Match,
    NameConflict,
    host_name,
    match_of,
)
from placement.insight.recording.model import RecordedRequest, first_id
from placement.insight.recording.sql import InsightRequests

DAYS: Final = 7
MOST_PROVIDERS: Final = 200
MOST_CONFLICTS: Final = 1000
"""How many recorded conflicts are searched, the newest."""


def identify(store: Store, name: str, days: int = DAYS, now: datetime | None = None) -> Identity:
    """Return the providers that a name or UUID could mean, the closest matches first.

    Conflicts are those recorded in the last ``days`` in which the name, or one of the providers,
    occurs.
    Cost: one pass over the names of all providers, in the database.
    """
    at = now or datetime.now(UTC)
    with store.read() as tx:
        matches = _similar(tx, name)
        matched_uuids = {each.provider.uuid for each in matches}
        since = first_id(at - timedelta(days=days))
        conflicts = [
            each
            for each in map(
                _conflict, InsightRequests(tx.connection).conflicts(since, MOST_CONFLICTS)
            )
            if match_of(name, each.name, each.uuid) or each.holder in matched_uuids
        ]
        others = {uuid for each in conflicts for uuid in (each.uuid, each.holder)} - matched_uuids
        matches += [Match(CONFLICT, each) for each in tx.summaries.with_uuids(others)]
        matches = _with_descendants(tx, matches)
    return Identity(name, str(store.epoch()), at, matches, conflicts)


def _similar(tx: Transaction, name: str) -> list[Match]:
    matches = []
    holder = tx.summaries.with_name(name) if is_storable(name) else None
    for each in tx.summaries.similar(name, host_name(name), MOST_PROVIDERS):
        match = match_of(name, each.name, each.uuid, is_root=each.parent_uuid is None)
        if match is None and holder is not None and each.uuid == holder.uuid:
            match = CASE  # the names are equal to the unique key, by its collation
        if match:
            matches.append(Match(match, each))
    return sorted(matches, key=lambda each: (MATCHES.index(each.match), each.provider.name))


def _with_descendants(tx: Transaction, matches: Sequence[Match]) -> list[Match]:
    roots = {each.provider.root_uuid for each in matches if each.provider.children}
    children: dict[str, list[ProviderSummary]] = {}
    for each in tx.summaries.in_trees(root for root in roots if root):
        if each.parent_uuid:
            children.setdefault(each.parent_uuid, []).append(each)
    return [
        Match(each.match, each.provider, _below(each.provider.uuid, children)) for each in matches
    ]


def _below(
    uuid: str, children: Mapping[str, Sequence[ProviderSummary]]
) -> tuple[ProviderSummary, ...]:
    """Return the descendants of a provider, children before parents, each once even in a loop."""
    descendants: dict[str, ProviderSummary] = {}
    stack = [*children.get(uuid, ())]
    while stack:
        each = stack.pop()
        if each.uuid != uuid and each.uuid not in descendants:
            descendants[each.uuid] = each
            stack += children.get(each.uuid, ())
    return tuple(reversed(descendants.values()))


def _conflict(record: RecordedRequest) -> NameConflict:
    facts = json.loads(record.explanation)
    return NameConflict(
        at=record.at,
        reason=record.reason,
        name=facts.get("name", ""),
        uuid=facts.get("uuid", ""),
        holder=facts.get("holder", {}).get("uuid", ""),
        request_id=record.global_request_id or record.request_id,
        user_id=record.user_id,
    )
