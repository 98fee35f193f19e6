"""The candidates of each anchor, as a stream, and the order in which the streams are read.

``CandidateGenerator`` turns the solutions of problems into candidates. ``breadth_first`` takes one
candidate of each stream in turn. ``first_assignments`` is for callers that need one solution of
each anchor.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice, repeat
from typing import TypeVar

import numpy as np

from placement.core.search.candidates import Candidate, CandidateShapes, Solution
from placement.core.search.deadline import Deadline
from placement.core.search.problems import Block, ProblemBuilder, SubproblemKey
from placement.core.search.slots import Assignment, Problem, SlottedRequest
from placement.core.search.solver import solve
from placement.core.snapshot.rows import Indices
from placement.core.snapshot.snapshot import Snapshot

T = TypeVar("T")

Stream = Iterator[Candidate]


def breadth_first(streams: Iterable[Iterator[T]]) -> Iterator[T]:
    """Yield one item of each stream in turn; an exhausted stream is dropped.

    A stream is started only after all streams before it have yielded their
    first item or are exhausted.

    >>> "".join(breadth_first([iter("abc"), iter(""), iter("de")]))
    'adbec'
    """
    remaining: list[Iterator[T]] = []
    for stream in streams:
        for item in islice(stream, 1):
            yield item
            remaining.append(stream)
    while remaining:
        started, remaining = remaining, []
        for stream in started:
            for item in stream:
                yield item
                remaining.append(stream)
                break


def batches(items: Iterable[T], count: int = 5000) -> Iterator[Sequence[T]]:
    """Yield the items in lists of ``count``; the last may be shorter.

    >>> list(batches("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    remaining = iter(items)
    while batch := list(islice(remaining, count)):
        yield batch


def first_assignments(
    problems: ProblemBuilder, anchors: Sequence[int] | Indices, deadline: Deadline
) -> Iterator[tuple[int, list[int]]]:
    """Yield the anchors that have a solution, with the row of each slot's provider in the first.

    Equal problems are solved once.

    Raises: SearchDeadlineExceeded.
    """

    @cache
    def first(problem: Problem) -> Assignment | None:
        return next(solve(problems.slotted, problem, deadline), None)

    for block in problems.blocks(anchors):
        deadline.check()
        for number, anchor in enumerate(block.anchors):
            for problem, start in block.subproblems_of(number):
                deadline.tick()
                options = first(problem)
                if options is not None:
                    yield anchor, [_row(block, start, option) for option in options]
                    break


def _row(block: Block, start: int, option: int) -> int:
    return block.rows.item(start + option) if option >= 0 else ~option


class _LazySolutions:
    """The solutions of one problem, computed as far as needed; all its anchors share them."""

    __slots__ = ("_computed", "_source")

    def __init__(self, source: Iterator[Solution]) -> None:
        self._source = source
        self._computed: list[Solution] = []

    def get(self, number: int) -> Solution | None:
        """Return the solution of a number, None if there are fewer."""
        computed = self._computed
        while number >= len(computed):
            solution = next(self._source, None)
            if solution is None:
                return None
            computed.append(solution)
        return computed[number]


class CandidateGenerator:
    """Creates the stream of candidates of each anchor; no candidate is yielded twice.

    Why this is complete: two anchors can have the same candidate only if it uses
    providers of neither tree, or if each provider it uses that is in the tree of
    one anchor is shared with the other. So only candidates of trees that have a sharing
    provider, and candidates whose providers are all in other trees, are compared with the
    earlier candidates; every other candidate contains a provider that no other anchor can use.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        slotted: SlottedRequest,
        problems: ProblemBuilder,
        deadline: Deadline,
    ) -> None:
        self._snapshot = snapshot
        self._slotted = slotted
        self._problems = problems
        self._deadline = deadline
        self._shapes = CandidateShapes(slotted)
        self._solutions: dict[Problem, _LazySolutions] = {}
        self._repeatable: set[Candidate] = set()

    def standalone(self, rows: Sequence[int]) -> list[Candidate]:
        """Return the candidates of anchors whose one provider serves all slots."""
        shape = self._shapes.solution((0,) * len(self._slotted.slots)).shape
        return list(zip(repeat(shape), zip(rows), strict=False))

    def breadth_first(
        self, anchors: Sequence[int] | Indices, expected: int | None = None
    ) -> Iterator[Candidate]:
        """Yield one candidate of each anchor in turn, until all are exhausted.

        ``expected`` is how many candidates are needed, if known.
        """
        self._repeatable.clear()  # the first candidates may have been read in another order
        streams_by_block: list[Iterator[Stream]] = []
        for block in self._problems.blocks(anchors, expected):
            self._deadline.check()
            firsts, streams = self._first_candidates(block)
            yield from firsts
            streams_by_block.append(streams)
        yield from breadth_first(chain.from_iterable(streams_by_block))

    def first_candidates(
        self, anchors: Sequence[int] | Indices
    ) -> tuple[list[Candidate], list[int]]:
        """Return the first candidates of the anchors, and the anchors that may have some."""
        candidates: list[Candidate] = []
        possible: list[int] = []
        for block in self._problems.blocks(anchors, len(anchors)):
            self._deadline.check()
            candidates += self._first_candidates(block)[0]
            possible += block.anchors
        return candidates, possible

    def streams(
        self, anchors: Sequence[int] | Indices, rng: random.Random | None = None
    ) -> Iterator[Stream]:
        """Yield a stream for each anchor that may have a candidate.

        With ``rng`` in random order, see ``solver.solve``.
        """
        for block in self._problems.blocks(anchors):
            self._deadline.check()
            for number in range(len(block.anchors)):
                yield self._stream(block, number, rng)

    def _first_candidates(self, block: Block) -> tuple[list[Candidate], Iterator[Stream]]:
        """Return the first candidates of the anchors, and streams of the remaining candidates.

        Anchors whose first subproblem is the same problem are handled together: their
        candidates differ only in the rows. The other anchors have separate streams from the
        beginning.
        """
        sharing = self._problems.roots_that_share
        firsts: list[Candidate | None] = [None] * len(block.anchors)
        streams: dict[int, Stream] = {}
        for anchors in _by_first_subproblem(block):
            problem = block.problem(anchors[0], block.first_subproblems[anchors[0]])
            solution = self._solutions_of(problem, None).get(0)
            if solution is not None and not solution.is_in_other_trees:
                alike = [number for number in anchors if block.anchors[number] not in sharing]
                candidates = self._alike(block, alike, solution)
                for number, candidate in zip(alike, candidates, strict=True):
                    firsts[number] = candidate
        for number in [number for number, first in enumerate(firsts) if first is None]:
            streams[number] = self._stream(block, number, None)
            firsts[number] = next(streams[number], None)
        remaining = (
            streams.get(number) or self._stream(block, number, None, skipped=1)
            for number, candidate in enumerate(firsts)
            if candidate is not None
        )
        return [candidate for candidate in firsts if candidate is not None], remaining

    def _alike(
        self, block: Block, numbers: Sequence[int], solution: Solution
    ) -> Iterator[Candidate]:
        starts = [block.starts[block.first_subproblems[number]] for number in numbers]
        options = np.array(solution.options, dtype=np.intp)
        rows = block.rows[np.add.outer(np.array(starts, dtype=np.intp), np.maximum(options, 0))]
        is_shared = options < 0
        rows[:, is_shared] = ~options[is_shared]
        return zip(repeat(solution.shape), map(tuple, rows.tolist()), strict=False)

    def _stream(
        self, block: Block, number: int, rng: random.Random | None, skipped: int = 0
    ) -> Stream:
        """Yield the candidates of an anchor that were not yielded before."""
        has_sharing = block.anchors[number] in self._problems.roots_that_share
        subproblems: Sequence[int] = range(
            block.first_subproblems[number], block.first_subproblems[number + 1]
        )
        for subproblem in (
            subproblems if rng is None else rng.sample(subproblems, len(subproblems))
        ):
            solutions = self._solutions_of(block.problem(number, subproblem), rng)
            rows = block.rows[block.starts[subproblem] : block.starts[subproblem + 1]].tolist()
            yield from self._candidates(rows, solutions, skipped, has_sharing=has_sharing)
            skipped = 0

    def _candidates(
        self, rows: Sequence[int], solutions: _LazySolutions, skipped: int, *, has_sharing: bool
    ) -> Stream:
        """Yield the new candidates of a subproblem, from a solution on."""
        tick, index = self._deadline.tick, skipped
        while (solution := solutions.get(index)) is not None:
            tick()
            index += 1
            providers = [rows[option] if option >= 0 else ~option for option in solution.options]
            candidate = (solution.shape, tuple(providers))
            if solution.is_in_other_trees or has_sharing:
                if candidate in self._repeatable:
                    continue
                self._repeatable.add(candidate)
            yield candidate

    def _solutions_of(self, problem: Problem, rng: random.Random | None) -> _LazySolutions:
        solution = self._shapes.solution
        if rng is not None:
            return _LazySolutions(
                map(solution, solve(self._slotted, problem, self._deadline, rng))
            )
        solutions = self._solutions.get(problem)
        if solutions is None:
            source = map(solution, solve(self._slotted, problem, self._deadline))
            solutions = self._solutions[problem] = _LazySolutions(source)
        return solutions


def _by_first_subproblem(block: Block) -> Iterable[list[int]]:
    """Return the anchors of a block, by number, whose first subproblems are the same problem."""
    anchors: defaultdict[SubproblemKey, list[int]] = defaultdict(list)
    for number, subproblem in enumerate(block.first_subproblems[:-1]):
        anchors[block.keys[subproblem]].append(number)
    return anchors.values()
