"""Requests for the search, parsed from a query string."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from placement.core.requirement import (
    GroupsRequirement,
    Isolate,
    OneProviderPerTree,
    ProviderRequirement,
    Requirement,
    SameSubtree,
)
from placement.core.text import NO_NAMES, Names


@dataclass(frozen=True, slots=True)
class RequestGroup:
    """The amounts and the other requirements of one request group.

    The provider meets each of the ``requirements``, which are in the order of ``in_order``. The
    empty suffix is the unsuffixed group, whose classes may come from several providers; one
    provider serves a suffixed group.

    Source: API reference, "Granular resource requests", 1.25 and 1.33.
    """

    suffix: str = ""
    resources: Mapping[str, int] = field(default_factory=dict, hash=False)
    requirements: tuple[ProviderRequirement, ...] = ()

    @property
    def unwanted(self) -> frozenset[str]:
        """The names that the group forbids."""
        return forbidden_names(self.requirements)

    def without(self, requirement: Requirement) -> "RequestGroup":
        """Return the group without one of its requirements."""
        left = tuple(other for other in self.requirements if other != requirement)
        return replace(self, requirements=left)

    def names(self, subject: str) -> frozenset[str]:
        """Return the names of a kind that the requirements are about."""
        return names_of(self.requirements, subject)

    def spelled(self, names: Names = NO_NAMES) -> Iterator[str]:
        """Yield the parameters of the group as the query spells them."""
        if self.resources:
            suffix = names.get(self.suffix, self.suffix)
            yield f"resources{suffix}={amounts_text(self.resources)}"
        for requirement in self.requirements:
            yield requirement.spelled(self.suffix, names)


def amounts_text(resources: Mapping[str, int]) -> str:
    """Return amounts as a query spells them.

    >>> amounts_text({"VCPU": 1, "DISK_GB": 2})
    'VCPU:1,DISK_GB:2'
    """
    return ",".join(f"{name}:{amount}" for name, amount in resources.items())


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """One GET /allocation_candidates: groups in the order of the query, and how they combine.

    ``requirements`` are the requirements on the root that a candidate is built around
    (``of_root``), and those on several groups together (``of_groups``).
    """

    groups: tuple[RequestGroup, ...]
    requirements: tuple[Requirement, ...] = ()
    limit: int | None = None

    @property
    def of_root(self) -> tuple[ProviderRequirement, ...]:
        """The requirements on the root."""
        return tuple(each for each in self.requirements if isinstance(each, ProviderRequirement))

    @property
    def of_groups(self) -> tuple[GroupsRequirement, ...]:
        """The requirements on several groups that can fail, without duplicates."""
        conditions = (each for each in self.requirements if isinstance(each, GroupsRequirement))
        return tuple(dict.fromkeys(each for each in conditions if each.can_fail))

    @property
    def nested(self) -> bool:
        """Whether candidates may use several providers of one tree, and show whole trees."""
        return OneProviderPerTree() not in self.requirements

    @property
    def isolate(self) -> bool:
        """Whether different providers serve the groups with a suffix."""
        return Isolate() in self.requirements

    @property
    def same_subtree(self) -> tuple[frozenset[str], ...]:
        """The sets of suffixes of every ``same_subtree``."""
        return tuple(each.suffixes for each in self.subtrees)

    @property
    def subtrees(self) -> tuple[SameSubtree, ...]:
        """Every ``same_subtree``."""
        return tuple(each for each in self.requirements if isinstance(each, SameSubtree))

    @property
    def named_groups(self) -> tuple[frozenset[str], ...]:
        """The sets of suffixes that a parameter names, such as each ``same_subtree``."""
        conditions = (each for each in self.requirements if isinstance(each, GroupsRequirement))
        return tuple(each.named_groups for each in conditions if each.named_groups)

    @property
    def advice(self) -> str:
        """A sentence about how to make its search shorter."""
        changes = [] if self.limit else ["limit=1000"]
        changes += ["fewer groups"] if len(self.groups) > 1 else []
        return f"Repeat the request with {' or '.join([*changes, 'more requirements'])}."

    def with_group(self, changed: RequestGroup) -> "CandidateRequest":
        """Return the request with a group in place of the group with the same suffix."""
        groups = (changed if each.suffix == changed.suffix else each for each in self.groups)
        return replace(self, groups=tuple(groups))

    def without(self, requirement: Requirement) -> "CandidateRequest":
        """Return the request without a requirement on the root or on several groups."""
        left = tuple(other for other in self.requirements if other != requirement)
        return replace(self, requirements=left)


def forbidden_names(requirements: Iterable[Requirement]) -> frozenset[str]:
    """Return the names that providers must not have."""
    return frozenset(
        chain.from_iterable(each.names for each in requirements if each.is_forbidding)
    )


def names_of(requirements: Iterable[Requirement], subject: str) -> frozenset[str]:
    """Return the names of a kind that some requirements are about."""
    names = (each.names for each in requirements if each.subject == subject)
    return frozenset(chain.from_iterable(names))


@dataclass(frozen=True, slots=True)
class ProviderFilter:
    """One GET /resource_providers: every filter applies to the provider itself."""

    name: str | None = None
    uuid: str | None = None
    group: RequestGroup = field(default_factory=RequestGroup)


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Bounds and order of a search; from the options of [placement].

    ``max_candidates`` is at least 1, None is unbounded. ``budget_seconds`` is the time
    limit of a request, ``randomize`` whether the caller passes a random generator. ``rotate``:
    where a limit leaves out roots, the turn of the search selects the first root.
    """

    randomize: bool = False
    max_candidates: int | None = None
    breadth_first: bool = False
    budget_seconds: float = 5.0
    rotate: bool = True
