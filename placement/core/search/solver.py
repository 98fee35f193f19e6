"""How the slots of one request can be filled around one root.

Theory of operation.  What surrounds a root is reduced to a *problem* that no
longer names providers (``problem``). Hosts that are alike pose one problem, so
that one solution serves them all.

``solve`` first splits the problem by ``same_subtree`` (``subtrees``). If then
slots get in each other's way by isolation alone, and the options of any two are
the same or have nothing in common, the solutions are permutations
(``arrangements``). Otherwise the slots are filled one after the other
(``assembly``), and a choice is left at once if

- the ledger says that some sum exceeds what is left, or that a second provider
  of one tree is taken where that is not wanted (``ledger``);
- the slots that remain cannot all be seated any more (``seating``);
- the traits that the unsuffixed group still lacks cannot come any more;
- the same state was reached before, and led to nothing.

For isolated groups without shared sums, seating is exact: no choice is made
that does not lead to a solution. In general the problem contains bin packing,
and the budget has the last word.
"""

import random
from collections.abc import Iterator
from itertools import product

from placement.core.search.backtracking import Backtracking
from placement.core.search.deadline import Budget
from placement.core.search.permutations import arrangements, clusters_of
from placement.core.search.plan import Plan
from placement.core.search.problem import Assignment, Constraints, Places, Problem
from placement.core.search.subtrees import splits


def solve(
    plan: Plan, problem: Problem, budget: Budget, rng: random.Random | None = None
) -> Iterator[Assignment]:
    """Yield each way to fill the slots once: a place for each, in the order of the slots.

    With ``rng`` the options are tried in random order.

    Raises: SearchDeadlineExceeded.
    """
    terms = Constraints.of(plan, problem)
    options = tuple(_mixed(problem.options[slot.need], rng) for slot in plan.slots)
    for split in splits(terms, options, budget):
        yield from _fillings(terms, split, budget)


def _mixed(places: Places, rng: random.Random | None) -> Places:
    return places if rng is None else tuple(rng.sample(places, len(places)))


def _fillings(
    terms: Constraints, options: tuple[Places, ...], budget: Budget
) -> Iterator[Assignment]:
    if terms.are_isolation_only:
        if not terms.plan.isolated:
            return product(*options)
        clusters = clusters_of(terms.plan, options)
        if clusters is not None:
            return arrangements(clusters, options)
    return Backtracking(terms, options, budget).walk()
