"""Which changes of a request would let a root fit."""

from collections.abc import Iterator

import numpy as np

from placement.core.insight.explanation import Remedy
from placement.core.insight.feasibility import Feasibility
from placement.core.insight.relaxations import without_one
from placement.core.request import CandidateRequest
from placement.core.search.plan import SearchPlan


class Remedies:
    """Tries changes of one request; ``fits`` roots fit as it is."""

    def __init__(self, request: CandidateRequest, feasibility: Feasibility, fits: int) -> None:
        self._request = request
        self._feasibility = feasibility
        self._fits = fits

    def run(self) -> list[Remedy]:
        """Return the remedies, those first after which most roots fit.

        Raises: SearchDeadlineExceeded.
        """
        return sorted(self._dropped(), key=lambda remedy: -remedy.roots)

    def _dropped(self) -> Iterator[Remedy]:
        for requirement, relaxed in without_one(self._request):
            roots = self._roots(relaxed)
            if roots > self._fits:
                yield Remedy("drop", roots, requirement=requirement)

    def _roots(self, request: CandidateRequest) -> int:
        return int(np.count_nonzero(self._feasibility.roots(SearchPlan.of(request))))
