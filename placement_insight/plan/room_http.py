"""``POST /insight/room``: where a request fits after the fewest consumers left."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import webob

from placement.core.text import canonical
from placement.engine.engine import View
from placement.exception import BadRequest
from placement.http.request import (
    MAX_QUERY_LENGTH,
    Request,
    accepts_json,
    query_pairs,
    requires_json,
)
from placement.parse import validation
from placement.schemas.base import NAME, UUID, always, closed
from placement_insight import http, policies, queries
from placement_insight.documents import Json
from placement_insight.explain import explain
from placement_insight.explain.http import question
from placement_insight.plan import document, sql
from placement_insight.plan.http import (
    GROUPS,
    KEEP,
    OF_NOVA,
    STATES,
    groups_of,
    keep_of,
    listed,
    states_of,
)
from placement_insight.plan.model import Holder
from placement_insight.plan.room import Task, rooms

_DEFAULT_LIMIT: Final = 5


ROOM = always(
    closed(
        {
            "query": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_LENGTH},
            "by": {"type": "string", "enum": ["move", "evict"]},
            "evictable": {
                **closed(
                    {
                        "project_ids": listed(NAME),
                        "types": listed(NAME),
                        "consumers": listed(UUID),
                        "older_than": queries.TIME,
                    }
                ),
                "minProperties": 1,
            },
            "keep": listed(KEEP),
            "groups": GROUPS,
            **OF_NOVA,
            **STATES,
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        },
        "query",
    )
)
_VALIDATORS = validation.body_validators(ROOM)


@accepts_json
@requires_json
def make_room(request: Request) -> webob.Response:
    """Return the roots on which the request fits after the fewest consumers left."""
    request.can(policies.PLAN)
    body = queries.body(request, _VALIDATORS)
    if (body.get("by") == "evict") != ("evictable" in body):
        raise BadRequest(
            "Evictable consumers are given exactly if by is evict. Add evictable, with one of "
            "project_ids, types, consumers and older_than, or remove it."
        )
    asked = question(query_pairs(body["query"]), request.version)
    evictable = _evictable(**body["evictable"]) if "evictable" in body else None

    def write(view: View) -> Json:
        services, deadline = request.services, request.services.deadline()
        short = services.shared.short_requests
        explain.check_known(view.snapshot, asked.request)
        states = states_of(body)
        task = Task(
            request=asked.request,
            keep=keep_of(view.snapshot, body),
            read=lambda rows: sql.holders(services.store, view, rows, short, states),
            limit=body.get("limit", _DEFAULT_LIMIT),
            evictable=evictable,
            root=None if asked.root is None else explain.root_of(view.snapshot, asked.root),
            groups=groups_of(request, view, body),
        )
        found = rooms(view.snapshot, task, deadline)
        return document.of_rooms(view.snapshot, found, task)

    return http.computed_of_body(request, body, write)


def _evictable(
    project_ids: Sequence[str] = (),
    types: Sequence[str] = (),
    consumers: Sequence[str] = (),
    older_than: str | None = None,
) -> Callable[[Holder], bool]:
    """Return whether a consumer may be evicted; it must meet all criteria.  Raises: BadRequest."""
    uuids, before = frozenset(map(canonical, consumers)), datetime.max
    projects, names = frozenset(project_ids), frozenset(types)
    if older_than is not None:
        name, prefix = "evictable.older_than", validation.PREFIX_OF_BODY
        before = queries.time(name, older_than, prefix).replace(tzinfo=None)

    def is_evictable(holder: Holder) -> bool:
        return (
            (not uuids or holder.uuid in uuids)
            and (not projects or holder.project_id in projects)
            and (not names or holder.type in names)
            and (holder.created_at is None or holder.created_at < before)
        )

    return is_evictable
