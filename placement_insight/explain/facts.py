"""The facts about providers, in words: in a row of the funnel, and of an unmet requirement."""

# ruff: noqa: D102 - the base class documents the methods of all facts
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from placement.core.requirement import Requirement
from placement.core.text import Names
from placement_insight.documents import Json
from placement_insight.explain.requirements import OneProvider, TraitTogether


@dataclass(frozen=True, slots=True)
class ProviderName:
    """The UUID and the name of a provider."""

    uuid: str
    name: str


@dataclass(frozen=True, slots=True)
class CapacityFacts:
    """The requested amount of a class, and the inventory and usage of one provider.

    ``free`` is the capacity minus the used amount. It is negative if the provider is
    overcommitted. Of several providers all are sums, and ``free`` of what each one has free.
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

    def __str__(self) -> str:
        free = f"{self.resource_class} {max(self.free, 0)} of {self.needed}"
        return f"{free} ({self.state})" if self.state else free


@dataclass(frozen=True, slots=True)
class TreeAmounts:
    """The free amounts of a class in one tree, which together are enough and alone are not.

    ``providers`` is the number of providers with free capacity, ``largest`` the largest amount
    that one of them allows, ``groups`` a lower bound of the groups that have the amount on these
    providers. ``provider`` is the root in a row of the funnel.
    """

    free: int
    providers: int
    largest: int
    groups: int
    provider: ProviderName | None = None

    def together(self, name: str) -> str:
        """Return what the providers have together, and the most that one of them has."""
        root = f"{self.provider.name} has " if self.provider else ""
        free = f"{self.free} {name} free on {self.providers} providers"
        return f"{root}{free}, at most {self.largest} on one"


# --- facts of a row of the funnel


@dataclass(frozen=True, slots=True)
class Excluded:
    """A provider that has what others lack, and another requirement of the group that it fails."""

    provider: ProviderName
    requirement: Requirement

    def note(self, names: Names, what: str = "has it") -> str:
        """Return that the provider is excluded, and why."""
        return f"{self.provider.name} {what}, excluded: {self.requirement.unmet(names)}"


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about the existing providers.

    ``excluded`` is a provider that meets the requirement, and fails one of the same group.
    """

    excluded: Excluded | None = field(default=None, kw_only=True)

    def phrase(self) -> str:
        """Return the requirement with its facts in words, empty if its own sentence does."""
        return ""

    def note(self, _names: Names) -> str:
        """Return the facts in words, empty if they add nothing to the requirement."""
        return ""


@dataclass(frozen=True, slots=True)
class RootFacts(Facts):
    """The number of providers with a trait of the root, and how many of them are roots."""

    providers: int
    roots: int

    def note(self, _names: Names) -> str:
        if not self.providers:
            return "no provider has it"
        is_root = "which is no root" if self.providers == 1 else "none is a root"
        return "" if self.roots else f"{_having(self.providers)}, {is_root}"


@dataclass(frozen=True, slots=True)
class OutsideSharer:
    """A sharing provider outside the aggregate or tree, which lost roots that are in it need."""

    provider: ProviderName
    resource_classes: tuple[str, ...]
    roots: int

    def note(self) -> str:
        """Return the provider in words."""
        others = "1 that is" if self.roots == 1 else f"{self.roots:,} that are"
        classes = ", ".join(self.resource_classes)
        return f"{self.provider.name}, which shares {classes} with {others}, is not"


@dataclass(frozen=True, slots=True)
class TreeFacts(Facts):
    """Whether the provider that the request names exists; a sharing provider of another tree."""

    exists: bool
    outside: OutsideSharer | None = None

    def note(self, _names: Names) -> str:
        if not self.exists:
            return "no such provider"
        return self.outside.note() if self.outside else ""


@dataclass(frozen=True, slots=True)
class Unused:
    """Lost roots of whose trees a provider has the names, and does not have all classes.

    ``provider`` is the first one. If it is not ``partly`` used, it has none of the classes.
    """

    provider: ProviderName
    roots: int
    names: tuple[str, ...]
    is_all: bool
    partly: bool

    @property
    def supplied(self) -> str:
        """What the provider supplies."""
        return f"{'not all' if self.partly else 'none'} of the amounts"

    def note(self, verb: str, verbs: str) -> str:
        """Return the providers in words; ``verb`` is that of one, ``verbs`` that of several."""
        others = f" and {self.roots - 1:,} more" if self.roots > 1 else ""
        supplying = f"{verbs}, but supply" if others else f"{verb}, but supplies"
        return f"{self.provider.name}{others} {supplying} {self.supplied}"


@dataclass(frozen=True, slots=True)
class MemberFacts(Facts):
    """The number of members; a sharing provider that is none; aggregates also forbidden."""

    members: int
    outside: OutsideSharer | None = None
    also_excluded: tuple[str, ...] | None = None
    unused: Unused | None = None

    def note(self, _names: Names) -> str:
        if self.also_excluded:
            return f"the request both requires and excludes {', '.join(self.also_excluded)}"
        if not self.members:
            return "the aggregate has no providers"
        if self.outside:
            return self.outside.note()
        return self.unused.note("is", "are") if self.unused else ""


@dataclass(frozen=True, slots=True)
class TraitFacts(Facts):
    """The number of providers with the trait, and the classes that none of them has.

    ``together`` is whether a provider may have some of the classes.
    """

    providers: int
    without: tuple[str, ...] | None = None
    together: bool | None = None
    unused: Unused | None = None

    def phrase(self) -> str:
        if (unused := self.unused) is None or not unused.is_all:
            return ""
        return f"{' or '.join(unused.names)} only on a provider that supplies {unused.supplied}"

    def note(self, names: Names) -> str:
        if not self.providers:
            return "no provider has it"
        if self.unused:
            return self.unused.note("has it", "have it")
        if self.excluded:
            return self.excluded.note(names)
        if self.without is None:
            return ""
        classes = (" and " if self.together else " or ").join(self.without)
        return (
            f"{_having(self.providers)}, {'not' if self.providers == 1 else 'none'} with {classes}"
        )


@dataclass(frozen=True, slots=True)
class InventoryFacts(Facts):
    """The number of providers with an inventory of the class."""

    resource_class: str
    providers: int

    def note(self, _names: Names) -> str:
        return "" if self.providers else "no provider has it"


@dataclass(frozen=True, slots=True)
class UnitFacts(Facts):
    """The widest limits of one allocation, None if no provider is considered."""

    resource_class: str
    needed: int
    min_unit: int | None = None
    max_unit: int | None = None
    step_sizes: tuple[int, ...] | None = None
    uniform: bool | None = None
    tree: TreeAmounts | None = None

    def phrase(self) -> str:
        limits = self.min_unit, self.max_unit, self.step_sizes or ()
        return outside(self.resource_class, self.needed, *limits)

    def note(self, names: Names) -> str:
        tree = self.tree.together(self.resource_class) if self.tree else ""
        return tree or (self.excluded.note(names, "allows it") if self.excluded else "")


@dataclass(frozen=True, slots=True)
class FreeFacts(Facts):
    """The largest free amount of one provider."""

    resource_class: str
    needed: int
    free: int | None = None
    provider: ProviderName | None = None
    tree: TreeAmounts | None = None

    def note(self, names: Names) -> str:
        excluded = self.excluded.note(names, "has enough") if self.excluded else ""
        best = ""
        if self.provider and (self.free or (self.free == 0 and not excluded)):
            best = _best(self.provider, self.needed, self.free)
        tree = self.tree.together(self.resource_class) if self.tree else ""
        return "; ".join(filter(None, [best, excluded, tree]))


@dataclass(frozen=True, slots=True)
class EqualGroups:
    """A number of groups that request the same amounts."""

    resources: Mapping[str, int]
    groups: int

    def __str__(self) -> str:
        amounts = " + ".join(
            name if amount == 1 else f"{amount} {name}" for name, amount in self.resources.items()
        )
        each = f"({amounts})" if len(self.resources) > 1 else amounts
        return f"{self.groups} x {each}" if self.groups > 1 else amounts


@dataclass(frozen=True, slots=True)
class SumFacts(Facts):
    """The root with the largest free sum of a class, the requested sum, and all short classes."""

    resource_class: str
    needed: int
    free: int
    provider: ProviderName
    groups: tuple[EqualGroups, ...]
    short: tuple[str, ...]

    def phrase(self) -> str:
        return f"{' + '.join(map(str, self.groups))} together"

    def note(self, _names: Names) -> str:
        return _best(self.provider, self.needed, self.free)


@dataclass(frozen=True, slots=True)
class PartsFacts(SumFacts):
    """The root that fits the most groups of the largest amount: fewer than are requested."""

    amount: int
    fitting_groups: int
    needed_groups: int

    def note(self, _names: Names) -> str:
        if not self.fitting_groups:
            return "none fits"
        wanted = f"{self.needed_groups} x {self.amount} {self.resource_class}"
        return f"best: {self.provider.name} fits {self.fitting_groups} of {wanted}"


def in_group(names: Names, *suffixes: str) -> str:
    """Return where a requirement of one or several groups is, empty for the unsuffixed group."""
    listed = ", ".join(names.get(suffix, suffix) for suffix in suffixes)
    return f" in {'group' if len(suffixes) == 1 else 'groups'} {listed}" if listed else ""


def outside(
    name: str, needed: int, low: int | None, high: int | None, steps: Collection[int]
) -> str:
    """Return the limit that the amount exceeds: of one provider, or the widest limit of several.

    The widest limits are missing if no provider is considered.
    """
    amount = f"{name}:{needed}"
    if high is not None and needed > high:
        return f"{amount} above max_unit {high}"
    if low is not None and needed < low:
        return f"{amount} below min_unit {low}"
    if steps and all(size and needed % size for size in steps):
        return f"{amount} not a multiple of step_size {' or '.join(map(str, steps))}"
    return f"{amount} outside min_unit, max_unit and step_size"


def _having(providers: int) -> str:
    return "1 provider has it" if providers == 1 else f"{providers:,} providers have it"


def _best(provider: ProviderName, needed: int, free: int) -> str:
    """Return the root or provider that comes closest, and its free amount."""
    if not free:
        return "none has any free"
    return f"best: {provider.name} has {free} free" if free < needed else ""


# --- the row


@dataclass(frozen=True, slots=True)
class FunnelRow:
    """The number of roots that one requirement removes from the roots left by earlier rows.

    ``group`` is the suffix. ``facts`` are about the existing providers. ``change`` is the sentence
    of the recorded change that explains the row, empty if there is none.
    """

    requirement: Requirement
    group: str
    lost: int
    left: int
    facts: Facts
    change: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The traits and aggregates of the requirement, or the classes that are short."""
        if isinstance(self.requirement, TraitTogether):
            return ()  # no class is
        return self.facts.short if isinstance(self.facts, SumFacts) else self.requirement.names

    def text(self, names: Names) -> str:
        """Return the reason in words."""
        phrase = self.facts.phrase() or self.requirement.unmet(names)
        is_whole = isinstance(self.requirement, OneProvider)
        return phrase + ("" if is_whole else in_group(names, self.group))

    def document(self, names: Names) -> Json:
        """Return the row as a JSON object."""
        return {
            "code": self.requirement.code,
            "group": self.group,
            "requirement": self.requirement.spelled(self.group),
            "lost": self.lost,
            "left": self.left,
            "detail": json_fields(self.facts, self.group),
            "text": self.text(names),
            "note": self.facts.note(names),
            **({"change": self.change} if self.change else {}),
        }


def json_fields(value: Any, suffix: str = "") -> Json:
    """Return the fields of facts that are not None; the requirement of a fact is spelled."""
    if isinstance(value, Facts) and value.excluded:
        provider, requirement = value.excluded.provider, value.excluded.requirement
        spelled = {"code": requirement.code, "requirement": requirement.spelled(suffix)}
        excluded = {"provider": json_fields(provider), **spelled}
        return {**json_fields(replace(value, excluded=None)), "excluded": excluded}
    return asdict(
        value, dict_factory=lambda pairs: {name: each for name, each in pairs if each is not None}
    )
