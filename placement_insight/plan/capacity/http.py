"""``GET /insight/capacity``: how often a shape, or a mix of shapes, fits, by group of roots."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import webob

from placement import exception
from placement.core.request import CandidateRequest
from placement.core.search.deadline import Deadline
from placement.core.snapshot.rows import Indices
from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import canonical
from placement.engine.engine import View
from placement.engine.shared import request_clock
from placement.http.request import Request, accepts_json, query_pairs
from placement.microversion import Version
from placement.parse import validation
from placement.parse.candidates import candidate_request
from placement.schemas import queries as schemas
from placement.schemas.base import TEXT, UUID, always, closed
from placement_insight import http, policies, queries
from placement_insight.documents import Json, document
from placement_insight.plan.capacity.fleet import Fleet
from placement_insight.plan.capacity.mix import CapacityOfMix
from placement_insight.plan.capacity.model import FORMULA, CapacityOfRoots, by_root_trait, grouped

MOST_SHAPES = 8
_BY = "none, aggregate, root or root_trait:PREFIX, such as root_trait:CUSTOM_AZ_"
_UUID_AND_NUMBER = "^[0-9a-fA-F-]{36}:[1-9][0-9]{0,4}$"
_OWN = {
    "by": queries.described(_BY, "^(none|aggregate|root|root_trait:.+)$"),
    "like": queries.described("UUID:N, the root of a host and a number", _UUID_AND_NUMBER),
    "without": UUID,
    "shape": TEXT,
    "share": queries.described("a number from 1 to 999999", "^[1-9][0-9]{0,5}$"),
}
_HYPOTHETICAL = ("like", "without", "shape")
CAPACITY_QUERY = queries.also(schemas.CANDIDATES_QUERY, **_OWN)
_VALIDATORS = validation.query_validators(always(closed(_OWN)))


@dataclass(frozen=True, slots=True)
class Shape:
    """A request for candidates with its query string, and how often a mix has it."""

    query: str
    request: CandidateRequest
    share: int

    @classmethod
    def of(cls, pairs: validation.QueryPairs, version: Version, share: int = 1) -> "Shape":
        """Return the shape of a query.  Raises: BadRequest, as ``candidate_request``."""
        request = candidate_request(pairs, version, in_words=True)
        return cls(queries.text(pairs), request, share)


@accepts_json
def show_capacity(request: Request) -> webob.Response:
    """Return the number of claims that fit, in total and by group of roots."""
    request.can(policies.CAPACITY)
    queries.check_has_candidates(request.version)
    pairs = [pair for pair in request.query_pairs if pair[0] in _OWN]
    own = queries.repeated(request, pairs, _VALIDATORS, "by")
    fleet = _fleet(own)
    by, _, prefix = own.get("by", ["none"])[-1].partition(":")
    shapes = _shapes(request, own)

    def write(view: View) -> Json:
        snapshot = fleet.applied(view.snapshot)
        deadline = Deadline(request.services.search.budget_seconds, request_clock())
        is_mix = "shape" in own
        return document(
            **({} if is_mix else {"query": shapes[0].query}),
            microversion=str(request.version),
            formula=FORMULA,
            **fleet.described(view.snapshot),
            **_of_mix(snapshot, shapes, deadline)
            if is_mix
            else _of_shape(snapshot, shapes[0], deadline, by, prefix),
        )

    is_hypothetical = not own.keys().isdisjoint(_HYPOTHETICAL)
    return (http.computed if is_hypothetical else http.from_snapshot)(request, write)


def _fleet(own: Mapping[str, Sequence[str]]) -> Fleet:
    like = Counter[str]()
    for text in own.get("like", ()):
        uuid, _, count = text.partition(":")
        like[canonical(uuid)] += int(count)
    return Fleet(list(dict.fromkeys(map(canonical, own.get("without", ())))), like)


def _shapes(request: Request, own: Mapping[str, Sequence[str]]) -> Sequence[Shape]:
    """Return the shapes of the mix, or the only shape.  Raises: BadRequest."""
    pairs = [pair for pair in request.query_pairs if pair[0] not in _OWN]
    texts, shares = own.get("shape", ()), own.get("share", ())
    if not texts and not shares:
        return [Shape.of(pairs, request.version)]
    if len(shares) != len(texts):
        raise exception.BadRequest(
            f"{validation.PREFIX}there are {len(texts)} shapes and {len(shares)} shares. Give "
            "shape=QUERY&share=NUMBER for each shape, with QUERY encoded."
        )
    if len(texts) > MOST_SHAPES:
        raise exception.BadRequest(
            f"{validation.PREFIX}there are {len(texts)} shapes; a mix has at most {MOST_SHAPES}."
        )
    if pairs or own.get("by", ["none"])[-1] != "none":
        name = pairs[0][0] if pairs else "by"
        raise exception.BadRequest(
            f"{validation.PREFIX}{name} cannot be used beside shape. Put the requirements of a "
            "shape, such as member_of, into its query."
        )
    return [
        Shape.of(query_pairs(text), request.version, int(share))
        for text, share in zip(texts, shares, strict=True)
    ]


def _of_shape(snapshot: Snapshot, shape: Shape, deadline: Deadline, by: str, prefix: str) -> Json:
    capacities = CapacityOfRoots(snapshot, shape.request, deadline)
    total = capacities.of(capacities.rows)
    groups = list(capacities.of_each(_groups(snapshot, capacities.rows, by, prefix)))
    return {
        "complete": capacities.is_finished,
        **total._asdict(),
        "by": [{**properties, **group._asdict()} for properties, group in groups],
    }


def _of_mix(snapshot: Snapshot, shapes: Sequence[Shape], deadline: Deadline) -> Json:
    mix = CapacityOfMix(snapshot, [(each.request, each.share) for each in shapes], deadline)
    total = mix.total()
    return {
        "shapes": [
            {
                "query": shape.query,
                "share": shape.share,
                "claims": alone.claims,
                "at_most": alone.at_most,
            }
            for shape, alone in zip(shapes, mix.alone, strict=True)
        ],
        "complete": mix.is_finished,
        **total._asdict(),
    }


def _groups(
    snapshot: Snapshot, rows: Indices, by: str, prefix: str
) -> Iterator[tuple[Mapping[str, str], Indices]]:
    """Yield the groups of the considered roots, with the properties they have in common."""
    match by:
        case "aggregate":
            for uuid, roots in grouped(snapshot.aggregates, rows, snapshot.size):
                yield {"aggregate": uuid}, roots
        case "root_trait":
            for name, roots in by_root_trait(snapshot, rows, prefix):
                yield {"root_trait": name}, roots
        case "root":
            for number, row in enumerate(rows.tolist()):
                provider = snapshot.entries.state(row).provider
                yield {"root": provider.uuid, "name": provider.name}, rows[number : number + 1]
