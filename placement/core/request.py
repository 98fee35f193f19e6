"""Requests for the search, parsed from a query string."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RequestGroup:
    """The requirements of one request group.

    ``required`` and ``member_of`` are lists of sets of alternatives (any_of): the group needs
    one member of every set. The empty suffix is the unsuffixed group, whose classes may come
    from several providers; one provider serves a suffixed group.

    Source: API reference, "Granular resource requests", 1.25 and 1.33.
    """

    suffix: str = ""
    resources: Mapping[str, int] = field(default_factory=dict)
    required: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()
    member_of: tuple[frozenset[str], ...] = ()
    not_member_of: frozenset[str] = frozenset()
    in_tree: str | None = None


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """One GET /allocation_candidates: groups in the order of the query, and how they combine.

    ``nested`` is false below 1.29: candidates that use two providers of one
    tree are left out, and summaries show only providers with an allocation.
    ``same_subtree`` holds sets of suffixes.
    """

    groups: tuple[RequestGroup, ...]
    isolate: bool = False
    limit: int | None = None
    root_required: frozenset[str] = frozenset()
    root_forbidden: frozenset[str] = frozenset()
    same_subtree: tuple[frozenset[str], ...] = ()
    nested: bool = True


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
    limit of a request, ``randomize`` whether the caller passes a random generator.
    """

    randomize: bool = False
    max_candidates: int | None = None
    breadth_first: bool = False
    budget_seconds: float = 5.0
