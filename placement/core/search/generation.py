"""From solved problems to candidates that name providers, one stream for each anchor."""

import random
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

from placement.core.search.candidates import Candidate, CandidateForm
from placement.core.search.deadline import Budget
from placement.core.search.plan import Plan
from placement.core.search.problem import Assignment, Problem
from placement.core.search.problem_builder import ProblemBuilder
from placement.core.search.solver import solve
from placement.core.snapshot.snapshot import Snapshot

Stream = Iterator[Candidate]


class Solution(NamedTuple):
    """A form, and the places of a problem that take the part of its providers."""

    form: CandidateForm
    places: tuple[int, ...]
    is_all_at_home: bool
    is_all_abroad: bool


class _Remembered:
    """The solutions of one problem, computed as far as some anchor has asked for them."""

    __slots__ = ("_found", "_source")

    def __init__(self, source: Iterator[Solution]) -> None:
        self._source = source
        self._found: list[Solution] = []

    def at(self, number: int) -> Solution | None:
        """Return the solution of a number, None if there are not so many.

        Asked by number rather than iterated over: each anchor would need an iterator of its own.
        """
        found = self._found
        while number >= len(found):
            solution = next(self._source, None)
            if solution is None:
                return None
            found.append(solution)
        return found[number]


class Forms:
    """The forms of the candidates of one plan, each made once."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._forms: dict[tuple[int, ...], CandidateForm] = {}
        resourceless = [slot for slot, it in enumerate(plan.slots) if not it.resources]
        resourced = [slot for slot, it in enumerate(plan.slots) if it.resources]
        self._slots = (*resourced, *resourceless)

    def solution(self, assignment: Assignment) -> Solution:
        """Return what an assignment amounts to, whatever its places are called."""
        number_of: dict[int, int] = {}
        pattern = tuple(
            [number_of.setdefault(assignment[slot], len(number_of)) for slot in self._slots]
        )
        form = self._forms.get(pattern)
        if form is None:
            form = self._forms[pattern] = self._form(pattern)
        places = tuple(number_of)
        return Solution(form, places, min(places) >= 0, max(places) < 0)

    def _form(self, pattern: tuple[int, ...]) -> CandidateForm:
        number_of = dict(zip(self._slots, pattern, strict=True))
        amounts: dict[int, dict[str, int]] = {}
        mappings: dict[str, dict[int, None]] = {}
        for slot, wanted in enumerate(self._plan.slots):
            number = number_of[slot]
            mappings.setdefault(wanted.suffix, {})[number] = None
            for name, amount in wanted.resources:
                given = amounts.setdefault(number, {})
                given[name] = given.get(name, 0) + amount
        return CandidateForm(
            allocations=tuple(amounts[number] for number in sorted(amounts)),
            mappings={suffix: tuple(numbers) for suffix, numbers in mappings.items()},
        )


class Offers:
    """Makes the stream of candidates of each anchor; none is offered twice."""

    def __init__(
        self, snapshot: Snapshot, plan: Plan, surroundings: ProblemBuilder, budget: Budget
    ) -> None:
        self._snapshot = snapshot
        self._plan = plan
        self._surroundings = surroundings
        self._budget = budget
        self._forms = Forms(plan)
        self._remembered: dict[Problem, _Remembered] = {}
        self._offered: set[Candidate] = set()

    def lone(self, rows: Sequence[int]) -> list[Candidate]:
        """Return the candidates of anchors that serve all slots alone."""
        form, uuids = (
            self._forms.solution((0,) * len(self._plan.slots)).form,
            self._snapshot.forest.uuids,
        )
        return [Candidate(form, (uuids[row],)) for row in rows]

    def at(self, anchor: int, rng: random.Random | None = None) -> Stream:
        """Yield the candidates of an anchor, less those offered before; see ``combine.solve``."""
        self._budget.spend()
        problem = self._surroundings.problem(anchor)
        solutions = self._solutions(problem, rng)
        uuids, members = self._snapshot.forest.uuids, self._snapshot.forest.members(anchor)
        may_be_known = self._surroundings.is_sharing_itself(anchor)
        for number in count():
            solution = solutions.at(number)
            if solution is None:
                return
            self._budget.spend()
            form, places, is_all_at_home, is_all_abroad = solution
            if is_all_at_home and not may_be_known:
                yield Candidate(form, tuple([uuids[members[place]] for place in places]))
                continue
            rows = [members[place] if place >= 0 else ~place for place in places]
            candidate = Candidate(form, tuple([uuids[row] for row in rows]))
            if is_all_abroad or (may_be_known and self._all_share(rows)):
                if candidate in self._offered:
                    continue
                self._offered.add(candidate)
            yield candidate

    def _solutions(self, problem: Problem, rng: random.Random | None) -> _Remembered:
        solution = self._forms.solution
        if rng is not None:
            return _Remembered(map(solution, solve(self._plan, problem, self._budget, rng)))
        remembered = self._remembered.get(problem)
        if remembered is None:
            source = map(solution, solve(self._plan, problem, self._budget))
            remembered = self._remembered[problem] = _Remembered(source)
        return remembered

    def _all_share(self, rows: Sequence[int]) -> bool:
        sharing = self._snapshot.sharing.mask(self._snapshot.size)
        return all(sharing.item(row) for row in rows)
