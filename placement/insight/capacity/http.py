"""``GET /insight/capacity``: the number of claims of a shape that still fit, by group of roots."""

import time
from collections.abc import Iterator, Mapping

import webob

from placement import exception
from placement.core.search.deadline import Deadline
from placement.core.snapshot.rows import Indices
from placement.core.snapshot.snapshot import Snapshot
from placement.engine.engine import View
from placement.http.request import Request, accepts_json
from placement.insight import http, queries
from placement.insight.capacity.model import FORMULA, CapacityOfRoots, by_root_trait, grouped
from placement.insight.documents import document
from placement.parse import validation
from placement.parse.candidates import candidate_request
from placement.policies import rules as policies
from placement.schemas import queries as schemas
from placement.schemas.base import TEXT

CAPACITY_QUERY = queries.also(schemas.CANDIDATES_QUERY, by=TEXT)
_VALIDATORS = validation.query_validators(CAPACITY_QUERY)
BY = ("none", "aggregate", "root_trait", "root")


def _by(text: str) -> tuple[str, str]:
    by, _, prefix = text.partition(":")
    if by not in BY or bool(prefix) != (by == "root_trait"):
        raise exception.BadRequest(
            f"{validation.PREFIX}by is '{text}'. Use none, aggregate, root or root_trait:PREFIX, "
            "such as root_trait:CUSTOM_AZ_."
        )
    return by, prefix


@accepts_json
def show_capacity(request: Request) -> webob.Response:
    """Return the number of claims of the shape that fit, in total and by group of roots."""
    request.can(policies.CAPACITY)
    queries.check_has_candidates(request.version)
    by, prefix = _by(queries.values(request, _VALIDATORS).get("by", "none"))
    pairs = [(key, value) for key, value in request.query_pairs if key != "by"]
    shape = candidate_request(pairs, request.version)
    seconds = request.services.search.budget_seconds

    def write(view: View) -> bytes:
        capacities = CapacityOfRoots(view.snapshot, shape, Deadline(seconds, time.monotonic))
        total = capacities.of(capacities.rows)
        groups = list(capacities.of_each(_groups(view.snapshot, capacities.rows, by, prefix)))
        return document(
            query=queries.text(pairs),
            microversion=str(request.version),
            formula=FORMULA,
            complete=capacities.is_finished,
            **total._asdict(),
            by=[{**properties, **group._asdict()} for properties, group in groups],
        )

    return http.from_snapshot(request, write)


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
