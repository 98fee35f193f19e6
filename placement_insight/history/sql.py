"""Statements that record, list and remove changes.

The rows of allocations have a consumer, and a provider if it is the only one: a table refers to
those with several. All others have no consumer. The oldest row of each of both is the beginning of
what is recorded completely: a start, or the oldest change that was not removed.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from placement.core.changes import (
    AllocationsChange,
    Change,
    InventoryChange,
    ProviderChange,
    TraitsChange,
)
from placement.db.clocks import utcnow
from placement.db.store import Store
from placement.db.tables import insight_change_providers, insight_changes, resource_providers
from placement.db.transaction import Transaction
from placement.db.writes import Write, chunks
from placement_insight.history.causes import Question, Recorded
from placement_insight.history.model import Record, change_of, columns_of, uuids_of

_START: Final = "start"
_MOST: Final = 1000
_CLOCKS_DIFFER: Final = timedelta(minutes=10)
_ALLOCATIONS: Final = AllocationsChange.kind
AUTHOR: Final = ("request_id", "global_request_id", "project_id", "user_id")

_columns, _reference = insight_changes.c, insight_change_providers.c
_at = _columns.created_at
_INSERT = insight_changes.insert().inline()
# the consumer is locked: its newest row is that of this transaction
_REFER = (
    insight_change_providers.insert()
    .inline()
    .values(
        change_id=sa.select(sa.func.max(_columns.id))
        .where(_columns.consumer_uuid == sa.bindparam("of_consumer"))
        .scalar_subquery()
    )
)
_IDS = sa.select(_columns.id)
_EXTENT = sa.select(sa.func.count(), sa.func.min(_columns.id)).select_from(insight_changes)
_OF_OTHERS, _OF_ALLOCATIONS = _columns.consumer_uuid.is_(None), _columns.consumer_uuid.is_not(None)
_NEWEST_FIRST = (
    sa.select(insight_changes).where(_columns.kind != _START).order_by(_columns.id.desc())
)


@dataclass(frozen=True, slots=True)
class Filter:
    """What to list; None is no condition. Times are naive, in UTC; ``before`` is an id."""

    since: datetime | None = None
    until: datetime | None = None
    providers: Collection[str] | None = None
    consumer: str | None = None
    project_id: str | None = None
    request_id: str | None = None
    kind: str | None = None
    before: int | None = None
    limit: int = 100


def insertions(author: Mapping[str, object], changes: Sequence[Change]) -> list[Write]:
    """Return the writes that insert changes, and refer to those of several providers.

    ``author`` has the columns of the request, None without a value.
    """
    rows = [{**author, **columns_of(change)} for change in changes]
    references = [
        {"of_consumer": change.consumer_uuid, "provider_uuid": uuid}
        for change in changes
        if isinstance(change, AllocationsChange) and len(uuids := uuids_of(change)) > 1
        for uuid in sorted(uuids)
    ]
    return [
        *(Write(_INSERT, chunk) for chunk in chunks(rows)),
        *(Write(_REFER, chunk) for chunk in chunks(references)),
    ]


def begin(store: Store) -> None:
    """Insert a row at which the records begin, unless there are any."""
    with store.read() as tx:
        missing = [uuid for uuid, of in _starts() if _oldest(tx, of) is None]
    if missing:
        row = {"created_at": utcnow(), "kind": _START, "change": ""}
        rows = [{**row, "consumer_uuid": uuid} for uuid in missing]
        store.write(lambda tx: tx.execute_all([Write(_INSERT, rows)]))


def _starts() -> Iterator[tuple[str | None, sa.ColumnElement[bool]]]:
    yield None, _OF_OTHERS
    yield "", _OF_ALLOCATIONS


def prune(store: Store, keep: int, at_most: int) -> None:
    """Remove all but the newest rows of allocations, and of others; some in each transaction.

    Cost: counts both in an index, and reads the rows in excess.
    """
    with store.read() as tx:
        excess = [each for _, of in _starts() if (each := _excess(tx, of, keep)) is not None]
    for condition in excess:
        while store.write(_remove, condition, at_most) == at_most:
            pass


def _excess(
    tx: Transaction, of: sa.ColumnElement[bool], keep: int
) -> sa.ColumnElement[bool] | None:
    """Return the condition of the rows that are in excess, which also other processes remove."""
    count, first = tx.connection.execute(_EXTENT.where(of)).one()
    if count <= keep:
        return None
    rows = _IDS.where(of, _columns.id >= first).order_by(_columns.id)
    last = tx.connection.scalar(rows.offset(count - keep - 1).limit(1))
    return sa.and_(of, _columns.id.between(first, last))


def _remove(tx: Transaction, condition: sa.ColumnElement[bool], at_most: int) -> int:
    """Remove at most so many rows, the oldest; return their number."""
    oldest = _IDS.where(condition).order_by(_columns.id).limit(at_most)
    if ids := tx.connection.scalars(oldest).all():
        tx.connection.execute(insight_changes.delete().where(_columns.id.in_(ids)))
        listed = _reference.change_id.in_(ids)
        tx.connection.execute(insight_change_providers.delete().where(listed))
    return len(ids)


def find(tx: Transaction, filters: Filter) -> list[Record]:
    """Return the records that match all filters, the newest first.

    Cost: ids find times, and indexes providers, consumers and request ids; of other filters, reads
    no more rows than the table has, which is bounded.
    """
    conditions = tuple(_conditions(tx, filters))
    found: dict[int, Record] = {}
    for of_request in _of_requests(filters.request_id):
        for of_providers in _of_providers(filters.providers):
            alternative = _NEWEST_FIRST.where(*conditions, of_request, of_providers)
            records = _records(tx.connection, alternative.limit(filters.limit))
            found |= {record.id: record for record in records}
        if found:
            break
    return [found[id_] for id_ in sorted(found, reverse=True)[: filters.limit]]


def changes_of_kind(
    connection: sa.Connection,
    kind: type[InventoryChange] | type[TraitsChange],
    uuids: Iterable[str],
) -> dict[str, list[Record]]:
    """Return the changes of a kind, by the UUID of the provider, the newest first."""
    found: dict[str, list[Record]] = defaultdict(list)
    for some in chunks(sorted(uuids)):
        conditions = _columns.kind == kind.kind, _columns.provider_uuid.in_(some)
        for record in _records(connection, _NEWEST_FIRST.where(*conditions)):
            if isinstance(change := record.change, kind):
                found[change.uuid].append(record)
    return found


def explaining(connection: sa.Connection, questions: Sequence[Question]) -> Recorded:
    """Return the newest records that questions need.  Cost: one statement, at most 1000 rows."""
    uuids = {uuid for question in questions for uuid in question.providers}
    kinds = {kind.kind for question in questions for kind in question.kinds}
    is_of_kind = _columns.kind.in_({*kinds, ProviderChange.kind})
    own = sa.select(insight_changes, _columns.provider_uuid.label("of"))
    several = sa.select(insight_changes, _reference.provider_uuid.label("of")).join(
        insight_change_providers, _reference.change_id == _columns.id
    )
    both = sa.union_all(
        own.where(_columns.provider_uuid.in_(uuids), is_of_kind),
        several.where(_reference.provider_uuid.in_(uuids), is_of_kind),
    ).subquery()
    oldest = _IDS.where(_OF_ALLOCATIONS).order_by(_columns.id).limit(1).scalar_subquery()
    provider = resource_providers.c
    statement = (
        sa.select(both, provider.generation, oldest.label("oldest"))
        .outerjoin_from(both, resource_providers, provider.uuid == both.c.of)
        .order_by(both.c.id.desc())
        .limit(_MOST)
    )
    records: dict[str, list[Record]] = defaultdict(list)
    generations: dict[str, int | None] = {}
    first = 0
    for row in connection.execute(statement):
        records[row.of].append(_record(row))
        generations[row.of], first = row.generation, row.oldest or 0
    return Recorded(records, generations, first)


def _records(connection: sa.Connection, statement: sa.Select[Any]) -> list[Record]:
    return [_record(row) for row in connection.execute(statement)]


def _record(row: sa.Row[Any]) -> Record:
    author = {name: getattr(row, name) for name in AUTHOR}
    change = change_of(row.kind, row.provider_uuid, row.consumer_uuid, row.change)
    return Record(id=row.id, at=row.created_at, change=change, **author)


def _conditions(tx: Transaction, filters: Filter) -> Iterator[sa.ColumnElement[bool]]:
    equal: Mapping[sa.Column[Any], object] = {
        _columns.consumer_uuid: filters.consumer,
        _columns.project_id: filters.project_id,
        _columns.kind: filters.kind,
    }
    yield from (column == value for column, value in equal.items() if value is not None)
    if filters.kind is not None:
        yield _OF_ALLOCATIONS if filters.kind == _ALLOCATIONS else _OF_OTHERS
    # MariaDB finds rows by a constant id, and not by that of a subquery
    if filters.since is not None:
        tolerance = min(_CLOCKS_DIFFER, filters.since - datetime.min)
        yield _columns.id > _last_before(tx, filters.since - tolerance)
        yield _at >= filters.since
    if filters.until is not None:
        tolerance = min(_CLOCKS_DIFFER, datetime.max - filters.until)
        yield _columns.id <= _last_before(tx, filters.until + tolerance)
        yield _at < filters.until
    if filters.before is not None:
        yield _columns.id < filters.before


def _last_before(tx: Transaction, time: datetime) -> int:
    """Return the id of the last row before a time, or 0.

    Cost: about 20 rows, each by its id. An index by time would cost every write.
    """
    oldest = sa.select(_columns.id, _at).order_by(_columns.id).limit(1)
    low, high = 0, tx.connection.scalar(sa.select(sa.func.max(_columns.id))) or 0
    while low < high:
        middle = (low + high) // 2
        row = tx.connection.execute(oldest.where(_columns.id > middle)).first()
        if row is not None and row.created_at < time:
            low = row.id
        else:
            high = middle
    return low


def _of_requests(id_: str | None) -> list[sa.ColumnElement[bool]]:
    if id_ is None:
        return [sa.true()]
    return [column == id_ for column in (_columns.global_request_id, _columns.request_id)]


def _of_providers(uuids: Collection[str] | None) -> list[sa.ColumnElement[bool]]:
    """Return conditions of which each uses one index."""
    if uuids is None:
        return [sa.true()]
    on_several = sa.select(_reference.change_id).where(_reference.provider_uuid.in_(uuids))
    return [_columns.provider_uuid.in_(uuids), _columns.id.in_(on_several)]


def complete_since(tx: Transaction, kind: str | None) -> datetime | None:
    """Return since when all changes of a kind, or of all kinds, are recorded; None if not at all.

    Commands that load a database, and other implementations, record nothing.
    """
    is_of = {_OF_ALLOCATIONS: kind in (None, _ALLOCATIONS), _OF_OTHERS: kind != _ALLOCATIONS}
    oldest = [_oldest(tx, condition) for condition, is_wanted in is_of.items() if is_wanted]
    return None if None in oldest else max(at for at in oldest if at is not None)


def _oldest(tx: Transaction, condition: sa.ColumnElement[bool]) -> datetime | None:
    oldest = sa.select(_columns.created_at).where(condition).order_by(_columns.id).limit(1)
    at: datetime | None = tx.connection.scalar(oldest)
    return at
