"""A request as a constraint-satisfaction problem: slots (variables) and constraints.

A *slot* is one choice of one provider. A suffixed group is one slot; the
unsuffixed group is one slot per resource class, as each class may come from
another provider. The conditions on the provider of a slot are its *need*;
equal slots share one need, so that the filters evaluate it once.

``SlottedRequest`` is the request for all roots. ``Problem`` is the problem around one root,
without the names of the providers.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from placement.core.request import CandidateRequest, RequestGroup
from placement.core.requirement import ProviderRequirement

Options = tuple[int, ...]
"""The options of a slot, in the order in which they are tried: one for each possible provider."""

Assignment = tuple[int, ...]
"""The option that each slot is assigned to, in the order of the slots."""


@dataclass(frozen=True, slots=True)
class Need:
    """The conditions on the provider of one slot.

    ``is_unsuffixed`` is true in the unsuffixed group: there the aggregates of the root
    count for its tree, and ``in_tree`` excludes sharing providers of other trees.
    """

    resources: tuple[tuple[str, int], ...]
    requirements: tuple[ProviderRequirement, ...]
    is_unsuffixed: bool

    @classmethod
    def of(cls, group: RequestGroup) -> "Need":
        """Return the need of a whole group, which one provider serves."""
        return cls(tuple(group.resources.items()), group.requirements, is_unsuffixed=False)


@dataclass(frozen=True, slots=True)
class Slot:
    """A variable: one provider to choose. ``suffix`` names its group, ``need`` is a number."""

    suffix: str
    need: int
    resources: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class SlottedRequest:
    """The slots of a request and the constraints between them. Slots are numbered.

    ``unsuffixed``  the slots of the unsuffixed group
    ``isolated``    slots that need different providers (none if fewer than two)
    ``subtrees``    the slots of each same_subtree; a same_subtree with one group has no effect
    ``any_of``      trait lists of the unsuffixed group: its providers together have a trait of
                    each list. With a single unsuffixed slot, its need contains the lists
    ``contended``   resource classes that several slots may take from one provider,
                    as slot -> amount
    """

    request: CandidateRequest
    needs: tuple[Need, ...]
    slots: tuple[Slot, ...]
    unsuffixed: tuple[int, ...]
    isolated: tuple[int, ...]
    subtrees: tuple[tuple[int, ...], ...]
    any_of: tuple[frozenset[str], ...]
    contended: Mapping[str, Mapping[int, int]]

    @classmethod
    def of(cls, request: CandidateRequest) -> "SlottedRequest":
        """Return the slots and constraints of a request."""
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
                tuple(number for number, slot in enumerate(slots) if slot.suffix in suffixes)
                for suffixes in request.same_subtree
                if len(suffixes) > 1
            ),
            any_of=tuple(
                frozenset(requirement.names)
                for group in request.groups
                for requirement in joint_requirements(group)
            ),
            contended=_contended(slots, isolated),
        )

    @property
    def are_slots_independent(self) -> bool:
        """Whether every choice of an option for each slot is a solution."""
        constraints = (self.isolated, self.subtrees, self.any_of, self.contended)
        return self.request.nested and not any(constraints)


def _needs(group: RequestGroup) -> Iterator[Need]:
    need = Need.of(group)
    if group.suffix:
        yield need
        return
    joint = joint_requirements(group)
    requirements = tuple(each for each in need.requirements if each not in joint)
    for amount in need.resources:
        yield Need((amount,), requirements, is_unsuffixed=True)


def joint_requirements(group: RequestGroup) -> tuple[ProviderRequirement, ...]:
    """Return the requirements that the providers of an unsuffixed group meet together."""
    if group.suffix or len(group.resources) < 2:
        return ()
    return tuple(each for each in group.requirements if each.can_be_joint)


def _contended(slots: tuple[Slot, ...], isolated: tuple[int, ...]) -> Mapping[str, dict[int, int]]:
    amounts_by_class: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for number, slot in enumerate(slots):
        for name, amount in slot.resources:
            amounts_by_class[name][number] = amount
    never_together = set(isolated)
    return {
        name: amounts
        for name, amounts in amounts_by_class.items()
        if len(amounts) > 1 and not never_together.issuperset(amounts)
    }


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Everything around a root that the solutions depend on. Compared by identity.

    Options are numbers. The providers of the root's tree that are an option of some slot are
    numbered from 0: in tree order if the request has same_subtree, otherwise by the slots
    that they can serve (``problems``). A sharing provider of another tree is ``~row``.

    ``options``      per slot, its options: options in the root's tree first
    ``allocatable``  per option and contended class, if slots can take the class from the
                     option: the allocatable amount, clipped to the sum of the requested
                     amounts
    ``any_of_bits``  per option of the unsuffixed slots, a bit for each of the request's
                     ``any_of`` lists that its traits satisfy
    ``parents``      if the request has same_subtree: per option of the root's tree, the
                     nearest ancestor that is an option, or -1
    ``ancestors``    if the request has same_subtree: per option of another tree, itself
                     and its ancestors
    ``tree_of``      per option a number for its tree, if two options are in one tree and a
                     candidate must not use both (below 1.29); otherwise empty
    ``top``          index of a same_subtree, and the option that must be its highest
                     provider; None if any option may be
    """

    options: tuple[Options, ...]
    allocatable: Mapping[tuple[int, str], int]
    any_of_bits: Mapping[int, int]
    parents: tuple[int, ...]
    ancestors: Mapping[int, frozenset[int]]
    tree_of: Mapping[int, int]
    top: tuple[int, int] | None
