"""Statements for allocations, and the sums over them."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import Any

import sqlalchemy as sa

from placement.core.model import (
    AllocatedResources,
    Consumer,
    ConsumerAllocations,
    ProviderAllocations,
    TypeUsage,
)
from placement.db import grouped_rows
from placement.db.clocks import time_of_text, utcnow
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
from placement.db.writes import Statements, Write, chunks, rows_of, writes_of

_Statement = sa.Select[Any] | sa.CompoundSelect[Any]

_allocation = allocations.c
# As text: drivers convert times in Python, and only the newest is returned.
_time = sa.func.coalesce(_allocation.updated_at, _allocation.created_at)
_modified_at = sa.cast(_time, sa.String).label("modified_at")
# An allocation without consumer, or whose consumer has no project or user, is not returned.
_OWNERS = consumers.join(projects, projects.c.id == consumers.c.project_id).join(
    users, users.c.id == consumers.c.user_id
)
_OWNED = _OWNERS.join(allocations, _allocation.consumer_id == consumers.c.uuid)
_IS_OF_CLASS = resource_classes.c.id == _allocation.resource_class_id
_IS_OF_TYPE = consumer_types.c.id == consumers.c.consumer_type_id
_RECORDED = _OWNED.join(resource_classes, _IS_OF_CLASS).outerjoin(consumer_types, _IS_OF_TYPE)
_class_name = resource_classes.c.name.label("resource_class")
_amount = sa.func.sum(_allocation.used).label("amount")

_TEXTS = 256  # of up to 10,000 allocations each


@cache
def _on_provider(dialect: str, texts: int) -> sa.Select[Any]:
    """Return the statement for the allocations on a provider: number, text and newest time.

    They are one text: with 20 servers a provider has 60, and to decode 60 rows takes PyMySQL a
    third of the time of a request. If this is too long, they are several texts.
    """
    links = [
        (allocations, _allocation.resource_provider_id == resource_providers.c.id),
        (consumers, consumers.c.uuid == _allocation.consumer_id),
        (projects, projects.c.id == consumers.c.project_id),
        (users, sa.and_(users.c.id == consumers.c.user_id, projects.c.id.is_not(None))),
        (resource_classes, sa.and_(_IS_OF_CLASS, users.c.id.is_not(None))),
    ]
    amount, owner = _allocation.used, (consumers.c.uuid, consumers.c.generation)
    text = grouped_rows.joined(dialect, resource_classes.c.name, amount, *owner)
    newest = sa.func.max(sa.case((resource_classes.c.id.is_not(None), _time)))
    number = sa.func.nullif(sa.func.count(resource_classes.c.id), 0)
    part = [_allocation.id % texts] if texts > 1 else []
    statement = with_resources(links, number, text, sa.cast(newest, sa.String))
    return statement.group_by(resource_providers.c.uuid, GENERATION, *part)


_root = resource_providers.alias("root")
_OF_CONSUMER = (
    sa.select(
        _class_name,
        _allocation.used.label("amount"),
        resource_providers.c.uuid,
        GENERATION.label("generation"),
        _modified_at,
        consumers.c.uuid.label("consumer_uuid"),
        projects.c.external_id.label("project_id"),
        users.c.external_id.label("user_id"),
        consumers.c.generation.label("consumer_generation"),
        consumer_types.c.name.label("type"),
    )
    .select_from(
        _RECORDED.join(
            resource_providers, resource_providers.c.id == _allocation.resource_provider_id
        ).join(_root, _root.c.id == resource_providers.c.root_provider_id)
    )
    .where(_allocation.consumer_id == sa.bindparam("uuid"))
    .order_by(_allocation.id)
)
_INSERT, _DELETE = allocations.insert().inline(), allocations.delete()
_HOLDERS = sa.select(_allocation.consumer_id)


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
        """Return the allocations on a provider, in the order of the UUIDs of their consumers.

        Raises: ProviderNotFound.
        """
        try:
            return self._on_provider(uuid, 1)
        except grouped_rows.Truncated:  # the provider has more than 10,000
            return self._on_provider(uuid, _TEXTS)

    def _on_provider(self, uuid: str, texts: int) -> ProviderAllocations:
        statement = _on_provider(self._connection.dialect.name, texts)
        generation, rows = find_with(self._connection, statement, uuid)
        parts = (grouped_rows.fields(text, 4) for _, text, _ in rows)
        allocated = sorted(
            row
            for names, amounts, consumer_uuids, generations in parts
            for row in zip(consumer_uuids, names, amounts, generations, strict=True)
        )
        resources = _allocated_resources(
            (name, int(amount), consumer_uuid, int(consumer_generation))
            for consumer_uuid, name, amount, consumer_generation in allocated
        )
        modified_at = max((time or "" for *_, time in rows), default="")
        return ProviderAllocations(generation, resources, time_of_text(modified_at))

    def of_consumer(self, uuid: str) -> ConsumerAllocations:
        """Return the allocations of a consumer, by provider."""
        result = self._connection.execute(_OF_CONSUMER, {"uuid": uuid})
        rows = [row for row in result if row.consumer_uuid == uuid]
        if not rows:
            return ConsumerAllocations(None, {}, None)
        row, allocated = rows[0], [row[:4] for row in rows]
        consumer = Consumer(uuid, row.project_id, row.user_id, row.consumer_generation, row.type)
        modified_at = max((row.modified_at for row in rows if row.modified_at), default="")
        resources = _allocated_resources(allocated)
        return ConsumerAllocations(consumer, resources, time_of_text(modified_at))

    def touch(self, uuids: Iterable[str]) -> None:
        """Write the allocations of consumers, so that concurrent changes of them conflict.

        A lock is not enough: Galera nodes do not see each other's locks. An update that changes
        no value is not enough either: allocations of this second get the next one.
        """
        now = utcnow()
        later = (_allocation.updated_at == now, now + timedelta(seconds=1))
        update = allocations.update().values(updated_at=sa.case(later, else_=now))
        for chunk in chunks(uuids):
            self._connection.execute(update.where(_allocation.consumer_id.in_(chunk)))

    def without(self, uuids: Iterable[str]) -> set[str]:
        """Return the UUIDs of the consumers without allocations."""
        requested = set(uuids)
        holders = rows_of(self._connection, _HOLDERS, _allocation.consumer_id, sorted(requested))
        return requested - {row.consumer_id for row in holders}

    def holders_on(
        self, provider_id: int, class_ids: Collection[int] | None = None
    ) -> tuple[int, str] | None:
        """Return the number of consumers with allocations on a provider, and one UUID, if any.

        Consumers without a row count. With ``class_ids``, only allocations of these classes count.
        """
        consumer_id = _allocation.consumer_id
        statement = sa.select(
            sa.func.count(consumer_id.distinct()), sa.func.min(consumer_id)
        ).where(_allocation.resource_provider_id == provider_id)
        if class_ids is not None:
            statement = statement.where(_allocation.resource_class_id.in_(class_ids))
        number, first = self._connection.execute(statement).one()
        return (number, first) if number else None

    def consumers_by_provider(self) -> dict[int, int]:
        """Return the number of consumers by provider id, without providers that have none."""
        provider_id = _allocation.resource_provider_id
        count = sa.func.count(_allocation.consumer_id.distinct())
        rows = self._connection.execute(sa.select(provider_id, count).group_by(provider_id))
        return {row[0]: row[1] for row in rows}

    def usage_of_project(self, project_id: str, user_id: str | None) -> dict[str, int]:
        """Return the amounts, by class, that consumers of a project (and user) have allocated."""
        rows = self._of_owner(_USAGE, project_id, user_id)
        return {name: int(amount) for name, amount in rows if name is not None}

    def usage_by_type(self, project_id: str, user_id: str | None) -> dict[str | None, TypeUsage]:
        """Return the number of consumers and the allocated amounts, by consumer type.

        Consumers without a type are counted under None.
        """
        resources: dict[str | None, dict[str, int]] = defaultdict(dict)
        counts: dict[str | None, int] = {}
        rows = self._of_owner(_USAGE_BY_TYPE, project_id, user_id)
        for type_, class_id, name, number, _ in rows:
            if class_id is None:
                counts[type_] = int(number)
            elif name is not None:
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

# A database sums by ids much faster than by names, so a subquery reads the name of a sum.
_name_of_class = sa.select(resource_classes.c.name).where(_IS_OF_CLASS).scalar_subquery()
_name_of_type = sa.select(consumer_types.c.name).where(_IS_OF_TYPE).scalar_subquery()
_type_id, _class_id = consumers.c.consumer_type_id, _allocation.resource_class_id


def _usage(owned_by: _Conditions) -> sa.Select[Any]:
    """Return the statement for the amounts by class."""
    sums = sa.select(_name_of_class, _amount).select_from(_OWNED).where(*owned_by)
    return sums.group_by(_class_id).order_by(_class_id)


def _usage_by_type(owned_by: _Conditions) -> sa.CompoundSelect[Any]:
    """Return the statement for the amounts by consumer type and class.

    A row without class id has the number of consumers with allocations.
    """
    has_allocations = sa.exists().where(_allocation.consumer_id == consumers.c.uuid)
    amounts = (
        sa.select(
            _name_of_type, _class_id.label("class_id"), _name_of_class, _amount,
            _type_id.label("type_id"),
        )
        .select_from(_OWNED).where(*owned_by).group_by(_type_id, _class_id)
    )  # fmt: skip
    numbers = (
        sa.select(_name_of_type, sa.null(), sa.null(), sa.func.count(), _type_id)
        .select_from(_OWNERS).where(*owned_by, has_allocations).group_by(_type_id)
    )  # fmt: skip
    return sa.union_all(amounts, numbers).order_by("type_id", "class_id")


_OF_PROJECT = (projects.c.external_id == sa.bindparam("project_id"),)
_OF_USER = (*_OF_PROJECT, users.c.external_id == sa.bindparam("user_id"))
# by whether the user is specified
_USAGE = {False: _usage(_OF_PROJECT), True: _usage(_OF_USER)}
_USAGE_BY_TYPE = {False: _usage_by_type(_OF_PROJECT), True: _usage_by_type(_OF_USER)}


# A resource class, an amount, and the UUID and generation of the provider or consumer
_Allocated = tuple[str, int, str, int]


def _allocated_resources(rows: Iterable[_Allocated]) -> dict[str, AllocatedResources]:
    """Group rows by the UUID of the provider or consumer."""
    resources: dict[tuple[str, int], dict[str, int]] = defaultdict(dict)
    for resource_class, amount, uuid, generation in rows:
        amounts = resources[uuid, generation]
        amounts[resource_class] = amounts.get(resource_class, 0) + amount
    return {
        uuid: AllocatedResources(generation, amounts)
        for (uuid, generation), amounts in resources.items()
    }
