"""Candidates from solutions: a stream for each anchor."""

import random
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

from placement.core.search.candidates import Candidate, CandidateForm
from placement.core.search.deadline import Deadline
from placement.core.search.plan import SearchPlan
from placement.core.search.problem import Assignment, Options, Problem
from placement.core.search.problem_builder import ProblemBuilder
from placement.core.search.solver import solve
from placement.core.snapshot.snapshot import Snapshot

Stream = Iterator[Candidate]


class Solution(NamedTuple):
    """A form, and the options of a problem that its providers are."""

    form: CandidateForm
    options: Options
    is_in_own_tree: bool
    is_in_other_trees: bool


class _LazySolutions:
    """The solutions of one problem, computed as far as an anchor has needed them."""

    __slots__ = ("_computed", "_source")

    def __init__(self, source: Iterator[Solution]) -> None:
        self._source = source
        self._computed: list[Solution] = []

    def get(self, number: int) -> Solution | None:
        """Return the solution of a number, None if there are fewer.

        Indexed, not iterated over: all anchors with the problem share one source.
        """
        computed = self._computed
        while number >= len(computed):
            solution = next(self._source, None)
            if solution is None:
                return None
            computed.append(solution)
        return computed[number]


class CandidateForms:
    """The forms of the candidates of one plan, each created once."""

    def __init__(self, plan: SearchPlan) -> None:
        self._plan = plan
        self._forms: dict[tuple[int, ...], CandidateForm] = {}
        resourceless = [number for number, slot in enumerate(plan.slots) if not slot.resources]
        resourced = [number for number, slot in enumerate(plan.slots) if slot.resources]
        self._slots = (*resourced, *resourceless)

    def solution(self, assignment: Assignment) -> Solution:
        """Return an assignment as a form and its options, without repetition."""
        number_of: dict[int, int] = {}
        pattern = tuple(
            [number_of.setdefault(assignment[slot], len(number_of)) for slot in self._slots]
        )
        form = self._forms.get(pattern)
        if form is None:
            form = self._forms[pattern] = self._form(pattern)
        options = tuple(number_of)
        return Solution(form, options, min(options) >= 0, max(options) < 0)

    def _form(self, pattern: tuple[int, ...]) -> CandidateForm:
        number_of = dict(zip(self._slots, pattern, strict=True))
        amounts: dict[int, dict[str, int]] = {}
        mappings: dict[str, dict[int, None]] = {}
        for number, slot in enumerate(self._plan.slots):
            provider = number_of[number]
            mappings.setdefault(slot.suffix, {})[provider] = None
            for name, amount in slot.resources:
                own = amounts.setdefault(provider, {})
                own[name] = own.get(name, 0) + amount
        return CandidateForm(
            allocations=tuple(amounts[number] for number in sorted(amounts)),
            mappings={suffix: tuple(numbers) for suffix, numbers in mappings.items()},
        )


class CandidateGenerator:
    """Creates the stream of candidates of each anchor; no candidate is yielded twice.

    Why this is complete: two anchors can have the same candidate only if it uses
    providers of neither tree, or if each provider it uses that is in the tree of
    one anchor is shared with the other. So only candidates whose providers are all
    sharing providers, or all in other trees, are compared with those before;
    every other candidate contains a provider that no other anchor can use.
    """

    def __init__(
        self, snapshot: Snapshot, plan: SearchPlan, problems: ProblemBuilder, deadline: Deadline
    ) -> None:
        self._snapshot = snapshot
        self._plan = plan
        self._problems = problems
        self._deadline = deadline
        self._forms = CandidateForms(plan)
        self._solutions: dict[Problem, _LazySolutions] = {}
        self._repeatable: set[Candidate] = set()

    def standalone(self, rows: Sequence[int]) -> list[Candidate]:
        """Return the candidates of anchors whose one provider serves all slots."""
        form = self._forms.solution((0,) * len(self._plan.slots)).form
        uuids = self._snapshot.forest.uuids
        return [Candidate(form, (uuids[row],)) for row in rows]

    def stream(self, anchor: int, rng: random.Random | None = None) -> Stream:
        """Yield the candidates of an anchor that were not yielded before; see ``solver.solve``."""
        self._deadline.tick()
        problem = self._problems.problem(anchor)
        solutions = self._solutions_of(problem, rng)
        uuids, members = self._snapshot.forest.uuids, self._snapshot.forest.members(anchor)
        has_sharing = self._problems.has_sharing_provider(anchor)
        for number in count():
            solution = solutions.get(number)
            if solution is None:
                return
            self._deadline.tick()
            form, options, is_in_own_tree, is_in_other_trees = solution
            if is_in_own_tree and not has_sharing:
                yield Candidate(form, tuple([uuids[members[option]] for option in options]))
                continue
            rows = [members[option] if option >= 0 else ~option for option in options]
            candidate = Candidate(form, tuple([uuids[row] for row in rows]))
            if is_in_other_trees or (has_sharing and self._are_all_sharing(rows)):
                if candidate in self._repeatable:
                    continue
                self._repeatable.add(candidate)
            yield candidate

    def _solutions_of(self, problem: Problem, rng: random.Random | None) -> _LazySolutions:
        solution = self._forms.solution
        if rng is not None:
            return _LazySolutions(map(solution, solve(self._plan, problem, self._deadline, rng)))
        solutions = self._solutions.get(problem)
        if solutions is None:
            source = map(solution, solve(self._plan, problem, self._deadline))
            solutions = self._solutions[problem] = _LazySolutions(source)
        return solutions

    def _are_all_sharing(self, rows: Sequence[int]) -> bool:
        sharing = self._snapshot.sharing.mask(self._snapshot.size)
        return all(sharing.item(row) for row in rows)
