"""The providers in a response of ``GET /insight/providers``, and the removed providers.

A client that sends the token of an earlier response receives the changes since that response. The
token has the clocks of the response. Later writes of any process have larger stamps, so that no
change is missed. A provider that changes during the request may be sent twice.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from placement.core.model import ProviderState
from placement.core.request import ProviderFilter
from placement.core.search.provider_filter import filter_providers
from placement.core.snapshot.entries import ProviderEntry
from placement.core.snapshot.snapshot import Snapshot
from placement.db.store import Store
from placement.engine.engine import follows
from placement.insight.feed import change_token, sql

NO_FILTER = ProviderFilter()


@dataclass(frozen=True, slots=True)
class Feed:
    """The providers to send: all providers if ``is_complete``, otherwise the changed providers.

    ``states`` can be iterated over more than once.

    ``removed`` has the UUIDs of providers that the client must remove: they were removed, or they
    changed and do not match the filter now.
    """

    token: str
    is_complete: bool
    states: Sequence[ProviderState]
    removed: Sequence[str] = ()


def everything(snapshot: Snapshot, clocks: Mapping[int, int], criteria: ProviderFilter) -> Feed:
    """Return all matching providers.  Raises: the exceptions of ``filter_providers``."""
    token = change_token.encode(clocks)
    if criteria == NO_FILTER:
        return Feed(token, is_complete=True, states=tuple(snapshot.states()))
    states = [entry.state for entry in filter_providers(snapshot, criteria)]
    return Feed(token, is_complete=True, states=states)


def changed_since(
    store: Store,
    snapshot: Snapshot,
    clocks: Mapping[int, int],
    criteria: ProviderFilter,
    token: str,
) -> Feed:
    """Return the changes since the token, or all providers if the changes are unknown.

    The changes are unknown if the token is malformed, or if it belongs to another database or to
    an earlier epoch of this database.
    Cost: one statement that reads one row for every change, and with a filter the cost of
    ``filter_providers``.
    Raises: DatabaseUnavailable, and the exceptions of ``filter_providers``.
    """
    client_clocks = change_token.decode(token)
    if client_clocks is None or not follows(clocks, client_clocks):
        return everything(snapshot, clocks, criteria)
    touched = sql.touched(store, client_clocks, clocks)
    entries = snapshot.entries.take(snapshot.forest.rows_with_ids(touched.ids).tolist())
    if _moves_the_tree(criteria, entries, touched.removed):
        return everything(snapshot, clocks, criteria)
    removed = [uuid for uuid in touched.removed if uuid not in snapshot.forest.row_of]
    matching = _matching(snapshot, criteria, entries)
    matching_ids = {entry.state.provider.id for entry in matching}
    unmatched = [
        entry.state.provider.uuid
        for entry in entries
        if entry.state.provider.id not in matching_ids
    ]
    return Feed(
        change_token.encode(clocks),
        is_complete=False,
        states=[entry.state for entry in matching],
        removed=sorted({*removed, *unmatched}),
    )


def _moves_the_tree(
    criteria: ProviderFilter, entries: Iterable[ProviderEntry], removed: Sequence[str]
) -> bool:
    """Return whether the provider that ``in_tree`` names changed.

    The provider may be in another tree now. Other members of that tree then match although they
    did not change.
    """
    tree_uuid = criteria.group.in_tree
    return tree_uuid is not None and (
        tree_uuid in removed or any(entry.state.provider.uuid == tree_uuid for entry in entries)
    )


def _matching(
    snapshot: Snapshot, criteria: ProviderFilter, entries: Sequence[ProviderEntry]
) -> Sequence[ProviderEntry]:
    if criteria == NO_FILTER:
        return entries
    ids = {entry.state.provider.id for entry in filter_providers(snapshot, criteria)}
    return [entry for entry in entries if entry.state.provider.id in ids]
