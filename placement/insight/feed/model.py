"""Which providers a client of ``GET /insight/providers`` is sent, and which were removed.

A client that sends the token of an earlier response gets what changed since. The token is the
clocks of that response: what was written later has a larger stamp, whichever process wrote it, so
nothing is missed. A provider may be sent once more than needed if it changes at this very moment.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from placement.core.model import EPOCH_CLOCK, ProviderState
from placement.core.request import ProviderFilter
from placement.core.search.provider_filter import filter_providers
from placement.core.snapshot.entries import ProviderEntry
from placement.core.snapshot.snapshot import Snapshot
from placement.db.store import Store
from placement.insight.feed import change_token

NO_FILTER = ProviderFilter()


@dataclass(frozen=True, slots=True)
class Feed:
    """Providers to send; ``is_complete`` if these are all, otherwise what changed.

    ``states`` can be iterated over more than once.

    ``removed`` are UUIDs of providers that the client no longer has to know: they were removed,
    or changed and do not match the filter now.
    """

    token: str
    is_complete: bool
    states: Sequence[ProviderState]
    removed: Sequence[str] = ()


def everything(snapshot: Snapshot, clocks: Mapping[int, int], criteria: ProviderFilter) -> Feed:
    """Return all providers that match.  Raises: what ``filter_providers`` raises."""
    token = change_token.encode(clocks)
    if criteria == NO_FILTER:
        return Feed(token, is_complete=True, states=tuple(snapshot.states()))
    return Feed(token, is_complete=True, states=_states(filter_providers(snapshot, criteria)))


def changed_since(
    store: Store,
    snapshot: Snapshot,
    clocks: Mapping[int, int],
    criteria: ProviderFilter,
    token: str,
) -> Feed:
    """Return what changed since the token; everything, if the token does not lead here.

    It does not if it is malformed, of another database or of an earlier epoch of this one, or if
    a removal was noted without a UUID, by an earlier release.
    Cost: one statement that reads a row for each change, and with a filter that of
    ``filter_providers``.
    Raises: DatabaseUnavailable, and what ``filter_providers`` raises.
    """
    client_clocks = change_token.decode(token)
    if client_clocks is None or not _leads_to(clocks, client_clocks, EPOCH_CLOCK):
        return everything(snapshot, clocks, criteria)
    touched = store.touched(client_clocks, clocks)
    entries = _entries(snapshot, touched.ids)
    if touched.removed is None or _moves_the_tree(criteria, entries, touched.removed):
        return everything(snapshot, clocks, criteria)
    removed = [uuid for uuid in touched.removed if uuid not in snapshot.forest.row_of]
    matching = _matching(snapshot, criteria, entries)
    matching_ids = {entry.state.provider.id for entry in matching}
    left = [
        entry.state.provider.uuid
        for entry in entries
        if entry.state.provider.id not in matching_ids
    ]
    return Feed(
        change_token.encode(clocks),
        is_complete=False,
        states=_states(matching),
        removed=sorted({*removed, *left}),
    )


def _leads_to(now: Mapping[int, int], client_clocks: Mapping[int, int], epoch: int) -> bool:
    return (
        now.keys() == client_clocks.keys()
        and now[epoch] == client_clocks[epoch]
        and all(now[clock] >= client_clocks[clock] for clock in now)
    )


def _entries(snapshot: Snapshot, ids: Collection[int]) -> list[ProviderEntry]:
    return snapshot.entries.take(snapshot.forest.rows_with_ids(ids).tolist())


def _moves_the_tree(
    criteria: ProviderFilter, entries: Iterable[ProviderEntry], removed: Sequence[str]
) -> bool:
    """Tell whether the provider that ``in_tree`` names changed.

    It may be in another tree now, whose other members match although they did not change.
    """
    top = criteria.group.in_tree
    return top is not None and (
        top in removed or any(entry.state.provider.uuid == top for entry in entries)
    )


def _matching(
    snapshot: Snapshot, criteria: ProviderFilter, entries: Sequence[ProviderEntry]
) -> Sequence[ProviderEntry]:
    if criteria == NO_FILTER:
        return entries
    ids = {entry.state.provider.id for entry in filter_providers(snapshot, criteria)}
    return [entry for entry in entries if entry.state.provider.id in ids]


def _states(entries: Iterable[ProviderEntry]) -> Sequence[ProviderState]:
    return [entry.state for entry in entries]
