"""What a host can fail: the requirements of a query, and those between its groups; their codes."""

# ruff: noqa: D102 - the base class documents the methods of all requirements
from dataclasses import dataclass
from typing import Final, TypeAlias

from placement.core import requirement as core
from placement.core.request import RequestGroup
from placement.core.requirement import GroupsRequirement, ProviderRequirement, Requirement
from placement.core.text import NO_NAMES, Names


class _OfGroups(Requirement):
    """A requirement on the providers of groups together; ``shown`` are the groups to spell."""

    __slots__ = ()
    parameter = ""
    unmet_form = "not together: {value}"
    subject = "resource_classes"

    @property
    def shown(self) -> tuple[RequestGroup, ...]:
        raise NotImplementedError

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for group in self.shown for name in group.resources))

    def value(self, names: Names = NO_NAMES) -> str:
        return "&".join(text for group in self.shown for text in group.spelled(names))

    def spelled(self, _suffix: str = "", names: Names = NO_NAMES) -> str:
        return self.value(names)


@dataclass(frozen=True, slots=True)
class OneProvider(_OfGroups):
    """One provider meets all of a group."""

    code = "one_provider"
    unmet_form = "no single provider for {value}"
    group: RequestGroup

    @property
    def shown(self) -> tuple[RequestGroup, ...]:
        return (self.group,)


@dataclass(frozen=True, slots=True)
class TraitTogether(_OfGroups):
    """One of the providers of the unsuffixed group has one of the traits of a list."""

    code = "combined"
    requirement: ProviderRequirement
    group: RequestGroup

    @property
    def shown(self) -> tuple[RequestGroup, ...]:
        traits = tuple(each for each in self.group.requirements if each.can_be_joint)
        return (RequestGroup("", self.group.resources, traits),)


@dataclass(frozen=True, slots=True)
class AmountTogether(_OfGroups):
    """The providers have the sum of the amounts of a class that several groups request."""

    code = "combined"
    resource_class: str
    groups: tuple[RequestGroup, ...]

    @property
    def needed(self) -> int:
        """The sum of the amounts."""
        return sum(group.resources.get(self.resource_class, 0) for group in self.groups)

    @property
    def shown(self) -> tuple[RequestGroup, ...]:
        return tuple(RequestGroup(group.suffix, group.resources) for group in self.groups)


JointCondition: TypeAlias = TraitTogether | AmountTogether | GroupsRequirement
"""A condition between the slots of a request."""

REQUIREMENTS: Final[tuple[type[Requirement], ...]] = (
    *(core.RootTrait, core.ForbiddenRootTrait, core.NotMemberOf, core.MemberOf, core.InEach),
    *(core.InTree, core.RequiredTrait, core.ForbiddenTrait),
    *(core.HasInventory, core.InUnits, core.IsFree),
    *(OneProvider, TraitTogether, AmountTogether),
    *(core.Isolate, core.SameSubtree, core.OneProviderPerTree),
)
"""What a host can fail, in the order of the funnel."""

CODES: Final = tuple(dict.fromkeys(requirement.code for requirement in REQUIREMENTS))
"""The reasons for the loss of a root, in the order of the funnel."""

PLACES: Final = {requirement: CODES.index(requirement.code) for requirement in REQUIREMENTS}
"""The place of each requirement in the order of the funnel."""

UNDETERMINED: Final = "undetermined"
"""The reason of an empty response that was not explained within the budget."""
NO_PROVIDERS: Final = "no_providers"
"""The reason of an empty response if no roots exist."""
