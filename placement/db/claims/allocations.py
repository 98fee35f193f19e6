"""Statements for allocations, and the sums over them."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from placement.core.model import AllocatedResources, Consumer, TypeUsage
from placement.db.clocks import utcnow
from placement.db.tables import (
    GENERATION,
    allocations,
    consumer_types,
    consumers,
    projects,
    resource_classes,
    resource_providers,
    users,
)
from placement.db.writes import Statements, Write, chunks, writes_of

_allocation = allocations.c
_modified_at = sa.func.coalesce(_allocation.updated_at, _allocation.created_at).label(
    "modified_at"
)
# An allocation without consumer, or whose consumer has no project or user, is not returned.
_OWNERS = consumers.join(projects, projects.c.id == consumers.c.project_id).join(
    users, users.c.id == consumers.c.user_id
)
_OWNED = _OWNERS.join(allocations, _allocation.consumer_id == consumers.c.uuid)
_RECORDED = _OWNED.join(resource_classes, resource_classes.c.id == _allocation.resource_class_id)
_RECORDED_WITH_TYPE = _RECORDED.outerjoin(
    consumer_types, consumer_types.c.id == consumers.c.consumer_type_id
)
_class_name = resource_classes.c.name.label("resource_class")
_amount = sa.func.sum(_allocation.used).label("amount")

_ON_PROVIDER = (
    sa.select(
        consumers.c.uuid, consumers.c.generation, _class_name, _allocation.used.label("amount"),
        _modified_at,
    )
    .select_from(_RECORDED)
    .where(_allocation.resource_provider_id == sa.bindparam("provider_id"))
    .order_by(_allocation.id)
)  # fmt: skip
_root = resource_providers.alias("root")
_OF_CONSUMER = (
    sa.select(
        resource_providers.c.uuid,
        GENERATION.label("generation"),
        _class_name,
        _allocation.used.label("amount"),
        _modified_at,
        consumers.c.uuid.label("consumer_uuid"),
        projects.c.external_id.label("project_id"),
        users.c.external_id.label("user_id"),
        consumers.c.generation.label("consumer_generation"),
        consumer_types.c.name.label("type"),
    )
    .select_from(
        _RECORDED_WITH_TYPE.join(
            resource_providers, resource_providers.c.id == _allocation.resource_provider_id
        ).join(_root, _root.c.id == resource_providers.c.root_provider_id)
    )
    .where(_allocation.consumer_id == sa.bindparam("uuid"))
    .order_by(_allocation.id)
)
_INSERT, _DELETE = allocations.insert().inline(), allocations.delete()


def deletions(consumer_uuids: Iterable[str]) -> list[Write]:
    """Return the writes that delete all allocations of consumers."""
    return writes_of(_DELETE, _allocation.consumer_id, consumer_uuids)


def insertions(rows: Iterable[tuple[str, int, int, int]]) -> list[Write]:
    """Return the writes that insert allocations.

    A row has the consumer UUID, the provider id, the class id and the amount.
    """
    times = dict.fromkeys(("created_at", "updated_at"), utcnow())
    values = [
        {
            "consumer_id": consumer_uuid,
            "resource_provider_id": provider_id,
            "resource_class_id": class_id,
            "used": amount,
            **times,
        }
        for consumer_uuid, provider_id, class_id, amount in rows
    ]
    return [Write(_INSERT, chunk) for chunk in chunks(values)]


class Allocations(Statements):
    """Allocations, in one transaction."""

    def on_provider(
        self, provider_id: int
    ) -> tuple[dict[str, AllocatedResources], datetime | None]:
        """Return the allocations on a provider, by consumer, and when the newest was written."""
        rows = self._connection.execute(_ON_PROVIDER, {"provider_id": provider_id}).all()
        return _allocated_resources(rows), _newest(rows)

    def of_consumer(
        self, uuid: str
    ) -> tuple[Consumer | None, dict[str, AllocatedResources], datetime | None]:
        """Return a consumer, its allocations by provider, and when the newest was written.

        The consumer is None if it has no allocations.
        """
        result = self._connection.execute(_OF_CONSUMER, {"uuid": uuid})
        rows = [row for row in result if row.consumer_uuid == uuid]
        if not rows:
            return None, {}, None
        row = rows[0]
        consumer = Consumer(uuid, row.project_id, row.user_id, row.consumer_generation, row.type)
        return consumer, _allocated_resources(rows), _newest(rows)

    def delete_on(
        self, uuids: Iterable[str], provider_ids: Collection[int], class_id: int | None = None
    ) -> None:
        """Delete the allocations of locked consumers on providers, of one class or of all."""
        of_class = [] if class_id is None else [_allocation.resource_class_id == class_id]
        on_providers = _allocation.resource_provider_id.in_(provider_ids)
        for chunk in chunks(uuids):
            of_consumers = _allocation.consumer_id.in_(chunk)
            self._connection.execute(_DELETE.where(of_consumers, on_providers, *of_class))

    def move(self, uuid: str, source_id: int, target_id: int) -> None:
        """Change the provider of the allocations of a locked consumer."""
        self._connection.execute(
            allocations.update()
            .where(_allocation.consumer_id == uuid, _allocation.resource_provider_id == source_id)
            .values(resource_provider_id=target_id, updated_at=utcnow())
        )

    def without(self, uuids: Iterable[str]) -> set[str]:
        """Return the UUIDs of the consumers without allocations."""
        empty = set(uuids)
        for chunk in chunks(sorted(empty)):
            holders = sa.select(_allocation.consumer_id).where(_allocation.consumer_id.in_(chunk))
            empty.difference_update(self._connection.scalars(holders))
        return empty

    def amounts_on(self, provider_id: int, class_id: int) -> dict[str, int]:
        """Return the allocated amounts of a class on a provider, by consumer."""
        rows = self._connection.execute(
            sa.select(_allocation.consumer_id, _amount)
            .where(
                _allocation.resource_provider_id == provider_id,
                _allocation.resource_class_id == class_id,
            )
            .group_by(_allocation.consumer_id)
        )
        return {uuid: int(amount) for uuid, amount in rows}

    def exist_on(self, provider_id: int) -> bool:
        """Return whether a provider has allocations, with or without consumer."""
        return self._refers(_allocation.resource_provider_id, provider_id)

    def usage_of_project(self, project_id: str, user_id: str | None) -> dict[str, int]:
        """Return the amounts, by class, that consumers of a project (and user) have allocated."""
        sums = (
            sa.select(_allocation.resource_class_id, _amount)
            .select_from(_OWNED)
            .where(*_owned_by(project_id, user_id))
            .group_by(_allocation.resource_class_id)
            .subquery()
        )
        query = (
            sa.select(_class_name, sums.c.amount)
            .join(sums, sums.c.resource_class_id == resource_classes.c.id)
            .order_by(resource_classes.c.id)
        )
        return {name: int(amount) for name, amount in self._connection.execute(query)}

    def usage_by_type(self, project_id: str, user_id: str | None) -> dict[str | None, TypeUsage]:
        """Return the number of consumers and the allocated amounts, by consumer type.

        Consumers without a type are counted under None.
        """
        owned_by = _owned_by(project_id, user_id)
        resources: dict[str | None, dict[str, int]] = defaultdict(dict)
        for type_, name, amount in self._connection.execute(_amounts_by_type(owned_by)):
            resources[type_][name] = int(amount)
        counts = {row[0]: row[1] for row in self._connection.execute(_consumer_counts(owned_by))}
        return {type_: TypeUsage(counts[type_], amounts) for type_, amounts in resources.items()}


# A database sums by ids much faster than by names, so names are joined to the sums.
def _amounts_by_type(owned_by: Iterable[sa.ColumnElement[bool]]) -> sa.Select[Any]:
    """Return the statement for the amounts by the names of consumer type and class."""
    keys = (consumers.c.consumer_type_id, _allocation.resource_class_id)
    sums = (
        sa.select(*keys, _amount).select_from(_OWNED).where(*owned_by).group_by(*keys).subquery()
    )
    return (
        sa.select(consumer_types.c.name, _class_name, sums.c.amount)
        .select_from(sums)
        .join(resource_classes, resource_classes.c.id == sums.c.resource_class_id)
        .outerjoin(consumer_types, consumer_types.c.id == sums.c.consumer_type_id)
        .order_by(sums.c.consumer_type_id, resource_classes.c.id)
    )


def _consumer_counts(owned_by: Iterable[sa.ColumnElement[bool]]) -> sa.Select[Any]:
    """Return the statement for the number of consumers with allocations, by consumer type."""
    counts = (
        sa.select(consumers.c.consumer_type_id, sa.func.count().label("number"))
        .select_from(_OWNERS)
        .where(*owned_by, sa.exists().where(_allocation.consumer_id == consumers.c.uuid))
        .group_by(consumers.c.consumer_type_id)
        .subquery()
    )
    return (
        sa.select(consumer_types.c.name, counts.c.number)
        .select_from(counts)
        .outerjoin(consumer_types, consumer_types.c.id == counts.c.consumer_type_id)
    )


def _owned_by(project_id: str, user_id: str | None) -> list[sa.ColumnElement[bool]]:
    user = [] if user_id is None else [users.c.external_id == user_id]
    return [projects.c.external_id == project_id, *user]


def _allocated_resources(rows: Iterable[Any]) -> dict[str, AllocatedResources]:
    """Group rows by the UUID of the provider or consumer."""
    generations = {row.uuid: row.generation for row in rows}
    resources: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        resources[row.uuid][row.resource_class] += row.amount
    return {
        uuid: AllocatedResources(generations[uuid], dict(amounts))
        for uuid, amounts in resources.items()
    }


def _newest(rows: Iterable[Any]) -> datetime | None:
    return max((row.modified_at for row in rows if row.modified_at), default=None)
