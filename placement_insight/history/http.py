"""``GET /insight/changes``: what changed, and which request of which user changed it."""

from collections.abc import Mapping

import webob

from placement import exception
from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import canonical, timestamp
from placement.http.request import Request, accepts_json
from placement.http.response import json_response
from placement.parse import validation
from placement.schemas.base import NAME, TEXT, UUID, always, closed
from placement_insight import policies, queries
from placement_insight.documents import Json, document
from placement_insight.history import sql
from placement_insight.history.model import KINDS, LARGEST_ID, Record, subject_of, uuids_of
from placement_insight.history.words import handovers, sentence

CHANGES_QUERY = always(
    closed(
        {
            "since": queries.TIME,
            "until": queries.TIME,
            **dict.fromkeys(("provider", "in_tree"), UUID),
            "consumer": TEXT,
            "project_id": NAME,
            "request_id": NAME,
            "kind": {"type": "string", "enum": list(KINDS)},
            **queries.PAGE,
        }
    )
)
_CHANGES = validation.query_validators(CHANGES_QUERY)
_LIMIT = "100"


@accepts_json
def list_changes(request: Request) -> webob.Response:
    """Return the recorded changes that the query describes, the newest first."""
    request.can(policies.CHANGES)
    values = queries.values(request, _CHANGES)
    snapshot = request.services.engine.current()
    criteria = _filter(values, snapshot)
    with request.services.store.read() as tx:
        records = sql.find(tx, criteria)
        since = sql.complete_since(tx, criteria.kind)
    added = handovers(records)
    body = document(
        complete_since=timestamp(since),
        changes=[_change(each, snapshot, added.get(each.id, "")) for each in records],
        next=str(records[-1].id) if len(records) == criteria.limit else None,
    )
    return json_response(request, body)


def _filter(values: Mapping[str, str], snapshot: Snapshot) -> sql.Filter:
    """Return the filter of a query.  Raises: BadRequest."""
    since = queries.since(values)
    until = queries.time("until", values["until"]) if "until" in values else None
    if since and until and since >= until:
        raise exception.BadRequest(
            f"{validation.PREFIX}since, {timestamp(since)}, is not before until, "
            f"{timestamp(until)}. Exchange them, or leave one out."
        )
    return sql.Filter(
        since=since and since.replace(tzinfo=None),
        until=until and until.replace(tzinfo=None),
        providers=_providers(values, snapshot),
        consumer=canonical(values["consumer"]) if "consumer" in values else None,
        project_id=values.get("project_id"),
        request_id=values.get("request_id"),
        kind=values.get("kind"),
        before=min(int(values["marker"]), LARGEST_ID) if "marker" in values else None,
        limit=int(values.get("limit", _LIMIT)),
    )


def _providers(values: Mapping[str, str], snapshot: Snapshot) -> frozenset[str] | None:
    """Return the provider, and the current members of its tree for ``in_tree``; None for any.

    A provider that was deleted has changes, but no tree.
    """
    provider, of_tree = (canonical(values.get(name, "")) for name in ("provider", "in_tree"))
    members = frozenset({of_tree}) | _tree(snapshot, of_tree) if of_tree else None
    if not provider:
        return members
    return frozenset({provider}) & (frozenset({provider}) if members is None else members)


def _tree(snapshot: Snapshot, uuid: str) -> frozenset[str]:
    forest = snapshot.forest
    row = forest.row_of.get(uuid)
    members = () if row is None else forest.members(forest.root.item(row))
    return frozenset(forest.uuids[member] for member in members)


def _change(record: Record, snapshot: Snapshot, added: str) -> Json:
    """Return the document of a record; providers have their current names in its text."""
    change = record.change
    states = (snapshot.state(uuid) for uuid in uuids_of(change))
    names = {state.provider.uuid: state.provider.name for state in states if state}
    provider, consumer, name = subject_of(change)
    return {
        "at": timestamp(record.at),
        **{name: getattr(record, name) for name in sql.AUTHOR},
        "kind": change.kind,
        "provider": provider and {"uuid": provider, "name": name},
        "consumer": consumer and {"uuid": consumer, "type": name},
        "before": change.before,
        "after": change.after,
        "text": sentence(change, names, added),
    }
