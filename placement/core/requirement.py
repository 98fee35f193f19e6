"""The requirements of a request: one class for each kind, with everything that is said about it.

A requirement has its reason code, the names that it is about (traits or aggregates), its spelling
in a query, the sentence about a host that does not meet it, the providers that meet it, and what a
provider must get to meet it. The search, the explanation, the remedies, the records and the
summaries loop over the requirements of a request and of its groups; they know no kinds.

A requirement is a value without the suffix of its group: equal requirements of two groups are
equal, so that the search evaluates them once.
"""

# ruff: noqa: D102 - the base class documents the methods of all requirements
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar, Final, Literal, Self

import numpy as np

from placement.core.model import ProviderState
from placement.core.snapshot.rows import NO_ROWS, Mask, Rows, mask_of, numbers
from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import NO_NAMES, Names

Subject = Literal["", "resource_classes", "traits", "aggregates"]
"""The kind of the names that a requirement is about."""

Masks = tuple[Mask, Mask]
"""The providers that meet a requirement for their own tree, and for trees they are shared with."""


class Requirement:
    """One requirement of a request. Subclasses are frozen dataclasses.

    ``unmet_form`` is the sentence about a host that does not meet the requirement, with places
    for the listed ``names``, the ``value`` and the fields of the requirement. ``is_forbidding`` is
    whether a provider must not have the names.
    """

    __slots__ = ()
    code: ClassVar[str]
    parameter: ClassVar[str]
    unmet_form: ClassVar[str]
    subject: ClassVar[Subject] = ""
    is_forbidding: ClassVar[bool] = False

    @property
    def shares_parameter(self) -> bool:
        """Whether one value of the parameter can have several such requirements."""
        return False

    @property
    def names(self) -> tuple[str, ...]:
        """The traits or aggregates that the requirement is about, sorted."""
        return ()

    def value(self, _names: Names = NO_NAMES) -> str:
        """Return the value of the parameter, with names of providers instead of their UUIDs."""
        return f"{'!' if self.is_forbidding else ''}{any_of_text(self.names)}"

    def spelled(self, suffix: str = "", names: Names = NO_NAMES) -> str:
        """Return the requirement as the query spells it."""
        return f"{self.parameter}{names.get(suffix, suffix)}={self.value(names)}"

    def unmet(self, names: Names = NO_NAMES, of_host: Iterable[str] = ()) -> str:
        """Return the sentence about a host that does not meet the requirement.

        ``of_host`` are the names that the host lacks or must not have, if not all of them.
        """
        listed = " or ".join(of_host or self.names)
        return self.unmet_form.format(self, names=listed, value=self.value(names))


class ProviderRequirement(Requirement):
    """A requirement that one provider meets or does not meet, whatever serves the other groups.

    ``can_be_joint`` is whether the providers of the unsuffixed group may meet the requirement
    together. ``holds_at_root`` is whether the root must meet a requirement of the unsuffixed
    group as well, ``spans_tree`` whether the root can meet it for its tree.
    """

    __slots__ = ()
    can_be_joint: ClassVar[bool] = False
    holds_at_root: ClassVar[bool] = False
    spans_tree: ClassVar[bool] = False
    can_be_granted: ClassVar[bool] = True

    @property
    def named_provider(self) -> str | None:
        """The UUID of the provider whose tree the requirement names, if any."""
        return None

    def providers(self, snapshot: Snapshot) -> Mask:
        """Return the providers that meet the requirement by themselves."""
        having = _having(getattr(snapshot, self.subject), self.names, snapshot.size)
        return ~having if self.is_forbidding else having

    def masks(self, snapshot: Snapshot, *, is_unsuffixed: bool) -> Masks:  # noqa: ARG002
        """Return the providers that meet the requirement in a group with or without a suffix."""
        meeting = self.providers(snapshot)
        return meeting, meeting

    def lacking(self, _state: ProviderState, unwanted: frozenset[str]) -> tuple[str, ...]:
        """Return the names that a provider lacks, or has and must not have.

        Of alternatives, ``unwanted`` names are left out, unless all are unwanted.
        """
        return tuple(name for name in self.names if name not in unwanted) or self.names


@dataclass(frozen=True, slots=True)
class _AnyOf(ProviderRequirement):
    """The provider has one of the names, or none of them if the requirement is forbidding.

    A snapshot and the state of a provider have the names in the field that ``subject`` names.
    """

    any_of: frozenset[str]

    @classmethod
    def one(cls, name: str) -> Self:
        """Return the requirement about a single name."""
        return cls(frozenset({name}))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self.any_of))


class _OfTraits(_AnyOf):
    __slots__ = ()
    parameter = "required"
    subject = "traits"

    @property
    def shares_parameter(self) -> bool:
        return len(self.any_of) == 1


class RequiredTrait(_OfTraits):
    """The provider has one of the traits."""

    __slots__ = ()
    code = "trait"
    unmet_form = "no trait {names}"
    can_be_joint = True


class ForbiddenTrait(_OfTraits):
    """The provider does not have the trait."""

    __slots__ = ()
    code = "forbidden_trait"
    unmet_form = "trait {names}"
    is_forbidding = True


class RootTrait(_OfTraits):
    """The root has the trait."""

    __slots__ = ()
    code = "root_trait"
    parameter = "root_required"
    unmet_form = "root has no trait {names}"


class ForbiddenRootTrait(_OfTraits):
    """The root does not have the trait."""

    __slots__ = ()
    code = "root_trait"
    parameter = "root_required"
    unmet_form = "root has trait {names}"
    is_forbidding = True


class _OfAggregates(ProviderRequirement):
    __slots__ = ()
    parameter = "member_of"
    subject = "aggregates"


class MemberOf(_OfAggregates, _AnyOf):
    """The provider, or in the unsuffixed group its root, is in one of the aggregates."""

    __slots__ = ()
    code = "aggregate"
    unmet_form = "not in aggregate {names}"
    spans_tree = True

    def masks(self, snapshot: Snapshot, *, is_unsuffixed: bool) -> Masks:
        members = self.providers(snapshot)
        spans = is_unsuffixed and snapshot.forest.is_nested
        return members | members[snapshot.forest.root] if spans else members, members


@dataclass(frozen=True, slots=True)
class InEach(_OfAggregates):
    """The provider, or its root, is by itself in one aggregate of each of several lists.

    The filters derive it from several ``MemberOf`` of the unsuffixed group. It fails where each of
    them is met, some by the provider only and some by the root only.
    """

    code = "aggregate"
    unmet_form = "neither the provider nor its root is in all of the aggregates {0.listed}"
    spans_tree = True
    lists: tuple[MemberOf, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(frozenset().union(*(each.any_of for each in self.lists))))

    @property
    def listed(self) -> str:
        """The lists in words."""
        return " and ".join(" or ".join(each.names) for each in self.lists)

    def value(self, names: Names = NO_NAMES) -> str:
        return f"&{self.parameter}=".join(member_of.value(names) for member_of in self.lists)

    def masks(self, snapshot: Snapshot, *, is_unsuffixed: bool) -> Masks:
        del is_unsuffixed  # derived for the unsuffixed group only
        members = [member_of.providers(snapshot) for member_of in self.lists]
        root = snapshot.forest.root
        in_all = reduce(np.logical_and, members)
        each = reduce(np.logical_and, [mask | mask[root] for mask in members])
        return in_all | in_all[root] | ~each, in_all | True


class NotMemberOf(_OfAggregates, _AnyOf):
    """The provider, and in the unsuffixed group its root, is in none of the aggregates."""

    __slots__ = ()
    code = "forbidden_aggregate"
    unmet_form = "in aggregate {names}"
    is_forbidding = True
    holds_at_root = True

    def lacking(self, state: ProviderState, _unwanted: frozenset[str]) -> tuple[str, ...]:
        return tuple(name for name in self.names if name in state.aggregates)


@dataclass(frozen=True, slots=True)
class InTree(ProviderRequirement):
    """The provider is in the tree of a provider."""

    code = "in_tree"
    parameter = "in_tree"
    unmet_form = "not in the tree of {value}"
    can_be_granted = False
    uuid: str

    @property
    def named_provider(self) -> str:
        return self.uuid

    def value(self, names: Names = NO_NAMES) -> str:
        return names.get(self.uuid, self.uuid)

    def providers(self, snapshot: Snapshot) -> Mask:
        """Return the providers in the tree, none if there is no such provider."""
        forest = snapshot.forest
        row = forest.row_of.get(self.uuid)
        tree = () if row is None else forest.members(forest.root.item(row))
        return mask_of(numbers(tree), snapshot.size)

    def masks(self, snapshot: Snapshot, *, is_unsuffixed: bool) -> Masks:
        inside = self.providers(snapshot)
        return inside, np.zeros_like(inside) if is_unsuffixed else inside


# --- amounts -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Amount(Requirement):
    """A provider has an amount of a resource class free; its subclasses say what is missing."""

    parameter = "resources"
    subject = "resource_classes"
    resource_class: str
    amount: int

    @property
    def names(self) -> tuple[str, ...]:
        return (self.resource_class,)

    def value(self, _names: Names = NO_NAMES) -> str:
        return f"{self.resource_class}:{self.amount}"


class HasInventory(Amount):
    """A provider has an inventory of the class."""

    __slots__ = ()
    code = "no_inventory"
    unmet_form = "no inventory of {names}"


class InUnits(Amount):
    """min_unit, max_unit and step_size of an inventory admit the amount in one allocation."""

    __slots__ = ()
    code = "unit"
    unmet_form = "{value} outside min_unit, max_unit and step_size"


class IsFree(Amount):
    """A provider has as much free capacity."""

    __slots__ = ()
    code = "capacity"
    unmet_form = "fewer than {0.amount} {0.resource_class} free"


# --- several groups ----------------------------------------------------------------------


class GroupsRequirement(Requirement):
    """A requirement on the providers of several groups together.

    ``has_own_parameter`` is whether a query has a parameter for it, except ``group_policy``.
    """

    __slots__ = ()
    has_own_parameter: ClassVar[bool] = True

    @property
    def named_groups(self) -> frozenset[str]:
        """The suffixes that the parameter names."""
        return frozenset()

    @property
    def can_fail(self) -> bool:
        """Whether some choice of providers violates the requirement."""
        return True


@dataclass(frozen=True, slots=True)
class Isolate(GroupsRequirement):
    """Different providers serve the groups with a suffix."""

    code = "isolate"
    parameter = "group_policy"
    unmet_form = "too few providers for group_policy=isolate"
    has_own_parameter = False

    def value(self, _names: Names = NO_NAMES) -> str:
        return "isolate"


@dataclass(frozen=True, slots=True)
class SameSubtree(GroupsRequirement):
    """One of the providers of the groups is an ancestor of the others."""

    code = "same_subtree"
    parameter = "same_subtree"
    unmet_form = "not in one subtree: {value}"
    suffixes: frozenset[str]

    @property
    def named_groups(self) -> frozenset[str]:
        return self.suffixes

    @property
    def can_fail(self) -> bool:
        return len(self.suffixes) > 1

    def value(self, names: Names = NO_NAMES) -> str:
        return ",".join(sorted(names.get(suffix, suffix) for suffix in self.suffixes))


@dataclass(frozen=True, slots=True)
class OneProviderPerTree(GroupsRequirement):
    """A candidate uses at most one provider of a tree: below 1.29. No parameter of the query."""

    code = "one_provider_per_tree"
    parameter = ""
    has_own_parameter = False
    unmet_form = "several providers of one tree (needs 1.29)"

    def spelled(self, _suffix: str = "", _names: Names = NO_NAMES) -> str:
        return "one provider per tree"


GROUP_ORDER: Final = (NotMemberOf, MemberOf, InTree, RequiredTrait, ForbiddenTrait)
"""The requirements of a group, in the order in which a query and an explanation list them."""


def in_order(requirements: Iterable[ProviderRequirement]) -> tuple[ProviderRequirement, ...]:
    """Return the requirements of a group without duplicates, in the order of ``GROUP_ORDER``."""
    unique = dict.fromkeys(requirements)
    return tuple(sorted(unique, key=lambda requirement: GROUP_ORDER.index(type(requirement))))


# --- sets of providers -------------------------------------------------------------------


def any_of_text(names: Iterable[str]) -> str:
    """Return alternatives as a query spells them.

    >>> any_of_text({"A"}), any_of_text({"B", "A"})
    ('A', 'in:A,B')
    """
    ordered = sorted(names)
    return ordered[0] if len(ordered) == 1 else f"in:{','.join(ordered)}"


def having_trait(snapshot: Snapshot, names: Iterable[str]) -> Mask:
    """Return the providers that have at least one of the traits. Read-only."""
    return _having(snapshot.traits, names, snapshot.size)


def _having(sets: Mapping[str, Rows], names: Iterable[str], size: int) -> Mask:
    masks = [sets.get(name, NO_ROWS).mask(size) for name in names]
    return reduce(np.logical_or, masks) if masks else np.zeros(size, dtype=np.bool_)
