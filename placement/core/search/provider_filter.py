"""The filters of GET /resource_providers.

Every condition applies to the provider itself: sharing providers and the
providers of its tree do not count. Source: API reference, "List resource providers".
"""

from collections.abc import Sequence

import numpy as np

from placement.core.request import ProviderFilter
from placement.core.requirement import ProviderRequirement
from placement.core.search.filters import find_domain
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
    if not all(_has_any(snapshot, each) for each in group.requirements if each.named_provider):
        return []
    check_traits(snapshot, group.names("traits"), 'Invalid trait(s) in "required" parameter')
    if not all(_has_any(snapshot, each) for each in group.requirements if _needs_member(each)):
        return []
    check_classes(snapshot, group)
    local = find_domain(snapshot, Need.of(group)).local
    local_rows = np.flatnonzero(local) if rows is None else rows[local[rows]]
    entries = snapshot.entries.take(local_rows.tolist())
    if not filters.name and filters.uuid is None:
        return entries
    return [entry for entry in entries if _has_identity(entry, filters)]


def _has_any(snapshot: Snapshot, requirement: ProviderRequirement) -> bool:
    return bool(requirement.providers(snapshot).any())


def _needs_member(requirement: ProviderRequirement) -> bool:
    return requirement.subject == "aggregates" and not requirement.is_forbidding


def _has_identity(entry: ProviderEntry, filters: ProviderFilter) -> bool:
    provider = entry.state.provider
    has_name = not filters.name or provider.name == filters.name
    return has_name and filters.uuid in (None, provider.uuid)
