"""Statements that write and list recorded requests: see :mod:`placement.insight.recording.model`.

The table is bounded. Rows are only added and removed, never changed, and no other table refers to
them. A writer therefore waits only for another writer that removes the same rows.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

import sqlalchemy as sa

from placement import exception
from placement.db.store import Store
from placement.db.tables import insight_requests
from placement.insight.recording.model import (
    NAME_CONFLICT,
    RecordedFilter,
    RecordedRequest,
    first_id,
)

_columns = insight_requests.c
_NEWEST_FIRST = sa.select(insight_requests).order_by(_columns.id.desc())
_REQUESTS = _NEWEST_FIRST.where(_columns.kind != NAME_CONFLICT)
_IDS = sa.select(_columns.id)

MOST_OF_ONE_ID: Final = 1000


class InsightRequests:
    """Recorded requests, in one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def insert(self, records: Sequence[RecordedRequest]) -> None:
        """Insert recorded requests.  One statement."""
        self._connection.execute(
            insight_requests.insert(), [_values(record) for record in records]
        )

    def find(self, filters: RecordedFilter) -> list[RecordedRequest]:
        """Return the requests that match all filters, the newest first.

        Cost: reads no more rows than the table holds, which is bounded.
        """
        statement = _REQUESTS.limit(filters.limit)
        if filters.since is not None:
            statement = statement.where(_columns.id >= first_id(filters.since))
        if filters.before is not None:
            statement = statement.where(_columns.id < filters.before)
        if filters.project_id is not None:
            statement = statement.where(_columns.project_id == filters.project_id)
        if filters.reason is not None:
            statement = statement.where(_columns.reason == filters.reason)
        return self._all(statement)

    def of_request(self, request_id: str, limit: int) -> list[RecordedRequest]:
        """Return the requests with a request id or a global request id, the newest first."""
        return self._all(
            _REQUESTS.where(
                sa.or_(_columns.request_id == request_id, _columns.global_request_id == request_id)
            ).limit(limit)
        )

    def conflicts(self, from_id: int, limit: int) -> list[RecordedRequest]:
        """Return recorded conflicts of names from this id on, the newest first."""
        return self._all(
            _NEWEST_FIRST.where(_columns.kind == NAME_CONFLICT, _columns.id >= from_id).limit(
                limit
            )
        )

    def prune(self, oldest_id: int, keep: int, at_most: int) -> int:
        """Remove rows below an id, and rows in excess of ``keep``; return the number removed.

        Removes the oldest rows first, ``at_most`` rows in total.
        """
        outdated = self._ids(_IDS.where(_columns.id < oldest_id), at_most)
        if len(outdated) < at_most:
            count = self._connection.execute(sa.select(sa.func.count(_columns.id))).scalar_one()
            excess = min(count - keep, at_most)
            if excess > len(outdated):
                outdated = self._ids(_IDS, excess)
        if outdated:
            self._connection.execute(insight_requests.delete().where(_columns.id.in_(outdated)))
        return len(outdated)

    def _ids(self, statement: sa.Select[tuple[int]], limit: int) -> list[int]:
        rows = self._connection.execute(statement.order_by(_columns.id).limit(limit))
        return [row.id for row in rows]

    def _all(self, statement: sa.Select[Any]) -> list[RecordedRequest]:
        return [_record(row) for row in _rows(self._connection, statement)]


def _rows(connection: sa.Connection, statement: sa.Select[Any]) -> Sequence[Any]:
    return connection.execute(statement).mappings().all()


def _values(record: RecordedRequest) -> dict[str, Any]:
    values = asdict(record)
    at = values.pop("at")
    return {**values, "created_at": at.replace(tzinfo=None)}


def _record(row: Any) -> RecordedRequest:
    values = dict(row)
    return RecordedRequest(at=values.pop("created_at"), **values)


def find(store: Store, criteria: RecordedFilter) -> Sequence[RecordedRequest]:
    """Return the recorded requests that the filter describes, the newest first."""
    with store.read() as tx:
        recorded: Sequence[RecordedRequest] = InsightRequests(tx.connection).find(criteria)
    return recorded


def of_request(store: Store, request_id: str) -> Sequence[RecordedRequest]:
    """Return the recorded requests with this request id or global request id, the newest first.

    Raises: RequestNotRecorded.
    """
    with store.read() as tx:
        recorded: Sequence[RecordedRequest] = InsightRequests(tx.connection).of_request(
            request_id, MOST_OF_ONE_ID
        )
    if not recorded:
        raise exception.RequestNotRecorded(request_id)
    return recorded
