"""``GET /insight/capacity``: the number of claims of a shape that still fit, by group of roots."""

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import webob

from placement import exception
from placement.core.search.deadline import Deadline
from placement.core.snapshot.rows import Indices
from placement.core.snapshot.snapshot import Snapshot
from placement.engine.engine import View
from placement.http.request import Request, accepts_json
from placement.insight import http, queries
from placement.insight.capacity.model import (
    FORMULA,
    Capacity,
    CapacityOfRoots,
    by_aggregate,
    by_root_trait,
)
from placement.insight.documents import document
from placement.parse import validation
from placement.parse.candidates import candidate_request
from placement.policies import rules as policies
from placement.schemas import queries as schemas
from placement.schemas.base import TEXT

CAPACITY_QUERY = queries.also(schemas.CANDIDATES_QUERY, by=TEXT)
_VALIDATORS = validation.query_validators(CAPACITY_QUERY)
BY = ("none", "aggregate", "root_trait", "root")

Group = tuple[Mapping[str, str], Capacity]
"""The properties that the roots of a group have in common, and their capacity."""


def _by(text: str) -> tuple[str, str]:
    by, _, prefix = text.partition(":")
    if by not in BY or bool(prefix) != (by == "root_trait"):
        raise exception.BadRequest(
            f"{validation.PREFIX}by is '{text}'. Use none, aggregate, root or root_trait:PREFIX, "
            "such as root_trait:CUSTOM_AZ_."
        )
    return by, prefix


def capacity(
    capacities: CapacityOfRoots, groups: Iterable[Group], *, query: str, microversion: str
) -> bytes:
    """Return the body of GET /insight/capacity."""
    return document(
        query=query,
        microversion=microversion,
        formula=FORMULA,
        complete=capacities.is_finished,
        **_fields(capacities.of(capacities.rows)),
        by=[{**properties, **_fields(group)} for properties, group in groups],
    )


def _fields(capacity: Capacity) -> dict[str, Any]:
    return {
        "claims": capacity.claims,
        "at_most": capacity.at_most,
        "roots": capacity.roots,
        "exact": capacity.is_exact,
        "largest": capacity.largest,
        "free": capacity.free,
        "stranded": capacity.stranded,
        "limited_by": capacity.limited_by,
    }


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
        groups = _groups(view.snapshot, capacities.rows, by, prefix)
        return capacity(
            capacities,
            list(capacities.of_each(groups)),
            query=queries.text(pairs),
            microversion=str(request.version),
        )

    return http.from_snapshot(request, write)


def _groups(
    snapshot: Snapshot, rows: Indices, by: str, prefix: str
) -> Iterator[tuple[Mapping[str, str], Indices]]:
    """Yield the groups of the considered roots, with the properties they have in common."""
    match by:
        case "aggregate":
            for uuid, roots in by_aggregate(snapshot, rows):
                yield {"aggregate": uuid}, roots
        case "root_trait":
            for name, roots in by_root_trait(snapshot, rows, prefix):
                yield {"root_trait": name}, roots
        case "root":
            for number, row in enumerate(rows.tolist()):
                provider = snapshot.entries.state(row).provider
                yield {"root": provider.uuid, "name": provider.name}, rows[number : number + 1]
