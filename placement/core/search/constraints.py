"""The constraints of one problem, reduced to those that can be violated."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from placement.core.search.deadline import Deadline
from placement.core.search.matching import Matching
from placement.core.search.plan import SearchPlan
from placement.core.search.problem import Options, Problem
from placement.core.search.remaining_capacity import AllocatableAmounts


@dataclass(frozen=True, slots=True)
class MatchingConstraint:
    """Some slots, and how many of them an option can serve; ``merged`` options count as one."""

    slots: tuple[int, ...]
    capacity: Callable[[int], int]
    merged: Mapping[int, int]

    def matching(
        self, options: Mapping[int, Options] | Sequence[Options], deadline: Deadline
    ) -> Matching | None:
        """Return a matching of the constraint's slots, None if there is none."""
        return Matching.of({slot: options[slot] for slot in self.slots}, self, deadline)

    def restricted_to(self, slots: Sequence[int]) -> "MatchingConstraint":
        """Return the constraint for some of its slots."""
        return MatchingConstraint(
            tuple(slot for slot in self.slots if slot in slots), self.capacity, self.merged
        )


@dataclass(frozen=True, slots=True)
class Constraints:
    """The constraints between the slots of one problem that some assignment can violate.

    ``allocatable``  amounts, by option and class, that are smaller than the sum of the
                     requests for them
    ``tree_of``      the tree of each option, if two options are in one tree of which only
                     one provider may be used; otherwise empty
    ``matchings``    necessary conditions that are decided by bipartite matching
    """

    plan: SearchPlan
    problem: Problem
    allocatable: AllocatableAmounts
    tree_of: Mapping[int, int]
    matchings: tuple[MatchingConstraint, ...]

    @classmethod
    def of(cls, plan: SearchPlan, problem: Problem) -> "Constraints":
        """Return the constraints of a problem."""
        has_pairs = len(set(problem.tree_of.values())) < len(problem.tree_of)
        tree_of = problem.tree_of if has_pairs else {}
        allocatable = _scarce(plan, problem)
        matchings = []
        if plan.isolated:
            matchings.append(MatchingConstraint(plan.isolated, lambda _: 1, tree_of))
        matchings += [
            _class_constraint(name, plan.contended[name], allocatable, tree_of)
            for name in dict.fromkeys(name for _, name in allocatable)
        ]
        return cls(plan, problem, allocatable, tree_of, tuple(matchings))

    @property
    def are_isolation_only(self) -> bool:
        """Whether isolation is the only constraint between slots, if there is any."""
        return not (self.allocatable or self.tree_of or self.plan.any_of)


def _scarce(plan: SearchPlan, problem: Problem) -> AllocatableAmounts:
    """Return the allocatable amounts that are too small for all slots that have the option."""
    scarce: AllocatableAmounts = {}
    for (name, amounts), allocatable in zip(
        plan.contended.items(), problem.allocatable, strict=True
    ):
        amount_of: Counter[Options] = Counter()  # many slots may have the same many options
        for slot, amount in amounts.items():
            amount_of[problem.options[slot]] += amount
        requested: Counter[int] = Counter()
        for options, amount in amount_of.items():
            requested.update(dict.fromkeys(options, amount))
        scarce.update(
            {
                (option, name): left
                for option, left in allocatable.items()
                if left < requested[option]
            }
        )
    return scarce


def _class_constraint(
    name: str,
    amounts: Mapping[int, int],
    allocatable: AllocatableAmounts,
    tree_of: Mapping[int, int],
) -> MatchingConstraint:
    """Return how many slots each option can serve with a class, were all as small as the least."""
    least = min(amounts.values())
    capacities: defaultdict[int, int] = defaultdict(int)
    for option in {*tree_of, *(option for option, scarce in allocatable if scarce == name)}:
        served = (
            allocatable[option, name] // least if (option, name) in allocatable else len(amounts)
        )
        merged = tree_of.get(option, option)
        capacities[merged] = max(capacities[merged], served)
    capacity = partial(_capacity, dict(capacities), len(amounts))
    return MatchingConstraint(tuple(amounts), capacity, tree_of)


def _capacity(capacities: Mapping[int, int], unlimited: int, option: int) -> int:
    return capacities.get(option, unlimited)
