"""``POST /insight/room``: where a request fits after the fewest consumers left."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qsl

import webob

from placement.core.text import canonical
from placement.engine.engine import View
from placement.exception import BadRequest
from placement.http.request import Request, accepts_json, requires_json
from placement.insight import queries
from placement.insight.documents import Json, document
from placement.insight.explanation import explain
from placement.insight.explanation.query import question
from placement.insight.whatif import sql
from placement.insight.whatif.document import room_fields
from placement.insight.whatif.http import (
    KEEP,
    checked_body,
    deadline,
    keep_of,
    listed,
    of_body,
)
from placement.insight.whatif.model import Holder
from placement.insight.whatif.room import Task, rooms
from placement.parse import validation
from placement.policies import rules as policies
from placement.schemas.base import NAME, UUID, always, closed

_DEFAULT_LIMIT: Final = 5


ROOM = always(
    closed(
        {
            "query": {"type": "string", "minLength": 1},
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
    body = checked_body(request, _VALIDATORS)
    if (body.get("by") == "evict") != ("evictable" in body):
        raise BadRequest(
            "Evictable consumers are given exactly if by is evict. Add evictable, with one of "
            "project_ids, types, consumers and older_than, or remove it."
        )
    asked = question(parse_qsl(body["query"], keep_blank_values=True), request.version)
    evictable = _evictable(body["evictable"]) if "evictable" in body else None

    def write(view: View) -> Json:
        snapshot = view.snapshot
        explain.check_known(snapshot, asked.request)
        task = Task(
            request=asked.request,
            keep=keep_of(body),
            read=lambda rows: sql.holders(request.services.store, view, rows),
            limit=body.get("limit", _DEFAULT_LIMIT),
            evictable=evictable,
            root=None if asked.root is None else explain.root_of(snapshot, asked.root),
        )
        limit = deadline(request.services.search.budget_seconds)
        return document(**room_fields(snapshot, rooms(snapshot, task, limit)))

    return of_body(request, body, write)


def _evictable(criteria: Mapping[str, Any]) -> Callable[[Holder], bool]:
    """Return whether a consumer may be evicted; it must meet all criteria.  Raises: BadRequest."""
    consumers = frozenset(map(canonical, criteria.get("consumers", ())))
    before: datetime | None = None
    if "older_than" in criteria:
        before = queries.time("older_than", criteria["older_than"]).replace(tzinfo=None)

    def is_evictable(holder: Holder) -> bool:
        created = holder.created_at
        return (
            (not consumers or holder.uuid in consumers)
            and holder.project_id in criteria.get("project_ids", (holder.project_id,))
            and holder.type in criteria.get("types", (holder.type,))
            and (before is None or created is None or created < before)
        )

    return is_evictable
