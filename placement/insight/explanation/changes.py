"""Changes of a request: what a remedy drops, lowers, divides or replaces."""

from dataclasses import dataclass, replace
from typing import Generic, TypeAlias, TypeVar

from placement.core.request import RequestGroup
from placement.core.requirement import Requirement, SameSubtree
from placement.core.text import NO_NAMES, Names


@dataclass(frozen=True, slots=True)
class GroupParameters:
    """All parameters of a group, and the requirements on several groups that name it."""

    group: RequestGroup
    naming: tuple[SameSubtree, ...] = ()

    def spelled(self, suffix: str = "", names: Names = NO_NAMES) -> str:
        """Return the parameters as the query spells them."""
        of_group = replace(self.group, suffix=suffix).spelled(names)
        of_groups = (subtree.spelled() for subtree in self.naming)
        return "&".join((*of_group, *of_groups))


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
Change_co = TypeVar("Change_co", bound=Change, covariant=True)


@dataclass(frozen=True, slots=True)
class Remedy(Generic[Change_co]):
    """A change to the request after which ``roots`` roots have a candidate, by this ``query``."""

    change: Change_co
    roots: int
    query: str
