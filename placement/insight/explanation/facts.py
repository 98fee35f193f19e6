"""The facts about providers: in a row of the funnel, and beside an unmet requirement."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from placement.core.requirement import Requirement


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
    A provider without inventory of the class has 0 everywhere. ``state`` says why nothing is free
    on one provider, see ``capacity.occupation``.
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
    state: str | None = None


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


# --- beside an unmet requirement


@dataclass(frozen=True, slots=True)
class Shortage:
    """The amounts of one provider, or with ``is_sum`` of all providers that the root can use.

    ``tree`` is set if several providers of the tree have the amount together, and ``beside`` if a
    provider of another tree has the class, which no provider that the root can use has.
    """

    amounts: Amounts
    is_sum: bool = False
    tree: TreeAmounts | None = None
    beside: "Beside | None" = None


class Link(StrEnum):
    """What is missing for a root to use a provider of another tree."""

    SHARING_TRAIT = "sharing_trait"
    AGGREGATE = "aggregate"
    TREE = "tree"


@dataclass(frozen=True, slots=True)
class Beside:
    """A provider of another tree, which the root could use with the missing link."""

    provider: ProviderName
    missing: Link


@dataclass(frozen=True, slots=True)
class ProviderNames:
    """The traits or aggregates that a provider lacks, or has and must not have."""

    names: tuple[str, ...]
