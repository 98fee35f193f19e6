"""Statements for consumers, and for the projects, users and types that they refer to.

A write locks consumers before the providers of their allocations.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.core.model import ConsumerClaim
from placement.db.clocks import utcnow
from placement.db.errors import WriteConflict
from placement.db.resources.names import Lookup, ids_by_column, insert_names
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
from placement.db.writes import Statements, Write, chunks, rows_of, writes_of

PROJECT, USER, TYPE = projects.c.external_id, users.c.external_id, consumer_types.c.name
PROVIDER = resource_providers.c.uuid


class Owner(NamedTuple):
    """The ids of project, user and type of a consumer; ``type_id`` None keeps the type."""

    project_id: int
    user_id: int
    type_id: int | None


@dataclass(slots=True)
class NameIds:
    """The ids of projects, users, consumer types and providers that this transaction has read.

    They are valid in this transaction only. A process that kept them would, after a restore of
    the database or a failover that lost commits, write claims as another project's.
    """

    by_column: dict[sa.Column[str], dict[str, int]] = field(
        default_factory=lambda: {PROJECT: {}, USER: {}, TYPE: {}, PROVIDER: {}}
    )
    # whether all names of the claims were read: a missing name does not exist
    looked_up: bool = False

    def missing(self, claims: Iterable[ConsumerClaim]) -> list[Lookup]:
        """Return the names in the claims whose ids were not read, by column."""
        names: dict[sa.Column[str], dict[str, None]] = {column: {} for column in self.by_column}
        for claim in claims:
            names[PROJECT][claim.project_id] = names[USER][claim.user_id] = None
            if claim.type is not None:
                names[TYPE][claim.type] = None
            names[PROVIDER].update(dict.fromkeys(claim.resources))
        return [
            (column, missing)
            for column, claim_names in names.items()
            if (missing := [name for name in claim_names if name not in self.by_column[column]])
        ]

    def read_from(self, rows: Iterable[sa.Row[Any]]) -> None:
        """Add the current owners and providers of consumers: in most claims they stay the same."""
        for row in rows:
            self.by_column[PROJECT][row.project] = row.project_id
            self.by_column[USER][row.user] = row.user_id
            self.by_column[TYPE][row.type] = row.type_id
            if row.provider_uuid is not None:
                self.by_column[PROVIDER][row.provider_uuid] = row.provider_id

    def of(self, claim: ConsumerClaim) -> Owner:
        """Return the ids for a claim whose names were all read."""
        return Owner(
            self.by_column[PROJECT][claim.project_id],
            self.by_column[USER][claim.user_id],
            None if claim.type is None else self.by_column[TYPE][claim.type],
        )


AllocatedAmounts = dict[str, dict[str, dict[str, int]]]
"""Amounts by consumer UUID, provider UUID and resource class."""

_consumer = consumers.c
_allocation = allocations.c


# ``rows_of`` and ``writes_of`` add the condition that selects the rows.
_LOCK = sa.select(_consumer.id).order_by(_consumer.uuid).with_for_update()
# Executed after the rows are locked: at READ COMMITTED a statement sees everything that was
# committed before it. A locking statement would read names, in subqueries or joins, as they were
# when it began to wait.
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
_UPDATE = consumers.update().values(
    project_id=sa.bindparam("project"),
    user_id=sa.bindparam("user"),
    generation=_consumer.generation + ONE,
    updated_at=sa.bindparam("now"),
)
_UPDATE_WITH_TYPE = _UPDATE.values(consumer_type_id=sa.bindparam("type"))
_DELETE = consumers.delete()


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
        name_ids = NameIds()
        requested = set(uuids)
        existing = sorted(requested - self._absent(claims, name_ids))
        rows = [row for row in self._locked(existing) if row.uuid in requested]
        ids = {row.uuid: row.id for row in rows}
        without_row = sorted(set(existing) - ids.keys())
        name_ids.read_from(rows)
        allocated = [*rows, *self._unrecorded(without_row, claims, name_ids)]
        if not name_ids.looked_up:
            self._look_up([], claims, name_ids)
        return LockedConsumers(
            ids,
            {row.uuid: row.generation for row in rows},
            _allocated(allocated),
            {row.resource_class: row.class_id for row in allocated if row.class_id is not None},
            name_ids,
        )

    def _absent(self, claims: Sequence[ConsumerClaim], name_ids: NameIds) -> set[str]:
        """Return the consumers without row and allocations, of claims that require this.

        One statement reads both, and sees one state. A concurrent insert of such a consumer is
        caught by the unique constraint.
        """
        new = [
            claim.consumer_uuid
            for claim in claims
            if claim.check_generation and claim.generation is None
        ]
        if not new:
            return set()
        lookups: list[Lookup] = [(_consumer.uuid, new), (_allocation.consumer_id, new)]
        recorded, allocated = self._look_up(lookups, claims, name_ids)
        return set(new) - recorded.keys() - allocated.keys()

    def _locked(self, uuids: Sequence[str]) -> list[sa.Row[Any]]:
        """Lock consumers in the order of UUIDs; return a row for each of their allocations."""
        locked = rows_of(self._connection, _LOCK, _consumer.uuid, uuids)
        return [*rows_of(self._connection, _READ, _consumer.id, [row.id for row in locked])]

    def _unrecorded(
        self, uuids: Sequence[str], claims: Sequence[ConsumerClaim], name_ids: NameIds
    ) -> list[sa.Row[Any]]:
        """Return the allocations, locked, of consumers that have no row.

        After the first check, another transaction may have inserted the consumer, and removed or
        replaced its allocations. The check that the consumer has no row is therefore repeated
        after the lock.
        """
        if not uuids:
            return []
        (allocated,) = self._look_up([(_allocation.consumer_id, uuids)], claims, name_ids)
        locked = rows_of(
            self._connection, _LOCK_ALLOCATIONS, _allocation.consumer_id, sorted(allocated)
        )
        ids = [row.id for row in locked]
        allocation_rows = rows_of(self._connection, _READ_ALLOCATIONS, _allocation.id, ids)
        rows = [row for row in allocation_rows if row.uuid in uuids]
        if allocated and any(row.uuid in uuids for row in self._locked(uuids)):
            raise WriteConflict
        return rows

    def _look_up(
        self, lookups: list[Lookup], claims: Sequence[ConsumerClaim], name_ids: NameIds
    ) -> list[dict[str, int]]:
        """Return the ids of the lookups; the same statement reads ids for the names in claims.

        Cost: one statement, or none if there is nothing to look up.
        """
        missing = [] if name_ids.looked_up else name_ids.missing(claims)
        ids = ids_by_column(self._connection, [*lookups, *missing])
        for (column, _), column_ids in zip(missing, ids[len(lookups) :], strict=True):
            name_ids.by_column[column].update(column_ids)
        name_ids.looked_up = True
        return ids[: len(lookups)]

    def advance(self, uuids: Iterable[str]) -> None:
        """Increase the generations of locked consumers, whose owners stay the same."""
        for chunk in chunks(sorted(uuids)):
            self._connection.execute(
                consumers.update()
                .where(_consumer.uuid.in_(chunk))
                .values(generation=_consumer.generation + 1, updated_at=utcnow())
            )

    def written_at(self, uuid: str) -> datetime | None:
        """Return when a consumer was written last, None if it is not known."""
        written_at = sa.func.coalesce(_consumer.updated_at, _consumer.created_at)
        statement = sa.select(written_at).where(_consumer.uuid == uuid)
        at: datetime | None = self._connection.scalar(statement)
        return at

    def check_still_absent(self, claims: Iterable[ConsumerClaim], locked: LockedConsumers) -> None:
        """Raise WriteConflict if a consumer without row has been inserted since the lock.

        Cost: one statement, or none if all consumers have rows.
        """
        absent = {claim.consumer_uuid for claim in claims} - locked.ids.keys()
        if any(rows_of(self._connection, sa.select(_consumer.id), _consumer.uuid, sorted(absent))):
            raise WriteConflict

    def owners(self, claims: Sequence[ConsumerClaim], locked: LockedConsumers) -> dict[str, Owner]:
        """Return the owner of each consumer; projects, users and types are inserted as needed.

        Cost: none if all exist, otherwise one statement for each new name, or two for many.
        """
        name_ids = locked.name_ids
        for column, names in name_ids.missing(claims):
            if column is not PROVIDER:
                ids = name_ids.by_column[column]
                ids |= insert_names(self._connection, column, names, others_exist=bool(ids))
        return {claim.consumer_uuid: name_ids.of(claim) for claim in claims}


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
    for owner, consumer_ids in by_owner.items():
        writes += _updates(consumer_ids, owner)
    return writes


def _updates(ids: Iterable[int], owner: Owner) -> list[Write]:
    values = {"project": owner.project_id, "user": owner.user_id, "now": utcnow()}
    if owner.type_id is None:
        return writes_of(_UPDATE, _consumer.id, ids, **values)
    return writes_of(_UPDATE_WITH_TYPE, _consumer.id, ids, **values, type=owner.type_id)


def deletions(ids: Iterable[int]) -> list[Write]:
    """Return the writes that delete locked consumers."""
    return writes_of(_DELETE, _consumer.id, ids)


def _allocated(rows: Iterable[sa.Row[Any]]) -> AllocatedAmounts:
    """Return the sums of the rows; a row without provider is a consumer without allocations."""
    allocated: AllocatedAmounts = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
    for row in rows:
        if row.provider_uuid is not None and row.resource_class is not None:
            allocated[row.uuid][row.provider_uuid][row.resource_class] += row.used
    return allocated
