"""Statements for allocations, and the sums over them."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.core.model import (
    AllocatedResources,
    Consumer,
    ConsumerAllocations,
    ProviderAllocations,
    TypeUsage,
)
from placement.db.clocks import utcnow
from placement.db.resources.providers import find_with, with_resources
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

_Statement = sa.Select[Any] | sa.CompoundSelect[Any]

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

_ON_PROVIDER = with_resources(
    _RECORDED,
    _allocation.resource_provider_id,
    consumers.c.uuid.label("consumer_uuid"),
    consumers.c.generation.label("consumer_generation"),
    _class_name,
    _allocation.used.label("amount"),
    _modified_at,
).order_by(_allocation.id)
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

    def on_provider(self, uuid: str) -> ProviderAllocations:
        """Return the allocations on a provider, by consumer.  Raises: ProviderNotFound."""
        provider, found = find_with(self._connection, _ON_PROVIDER, uuid)
        rows = [_Allocated(*row) for row in found]
        return ProviderAllocations(provider, _allocated_resources(rows), _newest(rows))

    def of_consumer(self, uuid: str) -> ConsumerAllocations:
        """Return the allocations of a consumer, by provider."""
        result = self._connection.execute(_OF_CONSUMER, {"uuid": uuid})
        rows = [row for row in result if row.consumer_uuid == uuid]
        if not rows:
            return ConsumerAllocations(None, {}, None)
        row, allocated = rows[0], [_Allocated(*row[:5]) for row in rows]
        consumer = Consumer(uuid, row.project_id, row.user_id, row.consumer_generation, row.type)
        return ConsumerAllocations(consumer, _allocated_resources(allocated), _newest(allocated))

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
        rows = self._of_owner(_USAGE, project_id, user_id)
        return {name: int(amount) for name, amount in rows}

    def usage_by_type(self, project_id: str, user_id: str | None) -> dict[str | None, TypeUsage]:
        """Return the number of consumers and the allocated amounts, by consumer type.

        Consumers without a type are counted under None.
        """
        resources: dict[str | None, dict[str, int]] = defaultdict(dict)
        counts: dict[str | None, int] = {}
        rows = self._of_owner(_USAGE_BY_TYPE, project_id, user_id)
        for type_, name, number, *_ in rows:
            if name is None:
                counts[type_] = int(number)
            else:
                resources[type_][name] = int(number)
        return {type_: TypeUsage(counts[type_], amounts) for type_, amounts in resources.items()}

    def _of_owner(
        self, statements: Mapping[bool, _Statement], project_id: str, user_id: str | None
    ) -> Iterable[Any]:
        """Return the rows of the statement for a project, or for a user in it."""
        owner = {"project_id": project_id}
        if user_id is not None:
            owner["user_id"] = user_id
        return self._connection.execute(statements[user_id is not None], owner)


_Conditions = Sequence[sa.ColumnElement[bool]]


# A database sums by ids much faster than by names, so names are joined to the sums.
def _usage(owned_by: _Conditions) -> sa.Select[Any]:
    """Return the statement for the amounts by the names of classes."""
    class_id = _allocation.resource_class_id
    sums = (
        sa.select(class_id, _amount)
        .select_from(_OWNED).where(*owned_by).group_by(class_id).subquery()
    )  # fmt: skip
    return (
        sa.select(_class_name, sums.c.amount)
        .join(sums, sums.c.resource_class_id == resource_classes.c.id)
        .order_by(resource_classes.c.id)
    )


def _usage_by_type(owned_by: _Conditions) -> sa.CompoundSelect[Any]:
    """Return the statement for the amounts by the names of consumer type and class.

    A row without class has the number of consumers with allocations.
    """
    type_id, class_id = consumers.c.consumer_type_id, _allocation.resource_class_id
    sums = (
        sa.select(type_id, class_id, _amount)
        .select_from(_OWNED).where(*owned_by).group_by(type_id, class_id).subquery()
    )  # fmt: skip
    counts = (
        sa.select(type_id, sa.func.count().label("number"))
        .select_from(_OWNERS)
        .where(*owned_by, sa.exists().where(_allocation.consumer_id == consumers.c.uuid))
        .group_by(type_id).subquery()
    )  # fmt: skip
    amounts = sa.select(
        consumer_types.c.name, _class_name, sums.c.amount,
        sums.c.consumer_type_id.label("type_id"), sums.c.resource_class_id.label("class_id"),
    ).select_from(
        sums.join(resource_classes, resource_classes.c.id == sums.c.resource_class_id)
        .outerjoin(consumer_types, consumer_types.c.id == sums.c.consumer_type_id)
    )  # fmt: skip
    numbers = sa.select(
        consumer_types.c.name, sa.null(), counts.c.number, counts.c.consumer_type_id, sa.null()
    ).select_from(
        counts.outerjoin(consumer_types, consumer_types.c.id == counts.c.consumer_type_id)
    )
    return sa.union_all(amounts, numbers).order_by("type_id", "class_id")


_OF_PROJECT = (projects.c.external_id == sa.bindparam("project_id"),)
_OF_USER = (*_OF_PROJECT, users.c.external_id == sa.bindparam("user_id"))
# by whether the user is specified
_USAGE = {False: _usage(_OF_PROJECT), True: _usage(_OF_USER)}
_USAGE_BY_TYPE = {False: _usage_by_type(_OF_PROJECT), True: _usage_by_type(_OF_USER)}


class _Allocated(NamedTuple):
    """An amount, on or of what has the UUID and the generation."""

    uuid: str
    generation: int
    resource_class: str
    amount: int
    modified_at: datetime | None


def _allocated_resources(rows: Iterable[_Allocated]) -> dict[str, AllocatedResources]:
    """Group rows by the UUID of the provider or consumer."""
    generations = {row.uuid: row.generation for row in rows}
    resources: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        resources[row.uuid][row.resource_class] += row.amount
    return {
        uuid: AllocatedResources(generations[uuid], dict(amounts))
        for uuid, amounts in resources.items()
    }


def _newest(rows: Iterable[_Allocated]) -> datetime | None:
    return max((row.modified_at for row in rows if row.modified_at), default=None)
