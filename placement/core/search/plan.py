"""A request as the search sees it: slots to fill, and conditions between slots.

A *slot* is one choice of one provider. A suffixed group is one slot; the
unsuffixed group is a slot for each of its classes, as each may come from
another provider. What a slot needs of the provider it gets is its *need*;
equal slots share one need, so that narrowing looks at it once.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from placement.core.request import CandidateRequest, RequestGroup


@dataclass(frozen=True, slots=True)
class Need:
    """What the provider of one slot must have, itself.

    ``spans`` is true in the unsuffixed group: there the root's aggregates count
    for its tree, and ``in_tree`` shuts out what other trees share.
    """

    resources: tuple[tuple[str, int], ...]
    required: tuple[frozenset[str], ...]
    forbidden: frozenset[str]
    member_of: tuple[frozenset[str], ...]
    not_member_of: frozenset[str]
    in_tree: str | None
    spans: bool


@dataclass(frozen=True, slots=True)
class Slot:
    """One provider to choose: for which group, and to meet which need (by number)."""

    suffix: str
    need: int
    resources: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The slots of a request and what must hold between them. Slots are named by number.

    ``unsuffixed``  the slots of the unsuffixed group
    ``isolated``    slots that need providers of their own (none if fewer than two)
    ``subtrees``    for each same_subtree its slots; one that names a single group asks nothing
    ``either``      traits of which the providers of ``unsuffixed`` need one each,
                    together; if there is only one such slot, its need has them
    ``contended``   classes that several slots may want from one provider: slot -> amount
    """

    request: CandidateRequest
    needs: tuple[Need, ...]
    slots: tuple[Slot, ...]
    unsuffixed: tuple[int, ...]
    isolated: tuple[int, ...]
    subtrees: tuple[tuple[int, ...], ...]
    either: tuple[frozenset[str], ...]
    contended: Mapping[str, Mapping[int, int]]

    @classmethod
    def of(cls, request: CandidateRequest) -> "Plan":
        """Return the plan of a request."""
        needs: dict[Need, int] = {}
        slots = tuple(
            Slot(group.suffix, needs.setdefault(need, len(needs)), need.resources)
            for group in request.groups
            for need in _needs(group)
        )
        suffixed = tuple(number for number, slot in enumerate(slots) if slot.suffix)
        unsuffixed = tuple(number for number, slot in enumerate(slots) if not slot.suffix)
        isolated = suffixed if request.isolate and len(suffixed) > 1 else ()
        return cls(
            request=request,
            needs=tuple(needs),
            slots=slots,
            unsuffixed=unsuffixed,
            isolated=isolated,
            subtrees=tuple(
                _slots_of(slots, suffixes)
                for suffixes in request.same_subtree
                if len(suffixes) > 1
            ),
            either=_spread_traits(request, len(unsuffixed)),
            contended=_contended(slots, isolated),
        )


def _needs(group: RequestGroup) -> Iterator[Need]:
    """Yield the need of each slot of a group."""
    if group.suffix:
        yield _need(group, tuple(group.resources.items()), group.required)
        return
    required = group.required if len(group.resources) == 1 else ()
    for name, amount in group.resources.items():
        yield _need(group, ((name, amount),), required)


def _need(
    group: RequestGroup,
    resources: tuple[tuple[str, int], ...],
    required: tuple[frozenset[str], ...],
) -> Need:
    return Need(
        resources=resources,
        required=required,
        forbidden=group.forbidden,
        member_of=group.member_of,
        not_member_of=group.not_member_of,
        in_tree=group.in_tree,
        spans=not group.suffix,
    )


def _slots_of(slots: tuple[Slot, ...], suffixes: frozenset[str]) -> tuple[int, ...]:
    return tuple(number for number, slot in enumerate(slots) if slot.suffix in suffixes)


def _spread_traits(request: CandidateRequest, classes: int) -> tuple[frozenset[str], ...]:
    """Return the either-lists that several providers of the unsuffixed group meet together."""
    if classes < 2:
        return ()
    return tuple(
        either for group in request.groups if not group.suffix for either in group.required
    )


def _contended(slots: tuple[Slot, ...], isolated: tuple[int, ...]) -> Mapping[str, dict[int, int]]:
    wanted: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for number, slot in enumerate(slots):
        for name, amount in slot.resources:
            wanted[name][number] = amount
    apart = set(isolated)
    return {
        name: amounts
        for name, amounts in wanted.items()
        if len(amounts) > 1 and not apart.issuperset(amounts)
    }
