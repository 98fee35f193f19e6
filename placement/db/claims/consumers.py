"""The projects, users and types that consumers refer to.

Statements for consumers, which a write locks before the providers of their allocations.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.core.model import ConsumerClaim
from placement.core.text import is_storable
from placement.db.clocks import utcnow
from placement.db.errors import WriteConflict
from placement.db.resources.names import Lookup, chunks, ids_by_column, insert_names
from placement.db.statements import compiled, packed_rows
from placement.db.statements.batch import StatementBatch
from placement.db.tables import (
    allocations,
    consumer_types,
    consumers,
    projects,
    resource_classes,
    resource_providers,
    users,
)

PROJECT, USER, TYPE = projects.c.external_id, users.c.external_id, consumer_types.c.name


class Owner(NamedTuple):
    """The ids of project, user and type of a consumer; ``type_id`` None keeps the type."""

    project_id: int
    user_id: int
    type_id: int | None


@dataclass(slots=True)
class OwnerIds:
    """The ids of projects, users and consumer types that this transaction has read.

    They are valid in this transaction only. A process that kept them would, after a restore of
    the database or a failover that lost commits, write claims as another project's.
    """

    by_column: dict[sa.Column[str], dict[str, int]] = field(
        default_factory=lambda: {PROJECT: {}, USER: {}, TYPE: {}}
    )
    looked_up: bool = False  # all names of the claims: what is missing does not exist

    def missing(self, claims: Iterable[ConsumerClaim]) -> list[Lookup]:
        """Return the names in the claims whose ids were not read, by column."""
        names: dict[sa.Column[str], dict[str, None]] = {PROJECT: {}, USER: {}, TYPE: {}}
        for claim in claims:
            names[PROJECT][claim.project_id] = names[USER][claim.user_id] = None
            if claim.type is not None:
                names[TYPE][claim.type] = None
        return [
            (column, missing)
            for column, own in names.items()
            if (missing := [name for name in own if name not in self.by_column[column]])
        ]

    def read_from(self, rows: Iterable[sa.Row[Any]]) -> None:
        """Add the current owners of consumers: in most claims they stay the same."""
        for row in rows:
            self.by_column[PROJECT][row.project] = row.project_id
            self.by_column[USER][row.user] = row.user_id
            self.by_column[TYPE][row.type] = row.type_id

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


_LOCK = sa.select(_consumer.id).order_by(_consumer.uuid).with_for_update()
# Read after the rows are locked: at READ COMMITTED a statement sees what was committed before it.
# A locking statement would read names, in subqueries or joins, as they were when it began to wait.
_ALLOCATED = (
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
_INSERT = compiled.inserted(
    consumers, "uuid", "project_id", "user_id", "consumer_type_id", "generation", "created_at"
)
_UPDATE = consumers.update().values(
    project_id=sa.bindparam("project"),
    user_id=sa.bindparam("user"),
    generation=_consumer.generation + 1,
    updated_at=sa.bindparam("now"),
)
_UPDATE_WITH_TYPE = _UPDATE.values(consumer_type_id=sa.bindparam("type"))
_DELETE = consumers.delete()


@dataclass(frozen=True, slots=True)
class LockedConsumers:
    """The consumers of a write.

    ``ids`` and ``generations`` have those that exist, by UUID; their rows are locked.
    ``allocated`` has what all of them have allocated now, ``class_ids`` the classes of that.
    """

    ids: Mapping[str, int]
    generations: Mapping[str, int]
    allocated: AllocatedAmounts
    class_ids: Mapping[str, int]
    owner_ids: OwnerIds


def is_first(claim: ConsumerClaim) -> bool:
    """Return whether the claim says that its consumer does not exist."""
    return claim.check_generation and claim.generation is None


class Consumers:
    """Consumers, in one transaction."""

    def __init__(self, batch: StatementBatch) -> None:
        self._batch = batch
        self._connection = batch.connection

    def lock(
        self, uuids: Collection[str], claims: Sequence[ConsumerClaim] = ()
    ) -> LockedConsumers:
        """Return the consumers with their allocations; no other transaction changes either.

        A consumer that does not exist cannot be locked, but its row can be inserted only once.
        Allocations without a consumer row, from an older database, count as the consumer's.
        Cost: two statements if all exist; one if the ``claims``, which are to be saved later, say
        that none exists and are right. Otherwise one more for those that do not exist.
        """
        owner_ids = OwnerIds()
        requested = set(filter(is_storable, uuids))
        existing = sorted(requested - self._absent(claims, owner_ids))
        rows = [row for row in self._locked(existing) if row.uuid in requested]
        ids = {row.uuid: row.id for row in rows}
        without_row = sorted(set(existing) - ids.keys())
        owner_ids.read_from(rows)
        allocated = [*rows, *self._unrecorded(without_row, claims, owner_ids)]
        return LockedConsumers(
            ids,
            {row.uuid: row.generation for row in rows},
            _allocated(allocated),
            {row.resource_class: row.class_id for row in allocated if row.class_id is not None},
            owner_ids,
        )

    def _absent(self, claims: Sequence[ConsumerClaim], owner_ids: OwnerIds) -> set[str]:
        """Return the consumers that claims say do not exist, and that have no rows.

        One statement sees one state, in which they have no allocations. A concurrent insert of
        such a consumer is caught by the unique constraint.
        """
        new = [claim.consumer_uuid for claim in claims if is_first(claim)]
        if not new:
            return set()
        lookups: list[Lookup] = [(_consumer.uuid, new), (_allocation.consumer_id, new)]
        recorded, allocated = self._look_up(lookups, claims, owner_ids)
        return set(new) - recorded.keys() - allocated.keys()

    def _locked(self, uuids: Sequence[str]) -> list[sa.Row[Any]]:
        """Lock consumers in the order of UUIDs; return a row for each of their allocations."""
        return [
            row
            for chunk in chunks(self._lock(_LOCK, _consumer.uuid, uuids))
            for row in packed_rows.execute_for(self._connection, _READ, _consumer.id, chunk)
        ]

    def _lock(
        self, statement: sa.Select[tuple[int]], column: sa.Column[str], uuids: Sequence[str]
    ) -> list[int]:
        """Return the ids of the locked rows."""
        return [
            id_
            for chunk in chunks(uuids)
            for (id_,) in compiled.execute_for(self._connection, statement, column, chunk)
        ]

    def _unrecorded(
        self, uuids: Sequence[str], claims: Sequence[ConsumerClaim], owner_ids: OwnerIds
    ) -> list[sa.Row[Any]]:
        """Return the allocations, locked, of consumers that have no row.

        A consumer may have been inserted since its row was not found, and its allocations may be
        removed again. After they are locked, the check that it has no row is repeated.
        """
        if not uuids:
            return []
        (allocated,) = self._look_up([(_allocation.consumer_id, uuids)], claims, owner_ids)
        ids = self._lock(_LOCK_ALLOCATIONS, _allocation.consumer_id, sorted(allocated))
        rows = [
            row
            for chunk in chunks(ids)
            for row in packed_rows.execute_for(
                self._connection, _READ_ALLOCATIONS, _allocation.id, chunk
            )
            if row.uuid in uuids
        ]
        if rows and any(row.uuid in uuids for row in self._locked(uuids)):
            raise WriteConflict
        return rows

    def _look_up(
        self, lookups: list[Lookup], claims: Sequence[ConsumerClaim], owner_ids: OwnerIds
    ) -> list[dict[str, int]]:
        """Return the ids of the lookups; read those of the claims' owners in the same statement.

        Cost: one statement, or none if there is nothing to look up.
        """
        owners = [] if owner_ids.looked_up else owner_ids.missing(claims)
        ids = ids_by_column(self._connection, [*lookups, *owners])
        for (column, _), own in zip(owners, ids[len(lookups) :], strict=True):
            owner_ids.by_column[column].update(own)
        owner_ids.looked_up |= bool(claims)
        return ids[: len(lookups)]

    def save(self, claims: Sequence[ConsumerClaim], locked: LockedConsumers) -> None:
        """Insert or update the consumers of the claims, and increase their generations.

        That another transaction inserted one of the consumers first is reported by the unique
        constraint, and this transaction runs again.
        Cost: one statement for all new consumers and one for each owner of existing ones. Names
        of owners that ``lock`` did not look up: one statement more, and one for each new name.
        """
        owners = self._owners(claims, locked.owner_ids)
        self._insert({uuid: owner for uuid, owner in owners.items() if uuid not in locked.ids})
        by_owner = defaultdict(list)
        for uuid, owner in owners.items():
            if uuid in locked.ids:
                by_owner[owner].append(locked.ids[uuid])
        for owner, ids in by_owner.items():
            self._update(ids, owner)

    def _owners(self, claims: Sequence[ConsumerClaim], owner_ids: OwnerIds) -> dict[str, Owner]:
        """Return the owner of each consumer; projects, users and types are inserted as needed."""
        if not owner_ids.looked_up and owner_ids.missing(claims):
            self._look_up([], claims, owner_ids)
        for column, names in owner_ids.missing(claims):
            known = owner_ids.by_column[column]
            known |= insert_names(
                self._connection, column.table, column, names, others_exist=bool(known)
            )
        return {claim.consumer_uuid: owner_ids.of(claim) for claim in claims}

    def _insert(self, owners: Mapping[str, Owner]) -> None:
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
        ]
        for chunk in chunks(rows):
            self._batch.execute(_INSERT, chunk)

    def _update(self, ids: Iterable[int], owner: Owner) -> None:
        values = {"project": owner.project_id, "user": owner.user_id, "now": utcnow()}
        if owner.type_id is not None:
            values["type"] = owner.type_id
        statement = _UPDATE if owner.type_id is None else _UPDATE_WITH_TYPE
        for chunk in chunks(ids):
            self._batch.execute_for(statement, _consumer.id, chunk, values)

    def delete(self, ids: Iterable[int]) -> None:
        """Delete locked consumers."""
        for chunk in chunks(ids):
            self._batch.execute_for(_DELETE, _consumer.id, chunk)


def _allocated(rows: Iterable[sa.Row[Any]]) -> AllocatedAmounts:
    """Return the sums of the rows; a row without provider is a consumer without allocations."""
    allocated: AllocatedAmounts = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
    for row in rows:
        if row.provider_uuid is not None and row.resource_class is not None:
            allocated[row.uuid][row.provider_uuid][row.resource_class] += row.used
    return allocated
