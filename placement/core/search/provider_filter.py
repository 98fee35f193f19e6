"""The filters of GET /resource_providers.

Every condition applies to the provider itself: sharing providers and the
providers of its tree do not count. Source: API reference, "List resource providers".
"""

from collections.abc import Sequence

import numpy as np

from placement.core.request import ProviderFilter
from placement.core.search.filters import find_domain, in_aggregate
from placement.core.search.search import check_classes, check_traits
from placement.core.search.slots import Need
from placement.core.snapshot.entries import ProviderEntry
from placement.core.snapshot.rows import Numbers
from placement.core.snapshot.snapshot import Snapshot


def filter_providers(
    snapshot: Snapshot, filters: ProviderFilter, rows: Numbers | None = None
) -> Sequence[ProviderEntry]:
    """Return the providers, of these rows or of all, that meet all filters, in order of rows.

    Raises: UnknownTrait, UnknownResourceClass, unless a filter checked earlier
    matches no provider: first in_tree, then traits, aggregates, classes.
    """
    group = filters.group
    if group.in_tree is not None and group.in_tree not in snapshot.forest.row_of:
        return []
    names = group.forbidden.union(*group.required)
    check_traits(snapshot, names, 'Invalid trait(s) in "required" parameter')
    if not all(in_aggregate(snapshot, any_of).any() for any_of in group.member_of):
        return []
    check_classes(snapshot, group)
    local = find_domain(snapshot, Need.of(group)).local
    local_rows = np.flatnonzero(local) if rows is None else rows[local[rows]]
    entries = snapshot.entries.take(local_rows.tolist())
    if not filters.name and filters.uuid is None:
        return entries
    return [entry for entry in entries if _has_identity(entry, filters)]


def _has_identity(entry: ProviderEntry, filters: ProviderFilter) -> bool:
    provider = entry.state.provider
    has_name = not filters.name or provider.name == filters.name
    return has_name and filters.uuid in (None, provider.uuid)
