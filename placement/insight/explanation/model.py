"""The explanation of one request for candidates, as a value.

``explain`` computes it, and ``document`` turns it into JSON with the same codes and field names,
which are stable. ``text`` turns the JSON into a text and a log line.
"""

# ruff: noqa: D102 - the base class documents the methods of all requirements
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from placement.core.request import RequestGroup
from placement.core.requirement import (
    NO_NAMES,
    ForbiddenRootTrait,
    ForbiddenTrait,
    GroupsRequirement,
    HasInventory,
    InEach,
    InTree,
    InUnits,
    IsFree,
    Isolate,
    MemberOf,
    Names,
    NotMemberOf,
    OneProviderPerTree,
    ProviderRequirement,
    RequiredTrait,
    Requirement,
    RootTrait,
    SameSubtree,
)


@dataclass(frozen=True, slots=True)
class OneProvider(Requirement):
    """One provider meets all of a group."""

    code = "one_provider"
    parameter = ""
    subject = "resource_classes"
    group: RequestGroup

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.group.resources)

    def spelled(self, _suffix: str = "", names: Names = NO_NAMES) -> str:
        return "&".join(self.group.spelled(names))

    def unmet(self, names: Names = NO_NAMES) -> str:
        return f"no single provider for {self.spelled('', names)}"


@dataclass(frozen=True, slots=True)
class TraitTogether(Requirement):
    """One of the providers of the unsuffixed group has one of the traits of a list."""

    code = "combined"
    parameter = ""
    subject = "resource_classes"
    requirement: ProviderRequirement
    group: RequestGroup

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.group.resources)

    def spelled(self, _suffix: str = "", names: Names = NO_NAMES) -> str:
        traits = tuple(each for each in self.group.requirements if each.can_be_joint)
        return "&".join(RequestGroup("", self.group.resources, traits).spelled(names))

    def unmet(self, names: Names = NO_NAMES) -> str:
        return f"not together: {self.spelled('', names)}"


@dataclass(frozen=True, slots=True)
class AmountTogether(Requirement):
    """The providers have the sum of the amounts of a class that several groups request."""

    code = "combined"
    parameter = ""
    subject = "resource_classes"
    resource_class: str
    groups: tuple[RequestGroup, ...]

    @property
    def needed(self) -> int:
        """The sum of the amounts."""
        return sum(group.resources.get(self.resource_class, 0) for group in self.groups)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for group in self.groups for name in group.resources))

    def spelled(self, _suffix: str = "", names: Names = NO_NAMES) -> str:
        shown = [RequestGroup(group.suffix, group.resources) for group in self.groups]
        return "&".join(text for group in shown for text in group.spelled(names))

    def unmet(self, names: Names = NO_NAMES) -> str:
        return f"not together: {self.spelled('', names)}"


JointCondition: TypeAlias = TraitTogether | AmountTogether | GroupsRequirement
"""A condition between the slots of a request."""

REQUIREMENTS: Final[tuple[type[Requirement], ...]] = (
    *(RootTrait, ForbiddenRootTrait, NotMemberOf, MemberOf, InEach, InTree),
    *(RequiredTrait, ForbiddenTrait, HasInventory, InUnits, IsFree),
    *(OneProvider, TraitTogether, AmountTogether),
    *(Isolate, SameSubtree, OneProviderPerTree),
)
"""What a host can fail, in the order of the funnel."""

CODES: Final = tuple(dict.fromkeys(requirement.code for requirement in REQUIREMENTS))
"""The reasons for the loss of a root, in the order of the funnel."""


UNDETERMINED: Final = "undetermined"
"""The reason of an empty response that was not explained within the budget."""
NO_PROVIDERS: Final = "no_providers"
"""The reason of an empty response if no roots exist."""


def place(requirement: Requirement) -> int:
    """Return the place of a requirement in the order of the funnel."""
    return CODES.index(requirement.code)


@dataclass(frozen=True, slots=True)
class ProviderName:
    """The UUID and the name of a provider."""

    uuid: str
    name: str


@dataclass(frozen=True, slots=True)
class Amounts:
    """The requested amount of a class, and the inventory and usage of one provider.

    ``free`` is the capacity minus the used amount. It is negative if the provider is
    overcommitted.
    A provider without inventory of the class has 0 everywhere.
    """

    resource_class: str
    needed: int
    free: int
    capacity: int
    used: int
    reserved: int
    min_unit: int
    max_unit: int
    step_size: int


@dataclass(frozen=True, slots=True)
class TreeAmounts:
    """The free amounts of a class in one tree, which together are enough and alone are not.

    ``providers`` is the number of providers with free capacity, ``largest`` the largest amount.
    """

    free: int
    providers: int
    largest: int


# --- facts of a row of the funnel


@dataclass(frozen=True, slots=True)
class RootFacts:
    """The number of providers with a trait of the root, and how many of them are roots."""

    providers: int
    roots: int


@dataclass(frozen=True, slots=True)
class TreeFacts:
    """Whether the provider that the request names exists."""

    exists: bool


@dataclass(frozen=True, slots=True)
class OutsideSharer:
    """A sharing provider outside the aggregate, which lost roots in the aggregate need."""

    provider: ProviderName
    resource_classes: tuple[str, ...]
    roots: int


@dataclass(frozen=True, slots=True)
class MemberFacts:
    """The number of members; a sharing provider that is none; aggregates also forbidden."""

    members: int
    outside: OutsideSharer | None = None
    also_excluded: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Excluded:
    """A provider that has a trait, and the other requirement of the group that it fails."""

    provider: ProviderName
    requirement: Requirement


@dataclass(frozen=True, slots=True)
class TraitFacts:
    """The number of providers with the trait; the classes that none of them has; one excluded."""

    providers: int
    without: tuple[str, ...] | None = None
    excluded: Excluded | None = None


@dataclass(frozen=True, slots=True)
class InventoryFacts:
    """The number of providers with an inventory of the class."""

    resource_class: str
    providers: int


@dataclass(frozen=True, slots=True)
class TreeOfRow(TreeAmounts):
    """The lost root that has an amount on several providers only."""

    provider: ProviderName


@dataclass(frozen=True, slots=True)
class UnitFacts:
    """The widest limits of one allocation, None if no provider is considered."""

    resource_class: str
    needed: int
    min_unit: int | None = None
    max_unit: int | None = None
    step_sizes: tuple[int, ...] | None = None
    uniform: bool | None = None
    tree: TreeOfRow | None = None


@dataclass(frozen=True, slots=True)
class FreeFacts:
    """The largest free amount of one provider."""

    resource_class: str
    needed: int
    free: int | None = None
    provider: ProviderName | None = None
    tree: TreeOfRow | None = None


@dataclass(frozen=True, slots=True)
class EqualGroups:
    """A number of groups that request the same amounts."""

    resources: Mapping[str, int]
    groups: int


@dataclass(frozen=True, slots=True)
class SumFacts:
    """The root with the largest free sum of a class, and the requested sum."""

    resource_class: str
    needed: int
    free: int
    provider: ProviderName
    groups: tuple[EqualGroups, ...]


@dataclass(frozen=True, slots=True)
class PartsFacts:
    """The root that fits the most groups of the largest amount: fewer than are requested."""

    resource_class: str
    needed: int
    free: int
    provider: ProviderName
    amount: int
    fitting_groups: int
    needed_groups: int
    groups: tuple[EqualGroups, ...]


Facts: TypeAlias = (
    RootFacts
    | TreeFacts
    | MemberFacts
    | TraitFacts
    | InventoryFacts
    | UnitFacts
    | FreeFacts
    | SumFacts
    | PartsFacts
)


@dataclass(frozen=True, slots=True)
class FunnelRow:
    """The number of roots that one requirement removes from the roots left by earlier rows.

    ``group`` is the suffix. ``facts`` are about the existing providers.
    """

    requirement: Requirement
    group: str
    lost: int
    left: int
    facts: Facts | None = None


# --- unmet requirements


@dataclass(frozen=True, slots=True)
class Shortage:
    """The amounts of one provider, or with ``is_sum`` of all providers that the root can use.

    ``tree`` is set if several providers of the tree have the amount together.
    """

    amounts: Amounts
    is_sum: bool = False
    tree: TreeAmounts | None = None


@dataclass(frozen=True, slots=True)
class ProviderNames:
    """The traits or aggregates that a provider lacks, or has and must not have."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unmet:
    """One requirement that a root does not meet, with the provider that comes closest to it.

    ``shared`` is whether the provider is in another tree, which shares it with the root.
    """

    requirement: Requirement
    group: str
    provider: ProviderName
    facts: Shortage | ProviderNames | None = None
    shared: bool = False

    @property
    def names(self) -> frozenset[str]:
        """The traits or aggregates that the provider lacks, or must not have."""
        return (
            frozenset(self.facts.names) if isinstance(self.facts, ProviderNames) else frozenset()
        )


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A root that does not fit, and the requirements that it does not meet.

    If ``complete``, the search confirmed that the root fits once it meets these requirements.
    """

    root: ProviderName
    unmet: tuple[Unmet, ...]
    complete: bool


# --- remedies


@dataclass(frozen=True, slots=True)
class GroupParameters:
    """All parameters of a group."""

    group: RequestGroup

    def spelled(self, suffix: str = "", names: Names = NO_NAMES) -> str:
        """Return the parameters as the query spells them."""
        return "&".join(replace(self.group, suffix=suffix).spelled(names))


@dataclass(frozen=True, slots=True)
class Policy:
    """The ``group_policy`` that several groups with a suffix require."""

    isolate: bool

    def spelled(self, _suffix: str = "", _names: Names = NO_NAMES) -> str:
        """Return the parameter."""
        return f"group_policy={'isolate' if self.isolate else 'none'}"


Parameters: TypeAlias = Requirement | GroupParameters | Policy


@dataclass(frozen=True, slots=True)
class Drop:
    """The requirement is removed; ``instead`` are the parameters that the API then requires.

    ``alike`` are the suffixes of all groups in which the same change has the same result.
    """

    parameters: Parameters
    group: str = ""
    instead: tuple[Parameters, ...] = ()
    alike: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lower:
    """The amount of a class in a group is lowered."""

    group: str
    resource_class: str
    to: int
    alike: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Split:
    """The amount of a class is divided among ``parts`` groups, with at most ``to`` each."""

    group: str
    resource_class: str
    to: int
    parts: int
    alike: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unsuffix:
    """The group loses its suffix."""

    group: RequestGroup


@dataclass(frozen=True, slots=True)
class Both:
    """Two changes together."""

    first: Drop | Lower
    second: Drop | Lower


Change: TypeAlias = Drop | Lower | Split | Unsuffix | Both


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change to the request after which ``roots`` roots have a candidate, by this ``query``."""

    change: Change
    roots: int
    query: str


@dataclass(frozen=True, slots=True)
class AskedRoot:
    """The root that the caller asks about, and whether it fits; None if that is not known."""

    provider: ProviderName
    fits: bool | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """The losses of a request by requirement, the closest roots, and changes that would help.

    ``fits`` is the number of roots with a candidate, None if the funnel did not finish. If the
    funnel finished, the sum of all losses and ``fits`` is ``roots``. ``remedies`` is empty unless
    the caller requests remedies. If the caller asks about one ``root``, ``near_misses`` has this
    root only, unless it fits; ``root`` has its UUID, its name and whether it ``fits``, which is
    None if the funnel did not finish. ``undetermined`` names the computations that did not finish
    within the budget: "funnel", "near_misses", "remedies". ``names`` has the names of the
    providers whose trees the request names, by UUID.
    """

    query: str
    roots: int
    fits: int | None
    funnel: tuple[FunnelRow, ...]
    near_misses: tuple[NearMiss, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    undetermined: tuple[str, ...] = ()
    root: AskedRoot | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def last(self) -> Requirement | None:
        """The requirement that removed the last roots of a request that no root fits."""
        return self.funnel[-1].requirement if self.funnel and self.fits == 0 else None

    @property
    def reason(self) -> str:
        """The code of the reason why a request has no candidates."""
        if self.fits is None:
            return UNDETERMINED
        return self.last.code if self.last else NO_PROVIDERS
