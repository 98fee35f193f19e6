"""``GET /insight/capacity``: how often a shape can still be claimed, and where."""

import time
from collections.abc import Iterator, Mapping

import webob

from placement.core.insight.capacity import CapacityOfRoots, by_aggregate, by_root_trait
from placement.core.search.deadline import Deadline
from placement.core.snapshot.rows import Indices
from placement.core.snapshot.snapshot import Snapshot
from placement.engine.engine import View
from placement.handlers.insight import conditional
from placement.parse.insight_capacity import CapacityQuery, capacity_query
from placement.policies import insight as policies
from placement.render import insight_capacity as render
from placement.wsgi_wrapper import Request, accepts_json


@accepts_json
def show_capacity(request: Request) -> webob.Response:
    """Return how often the shape fits, in all and by group of roots."""
    request.context.can(policies.CAPACITY)
    query = capacity_query(request.query_pairs, request.version)
    seconds = request.services.search.budget_seconds

    def write(view: View) -> bytes:
        capacities = CapacityOfRoots(
            view.snapshot, query.request, Deadline(seconds, time.monotonic)
        )
        by = list(capacities.of_each(_groups(view.snapshot, capacities.rows, query)))
        return render.capacity(
            capacities.of(capacities.rows),
            by,
            query=query.text,
            microversion=str(request.version),
            is_complete=capacities.is_finished,
        )

    return conditional.from_snapshot(request, write)


def _groups(
    snapshot: Snapshot, rows: Indices, query: CapacityQuery
) -> Iterator[tuple[Mapping[str, str], Indices]]:
    """Yield each group of the considered roots, with what they have in common."""
    match query.by:
        case "aggregate":
            for uuid, roots in by_aggregate(snapshot, rows):
                yield {"aggregate": uuid}, roots
        case "root_trait":
            for name, roots in by_root_trait(snapshot, rows, query.prefix):
                yield {"root_trait": name}, roots
        case "root":
            for number, row in enumerate(rows.tolist()):
                provider = snapshot.entries.state(row).provider
                yield {"root": provider.uuid, "name": provider.name}, rows[number : number + 1]
