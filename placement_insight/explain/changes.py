"""Changes of a request: what a remedy drops, lowers, divides or replaces; the changed query."""

# ruff: noqa: D102 - base classes, and the comment before the changes, document the methods
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, Generic, TypeAlias, TypeVar

from placement.core.request import CandidateRequest, RequestGroup, amounts_text
from placement.core.requirement import (
    Amount,
    GroupsRequirement,
    Requirement,
    RootTrait,
    SameSubtree,
)
from placement.core.text import NO_NAMES, Names
from placement.microversion import Version
from placement.parse import validation
from placement.schemas.queries import CANDIDATES_QUERY
from placement_insight import queries
from placement_insight.documents import Json
from placement_insight.explain.facts import in_group

_VALIDATORS = validation.query_validators(CANDIDATES_QUERY)


@dataclass(frozen=True, slots=True)
class GroupParameters:
    """All parameters of a group, and the requirements on several groups that name it."""

    group: RequestGroup
    naming: tuple[SameSubtree, ...] = ()

    def spelled(self, suffix: str = "", names: Names = NO_NAMES) -> str:
        """Return the parameters as the query spells them."""
        of_group = replace(self.group, suffix=suffix).spelled(names)
        of_groups = (subtree.spelled(names=names) for subtree in self.naming)
        return "&".join((*of_group, *of_groups))


@dataclass(frozen=True, slots=True)
class Policy(Requirement):
    """The ``group_policy`` that several groups with a suffix require."""

    parameter = "group_policy"
    isolate: bool

    def value(self, _names: Names = NO_NAMES) -> str:
        return "isolate" if self.isolate else "none"


Parameters: TypeAlias = Requirement | GroupParameters


# ``size`` is how much a change changes: 0 for other groups, 1 for a condition or an amount, 2 for
# a resource. ``about`` is what it changes, for comparisons. ``text`` follows the number of hosts.


@dataclass(frozen=True, slots=True)
class _InGroup:
    """A change of one group.

    ``alike`` are the suffixes of all groups in which the same change has the same result. The
    words ``in_one_group`` are without the suffix if there are any.
    """

    alike: tuple[str, ...] = field(default=(), kw_only=True)

    def in_one_group(self, names: Names) -> str:
        raise NotImplementedError

    def text(self, names: Names) -> str:
        where = f" in any of the {len(self.alike)} groups" if self.alike else ""
        return self.in_one_group(names) + where

    def _document(self, change: str, **fields: object) -> Json:
        return {"change": change, **fields, **({"alike": self.alike} if self.alike else {})}


@dataclass(frozen=True, slots=True)
class Drop(_InGroup):
    """The requirement is removed; ``instead`` are the parameters that replace it."""

    change: ClassVar = "drop"
    parameters: Parameters
    group: str = ""
    instead: tuple[Parameters, ...] = ()

    @property
    def size(self) -> int:
        if self.instead and isinstance(self.instead[0], RootTrait | GroupParameters):
            return 0
        if isinstance(self.parameters, GroupParameters):
            return 2 if self.parameters.group.resources else 1
        return 2 if isinstance(self.parameters, Amount) else 1

    @property
    def about(self) -> object:
        return self.parameters.spelled(self.group)

    def in_one_group(self, names: Names) -> str:
        dropped = self.parameters.spelled("" if self.alike else self.group, names)
        instead = "&".join(each.spelled("", names) for each in self.instead)
        return f"with {instead} instead of {dropped}" if instead else f"without {dropped}"

    def document(self) -> Json:
        instead = "&".join(each.spelled() for each in self.instead)
        dropped = self._document(self.change, requirement=self.about)
        return {**dropped, **({"instead": instead} if instead else {})}


class Unsuffix(Drop):
    """The group loses its suffix."""

    __slots__ = ()
    change = "unsuffix"


@dataclass(frozen=True, slots=True)
class _OfAmount(_InGroup):
    group: str
    resource_class: str

    def _amount(self, amount: object, names: Names) -> str:
        where = "" if self.alike else in_group(names, self.group)
        return f"{self.resource_class}:{amount}{where}"

    def _document(self, change: str, **fields: object) -> Json:
        of_class = {"group": self.group, "resource_class": self.resource_class}
        return _InGroup._document(self, change, **of_class, **fields)


@dataclass(frozen=True, slots=True)
class Lower(_OfAmount):
    """The amount of a class in a group is lowered."""

    size: ClassVar = 1
    to: int

    @property
    def about(self) -> object:
        return self.group, self.resource_class

    def in_one_group(self, names: Names) -> str:
        return f"at {self._amount(self.to, names)}"

    def document(self) -> Json:
        return self._document("amount", to=self.to)


@dataclass(frozen=True, slots=True)
class Split(_OfAmount):
    """The amount of a class is divided among several groups, the largest amount first."""

    size: ClassVar = 0
    amounts: tuple[int, ...]

    def in_one_group(self, names: Names) -> str:
        amounts = self.amounts if len(set(self.amounts)) > 1 else self.amounts[:1]
        amount = self._amount(" + ".join(map(str, amounts)), names)
        return f"with {len(self.amounts)} groups of {amount}"

    def document(self) -> Json:
        parts = {"to": self.amounts[0], "parts": len(self.amounts), "amounts": self.amounts}
        return self._document("split", **parts)


@dataclass(frozen=True, slots=True)
class Separate:
    """Classes, each with the suffix of its group, are requested in a number of new groups."""

    size: ClassVar = 0
    moved: tuple[tuple[str, Amount], ...]
    groups: int
    loses_traits: bool  # the required traits of the previous groups

    def text(self, names: Names) -> str:
        amounts = (f"{amount.value()}{in_group(names, group)}" for group, amount in self.moved)
        to = "another group" if self.groups == 1 else "other groups"
        to += " without its traits" if self.loses_traits else ""
        return f"with {' and '.join(amounts)} moved to {to}"

    def document(self) -> Json:
        requirements = [amount.spelled(group) for group, amount in self.moved]
        return {"change": "separate", "moved": requirements}


@dataclass(frozen=True, slots=True)
class Both:
    """Two changes together; those of equal groups are in two different groups."""

    size: ClassVar = 1
    first: Drop | Lower
    second: Drop | Lower

    def text(self, names: Names) -> str:
        groups, others = set(self.first.alike), set(self.second.alike)
        if not groups > others > set():
            return f"{self.first.text(names)} and {self.second.text(names)}"
        text, other_text = self.first.in_one_group(names), self.second.in_one_group(names)
        if text == other_text:
            return f"{text} in any 2 of the {len(groups)} groups"
        both = f"{self.first.text(names)} and {other_text}"
        return f"{both} in any of the other {len(others)} groups"

    def document(self) -> Json:
        return {"change": "both", "changes": [self.first.document(), self.second.document()]}


Regrouping: TypeAlias = Split | Unsuffix | Separate
Change: TypeAlias = Drop | Lower | Regrouping | Both
Change_co = TypeVar("Change_co", bound=Change, covariant=True)


@dataclass(frozen=True, slots=True)
class Remedy(Generic[Change_co]):
    """A change to the request after which ``roots`` roots have a candidate, by this ``query``."""

    change: Change_co
    roots: int
    query: str

    def document(self, names: Names) -> Json:
        """Return the remedy as a JSON object."""
        text = self.change.text(names)
        return {**self.change.document(), "roots": self.roots, "query": self.query, "text": text}


# --- the changed request as a query


def query_of(request: CandidateRequest, version: Version) -> str | None:
    """Return a request as a query; None if the microversion does not have all parameters."""
    pairs = [*_parameters(request)]
    has_all = validation.error_message(_VALIDATORS, dict(pairs), version) is None
    return queries.text(pairs) if has_all else None


def _parameters(request: CandidateRequest) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a request."""
    for group in request.groups:
        if group.resources:
            yield f"resources{group.suffix}", amounts_text(group.resources)
        yield from _joined(group.requirements, group.suffix)
    yield from _joined(request.of_root, "")
    for each in parameters_of_groups(request):
        yield each.parameter, each.value()
    if request.limit is not None:
        yield "limit", f"{request.limit}"


def _joined(requirements: Iterable[Requirement], suffix: str) -> Iterator[tuple[str, str]]:
    """Yield the parameters of requirements.

    All single traits are in one parameter: below 1.39, ``required`` cannot be repeated.
    """
    values: defaultdict[str, list[str]] = defaultdict(list)
    for requirement in requirements:
        if requirement.shares_parameter:
            values[requirement.parameter].append(requirement.value())
        else:
            yield f"{requirement.parameter}{suffix}", requirement.value()
    for parameter, shared in values.items():
        yield f"{parameter}{suffix}", ",".join(shared)


def parameters_of_groups(request: CandidateRequest) -> Iterator[Requirement]:
    """Yield ``group_policy``, which several groups with a suffix require, and the others."""
    if sum(bool(group.suffix) for group in request.groups) > 1:
        yield Policy(request.isolate)
    for requirement in request.requirements:
        if isinstance(requirement, GroupsRequirement) and requirement.has_own_parameter:
            yield requirement
