"""Which providers can fill a slot: array operations over all providers at once.

Every condition on a provider itself is a *step*: a name, as the query spells
it, and a mask. The search combines the masks; ``explain`` counts what each of
the same masks removes.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np

from placement.core.search.plan import Need, Plan
from placement.core.snapshot.rows import Mask, mask_of, numbers
from placement.core.snapshot.snapshot import Snapshot


class Step(NamedTuple):
    """One condition, as parameter and value of the query, and the rows that meet it."""

    parameter: str
    value: str
    mask: Mask


@dataclass(frozen=True, slots=True)
class Served:
    """Who can fill the slots of one need.

    ``local`` are those that can at their own root; ``shared`` the sharing
    providers that can at other roots, as well by each of their aggregates.
    """

    local: Mask
    shared: tuple[int, ...]
    shared_by_aggregate: Mapping[str, tuple[int, ...]]


def narrow(snapshot: Snapshot, need: Need) -> Served:
    """Return who can fill a slot with this need. A few microseconds for each 10,000 providers."""
    base = reduce(np.logical_and, [step.mask for step in own_steps(snapshot, need)])
    member = membership(snapshot, need)
    shared = _shared(snapshot, need, base if member is None else base & member)
    local = base if member is None else base & _spanned(snapshot, need, member)
    return Served(local, shared, _by_aggregate(snapshot, shared))


def steps(snapshot: Snapshot, need: Need) -> Iterator[Step]:
    """Yield all conditions of a need on a provider at its own root."""
    yield from own_steps(snapshot, need)
    member = membership(snapshot, need)
    if member is not None:
        value = "&member_of=".join(one_of(either) for either in need.member_of)
        yield Step("member_of", value, _spanned(snapshot, need, member))


def own_steps(snapshot: Snapshot, need: Need) -> Iterator[Step]:
    """Yield the conditions of a need that hold or fail whatever the root; at least one."""
    size = snapshot.size
    for name, amount in need.resources:
        yield Step("resources", f"{name}:{amount}", fitting(snapshot, name, amount))
    if not need.resources:
        yield Step("", "", snapshot.forest.root >= 0)
    for either in need.required:
        yield Step("required", one_of(either), having_trait(snapshot, either))
    if need.forbidden:
        value = ",".join(f"!{name}" for name in sorted(need.forbidden))
        yield Step("required", value, ~having_trait(snapshot, need.forbidden))
    if need.not_member_of:
        value = f"!{one_of(need.not_member_of)}"
        yield Step("member_of", value, ~in_aggregate(snapshot, need.not_member_of))
    if need.in_tree is not None:
        yield Step("in_tree", need.in_tree, mask_of(tree_of(snapshot, need.in_tree), size))


def anchor_steps(snapshot: Snapshot, plan: Plan) -> Iterator[Step]:
    """Yield the conditions on the root that a candidate is built around."""
    request = plan.request
    for name in sorted(request.root_required):
        yield Step("root_required", name, snapshot.with_trait(name).mask(snapshot.size))
    for name in sorted(request.root_forbidden):
        yield Step("root_required", f"!{name}", ~snapshot.with_trait(name).mask(snapshot.size))
    for group in request.groups:
        if not group.suffix and group.not_member_of:
            value = f"!{one_of(group.not_member_of)}"
            yield Step("member_of", value, ~in_aggregate(snapshot, group.not_member_of))


def one_of(names: Iterable[str]) -> str:
    """Return an either-list as a query spells it."""
    listed = sorted(names)
    return listed[0] if len(listed) == 1 else f"in:{','.join(listed)}"


def fitting(snapshot: Snapshot, name: str, amount: int) -> Mask:
    """Return where an amount of a class fits."""
    column = snapshot.columns.get(name)
    return column.fitting(amount, snapshot.size) if column else _nobody(snapshot)


def having_trait(snapshot: Snapshot, names: Iterable[str]) -> Mask:
    """Return who has at least one of the traits; not to be written to."""
    return _any([snapshot.with_trait(name).mask(snapshot.size) for name in names], snapshot)


def in_aggregate(snapshot: Snapshot, uuids: Iterable[str]) -> Mask:
    """Return who is in at least one of the aggregates; not to be written to."""
    return _any([snapshot.with_aggregate(uuid).mask(snapshot.size) for uuid in uuids], snapshot)


def membership(snapshot: Snapshot, need: Need) -> Mask | None:
    """Return who is, itself, in an aggregate of every wanted list; None if none is wanted."""
    if not need.member_of:
        return None
    return reduce(np.logical_and, [in_aggregate(snapshot, either) for either in need.member_of])


def tree_of(snapshot: Snapshot, uuid: str) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Return the rows of the tree that a provider is in, none if there is no such provider."""
    row = snapshot.forest.row_of.get(uuid)
    if row is None:
        return numbers(())
    return numbers(snapshot.forest.members(snapshot.forest.root.item(row)))


def _any(masks: Sequence[Mask], snapshot: Snapshot) -> Mask:
    return reduce(np.logical_or, masks) if masks else _nobody(snapshot)


def _nobody(snapshot: Snapshot) -> Mask:
    return np.zeros(snapshot.size, dtype=np.bool_)


def _spanned(snapshot: Snapshot, need: Need, member: Mask) -> Mask:
    """Return who counts as a member at its own root: with ``spans`` also whose root is one."""
    if not need.spans or not snapshot.forest.branched:
        return member
    spanned: Mask = member | member[snapshot.forest.root]
    return spanned


def _shared(snapshot: Snapshot, need: Need, able: Mask) -> tuple[int, ...]:
    sharing = snapshot.sharing.numbers
    if not len(sharing) or (need.spans and need.in_tree is not None):
        return ()
    return tuple(sharing[able[sharing]].tolist())


def _by_aggregate(snapshot: Snapshot, shared: tuple[int, ...]) -> Mapping[str, tuple[int, ...]]:
    members: defaultdict[str, list[int]] = defaultdict(list)
    for row in shared:
        for uuid in snapshot.entries.state(row).aggregates:
            members[uuid].append(row)
    return {uuid: tuple(rows) for uuid, rows in members.items()}
