"""The solutions of one problem.

Theory of operation.  A problem (``problem``) names no providers, so hosts that
are alike pose the same problem and share its solutions.

``solve`` first splits the problem by ``same_subtree``: each part restricts the
options of the slots so that every same_subtree holds, no assignment is in two
parts, and together the parts contain every solution (``subtrees``). For each part:

- without constraints between slots, the solutions are the product of the options;
- if isolation is the only constraint, and the options of any two slots are equal
  or disjoint, the solutions are permutations (``permutations``);
- otherwise the slots are assigned one by one (``backtracking``).

Backtracking leaves a choice, in this order, if

1. an allocatable amount is exceeded, or a second provider of a tree is used below 1.29
   (``remaining_capacity``);
2. a trait list of the unsuffixed group is not satisfied by the choices made, nor
   by any option of the slots that remain;
3. the same state was reached before without a solution; the state contains
   everything that the remaining choices depend on;
4. the slots that remain cannot be matched to options any more (``matching``).

Each of these is a necessary condition of a solution, so nothing is lost, and an
assignment is yielded only if all slots are assigned and every sum fits. For
isolated groups without shared sums, matching is exact: every choice that is kept
leads to a solution. In general the problem contains bin packing, which is
NP-hard, and the deadline bounds it.
"""

import random
from collections.abc import Iterator
from itertools import product

from placement.core.search.backtracking import Backtracking
from placement.core.search.constraints import Constraints
from placement.core.search.deadline import Deadline
from placement.core.search.permutations import permuted_assignments, slot_classes_of
from placement.core.search.plan import SearchPlan
from placement.core.search.problem import Assignment, Options, Problem
from placement.core.search.subtrees import split_by_subtree


def solve(
    plan: SearchPlan, problem: Problem, deadline: Deadline, rng: random.Random | None = None
) -> Iterator[Assignment]:
    """Yield each solution once: an option for each slot, in the order of the slots.

    With ``rng`` the options are tried in random order.

    Raises: SearchDeadlineExceeded.
    """
    constraints = Constraints.of(plan, problem)
    options = tuple(_shuffled(own, rng) for own in problem.options)
    for part in split_by_subtree(constraints, options, deadline):
        yield from _solutions(constraints, part, deadline)


def _shuffled(options: Options, rng: random.Random | None) -> Options:
    return options if rng is None else tuple(rng.sample(options, len(options)))


def _solutions(
    constraints: Constraints, options: tuple[Options, ...], deadline: Deadline
) -> Iterator[Assignment]:
    if constraints.are_isolation_only:
        if not constraints.plan.isolated:
            return product(*options)
        classes = slot_classes_of(constraints.plan, options)
        if classes is not None:
            return permuted_assignments(classes, options)
    return Backtracking(constraints, options, deadline).assignments()
