"""Every way the snapshot can satisfy a request.

Theory of operation.  A request becomes a *plan*: slots to fill with one
provider each, and conditions between them (``plan``). The search then goes
through four stages, each in a module of its own:

``narrow``   for each need, who can fill it: array operations over all providers
``anchors``  around which roots all slots have options
``surroundings``  each root as a *problem* of small numbers, equal for hosts that are alike
``combine``  the solutions of a problem, lazily, with dead branches left at once
``offers``   candidates that name providers, a stream for each root

This module puts them together, decides in which order the streams are drained
and stops as soon as enough has been found: the work follows what is returned,
not what is possible.

Order.  With a limit the search takes one candidate of each root in turn, so
that a short answer does not concentrate on one host; the contract leaves the
order open and recommends this. Only where ``max_candidates`` is set, the
strategy decides, and its default is to exhaust one root before the next.
Roots come in the order in which they were created, those that serve the request
by themselves first. Equal requests on one snapshot get equal answers.

Randomisation.  Where all candidates can be generated within half of the budget
(and number no more than ``SAMPLED``, or the bound), the answer is a uniform
sample of them; otherwise one candidate of each root in turn, roots and options
being shuffled: fair over roots, not over candidates.

What this does not do: it does not rank, it does not reserve (a claim decides
again, with the same arithmetic), and it never looks at a clock of its own.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from placement.core.request import CandidateRequest, RequestGroup, SearchSettings
from placement.core.search.anchors import Anchors, find_anchors, narrow_all
from placement.core.search.candidates import Candidate, Candidates
from placement.core.search.deadline import Budget
from placement.core.search.generation import Offers
from placement.core.search.ordering import batches, breadth_first, depth_first, sampled, up_to
from placement.core.search.plan import Plan
from placement.core.search.problem_builder import ProblemBuilder
from placement.core.snapshot.entries import ProviderEntry
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import SearchDeadlineExceeded, UnknownResourceClass, UnknownTrait

SAMPLED = 100_000


def search(
    snapshot: Snapshot,
    request: CandidateRequest,
    settings: SearchSettings,
    *,
    rng: random.Random | None,
    now: Callable[[], float],
) -> Candidates:
    """Return the ways the snapshot can satisfy the request, up to its limit.

    Cost: a few microseconds for each 10,000 providers and requirement, then linear
    in what is returned. ``rng`` is used only if ``settings`` ask for a random
    choice; ``now`` is a clock in seconds.

    Raises: UnknownTrait, UnknownResourceClass; SearchDeadlineExceeded if the
    answer is not complete when ``settings.budget_seconds`` have passed.
    Source: API reference, "List allocation candidates".
    """
    check_names(snapshot, request)
    budget = Budget(settings.budget_seconds, now)
    run = _Search(snapshot, Plan.of(request), settings, budget)
    found = list(run.ordered() if rng is None or not settings.randomize else run.at_random(rng))
    return Candidates(found, summaries(snapshot, found, budget, whole_trees=request.nested))


class _Search:
    """One request on one snapshot."""

    def __init__(
        self, snapshot: Snapshot, plan: Plan, settings: SearchSettings, budget: Budget
    ) -> None:
        served = narrow_all(snapshot, plan)
        self._snapshot = snapshot
        self._plan = plan
        self._settings = settings
        self._budget = budget
        self._anchors: Anchors = find_anchors(snapshot, plan, served)
        self._surroundings = ProblemBuilder(snapshot, plan, served)
        self._bound = _bound(settings)
        self._count = _least(self._bound, plan.request.limit)

    def ordered(self) -> Iterator[Candidate]:
        """Yield candidates in the order that the settings want."""
        offers = self._offers(self._budget)
        lone = offers.lone(self._anchors.lone[: self._count].tolist())
        streams = map(
            offers.at, chain(self._anchors.mixed.tolist(), self._anchors.shared.tolist())
        )
        drain = depth_first if self._is_depth_first() else breadth_first
        return up_to(chain(lone, drain(streams)), self._count)

    def at_random(self, rng: random.Random) -> Iterator[Candidate]:
        """Yield a random choice of candidates, in random order."""
        lone = self._anchors.lone
        try:
            others = self._generated(len(lone))
        except SearchDeadlineExceeded:
            return self._fair(rng)
        offers = self._offers(self._budget)
        total = _least(self._bound, len(lone) + len(others)) or 0
        picked = sampled(rng, total, self._plan.request.limit)
        return (
            offers.lone([lone.item(number)])[0]
            if number < len(lone)
            else others[number - len(lone)]
            for number in picked
        )

    def _generated(self, before: int) -> list[Candidate]:
        """Return all candidates but the lone ones.

        Raises: SearchDeadlineExceeded also if there are more than would be kept for a sample.
        """
        offers = self._offers(self._budget.part(0.5))
        streams = map(offers.at, self._several())
        most = SAMPLED if self._bound is None else max(self._bound - before, 0)
        found = list(up_to(depth_first(streams), most + (self._bound is None)))
        if self._bound is None and len(found) > most:
            raise SearchDeadlineExceeded(self._settings.budget_seconds)
        return found

    def _fair(self, rng: random.Random) -> Iterator[Candidate]:
        offers = self._offers(self._budget)
        lone = set(self._anchors.lone.tolist())
        anchors = [*lone, *self._several()]
        rng.shuffle(anchors)
        streams = (
            iter(offers.lone([anchor])) if anchor in lone else offers.at(anchor, rng)
            for anchor in anchors
        )
        return up_to(breadth_first(streams), self._count)

    def _several(self) -> list[int]:
        """Return the anchors that may give several candidates, or none."""
        return [*self._anchors.mixed.tolist(), *self._anchors.shared.tolist()]

    def _offers(self, budget: Budget) -> Offers:
        return Offers(self._snapshot, self._plan, self._surroundings, budget)

    def _is_depth_first(self) -> bool:
        """Whether roots are exhausted one by one: as configured, or as all are wanted anyway."""
        if self._bound is None:
            return self._plan.request.limit is None
        return not self._settings.breadth_first


def _bound(settings: SearchSettings) -> int | None:
    """Return how many candidates to generate at most; a bound of 0 acts as 1."""
    bound = settings.max_candidates
    return None if bound is None or bound < 0 else max(bound, 1)


def _least(*counts: int | None) -> int | None:
    return min((count for count in counts if count is not None), default=None)


def summaries(
    snapshot: Snapshot, found: Sequence[Candidate], budget: Budget, *, whole_trees: bool
) -> Sequence[ProviderEntry]:
    """Return the providers that have an allocation, or all of their trees, in tree order."""
    row_of, forest = snapshot.forest.row_of, snapshot.forest
    rows: set[int] = set()
    for batch in batches(found):
        budget.look()
        rows.update(row_of[u] for form, uuids in batch for u in uuids[: len(form.allocations)])
    if not whole_trees:
        return snapshot.entries.take(sorted(rows))
    roots = sorted(set(forest.root[list(rows)].tolist()))
    if forest.branched:
        roots = [row for root in roots for row in forest.members(root)]
    return snapshot.entries.take(roots)


def check_names(snapshot: Snapshot, request: CandidateRequest) -> None:
    """Refuse classes and traits that do not exist.

    Raises: UnknownTrait for root_required; then, group by group,
    UnknownResourceClass, UnknownTrait. Of several names the first by alphabet.
    """
    _check_traits(snapshot, request.root_required | request.root_forbidden)
    for group in request.groups:
        check_classes(snapshot, group)
        _check_traits(snapshot, group.forbidden.union(*group.required))


def check_classes(snapshot: Snapshot, group: RequestGroup) -> None:
    """Refuse classes that do not exist.

    Raises: UnknownResourceClass.
    """
    for name in group.resources:
        if name not in snapshot.class_names:
            raise UnknownResourceClass(name, "Invalid resource class in resources parameter")


def _check_traits(snapshot: Snapshot, names: frozenset[str]) -> None:
    unknown = names - snapshot.trait_names
    if unknown:
        raise UnknownTrait(min(unknown))
