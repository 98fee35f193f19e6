"""The roots around which a request has a solution.

The problems of a root are solved until one has a solution: no candidate is built.
"""

from collections.abc import Sequence
from functools import cache, partial

from placement.core.search.anchors import anchors_by_kind, possible_anchors
from placement.core.search.candidate_streams import first_assignments
from placement.core.search.deadline import Deadline
from placement.core.search.filters import Domain, find_domain
from placement.core.search.problems import ProblemBuilder
from placement.core.search.slots import SlottedRequest
from placement.core.snapshot.rows import Mask, mask_of
from placement.core.snapshot.snapshot import Snapshot


class FittingRoots:
    """Finds the fitting roots of one snapshot, within one deadline."""

    def __init__(self, snapshot: Snapshot, deadline: Deadline) -> None:
        self._snapshot = snapshot
        self._deadline = deadline
        self._domain = cache(partial(find_domain, snapshot))  # similar requests share most needs

    def of(self, slotted: SlottedRequest, among: Mask | None = None) -> Mask:
        """Return the roots around which the request has a solution, within ``among`` if it is set.

        Raises: SearchDeadlineExceeded.
        """
        domains = []
        for need in slotted.needs:
            self._deadline.check()
            domains.append(self._domain(need))
        possible = possible_anchors(self._snapshot, slotted, domains, self._deadline)
        if among is not None:
            possible = possible & among
        if slotted.are_slots_independent or not possible.any():
            return possible
        return self._solvable(slotted, domains, possible)

    def counted(self, slotted: SlottedRequest) -> Mask:
        """Return the fitting roots that count: hosts, or sharing providers if no host fits.

        Raises: SearchDeadlineExceeded.
        """
        fitting = self.of(slotted)
        hosts = fitting & self._snapshot.hosts
        return hosts if hosts.any() else fitting

    def _solvable(
        self, slotted: SlottedRequest, domains: Sequence[Domain], possible: Mask
    ) -> Mask:
        """Return a mask of the roots that have a solution, from the problem of every tree."""
        anchors = anchors_by_kind(self._snapshot, slotted, domains, possible)
        fitting = mask_of(anchors.standalone, self._snapshot.size)
        problems = ProblemBuilder(self._snapshot, slotted, domains)
        for anchor, _ in first_assignments(problems, anchors.others, self._deadline):
            fitting[anchor] = True
        return fitting
