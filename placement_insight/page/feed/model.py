"""The providers in a response of ``GET /insight/providers``, and the removed providers.

A client that sends the token of an earlier response receives the changes since that response. The
token has the clocks of the response. Later writes of any process have larger stamps, so that no
change is missed. A provider that changes during the request may be sent twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from placement.core.model import ProviderState
from placement.core.request import ProviderFilter
from placement.core.search.provider_filter import filter_providers
from placement.db.snapshot import changes
from placement.db.store import Store
from placement.engine.engine import View, follows
from placement_insight.page.feed import change_token

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


def feed(store: Store, view: View, criteria: ProviderFilter, token: str | None) -> Feed:
    """Return the changes since the token, or all matching providers if these are unknown.

    The changes are unknown without a token, if the token is malformed, or if it belongs to another
    database or to an earlier epoch of this database.
    Cost: one statement that reads one row for every change, and with a filter the cost of
    ``filter_providers``.
    Raises: DatabaseUnavailable, and the exceptions of ``filter_providers``.
    """
    client_clocks = change_token.decode(token or "")
    if client_clocks is None or not follows(view.clocks, client_clocks):
        return _everything(view, criteria)
    touched = store.read_once(lambda tx: changes.read(tx.connection, client_clocks, view.clocks))
    forest = view.snapshot.forest
    rows = forest.rows_with_ids(touched.changed)
    uuids = {forest.uuids[row] for row in rows.tolist()}
    # The provider that in_tree names may be in another tree now. Other members of that tree then
    # match although they did not change. Removals without a UUID stand for others that a
    # development version did not keep.
    named = {each.named_provider for each in criteria.group.requirements}
    if {*named, None} & {*uuids, *touched.removed_uuids}:
        return _everything(view, criteria)
    matching = [entry.state for entry in filter_providers(view.snapshot, criteria, rows)]
    unmatched = uuids.difference(state.provider.uuid for state in matching)
    removed = [uuid for uuid in touched.removed_uuids if uuid not in forest.row_of]
    return Feed(
        change_token.encode(view.clocks),
        is_complete=False,
        states=matching,
        removed=sorted({*removed, *unmatched}),
    )


def _everything(view: View, criteria: ProviderFilter) -> Feed:
    token = change_token.encode(view.clocks)
    if criteria == NO_FILTER:  # no entries of all providers are kept
        return Feed(token, is_complete=True, states=tuple(view.snapshot.states()))
    states = [entry.state for entry in filter_providers(view.snapshot, criteria)]
    return Feed(token, is_complete=True, states=states)
