"""Statements that write and list recorded requests: see ``explain.records.model``.

The table is bounded, and no other table refers to its rows. Equal requests of an hour are one row,
which has their number: a writer waits for another writer that counts equal requests.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from placement import exception
from placement.db.store import Store
from placement.db.tables import insight_requests
from placement.db.transaction import Transaction
from placement_insight.explain.records.model import (
    IDS_OF_AN_HOUR,
    LOST_RACE,
    NAME_CONFLICT,
    NO_CANDIDATES,
    Found,
    Occurrence,
    RecordedFilter,
    RecordedRequest,
    first_id,
)
from placement_insight.explain.records.summary import RecordsOfHour

_columns = insight_requests.c
_NEWEST_FIRST = sa.select(insight_requests).order_by(_columns.id.desc())
_REQUESTS = _NEWEST_FIRST.where(_columns.kind != NAME_CONFLICT)
_COUNTED = ("requests", "superseded", "last_at", "latest")
_COUNTS = sa.select(*(_columns[name] for name in ("id", "equal_key", *_COUNTED)))
_UPDATE = insight_requests.update().where(_columns.id == sa.bindparam("of"))  # and the values
_IDS = sa.select(_columns.id)
# The number is not a parameter: for PostgreSQL, a column with one parameter and GROUP BY with
# another one would be different expressions.
_HOUR = (_columns.id - _columns.id % sa.literal_column(str(IDS_OF_AN_HOUR))).label("first_id")
_OF_HOUR = (_HOUR, _columns.kind, _columns.reason, _columns.subject, _columns.project_id)
_HOURLY = (
    sa.select(*_OF_HOUR, sa.func.sum(_columns.requests - _columns.superseded))
    .where(_columns.kind != NAME_CONFLICT, _columns.requests > _columns.superseded)
    .group_by(*_OF_HOUR)
)

MOST_OF_ONE_ID: Final = 1000
_LONGEST_BETWEEN: Final = timedelta(minutes=10)
"""The longest time between a request and one that supersedes it."""
_OF_OCCURRENCE: Final = ("request_id", "global_request_id", "superseded", "written")


def add(tx: Transaction, records: Sequence[RecordedRequest]) -> int:
    """Insert the records, or add each to the row of equal requests; return the number inserted.

    Of one hour, all equal requests of all processes have one row.
    """
    by_key = {record.equal_key: record for record in records}
    equal = _COUNTS.where(_columns.equal_key.in_(by_key)).with_for_update()
    counted = []
    for row in tx.connection.execute(equal).mappings():
        record = by_key.pop(row["equal_key"])
        counted.append(replace(record, **_with_latest(row)).with_equal(record))
    _update(tx, counted)
    if by_key:
        rows = [_row(record) for record in by_key.values()]
        tx.connection.execute(insight_requests.insert(), rows)
    return len(by_key)


def supersede(store: Store, found: Found) -> None:
    """Mark the requests without candidates, and the lost races, that later requests supersede.

    Cost: reads the rows of the last minutes, and locks only rows that it changes.
    """
    since = min(found.values()) - _LONGEST_BETWEEN
    recent = sa.select(_columns.id, _columns.latest).where(
        _columns.id >= _first_id_of_hour(since),
        _columns.kind.in_((NO_CANDIDATES, LOST_RACE)),
        _columns.last_at >= since,
    )
    with store.read() as tx:
        ids = [
            id_
            for id_, latest in tx.connection.execute(recent)
            if any(each.is_superseded_by(found) for each in _latest(latest))
        ]
    if ids:
        store.write(_supersede, ids, found)


def _supersede(tx: Transaction, ids: Sequence[int], found: Found) -> None:
    locked = sa.select(insight_requests).where(_columns.id.in_(ids)).with_for_update()
    _update(tx, [record.superseded_by(found) for record in _records(tx, locked)])


def _update(tx: Transaction, records: Sequence[RecordedRequest]) -> None:
    """Write the numbers and the latest requests of records that exist."""
    rows = [_row(record) for record in records]
    if rows:
        values = [{"of": row["id"]} | {name: row[name] for name in _COUNTED} for row in rows]
        tx.connection.execute(_UPDATE, values)


def _first_id_of_hour(at: datetime) -> int:
    """Return the smallest id of a record that may have requests of this time (naive UTC)."""
    return first_id(at.replace(minute=0, second=0, microsecond=0, tzinfo=UTC))


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
        return _records(tx, _REQUESTS.where(*_conditions(filters)).limit(filters.limit))


def hourly(store: Store, filters: RecordedFilter) -> list[RecordsOfHour]:
    """Return the numbers of the recorded requests that match all filters, by hour.

    Cost: reads the rows of the period, without their explanations.
    """
    with store.read() as tx:
        rows = tx.connection.execute(_HOURLY.where(*_conditions(filters)))
        return [RecordsOfHour(*row) for row in rows]


def _conditions(filters: RecordedFilter) -> Iterator[sa.ColumnElement[bool]]:
    if filters.since is not None:
        since = filters.since.astimezone(UTC).replace(tzinfo=None)
        yield _columns.id >= _first_id_of_hour(since)
        yield sa.or_(_columns.id >= first_id(filters.since), _columns.last_at >= since)
    if filters.before is not None:
        yield _columns.id < filters.before
    if filters.project_id is not None:
        yield _columns.project_id == filters.project_id
    if filters.reason is not None:
        yield _columns.reason == filters.reason


def of_request(store: Store, request_id: str) -> list[RecordedRequest]:
    """Return the records of requests with this id or global id: the decisive one first.

    Superseded requests are last, others in the order of time, the newest first.
    Raises: RequestNotRecorded.
    """
    quoted = json.dumps(request_id)
    statement = _REQUESTS.where(
        sa.or_(
            _columns.request_id == request_id,
            _columns.global_request_id == request_id,
            sa.and_(_columns.requests > 1, _columns.latest.contains(quoted, autoescape=True)),
        )
    )
    with store.read() as tx:
        records = _records(tx, statement.limit(MOST_OF_ONE_ID))
    with_id = [(each, record) for record in records if (each := record.of(request_id))]
    if not with_id:
        raise exception.RequestNotRecorded(request_id)
    with_id.sort(key=lambda pair: (not pair[0].superseded, pair[0].at), reverse=True)
    return [record for _, record in with_id]


def conflicts(tx: Transaction, from_id: int, limit: int) -> list[RecordedRequest]:
    """Return recorded conflicts of names from this id on, the newest first."""
    conflict = sa.and_(_columns.kind == NAME_CONFLICT, _columns.id >= from_id)
    return _records(tx, _NEWEST_FIRST.where(conflict).limit(limit))


def _records(tx: Transaction, statement: sa.Executable) -> list[RecordedRequest]:
    return [
        RecordedRequest(**_with_latest(row)) for row in tx.connection.execute(statement).mappings()
    ]


def _row(record: RecordedRequest) -> dict[str, object]:
    """Return the columns of a record."""
    row = {field.name: getattr(record, field.name) for field in fields(record)}
    latest = [
        (each.at.isoformat(), *(getattr(each, name) for name in _OF_OCCURRENCE))
        for each in record.latest
    ]
    return {**row, "latest": json.dumps(latest)}


def _with_latest(row: sa.RowMapping) -> dict[str, Any]:
    return {**row, "latest": _latest(row["latest"])}


def _latest(text: str) -> tuple[Occurrence, ...]:
    """Return the latest requests of a row."""
    rows = json.loads(text)
    return tuple(Occurrence(datetime.fromisoformat(at), *others) for at, *others in rows)
