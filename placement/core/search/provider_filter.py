"""The filters of GET /resource_providers.

All that is asked must hold of the provider itself: nothing is shared, spanned
or combined here. Source: API reference, "List resource providers".
"""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from placement.core.request import ProviderFilter, RequestGroup
from placement.core.search.filters import in_aggregate, steps
from placement.core.search.plan import Need
from placement.core.search.search import check_classes
from placement.core.snapshot.entries import ProviderEntry
from placement.core.snapshot.rows import Mask
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import UnknownTrait


def matching(snapshot: Snapshot, asked: ProviderFilter) -> Sequence[ProviderEntry]:
    """Return the providers that meet all that is asked, in the order of their rows.

    Raises: UnknownTrait, UnknownResourceClass, unless something looked up before
    is known to match nobody: first in_tree, then traits, aggregates, classes.
    """
    group = asked.group
    if group.in_tree is not None and group.in_tree not in snapshot.forest.row_of:
        return []
    _check_traits(snapshot, group)
    if not all(in_aggregate(snapshot, either).any() for either in group.member_of):
        return []
    check_classes(snapshot, group)
    found = snapshot.entries.take(np.flatnonzero(_meeting(snapshot, group)).tolist())
    return [entry for entry in found if _is_called(entry, asked)] if _names(asked) else found


def _meeting(snapshot: Snapshot, group: RequestGroup) -> Mask:
    need = Need(
        resources=tuple(group.resources.items()),
        required=group.required,
        forbidden=group.forbidden,
        member_of=group.member_of,
        not_member_of=group.not_member_of,
        in_tree=group.in_tree,
        spans=False,
    )
    return reduce(np.logical_and, [step.mask for step in steps(snapshot, need)])


def _check_traits(snapshot: Snapshot, group: RequestGroup) -> None:
    unknown = group.forbidden.union(*group.required) - snapshot.trait_names
    if unknown:
        raise UnknownTrait(min(unknown), 'Invalid trait(s) in "required" parameter')


def _names(asked: ProviderFilter) -> bool:
    return bool(asked.name) or asked.uuid is not None


def _is_called(entry: ProviderEntry, asked: ProviderFilter) -> bool:
    provider = entry.state.provider
    return (not asked.name or provider.name == asked.name) and asked.uuid in (None, provider.uuid)
