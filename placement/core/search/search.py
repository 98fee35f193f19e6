"""The search for allocation candidates.

Theory of operation.  A request becomes *slots* (``slots``), each to be assigned
to one provider, and constraints between slots. The search has five stages:

1. ``filters``          per need, the providers that satisfy it (its domain), by array
                        operations over all providers
2. ``anchors``          the roots that have an option for every slot, by array operations
3. ``problems``         per root one or more constraint-satisfaction *problems* of small
                        numbers that name no providers, for many roots at a time; roots
                        that violate a bound are discarded (``subproblems``), and roots
                        that the request cannot tell apart pose the same problem
4. ``solver``           the solutions of a problem, computed lazily; branches that
                        cannot succeed are left as early as possible
5. ``candidate_streams``  solutions with the providers of a root, a stream per root

This module combines the stages, selects the order in which the streams are read, and
stops when the limit is reached: the cost depends on the number of returned candidates, not on
the number of possible candidates.

Completeness.  A candidate is built around exactly one root, its anchor: it uses
providers of the anchor's tree, and sharing providers of other trees. Stages
1 to 3 remove only providers and roots that violate a necessary condition; the problems
keep everything that a solution depends on, and divide the solutions of a root; stage 4
yields each assignment once; stage 5 removes candidates that arise around two anchors.

Order.  With a limit the search takes one candidate of each root in turn, so that a short list
does not concentrate on one host. Where ``max_candidates`` is set, the strategy decides. Standalone
roots come first, then roots with options in their trees, then roots without, in the order of
their rows. If roots are left out, they are a circle, and the *turn* selects where it begins
(``circle_of``). With random order, the result is a uniform sample if all candidates can be
generated within half of the time limit, otherwise uniform over roots.

The search does not rank candidates and does not reserve anything: a claim decides
again, with the same arithmetic (``core.capacity``). Clock and randomness are arguments.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from math import gcd

import numpy as np

from placement.core.request import CandidateRequest, RequestGroup, SearchSettings, names_of
from placement.core.search.anchors import Anchors, find_anchors
from placement.core.search.candidate_streams import CandidateGenerator, batches, breadth_first
from placement.core.search.candidates import Candidate, Candidates, WholeTrees
from placement.core.search.deadline import Deadline
from placement.core.search.filters import find_domains
from placement.core.search.problems import ProblemBuilder
from placement.core.search.slots import SlottedRequest
from placement.core.snapshot.entries import ProviderEntry
from placement.core.snapshot.rows import Indices, different, numbers
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import SearchDeadlineExceeded, UnknownResourceClass, UnknownTrait

MAX_SAMPLED = 100_000

_FULL_TURN = 2**64
_GOLDEN_RATIO = 0x9E3779B97F4A7C15  # its fraction, in units of a full turn
_OTHER_RATIO = 0xD1B54A32D192ED03  # without relation to it: strides do not follow starts


def search(  # noqa: PLR0913 - clock, randomness and turn are arguments
    snapshot: Snapshot,
    request: CandidateRequest,
    settings: SearchSettings,
    deadline: Deadline,
    *,
    rng: random.Random | None = None,
    turn: int = 0,
) -> Candidates:
    """Return the ways in which the snapshot can satisfy the request, up to its limit.

    Cost: a few microseconds per 10,000 providers and condition, then linear in what
    is returned. With ``rng`` the result is a random choice of candidates, in random
    order; without, the order is deterministic. ``turn`` selects the first root if a limit
    leaves out roots.

    Raises: UnknownTrait, UnknownResourceClass; SearchDeadlineExceeded if the
    result is not complete at the deadline.
    Source: API reference, "List allocation candidates".
    """
    check_names(snapshot, request)
    run = _Search(snapshot, SlottedRequest.of(request), settings, deadline)
    candidates, left_out = run.ordered(turn) if rng is None else run.randomized(rng)
    entries = summaries(
        snapshot,
        candidates,
        deadline,
        whole_trees=request.nested,
        begins_with_first=bool(left_out) and settings.rotate and rng is None,
    )
    return Candidates(candidates, entries, snapshot.forest.uuids, left_out)


def circle_of(turn: int, roots: int) -> tuple[int, int]:
    """Return where a turn begins in a circle of roots, and its stride.

    The start is the fraction of turn * golden ratio of the circle. The stride is between 5/9 and
    2/3 of the circle, and has no common divisor with it, so every root is visited once. Integers
    only, so that every process computes the same roots.

    >>> [circle_of(turn, 100) for turn in range(4)]
    [(0, 57), (61, 67), (23, 63), (85, 61)]
    """
    start = _fraction(turn * _GOLDEN_RATIO, roots)
    stride = roots * 5 // 9 + _fraction(turn * _OTHER_RATIO, roots // 9) or 1
    while gcd(stride, roots) != 1:
        stride += 1
    return start, stride


def _fraction(angle: int, roots: int) -> int:
    return angle % _FULL_TURN * roots // _FULL_TURN


class _Search:
    def __init__(
        self,
        snapshot: Snapshot,
        slotted: SlottedRequest,
        settings: SearchSettings,
        deadline: Deadline,
    ) -> None:
        domains = find_domains(snapshot, slotted, deadline)
        self._snapshot = snapshot
        self._slotted = slotted
        self._settings = settings
        self._deadline = deadline
        self._anchors: Anchors = find_anchors(snapshot, slotted, domains, deadline)
        self._roots = sum(map(len, self._anchors.kinds))
        self._problems = ProblemBuilder(snapshot, slotted, domains)
        self._bound = settings.max_candidates
        self._count = _least(self._bound, slotted.request.limit)

    def ordered(self, turn: int) -> tuple[list[Candidate], int]:
        """Return candidates in the order of the settings, and how many roots were left out."""
        generator, count = self._generator(self._deadline), self._count
        if self._is_depth_first():
            return self._depth_first(generator)
        if count is None or count >= self._roots:
            return self._in_order(generator, self._anchors), 0
        firsts, possible = self._first_candidates(generator, turn, count)
        if len(firsts) > count:
            return firsts[:count], self._roots - count
        if not firsts:
            return [], 0
        return self._in_order(generator, self._anchors.among(numbers(possible))), 0

    def _in_order(self, generator: CandidateGenerator, anchors: Anchors) -> list[Candidate]:
        """Return the candidates of the anchors up to the limit, one of each root in turn."""
        standalone = generator.standalone(anchors.standalone[: self._count].tolist())
        others = generator.breadth_first(anchors.others, self._count)
        return list(islice(chain(standalone, others), self._count))

    def _depth_first(self, generator: CandidateGenerator) -> tuple[list[Candidate], int]:
        candidates = generator.standalone(self._anchors.standalone[: self._count].tolist())
        streams, begun = generator.streams(self._anchors.others), len(candidates)
        if self._count is None:
            return [*candidates, *chain.from_iterable(streams)], 0
        while len(candidates) < self._count:
            stream = next(streams, None)
            if stream is None:
                return candidates, 0
            candidates += islice(stream, self._count - len(candidates))
            begun += 1
        return candidates, self._roots - begun

    def _first_candidates(
        self, generator: CandidateGenerator, turn: int, count: int
    ) -> tuple[list[Candidate], list[int]]:
        """Return the first candidates of ``count`` roots that the turn selects, and of another.

        The other candidate, after them, is only searched for to know whether roots are left out.
        Also returns the trees that may have candidates, as far as they were examined.
        """
        start, stride = circle_of(turn, self._roots) if self._settings.rotate else (0, 1)
        candidates: list[Candidate] = []
        possible: list[int] = []
        # One kind is searched in the order of the circle, so the other candidate is the last.
        has_one_kind = len(self._anchors.standalone) in (0, self._roots)
        first_size = size = count + has_one_kind
        examined = 0
        while len(candidates) <= count and examined < self._roots:
            steps = np.arange(examined, min(examined + size, self._roots))
            firsts, trees = self._firsts_of(generator, (start + steps * stride) % self._roots)
            candidates += firsts
            possible += trees
            examined += size
            size = max(count + 1 - len(candidates), 2 * (examined - first_size))
        return candidates, possible

    def _firsts_of(
        self, generator: CandidateGenerator, selected: Indices
    ) -> tuple[list[Candidate], list[int]]:
        """Return the first candidates of roots, those of the kind of the first root first.

        Also the trees that may have candidates.
        """
        standalone, others = self._anchors.standalone, self._anchors.others
        is_standalone = selected < len(standalone)
        providers = generator.standalone(standalone[selected[is_standalone]].tolist())
        firsts, trees = generator.first_candidates(
            others[selected[~is_standalone] - len(standalone)]
        )
        return providers + firsts if is_standalone[0] else firsts + providers, trees

    def randomized(self, rng: random.Random) -> tuple[list[Candidate], int]:
        """Return a random choice of candidates, in random order, and the least number left out.

        Each candidate is of one root, so at least the roots beyond the limit are left out.
        """
        candidates = list(self._sample(rng))
        is_cut = self._count is not None and self._count == len(candidates) < self._roots
        return candidates, self._roots - len(candidates) if is_cut else 0

    def _sample(self, rng: random.Random) -> Iterator[Candidate]:
        standalone = self._anchors.standalone
        try:
            other_candidates = self._all_others(len(standalone))
        except SearchDeadlineExceeded:
            return self._uniform_over_roots(rng)
        generator = self._generator(self._deadline)
        total = _least(self._bound, len(standalone) + len(other_candidates)) or 0
        picked = rng.sample(range(total), _least(total, self._slotted.request.limit) or 0)
        return (
            generator.standalone([standalone.item(number)])[0]
            if number < len(standalone)
            else other_candidates[number - len(standalone)]
            for number in picked
        )

    def _all_others(self, standalone: int) -> list[Candidate]:
        """Return all candidates except the candidates of standalone anchors.

        Raises: SearchDeadlineExceeded, even within the deadline if there are too many to sample.
        """
        generator = self._generator(self._deadline.fraction(0.5))
        most = MAX_SAMPLED if self._bound is None else max(self._bound - standalone, 0)
        candidates = list(islice(self._others(generator), most + (self._bound is None)))
        if self._bound is None and len(candidates) > most:
            raise SearchDeadlineExceeded(self._settings.budget_seconds)
        return candidates

    def _others(self, generator: CandidateGenerator) -> Iterator[Candidate]:
        """Yield the candidates that are not standalone, root by root or one of each in turn."""
        if self._is_depth_first():
            return chain.from_iterable(generator.streams(self._anchors.others))
        return generator.breadth_first(self._anchors.others)

    def _uniform_over_roots(self, rng: random.Random) -> Iterator[Candidate]:
        generator = self._generator(self._deadline)
        standalone = self._anchors.standalone.tolist()
        anchors = [*standalone, *self._anchors.others.tolist()]
        rng.shuffle(anchors)
        return islice(breadth_first(generator.streams(anchors, rng)), self._count)

    def _generator(self, deadline: Deadline) -> CandidateGenerator:
        return CandidateGenerator(self._snapshot, self._slotted, self._problems, deadline)

    def _is_depth_first(self) -> bool:
        """Whether roots are exhausted one by one: as configured, or because all are returned."""
        if self._bound is None:
            return self._slotted.request.limit is None
        return not self._settings.breadth_first


def _least(*counts: int | None) -> int | None:
    return min((count for count in counts if count is not None), default=None)


def summaries(
    snapshot: Snapshot,
    candidates: Sequence[Candidate],
    deadline: Deadline,
    *,
    whole_trees: bool,
    begins_with_first: bool = False,
) -> Iterable[ProviderEntry]:
    """Return the providers that have an allocation, or all of their trees.

    They are in tree order; with ``begins_with_first`` the order is a circle that begins with the
    first candidate, because clients often take the first of equal hosts.
    """
    forest, described = snapshot.forest, numbers(())
    for batch in batches(candidates):
        deadline.check()
        rows = numbers([row for shape, rows in batch for row in rows[: len(shape.allocations)]])
        rows = forest.root[rows] if whole_trees else rows
        described = different(np.concatenate([described, rows]))
    if begins_with_first and candidates:
        first = candidates[0][1][0]
        first = forest.root.item(first) if whole_trees else first
        start = described.searchsorted(first)
        described = np.concatenate([described[start:], described[:start]])
    if whole_trees:
        return WholeTrees(snapshot, described)
    return snapshot.entries.take(described.tolist())


def check_names(snapshot: Snapshot, request: CandidateRequest) -> None:
    """Check that all classes and traits of the request exist.

    Raises: UnknownTrait for root_required; then, group by group,
    UnknownResourceClass, UnknownTrait. Of several names the first in alphabetical order.
    """
    check_traits(snapshot, names_of(request.of_root, "traits"))
    for group in request.groups:
        check_classes(snapshot, group)
        check_traits(snapshot, group.names("traits"))


def check_classes(snapshot: Snapshot, group: RequestGroup) -> None:
    """Check that all resource classes of a group exist.

    Raises: UnknownResourceClass.
    """
    for name in group.resources:
        if name not in snapshot.class_names:
            raise UnknownResourceClass(name, "Invalid resource class in resources parameter")


def check_traits(snapshot: Snapshot, names: frozenset[str], *message: str) -> None:
    """Check that all traits exist; the message is the beginning of the error.

    Raises: UnknownTrait.
    """
    unknown = names - snapshot.trait_names
    if unknown:
        raise UnknownTrait(min(unknown), *message)
