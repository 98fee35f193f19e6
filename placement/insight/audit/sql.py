"""Reads the audited state: see :mod:`placement.insight.audit.model`.

The reads are in one transaction and take no locks; the database sums up the allocations.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

import sqlalchemy as sa

from placement.core.capacity import is_within_capacity
from placement.core.model import CUSTOM_PREFIX, FIRST_CUSTOM_CLASS_ID
from placement.db.claims.inventories import inventory_of
from placement.db.tables import (
    LIMITS,
    allocations,
    consumer_types,
    consumers,
    inventories,
    placement_aggregates,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)
from placement.db.writes import chunks
from placement.insight.audit.model import (
    COMPUTE_NODE,
    AuditedInventory,
    AuditedProvider,
    AuditedState,
    Key,
    LoneAllocation,
    UsageSum,
)

_provider = resource_providers.c
_inventory = inventories.c
_allocation = allocations.c

_PROVIDERS = sa.select(
    _provider.id,
    _provider.uuid,
    _provider.name,
    _provider.root_provider_id,
    _provider.parent_provider_id,
    sa.func.coalesce(_provider.updated_at, _provider.created_at),
).order_by(_provider.id)
_INVENTORIES: sa.Select[*tuple[int, ...]] = sa.select(
    _inventory.resource_provider_id,
    _inventory.resource_class_id,
    _inventory.used,
    sa.func.coalesce(_inventory.updated_at, _inventory.created_at).label("changed_at"),
    *LIMITS,
)
_KEY = (_allocation.resource_provider_id, _allocation.resource_class_id)
# An index has all three columns; the time of the newest allocation is read for few keys.
_USAGE = sa.select(*_KEY, sa.func.sum(_allocation.used)).group_by(*_KEY)
_NEWEST = sa.select(*_KEY, sa.func.max(_allocation.created_at)).group_by(*_KEY)
# Each consumer is looked up once, however many allocations it has.
_holders = sa.select(_allocation.consumer_id).group_by(_allocation.consumer_id).subquery()
_LONE_HOLDERS = (
    sa.select(_holders.c.consumer_id)
    .select_from(_holders.outerjoin(consumers, consumers.c.uuid == _holders.c.consumer_id))
    .where(consumers.c.id.is_(None))
)
_EMPTY = (
    sa.select(consumers.c.uuid, consumers.c.generation)
    .select_from(consumers.outerjoin(allocations, consumers.c.uuid == _allocation.consumer_id))
    .where(_allocation.id.is_(None))
)

_COMPUTE_NODES = (
    sa.select(resource_provider_traits.c.resource_provider_id)
    .join(traits, traits.c.id == resource_provider_traits.c.trait_id)
    .where(traits.c.name == COMPUTE_NODE)
)
_AGGREGATED = sa.select(
    resource_provider_aggregates.c.resource_provider_id, placement_aggregates.c.uuid
).join(
    placement_aggregates,
    placement_aggregates.c.id == resource_provider_aggregates.c.aggregate_id,
)
_CONSUMER_TYPES = (
    sa.select(consumer_types.c.name, sa.func.count(consumers.c.id).label("number"))
    .select_from(
        consumer_types.outerjoin(consumers, consumers.c.consumer_type_id == consumer_types.c.id)
    )
    .group_by(consumer_types.c.name)
)
_UNTYPED = sa.select(consumers.c.id).where(consumers.c.consumer_type_id.is_(None))
_UNUSED_CLASSES = sa.select(resource_classes.c.name).where(
    resource_classes.c.id >= FIRST_CUSTOM_CLASS_ID,
    ~sa.exists().where(_inventory.resource_class_id == resource_classes.c.id),
    ~sa.exists().where(_allocation.resource_class_id == resource_classes.c.id),
)
_UNUSED_TRAITS = sa.select(traits.c.name).where(
    traits.c.name.startswith(CUSTOM_PREFIX, autoescape=True),
    ~sa.exists().where(resource_provider_traits.c.trait_id == traits.c.id),
)


def read_state(connection: sa.Connection, written_before: datetime, at_most: int) -> AuditedState:
    """Return the state that the transaction sees.

    Consumers without a row and consumers without allocations are included if they were written
    before ``written_before`` (naive UTC), at most ``at_most`` of each kind.
    Cost: reads each row of ``allocations`` and ``consumers`` about twice, in the database.
    """
    providers = map(AuditedProvider._make, connection.execute(_PROVIDERS))
    inventories = [
        AuditedInventory(
            row.resource_provider_id,
            row.resource_class_id,
            inventory_of(row),
            row.used,
            row.changed_at,
        )
        for row in connection.execute(_INVENTORIES)
    ]
    classes = connection.execute(sa.select(resource_classes.c.id, resource_classes.c.name))
    types = {row.name: row.number for row in connection.execute(_CONSUMER_TYPES)}
    empty = _EMPTY.where(_is_older(consumers, written_before)).limit(at_most)
    return AuditedState(
        providers={provider.id: provider for provider in providers},
        inventories=inventories,
        usage=_usage(connection, inventories),
        class_names={row.id: row.name for row in classes},
        lone_allocations=_lone(connection, written_before, at_most),
        empty_consumers=[(row.uuid, row.generation) for row in connection.execute(empty)],
        young=_young(connection, written_before),
        unused_classes=connection.scalars(_UNUSED_CLASSES).all(),
        unused_traits=connection.scalars(_UNUSED_TRAITS).all(),
        compute_nodes=set(connection.scalars(_COMPUTE_NODES)),
        aggregated=_aggregated(connection),
        consumer_types={**types, None: _number(connection, _UNTYPED)},
    )


def _aggregated(connection: sa.Connection) -> Mapping[int, Collection[str]]:
    aggregated: dict[int, set[str]] = defaultdict(set)
    for provider_id, uuid in connection.execute(_AGGREGATED):
        aggregated[provider_id].add(uuid)
    return aggregated


def _usage(
    connection: sa.Connection, inventories: Iterable[AuditedInventory]
) -> Mapping[Key, UsageSum]:
    """Return the sums, with the time of the newest allocation if a sum is too large."""
    sums = {
        (provider_id, class_id): int(amount)
        for provider_id, class_id, amount in connection.execute(_USAGE)
    }
    exceeded = {
        inventory.provider_id
        for inventory in inventories
        if not is_within_capacity(
            inventory.limits, sums.get((inventory.provider_id, inventory.class_id), 0), 0
        )
    }
    newest: dict[Key, datetime] = {}
    for chunk in chunks(sorted(exceeded)):
        rows = connection.execute(_NEWEST.where(_allocation.resource_provider_id.in_(chunk)))
        newest |= {(provider_id, class_id): at for provider_id, class_id, at in rows}
    return {key: UsageSum(amount, newest.get(key)) for key, amount in sums.items()}


def _lone(
    connection: sa.Connection, written_before: datetime, at_most: int
) -> list[LoneAllocation]:
    holders = _LONE_HOLDERS.limit(at_most).subquery()
    statement = (
        sa.select(_allocation.consumer_id, *_KEY, _allocation.used)
        .join(holders, holders.c.consumer_id == _allocation.consumer_id)
        .where(_is_older(allocations, written_before))
    )
    return [LoneAllocation(*row) for row in connection.execute(statement)]


def _young(connection: sa.Connection, written_before: datetime) -> Mapping[str, int]:
    """Return the numbers of younger consumers without a row or without allocations."""
    holders = _LONE_HOLDERS.subquery()
    lone = (
        sa.select(_allocation.consumer_id)
        .join(holders, holders.c.consumer_id == _allocation.consumer_id)
        .where(_written_at(allocations) >= written_before)
        .distinct()
    )
    empty = _EMPTY.where(_written_at(consumers) >= written_before)
    return {
        "missing_consumer": _number(connection, lone),
        "empty_consumer": _number(connection, empty),
    }


def _number(connection: sa.Connection, statement: sa.SelectBase) -> int:
    """Return the number of rows."""
    count = sa.select(sa.func.count()).select_from(statement.subquery())
    return connection.scalar(count) or 0


def _is_older(table: sa.Table, written_before: datetime) -> sa.ColumnElement[bool]:
    written_at = _written_at(table)
    return sa.or_(written_at.is_(None), written_at < written_before)


def _written_at(table: sa.Table) -> sa.ColumnElement[datetime]:
    return sa.func.coalesce(table.c.updated_at, table.c.created_at)
