"""Explanations: why a request has these candidates, or no candidates.

The contributor's documentation, "How a refusal is explained and recorded", has the theory of all
modules of this package. Fields and codes of a document are stable; later releases may add fields.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import Final

import numpy as np

from placement.core.request import CandidateRequest, RequestGroup
from placement.core.search.deadline import Deadline
from placement.core.search.fitting_roots import FittingRoots
from placement.core.search.search import check_names
from placement.core.search.slots import SlottedRequest
from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import Names, timestamp
from placement.engine.shared import request_clock
from placement.exception import (
    BadRequest,
    SearchDeadlineExceeded,
    UnknownClassOrTrait,
    UnknownRoot,
)
from placement.microversion import Version
from placement_insight.documents import Json, document
from placement_insight.explain import unknown_names
from placement_insight.explain.changes import Change, Remedy
from placement_insight.explain.facts import FunnelRow, ProviderName, json_fields
from placement_insight.explain.funnel import Funnel
from placement_insight.explain.groups import scene_of
from placement_insight.explain.near_misses import NearMisses
from placement_insight.explain.provider_facts import named
from placement_insight.explain.remedies import Remedies
from placement_insight.explain.requirements import NO_PROVIDERS, UNDETERMINED
from placement_insight.explain.unmet import Completeness, NearMiss, near_misses

NEAR_MISSES = 5
NEAR_MISSES_CUT: Final = "near_misses"

BUDGET_SECONDS: Final = 1.0
_HAS_UUID = re.compile("[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Question:
    """A request for candidates, with its query string and its microversion.

    ``remedies`` is whether changes of the request that would help are requested. ``root`` is the
    UUID of a provider of the tree that the caller asks about, if any.
    """

    request: CandidateRequest
    query: str
    microversion: Version
    remedies: bool = False
    root: str | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """The losses of a request by requirement, the closest roots, and changes that would help.

    ``fits`` is the number of roots with a candidate, None if the funnel did not finish. If the
    funnel finished, the sum of all losses and ``fits`` is ``roots``. ``remedies`` is empty unless
    the caller requests remedies. If the caller asks about one ``root``, ``near_misses`` has this
    root only, unless it fits; ``root_fits`` is None if the funnel did not finish. ``undetermined``
    names the computations that did not finish within the budget: "funnel", "near_misses",
    "remedies". ``names`` has the names of the providers whose trees the request names, by UUID,
    and the numbers of the ``numbered`` groups, by suffix.
    """

    query: str
    microversion: str
    roots: int
    fits: int | None
    funnel: tuple[FunnelRow, ...]
    near_misses: tuple[NearMiss, ...] = ()
    remedies: tuple[Remedy[Change], ...] = ()
    undetermined: tuple[str, ...] = ()
    root: ProviderName | None = None
    root_fits: bool | None = None
    names: Names = field(default_factory=dict)
    numbered: tuple[RequestGroup, ...] = ()

    @property
    def last(self) -> FunnelRow | None:
        """The row that removed the last roots of a request that no root fits."""
        return self.funnel[-1] if self.funnel and self.fits == 0 else None

    @property
    def reason(self) -> str:
        """The code of the reason why a request has no candidates."""
        if self.fits is None:
            return UNDETERMINED
        return self.last.requirement.code if self.last else NO_PROVIDERS

    def document(self) -> Json:
        """Return the JSON document of an explanation that was computed now."""
        names = self.names
        of_root = {**json_fields(self.root), "fits": self.root_fits} if self.root else None
        optional = {"groups": [*self._groups()], "root": of_root}
        return document(
            query=self.query,
            microversion=self.microversion,
            at=timestamp(datetime.now(UTC)),
            roots=self.roots,
            fits=self.fits,
            funnel=[row.document(names) for row in self.funnel],
            near_misses=[miss.document(names) for miss in self.near_misses],
            remedies=[remedy.document(names) for remedy in self.remedies],
            undetermined=self.undetermined,
            **{name: value for name, value in optional.items() if value},
        )

    def _groups(self) -> Iterator[Json]:
        for group in self.numbered:
            number, parameters = self.names[group.suffix], replace(group, suffix="")
            spelled = "&".join(parameters.spelled(self.names))
            text = f"group {number}: {spelled}, suffix {group.suffix}"
            yield {"group": group.suffix, "number": number, "text": text}


def explain(snapshot: Snapshot, question: Question, deadline: Deadline) -> Explanation:
    """Return the explanation of a request on a snapshot.

    ``request.limit`` is ignored. ``undetermined`` lists the computations that do not finish before
    the deadline.

    Raises: UnknownTrait, UnknownResourceClass, UnknownRoot.
    """
    request = question.request
    check_names(snapshot, request)
    row = None if question.root is None else root_of(snapshot, question.root)
    slotted = SlottedRequest.of(request)
    numbers = numbers_of(request)
    names = {**numbers, **names_of_trees(snapshot, request)}
    fitting_roots = FittingRoots(snapshot, deadline)
    undetermined: list[str] = []
    with _listed("funnel", undetermined):
        funnel = Funnel(snapshot)
        scene = scene_of(snapshot, slotted, deadline)
        funnel.run(scene, fitting_roots)
    rows = funnel.rows
    fits = None if undetermined else int(np.count_nonzero(funnel.left))
    best: tuple[NearMiss, ...] = ()
    if not undetermined:
        closest = NearMisses(scene)
        with _listed(NEAR_MISSES_CUT, undetermined):
            if row is None:
                closest.run(funnel, NEAR_MISSES)
            elif not funnel.left[row]:
                closest.solve(row)
        best = tuple(near_misses(scene, closest.solved[:NEAR_MISSES]))
    is_cut = any(miss.completeness is Completeness.CUT for miss in best)
    if is_cut and NEAR_MISSES_CUT not in undetermined:
        undetermined.append(NEAR_MISSES_CUT)
    possible_remedies = Remedies(snapshot, request, question.microversion, fitting_roots)
    if question.remedies:
        with _listed("remedies", undetermined):
            possible_remedies.run(fits or 0)
    return Explanation(
        query=question.query,
        microversion=str(question.microversion),
        roots=int(np.count_nonzero(funnel.roots)),
        fits=fits,
        funnel=rows,
        near_misses=best,
        remedies=possible_remedies.ordered,
        undetermined=tuple(undetermined),
        root=None if row is None else named(snapshot, row),
        root_fits=None if fits is None or row is None else bool(funnel.left[row]),
        names=names,
        numbered=tuple(group for group in request.groups if group.suffix in numbers),
    )


def names_of_trees(snapshot: Snapshot, request: CandidateRequest) -> Names:
    """Return the names of the providers whose trees the groups name, if they exist."""
    uuids = (each.named_provider for group in request.groups for each in group.requirements)
    states = map(snapshot.state, filter(None, uuids))
    return {state.provider.uuid: state.provider.name for state in states if state}


def root_of(snapshot: Snapshot, uuid: str) -> int:
    """Return the row of the root of a provider's tree.  Raises: UnknownRoot."""
    row = snapshot.forest.row_of.get(uuid)
    if row is None:
        raise UnknownRoot(uuid)
    return snapshot.forest.root.item(row)


@contextmanager
def _listed(need: str, undetermined: list[str]) -> Iterator[None]:
    """Add a part of the explanation to the list if the part exceeds the deadline."""
    try:
        yield
    except SearchDeadlineExceeded:
        undetermined.append(need)


def explained(snapshot: Snapshot, question: Question) -> Explanation:
    """Return the explanation of the request on this snapshot.

    Takes about ``BUDGET_SECONDS`` at most.
    Raises: UnknownRoot; BadRequest, see ``check_known``.
    """
    check_known(snapshot, question.request)
    return explain(snapshot, question, Deadline(BUDGET_SECONDS, request_clock()))


def check_known(snapshot: Snapshot, request: CandidateRequest) -> None:
    """Raise BadRequest with similar names if a trait or resource class is unknown."""
    try:
        check_names(snapshot, request)
    except UnknownClassOrTrait as error:
        unknown = unknown_names.unknown(error, snapshot, request)
        raise BadRequest(f"{unknown.sentence}.") from None


# --- numbers of groups
#
# Nova uses a UUID as the suffix of each PCI device and of each port of Neutron, makes it for each
# request, and sorts the parameters of the query by it. Sentences call such a group by its number.
# Requests are equal if they differ only in such suffixes, and in the order of the parameters.


def numbers_of(request: CandidateRequest) -> Names:
    """Return the numbers of the groups with a UUID in their suffix, in the order of the query.

    A number that is the suffix of another group is left out.
    """
    suffixes = [group.suffix for group in request.groups]
    unused = (number for number in map(str, count(1)) if number not in suffixes)
    return {suffix: next(unused) for suffix in suffixes if _HAS_UUID.search(suffix)}


def comparable(request: CandidateRequest, query: str) -> str:
    """Return a text that equal requests have in common: the query if no group has a number."""
    if not numbers_of(request):
        return query
    alike = {
        group.suffix: "&".join(replace(group, suffix="").spelled()) for group in request.groups
    }

    def properties(group: RequestGroup) -> tuple[str, list[list[str]]]:
        subtrees = [named for named in request.same_subtree if group.suffix in named]
        return alike[group.suffix], sorted(
            sorted(alike[suffix] for suffix in named) for named in subtrees
        )

    in_order = replace(request, groups=tuple(sorted(request.groups, key=properties)))
    numbers = numbers_of(in_order)
    parameters = [text for group in in_order.groups for text in group.spelled(numbers)]
    parameters += sorted(each.spelled(names=numbers) for each in request.requirements)
    return f"{'&'.join(parameters)}&limit={request.limit}"
