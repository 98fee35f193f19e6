"""Statements that write and list recorded requests: see :mod:`placement.insight.recording.model`.

The table is bounded. Rows are only added and removed, never changed, and no other table refers to
them. A writer therefore waits only for another writer that removes the same rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, Final

import sqlalchemy as sa

from placement import exception
from placement.db.resources.names import rows_named
from placement.db.store import Store
from placement.db.tables import insight_requests, resource_providers
from placement.db.transaction import Transaction
from placement.insight.recording.model import (
    IDS_OF_AN_HOUR,
    NAME_CONFLICT,
    RecordedFilter,
    RecordedRequest,
    first_id,
)
from placement.insight.recording.summary import RecordsOfHour

_columns = insight_requests.c
_NEWEST_FIRST = sa.select(insight_requests).order_by(_columns.id.desc())
_REQUESTS = _NEWEST_FIRST.where(_columns.kind != NAME_CONFLICT)
_IDS = sa.select(_columns.id)
_PROVIDERS = sa.select(resource_providers.c.uuid, resource_providers.c.name)
# The number is not a parameter: for PostgreSQL, a column with one parameter and GROUP BY with
# another one would be different expressions.
_HOUR = (_columns.id - _columns.id % sa.literal_column(str(IDS_OF_AN_HOUR))).label("first_id")
_OF_HOUR = (_HOUR, _columns.kind, _columns.reason, _columns.subject, _columns.project_id)
_HOURLY = (
    sa.select(*_OF_HOUR, sa.func.count()).where(_columns.kind != NAME_CONFLICT).group_by(*_OF_HOUR)
)

MOST_OF_ONE_ID: Final = 1000


def insert(tx: Transaction, records: Sequence[RecordedRequest]) -> int:
    """Insert recorded requests; return their number.  One statement."""
    tx.connection.execute(insight_requests.insert(), [asdict(record) for record in records])
    return len(records)


def prune(tx: Transaction, oldest_id: int, keep: int, at_most: int) -> int:
    """Remove rows below an id, and rows in excess of ``keep``; return the number removed.

    Removes the oldest rows first, ``at_most`` rows in total.
    """
    first_excess = tx.connection.scalar(_IDS.order_by(_columns.id.desc()).offset(keep).limit(1))
    end = oldest_id if first_excess is None else max(oldest_id, first_excess + 1)
    removable = _IDS.where(_columns.id < end).order_by(_columns.id).limit(at_most)
    ids = tx.connection.scalars(removable).all()
    if ids:
        tx.connection.execute(insight_requests.delete().where(_columns.id.in_(ids)))
    return len(ids)


def find(store: Store, filters: RecordedFilter) -> list[RecordedRequest]:
    """Return the recorded requests that match all filters, the newest first.

    Cost: reads no more rows than the table holds, which is bounded.
    """
    with store.read() as tx:
        return _records(tx, _matching(_REQUESTS, filters).limit(filters.limit))


def hourly(store: Store, filters: RecordedFilter) -> list[RecordsOfHour]:
    """Return the numbers of the recorded requests that match all filters, by hour.

    Cost: reads the rows of the period, without their explanations.
    """
    with store.read() as tx:
        rows = tx.connection.execute(_matching(_HOURLY, filters))
        return [RecordsOfHour(*row) for row in rows]


def _matching(statement: sa.Select[Any], filters: RecordedFilter) -> sa.Select[Any]:
    if filters.since is not None:
        statement = statement.where(_columns.id >= first_id(filters.since))
    if filters.before is not None:
        statement = statement.where(_columns.id < filters.before)
    if filters.project_id is not None:
        statement = statement.where(_columns.project_id == filters.project_id)
    if filters.reason is not None:
        statement = statement.where(_columns.reason == filters.reason)
    return statement


def of_request(store: Store, request_id: str) -> list[RecordedRequest]:
    """Return the recorded requests with this request id or global request id, the newest first.

    Raises: RequestNotRecorded.
    """
    statement = _REQUESTS.where(
        sa.or_(_columns.request_id == request_id, _columns.global_request_id == request_id)
    )
    with store.read() as tx:
        recorded = _records(tx, statement.limit(MOST_OF_ONE_ID))
    if not recorded:
        raise exception.RequestNotRecorded(request_id)
    return recorded


def conflicts(tx: Transaction, from_id: int, limit: int) -> list[RecordedRequest]:
    """Return recorded conflicts of names from this id on, the newest first."""
    conflict = sa.and_(_columns.kind == NAME_CONFLICT, _columns.id >= from_id)
    return _records(tx, _NEWEST_FIRST.where(conflict).limit(limit))


def provider_names(store: Store, uuids: Iterable[str]) -> dict[str, str]:
    """Return the names of the providers that exist and have one, by UUID.  One statement."""
    with store.read() as tx:
        rows = rows_named(tx.connection, _PROVIDERS, resource_providers.c.uuid, uuids)
        return {row.uuid: row.name for row in rows if row.name is not None}


def _records(tx: Transaction, statement: sa.Select[Any]) -> list[RecordedRequest]:
    return [RecordedRequest(**row) for row in tx.connection.execute(statement).mappings()]
