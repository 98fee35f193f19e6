"""The filters of GET /resource_providers.

Every condition applies to the provider itself: sharing providers and the
providers of its tree do not count. Source: API reference, "List resource providers".
"""

from collections.abc import Sequence

import numpy as np

from placement.core.request import ProviderFilter, RequestGroup
from placement.core.search.filters import in_aggregate, satisfying
from placement.core.search.search import check_classes
from placement.core.search.slots import Need
from placement.core.snapshot.entries import ProviderEntry
from placement.core.snapshot.rows import Numbers
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import UnknownTrait


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
    _check_traits(snapshot, group)
    if not all(in_aggregate(snapshot, any_of).any() for any_of in group.member_of):
        return []
    check_classes(snapshot, group)
    need = Need.of(group, group.resources.items(), group.required, is_unsuffixed=False)
    mask = satisfying(snapshot, need)
    satisfying_rows = np.flatnonzero(mask) if rows is None else rows[mask[rows]]
    entries = snapshot.entries.take(satisfying_rows.tolist())
    if not filters.name and filters.uuid is None:
        return entries
    return [entry for entry in entries if _has_identity(entry, filters)]


def _check_traits(snapshot: Snapshot, group: RequestGroup) -> None:
    unknown = group.forbidden.union(*group.required) - snapshot.trait_names
    if unknown:
        raise UnknownTrait(min(unknown), 'Invalid trait(s) in "required" parameter')


def _has_identity(entry: ProviderEntry, filters: ProviderFilter) -> bool:
    provider = entry.state.provider
    has_name = not filters.name or provider.name == filters.name
    return has_name and filters.uuid in (None, provider.uuid)
