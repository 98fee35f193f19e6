"""Why a request has the candidates that it has, or none.

    explain(snapshot, request, *, query, now, budget_seconds=1.0, remedies=False) -> Explanation

``query`` is the text that the request was read from; it is only repeated. ``now`` is a monotonic
clock in seconds. ``placement.render.explanation`` has ``as_json``, ``as_text`` and ``as_line``.

Theory of operation.  The search decides by masks over all providers and by problems of single
trees. An explanation looks at the same masks requirement by requirement (``conditions``,
``groups``), counts the roots that each removes (``funnel``), looks for the roots that lack
least (``near_misses``) and, if asked to, changes the request (``remedies``). Everything but the
conditions between groups is array operations; these are solved for the roots that are left
(``feasibility``).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from placement.core.insight.conditions import Reach
from placement.core.insight.explanation import Explanation
from placement.core.insight.feasibility import Feasibility
from placement.core.insight.funnel import Funnel
from placement.core.insight.groups import GroupsBuilder
from placement.core.insight.near_misses import NearMisses
from placement.core.insight.remedies import Remedies
from placement.core.request import CandidateRequest
from placement.core.search.deadline import Deadline
from placement.core.search.plan import SearchPlan
from placement.core.search.search import check_names
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import SearchDeadlineExceeded

NEAR_MISSES = 5


def explain(  # noqa: PLR0913 - a query, a clock and its budget are not one thing
    snapshot: Snapshot,
    request: CandidateRequest,
    *,
    query: str,
    now: Callable[[], float],
    budget_seconds: float = 1.0,
    remedies: bool = False,
) -> Explanation:
    """Return what each requirement removes, and what comes closest.

    ``request.limit`` does not matter. What does not finish within the budget is listed in
    ``undetermined``.

    Raises: UnknownTrait, UnknownResourceClass.
    """
    check_names(snapshot, request)
    deadline = Deadline(budget_seconds, now)
    plan = SearchPlan.of(request)
    reach = Reach(snapshot)
    feasibility = Feasibility(snapshot, deadline)
    funnel = Funnel(snapshot, reach, deadline)
    undetermined: list[str] = []
    with _listed("funnel", undetermined):
        groups = list(GroupsBuilder(snapshot, reach, deadline).groups(plan))
        funnel.run(plan, groups, feasibility)
    fits = None if undetermined else int(np.count_nonzero(funnel.left))
    closest = NearMisses(snapshot, reach, deadline)
    if not undetermined:
        with _listed("near_misses", undetermined):
            closest.run(plan, groups, funnel, NEAR_MISSES)
    tried = Remedies(snapshot, request, feasibility)
    if remedies:
        with _listed("remedies", undetermined):
            tried.run(fits or 0)
    return Explanation(
        query=query,
        roots=int(np.count_nonzero(snapshot.forest.is_root)),
        fits=fits,
        funnel=tuple(funnel.rows),
        near_misses=closest.best(NEAR_MISSES),
        remedies=tried.ordered,
        undetermined=tuple(undetermined),
    )


@contextmanager
def _listed(part: str, undetermined: list[str]) -> Iterator[None]:
    """Add a part of the explanation to the list if the deadline ends it."""
    try:
        yield
    except SearchDeadlineExceeded:
        undetermined.append(part)
