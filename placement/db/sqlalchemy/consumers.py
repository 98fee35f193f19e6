"""Statements about consumers, and the projects, users and types that they belong to."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.core.model import ConsumerClaim
from placement.core.storable_text import is_storable
from placement.db.sqlalchemy import compiled_statements
from placement.db.sqlalchemy.clocks import utcnow
from placement.db.sqlalchemy.id_cache import Known, Names
from placement.db.sqlalchemy.lookups import Sought, chunks, ids_at_once, ids_made
from placement.db.sqlalchemy.models import (
    allocations,
    consumer_types,
    consumers,
    projects,
    resource_classes,
    resource_providers,
    users,
)
from placement.db.store import WriteConflict

Held = dict[str, dict[str, dict[str, int]]]
"""Amounts by consumer UUID, provider UUID and resource class."""

_own = consumers.c
_before = consumers.alias("before")
# Subqueries in the list of columns: what is joined would be locked by MySQL.
_provider_uuid = (
    sa.select(resource_providers.c.uuid)
    .where(resource_providers.c.id == allocations.c.resource_provider_id)
    .scalar_subquery()
    .label("provider_uuid")
)
_class_name = (
    sa.select(resource_classes.c.name)
    .where(resource_classes.c.id == allocations.c.resource_class_id)
    .scalar_subquery()
    .label("resource_class")
)
_LOCK = (
    sa.select(
        _own.id,
        _own.uuid,
        _own.generation,
        (_own.generation == _before.c.generation).label("is_fresh"),
        _provider_uuid,
        _class_name,
        allocations.c.used,
    )
    .select_from(
        consumers.join(_before, _before.c.id == _own.id).outerjoin(
            allocations, allocations.c.consumer_id == _own.uuid
        )
    )
    .with_hint(allocations, "FORCE INDEX FOR JOIN (allocations_consumer_id_idx)", "mysql")
    .with_hint(allocations, "FORCE INDEX FOR JOIN (allocations_consumer_id_idx)", "mariadb")
    .order_by(_own.uuid, allocations.c.id)
    .with_for_update(of=consumers)
)
_holder = allocations.c.consumer_id
_LOCK_HELD = (
    sa.select(_holder.label("uuid"), _provider_uuid, _class_name, allocations.c.used)
    .order_by(allocations.c.id)
    .with_for_update()
)
_INSERT = compiled_statements.inserted(
    consumers, "uuid", "project_id", "user_id", "consumer_type_id", "generation", "created_at"
)
_UPDATE = consumers.update().values(
    project_id=sa.bindparam("project"),
    user_id=sa.bindparam("user"),
    generation=_own.generation + 1,
    updated_at=sa.bindparam("now"),
)
_UPDATE_WITH_TYPE = _UPDATE.values(consumer_type_id=sa.bindparam("type"))
_DELETE = consumers.delete()


class Owner(NamedTuple):
    """The ids of who a consumer belongs to; ``type_id`` None leaves the type as it is."""

    project_id: int
    user_id: int
    type_id: int | None


@dataclass(frozen=True, slots=True)
class Locked:
    """Consumers that exist, locked, by UUID, and what all that were asked for hold."""

    ids: Mapping[str, int]
    generations: Mapping[str, int]
    held: Held


class Consumers:
    """Consumers, in one transaction."""

    def __init__(self, connection: sa.Connection, names: Names) -> None:
        self._connection = connection
        self._names = names
        self._owners_sought: set[str] = set()  # of these consumers

    def lock(self, uuids: Collection[str], claims: Sequence[ConsumerClaim] = ()) -> Locked:
        """Return the consumers with what they hold; until the end nobody else changes either.

        A consumer that does not exist cannot be locked, but its row can be made only once.
        Allocations without a consumer, from an older database, count as held by it.
        Cost: one statement if all exist, or if the ``claims``, which are to be saved later,
        say of all that they do not exist and are right. Otherwise one more for those that do
        not, and one more if another transaction held one of them.
        """
        asked = sorted(set(filter(is_storable, uuids)) - self._absent(claims))
        rows = self._locked(asked)
        if not all(row.is_fresh for row in rows):
            rows = self._locked(asked)
        ids = {row.uuid: row.id for row in rows if row.uuid in uuids}
        rest = self._held_by_nobody(sorted(set(asked) - ids.keys()), claims)
        return Locked(
            ids,
            {row.uuid: row.generation for row in rows if row.uuid in ids},
            _held([row for row in (*rows, *rest) if row.uuid in uuids]),
        )

    def _absent(self, claims: Sequence[ConsumerClaim]) -> set[str]:
        """Return those that claims say do not exist, and of which there is nothing.

        One statement sees one state, in which they hold nothing. Who makes one of them later
        is met when it is inserted.
        """
        new = [
            claim.consumer_uuid
            for claim in claims
            if claim.check_generation and claim.generation is None
        ]
        if not new:
            return set()
        there, holding = self._seek_owners(claims, (_own.uuid, new), (_holder, new))
        return set(new) - there.keys() - holding.keys()

    def _locked(self, uuids: Sequence[str]) -> list[Any]:
        """Lock in the order of UUIDs; ``is_fresh`` as in ``Inventories``."""
        return [
            row
            for chunk in chunks(uuids)
            for row in compiled_statements.execute_for(self._connection, _LOCK, _own.uuid, chunk)
        ]

    def _held_by_nobody(self, uuids: Sequence[str], claims: Sequence[ConsumerClaim]) -> list[Any]:
        """Return the allocations of consumers that do not exist, locked.

        What is found may also belong to a consumer that was made since it was looked for, and
        may be gone again. It is locked first, and then there is no such consumer.
        """
        if not uuids:
            return []
        (holding,) = self._seek_owners(claims, (_holder, uuids))
        held = [
            row
            for chunk in chunks(sorted(holding))
            for row in compiled_statements.execute_for(
                self._connection, _LOCK_HELD, _holder, chunk
            )
            if row.uuid in uuids
        ]
        if held and any(row.uuid in uuids for row in self._locked(uuids)):
            raise WriteConflict
        return held

    def save(self, claims: Sequence[ConsumerClaim], ids: Mapping[str, int]) -> None:
        """Make or change the consumers, with the owners that the claims name, and count the write.

        ``ids`` has those that exist. That another transaction made one of the others first
        shows when it is inserted, and this transaction is run again.
        """
        owners = self._owners(claims)
        self._insert({uuid: owner for uuid, owner in owners.items() if uuid not in ids})
        by_owner = defaultdict(list)
        for uuid, owner in owners.items():
            if uuid in ids:
                by_owner[owner].append(ids[uuid])
        for owner, owned in by_owner.items():
            self._update(owned, owner)

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
        if rows:
            compiled_statements.execute(self._connection, _INSERT, rows)

    def _update(self, ids: Iterable[int], owner: Owner) -> None:
        values = {"project": owner.project_id, "user": owner.user_id, "now": utcnow()}
        if owner.type_id is not None:
            values["type"] = owner.type_id
        statement = _UPDATE if owner.type_id is None else _UPDATE_WITH_TYPE
        for chunk in chunks(ids):
            compiled_statements.execute_for(self._connection, statement, _own.id, chunk, values)

    def delete(self, ids: Iterable[int]) -> None:
        """Remove locked consumers."""
        for chunk in chunks(ids):
            compiled_statements.execute_for(self._connection, _DELETE, _own.id, chunk)

    def _owners(self, claims: Sequence[ConsumerClaim]) -> dict[str, Owner]:
        """Return the owner of each consumer; what is new among them is made."""
        if unsought := [c for c in claims if c.consumer_uuid not in self._owners_sought]:
            self._seek_owners(unsought)
        for column, known, new in self._unknown_owners(claims):
            known.learn(ids_made(self._connection, column.table, column, new))
        names = self._names
        return {
            claim.consumer_uuid: Owner(
                names.projects[claim.project_id],
                names.users[claim.user_id],
                None if claim.type is None else names.consumer_types[claim.type],
            )
            for claim in claims
        }

    def _seek_owners(
        self, claims: Sequence[ConsumerClaim], *also: Sought
    ) -> Sequence[Mapping[str, int]]:
        """Learn the ids that the process does not know; return those of what is sought ``also``.

        Cost: one statement for all, or none.
        """
        self._owners_sought.update(claim.consumer_uuid for claim in claims)
        unknown = self._unknown_owners(claims)
        found = ids_at_once(
            self._connection, [*also, *((column, missing) for column, _, missing in unknown)]
        )
        for (_, known, _), ids in zip(unknown, found[len(also) :], strict=True):
            known.learn(ids)
        return found[: len(also)]

    def _unknown_owners(
        self, claims: Sequence[ConsumerClaim]
    ) -> list[tuple[sa.Column[str], Known, list[str]]]:
        """Return the names whose ids are not known, and the columns that have them."""
        names = self._names
        types = {claim.type for claim in claims if claim.type is not None}
        named = (
            (projects.c.external_id, names.projects, {claim.project_id for claim in claims}),
            (users.c.external_id, names.users, {claim.user_id for claim in claims}),
            (consumer_types.c.name, names.consumer_types, types),
        )
        return [
            (column, known, missing)
            for column, known, asked in named
            if (missing := known.missing(asked))
        ]


def _held(rows: Iterable[Any]) -> Held:
    """Sum up rows; one without provider says that the consumer holds nothing."""
    held: Held = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
    for row in rows:
        if row.provider_uuid is not None and row.resource_class is not None:
            held[row.uuid][row.provider_uuid][row.resource_class] += row.used
    return held
