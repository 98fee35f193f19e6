"""Statements for consumers, and for the projects, users and types that they refer to.

A write locks consumers before the providers of their allocations.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.core.model import ConsumerClaim
from placement.db.clocks import utcnow
from placement.db.errors import UsageNotCounted, WriteConflict
from placement.db.resources.names import Lookup, ids_by_column, insert_names
from placement.db.resources.providers import IS_COUNTED
from placement.db.tables import (
    ONE,
    allocations,
    consumer_types,
    consumers,
    projects,
    resource_classes,
    resource_providers,
    users,
)
from placement.db.writes import Statements, Write, chunks, execute_all, rows_of, writes_of

PROJECT, USER, TYPE, PROVIDER = "project", "user", "type", "provider"
_COLUMNS: Mapping[str, sa.Column[str]] = {
    PROJECT: projects.c.external_id,
    USER: users.c.external_id,
    TYPE: consumer_types.c.name,
    PROVIDER: resource_providers.c.uuid,
}

NameIds = Mapping[tuple[str, str], int]
"""The ids of projects, users, consumer types and providers, by kind and name.

They are valid in the transaction that read them only. A process that kept them would, after a
restore of the database or a failover that lost commits, write claims as another project's.
"""


class Owner(NamedTuple):
    """The ids of project, user and type of a consumer; ``type_id`` None keeps the type."""

    project_id: int
    user_id: int
    type_id: int | None


def _missing(name_ids: NameIds, claims: Iterable[ConsumerClaim]) -> dict[str, dict[str, None]]:
    """Return the names in the claims that have no id, by kind; equal names once."""
    missing = defaultdict[str, dict[str, None]](dict)
    for claim in claims:
        owner = ((PROJECT, claim.project_id), (USER, claim.user_id), (TYPE, claim.type))
        for kind, name in (*owner, *((PROVIDER, uuid) for uuid in claim.resources)):
            if name is not None and (kind, name) not in name_ids:
                missing[kind][name] = None
    return missing


def _owner(name_ids: NameIds, claim: ConsumerClaim) -> Owner:
    """Return the owner of a claim whose names all have ids."""
    type_id = None if claim.type is None else name_ids[TYPE, claim.type]
    return Owner(name_ids[PROJECT, claim.project_id], name_ids[USER, claim.user_id], type_id)


def _ids_in(rows: Iterable[sa.Row[Any]]) -> NameIds:
    """Return the ids of the current owners and providers: in most claims they stay the same."""
    ids = {}
    for row in rows:
        ids[PROJECT, row.project], ids[USER, row.user] = row.project_id, row.user_id
        if row.type is not None:
            ids[TYPE, row.type] = row.type_id
        if row.provider_uuid is not None:
            ids[PROVIDER, row.provider_uuid] = row.provider_id
    return ids


AllocatedAmounts = dict[str, dict[str, dict[str, int]]]
"""Amounts by consumer UUID, provider UUID and resource class."""

_consumer = consumers.c
_allocation = allocations.c
_UUID = sa.select(_consumer.uuid)
_LOCK = sa.select(_consumer.id).order_by(_consumer.uuid).with_for_update()
# Read by statements after the lock, see ``claims.inventories``
_ALLOCATED = (
    resource_providers.c.id.label("provider_id"),
    resource_providers.c.uuid.label("provider_uuid"),
    resource_classes.c.id.label("class_id"),
    resource_classes.c.name.label("resource_class"),
    _allocation.used,
)


def _with_names(consumers_or_allocations: sa.FromClause) -> sa.FromClause:
    """Join allocations with their providers and classes: an older database may lack these."""
    return consumers_or_allocations.outerjoin(
        resource_providers, resource_providers.c.id == _allocation.resource_provider_id
    ).outerjoin(resource_classes, resource_classes.c.id == _allocation.resource_class_id)


_READ = (
    sa.select(
        _consumer.id,
        _consumer.uuid,
        _consumer.generation,
        _consumer.project_id,
        projects.c.external_id.label("project"),
        _consumer.user_id,
        users.c.external_id.label("user"),
        _consumer.consumer_type_id.label("type_id"),
        consumer_types.c.name.label("type"),
        *_ALLOCATED,
    )
    .select_from(
        _with_names(
            consumers.outerjoin(projects, projects.c.id == _consumer.project_id)
            .outerjoin(users, users.c.id == _consumer.user_id)
            .outerjoin(consumer_types, consumer_types.c.id == _consumer.consumer_type_id)
            .outerjoin(allocations, _allocation.consumer_id == _consumer.uuid)
        )
    )
    .order_by(_consumer.uuid, _allocation.id)
)
_LOCK_ALLOCATIONS = sa.select(_allocation.id).order_by(_allocation.id).with_for_update()
_READ_ALLOCATIONS = (
    sa.select(_allocation.consumer_id.label("uuid"), *_ALLOCATED)
    .select_from(_with_names(allocations))
    .order_by(_allocation.id)
)
_INSERT = consumers.insert().inline()
_ADVANCE = consumers.update().values(
    generation=_consumer.generation + ONE, updated_at=sa.bindparam("now", type_=sa.DateTime)
)
_UPDATE = _ADVANCE.values(
    project_id=sa.bindparam("project"),
    user_id=sa.bindparam("user"),
    consumer_type_id=sa.func.coalesce(
        sa.bindparam("type", type_=sa.Integer), _consumer.consumer_type_id
    ),
)
_DELETE = consumers.delete()
_DELETE_UNCHANGED = _DELETE.where(_consumer.generation == sa.bindparam("unchanged"))
_HELD = (
    sa.select(
        _consumer.id,
        _consumer.uuid,
        _consumer.generation,
        _allocation.resource_provider_id.label("provider_id"),
        resource_providers.c.uuid.label("provider_uuid"),
        _allocation.resource_class_id.label("class_id"),
        resource_classes.c.name.label("resource_class"),
        _allocation.used,
        IS_COUNTED,
    )
    .join(allocations, _allocation.consumer_id == _consumer.uuid)
    .join(resource_providers, resource_providers.c.id == _allocation.resource_provider_id)
    .outerjoin(resource_classes, resource_classes.c.id == _allocation.resource_class_id)
    .where(_consumer.uuid == sa.bindparam("uuid"))
)


@dataclass(frozen=True, slots=True)
class LockedConsumers:
    """The consumers of a write.

    ``ids`` and ``generations`` have the consumers that exist, by UUID; their rows are locked.
    ``allocated`` has the current amounts of all consumers, and ``class_ids`` has the ids of the
    resource classes in ``allocated``.
    """

    ids: Mapping[str, int]
    generations: Mapping[str, int]
    allocated: AllocatedAmounts
    class_ids: Mapping[str, int]
    name_ids: NameIds

    def ids_of(self, kind: str) -> dict[str, int]:
        """Return the ids that were read, by name, of projects, users, types or providers."""
        return {name: id_ for (of, name), id_ in self.name_ids.items() if of == kind}


class Consumers(Statements):
    """Consumers, in one transaction."""

    def lock(
        self, uuids: Collection[str], claims: Sequence[ConsumerClaim] = ()
    ) -> LockedConsumers:
        """Return the consumers with their allocations; no other transaction changes them.

        Also reads the ids of the owners and providers in the ``claims``.
        A consumer that does not exist cannot be locked, but its row can be inserted only once.
        Allocations without a consumer row, from an older database, count as allocations of the
        consumer.
        Cost: one statement if the claims require that no consumer exists, and none exists.
        Otherwise two statements, and one more for consumers that do not exist, or for owners or
        providers that the consumers did not have.
        """
        requested, absent = set(uuids), set[str]()
        name_ids: NameIds = {}
        # A concurrent insert of one of these is caught by the unique constraint.
        if new := [claim.consumer_uuid for claim in claims if _is_for_new(claim)]:
            lookups: list[Lookup] = [(_consumer.uuid, new), (_allocation.consumer_id, new)]
            (recorded, holding), name_ids = self._look_up(lookups, claims, name_ids)
            absent, claims = set(new) - recorded.keys() - holding.keys(), ()
        existing = sorted(requested - absent)
        rows = [row for row in self._locked(existing) if row.uuid in requested]
        ids = {row.uuid: row.id for row in rows}
        without_row = sorted(set(existing) - ids.keys())
        name_ids = {**name_ids, **_ids_in(rows)}
        unrecorded, name_ids = self._unrecorded(without_row, claims, name_ids)
        allocated = [*rows, *unrecorded]
        return LockedConsumers(
            ids,
            {row.uuid: row.generation for row in rows},
            allocated_amounts(allocated),
            {row.resource_class: row.class_id for row in allocated if row.class_id is not None},
            name_ids,
        )

    def _locked(self, uuids: Sequence[str]) -> list[sa.Row[Any]]:
        """Lock consumers in the order of UUIDs; return a row for each of their allocations."""
        locked = rows_of(self._connection, _LOCK, _consumer.uuid, uuids)
        return [*rows_of(self._connection, _READ, _consumer.id, [row.id for row in locked])]

    def _unrecorded(
        self, uuids: Sequence[str], claims: Sequence[ConsumerClaim], name_ids: NameIds
    ) -> tuple[list[sa.Row[Any]], NameIds]:
        """Return the allocations, locked, of consumers that have no row; and the ids of names.

        After the first check, another transaction may have inserted the consumer, and removed or
        replaced its allocations. The check that the consumer has no row is therefore repeated
        after the lock.
        """
        lookups: list[Lookup] = [(_allocation.consumer_id, uuids)] if uuids else []
        found, name_ids = self._look_up(lookups, claims, name_ids)
        allocated = sorted(set().union(*found))
        if not allocated:
            return [], name_ids
        locked = rows_of(self._connection, _LOCK_ALLOCATIONS, _allocation.consumer_id, allocated)
        ids = [row.id for row in locked]
        allocation_rows = rows_of(self._connection, _READ_ALLOCATIONS, _allocation.id, ids)
        rows = [row for row in allocation_rows if row.uuid in uuids]
        # without a lock: a transaction that has it may wait for the allocations
        recorded = rows_of(self._connection, _UUID, _consumer.uuid, uuids)
        if any(row.uuid in uuids for row in recorded):
            raise WriteConflict
        return rows, name_ids

    def _look_up(
        self, lookups: list[Lookup], claims: Sequence[ConsumerClaim], name_ids: NameIds
    ) -> tuple[list[dict[str, int]], NameIds]:
        """Return the ids of the lookups, and of the names in claims, by one statement at most."""
        missing = _missing(name_ids, claims)
        names = [(_COLUMNS[kind], of_kind) for kind, of_kind in missing.items()]
        ids = ids_by_column(self._connection, [*lookups, *names])
        read = dict(name_ids)
        for kind, of_kind in zip(missing, ids[len(lookups) :], strict=True):
            read |= {(kind, name): id_ for name, id_ in of_kind.items()}
        return ids[: len(lookups)], read

    def held(self, uuid: str) -> list[sa.Row[Any]]:
        """Return the allocations of a consumer that has a row, without locking it.

        Raises: UsageNotCounted, which the store handles.
        """
        rows = self._connection.execute(_HELD, {"uuid": uuid}).all()
        if uncounted := [row.provider_id for row in rows if not row.is_counted]:
            raise UsageNotCounted(uncounted)
        return [row for row in rows if row.uuid == uuid]

    def advance(self, uuids: Iterable[str]) -> None:
        """Increase the generations of locked consumers, whose owners stay the same."""
        writes = writes_of(_ADVANCE, _consumer.uuid, sorted(uuids), now=utcnow())
        execute_all(self._connection, writes)

    def written_at(self, uuid: str) -> datetime | None:
        """Return when a consumer was written last, None if it is not known."""
        written_at = sa.func.coalesce(_consumer.updated_at, _consumer.created_at)
        at: datetime | None = self._connection.scalar(
            sa.select(written_at).where(_consumer.uuid == uuid)
        )
        return at

    def check_still_absent(self, claims: Iterable[ConsumerClaim], locked: LockedConsumers) -> None:
        """Raise WriteConflict if a consumer without row has been inserted since the lock.

        Cost: one statement, or none if all consumers have rows.
        """
        absent = {claim.consumer_uuid for claim in claims} - locked.ids.keys()
        if any(rows_of(self._connection, _UUID, _consumer.uuid, sorted(absent))):
            raise WriteConflict

    def owners(self, claims: Sequence[ConsumerClaim], locked: LockedConsumers) -> dict[str, Owner]:
        """Return the owner of each consumer; projects, users and types are inserted as needed.

        Cost: none if all exist, otherwise one statement for each new name, or two for many.
        """
        name_ids = dict(locked.name_ids)
        for kind, names in _missing(name_ids, claims).items():
            if kind != PROVIDER:
                others_exist = kind in {present for present, _ in name_ids}
                column = _COLUMNS[kind]
                ids = insert_names(self._connection, column, names, others_exist=others_exist)
                name_ids |= {(kind, name): id_ for name, id_ in ids.items()}
        return {claim.consumer_uuid: _owner(name_ids, claim) for claim in claims}


def _is_for_new(claim: ConsumerClaim) -> bool:
    """Return whether the claim requires that its consumer does not exist."""
    return claim.check_generation and claim.generation is None


def savings(owners: Mapping[str, Owner], ids: Mapping[str, int]) -> list[Write]:
    """Return the writes that save consumers with these owners, and increase their generations.

    Consumers with an id exist and are locked; the other consumers are inserted. If another
    transaction inserts one of these first, the unique constraint fails.
    One write inserts all consumers, and one write updates all consumers with the same owner.
    """
    rows = [
        {
            "uuid": uuid,
            "project_id": owner.project_id,
            "user_id": owner.user_id,
            "consumer_type_id": owner.type_id,
            "generation": 1,
            "created_at": utcnow(),
        }
        for uuid, owner in sorted(owners.items())
        if uuid not in ids
    ]
    writes = [Write(_INSERT, chunk) for chunk in chunks(rows)]
    by_owner = defaultdict(list)
    for uuid, owner in owners.items():
        if uuid in ids:
            by_owner[owner].append(ids[uuid])
    for (project, user, type_), consumer_ids in by_owner.items():
        values = {"project": project, "user": user, "type": type_, "now": utcnow()}
        writes += writes_of(_UPDATE, _consumer.id, consumer_ids, **values)
    return writes


def deletions(ids: Iterable[int]) -> list[Write]:
    """Return the writes that delete locked consumers."""
    return writes_of(_DELETE, _consumer.id, ids)


def consumer_lock(uuid: str) -> list[Write]:
    """Return the write that locks a consumer.

    By its UUID, as a claim does: MariaDB locks the entry of the index before the row, and two
    transactions that locked them in different orders would be a deadlock.
    """
    return writes_of(_LOCK, _consumer.uuid, [uuid])


def deletion_if_unchanged(id_: int, generation: int) -> list[Write]:
    """Return the write that deletes a consumer: no row if it has another generation."""
    return writes_of(_DELETE_UNCHANGED, _consumer.id, [id_], unchanged=generation)


def allocated_amounts(rows: Iterable[sa.Row[Any]]) -> AllocatedAmounts:
    """Return the sums of the rows; a row without provider is a consumer without allocations."""
    allocated: AllocatedAmounts = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
    for row in rows:
        if row.provider_uuid is not None and row.resource_class is not None:
            allocated[row.uuid][row.provider_uuid][row.resource_class] += row.used
    return allocated
