"""Reads the audited state: see :mod:`placement.insight.audit.model`.

The reads are in one transaction and take no locks; the database sums up the allocations.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from placement.core.capacity import is_within_capacity
from placement.core.model import CUSTOM_PREFIX, FIRST_CUSTOM_CLASS_ID
from placement.db.store import Store
from placement.db.tables import (
    allocations,
    consumer_types,
    consumers,
    inventories,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)
from placement.db.writes import chunks
from placement.insight.audit.live_consumers import Root
from placement.insight.audit.model import (
    COMPUTE_NODE,
    AuditedInventory,
    AuditedProvider,
    AuditedState,
    EmptyConsumer,
    Key,
    LoneAllocation,
    UsageSum,
)
from placement.insight.consumers.model import ConsumerFilter, ListedConsumer
from placement.insight.consumers.sql import all_matching

_PAGE = 10_000

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
_INVENTORIES = sa.select(
    _inventory.resource_provider_id,
    _inventory.resource_class_id,
    _inventory.total,
    _inventory.reserved,
    _inventory.allocation_ratio,
    _inventory.used,
    sa.func.coalesce(_inventory.updated_at, _inventory.created_at),
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
_LONE = sa.select(_allocation.consumer_id, *_KEY, _allocation.used)
_WITHOUT_ROW = (
    sa.select(_allocation.consumer_id)
    .select_from(allocations.outerjoin(consumers, consumers.c.uuid == _allocation.consumer_id))
    .where(consumers.c.id.is_(None))
    .distinct()
)
_EMPTY = (
    sa.select(consumers.c.uuid, consumers.c.generation)
    .select_from(consumers.outerjoin(allocations, consumers.c.uuid == _allocation.consumer_id))
    .where(_allocation.id.is_(None))
)
_YOUNG = {"missing_consumer": (_WITHOUT_ROW, allocations), "empty_consumer": (_EMPTY, consumers)}

_COMPUTE_NODES = (
    sa.select(resource_provider_traits.c.resource_provider_id)
    .join(traits, traits.c.id == resource_provider_traits.c.trait_id)
    .where(traits.c.name == COMPUTE_NODE)
)
_AGGREGATED = sa.select(resource_provider_aggregates.c.resource_provider_id).distinct()
_CONSUMER_TYPES = (
    sa.select(consumer_types.c.name, sa.func.count(consumers.c.id).label("number"))
    .select_from(
        consumer_types.outerjoin(consumers, consumers.c.consumer_type_id == consumer_types.c.id)
    )
    .group_by(consumer_types.c.name)
)
_UNTYPED = sa.select(consumers.c.id).where(consumers.c.consumer_type_id.is_(None))
_LEFT_BY_NOVA = frozenset({"can_host"})

_root = resource_providers.alias("root")
_NAMES = sa.select(_provider.uuid, _provider.name)
_ROOTS = sa.select(_provider.uuid, _root.c.uuid, _root.c.name).join(
    _root, _root.c.id == _provider.root_provider_id
)


class StoredConsumers:
    """The consumers to audit, read from the database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def consumers(self) -> Iterator[ListedConsumer]:
        """Yield all consumers."""
        return all_matching(self._store, ConsumerFilter(limit=_PAGE))

    def roots(self) -> Mapping[str, Root]:
        """Return the root of each provider."""
        with self._store.read() as tx:
            rows = tx.connection.execute(_ROOTS).all()
        return {uuid: Root(root_uuid, name) for uuid, root_uuid, name in rows}

    def names(self) -> Mapping[str, str]:
        """Return the name of each provider."""
        return self._names(_NAMES)

    def hosts(self) -> Mapping[str, str]:
        """Return the name of each provider with the trait COMPUTE_NODE."""
        return self._names(_NAMES.where(_provider.id.in_(_COMPUTE_NODES)))

    def _names(self, statement: sa.Select[Any]) -> Mapping[str, str]:
        with self._store.read() as tx:
            return {row.uuid: row.name for row in tx.connection.execute(statement)}


class AuditReader:
    """The reads of an audit, in one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def state(self, written_before: datetime, at_most: int) -> AuditedState:
        """Return the state that the transaction sees.

        Consumers without a row and consumers without allocations are included if they were
        written before ``written_before`` (naive UTC), at most ``at_most`` of each kind.
        Cost: reads each row of ``allocations`` and ``consumers`` about twice, in the database.
        """
        inventories = [AuditedInventory(*row) for row in self._rows(_INVENTORIES)]
        return AuditedState(
            providers=[AuditedProvider(*row) for row in self._rows(_PROVIDERS)],
            inventories=inventories,
            usage=self._usage(inventories),
            class_names=self._class_names(),
            lone_allocations=self._lone(written_before, at_most),
            empty_consumers=[
                EmptyConsumer(*row)
                for row in self._rows(_older(_EMPTY, consumers, written_before).limit(at_most))
            ],
            young={
                code: self._number(_younger(statement, table, written_before))
                for code, (statement, table) in _YOUNG.items()
            },
            unused_classes=[row[0] for row in self._rows(_unused_classes())],
            unused_traits=[row[0] for row in self._rows(_unused_traits())],
            compute_nodes={row[0] for row in self._rows(_COMPUTE_NODES)},
            aggregated={row[0] for row in self._rows(_AGGREGATED)},
            consumer_types=self._consumer_types(),
            leftover_columns=self._leftover_columns(),
        )

    def _rows(self, statement: sa.Select[Any]) -> Any:
        return self._connection.execute(statement)

    def _number(self, statement: sa.Select[Any]) -> int:
        """Return the number of rows."""
        count = sa.select(sa.func.count()).select_from(statement.subquery())
        return self._connection.scalar(count) or 0

    def _usage(self, inventories: Iterable[AuditedInventory]) -> Mapping[Key, UsageSum]:
        """Return the sums, with the time of the newest allocation if a sum is too large."""
        sums = {
            (provider_id, class_id): int(amount)
            for provider_id, class_id, amount in self._rows(_USAGE)
        }
        exceeded = {
            inventory.provider_id for inventory in inventories if _is_exceeded(inventory, sums)
        }
        newest: dict[Key, datetime] = {}
        for chunk in chunks(sorted(exceeded)):
            rows = self._rows(_NEWEST.where(_allocation.resource_provider_id.in_(chunk)))
            newest |= {(provider_id, class_id): at for provider_id, class_id, at in rows}
        return {key: UsageSum(amount, newest.get(key)) for key, amount in sums.items()}

    def _lone(self, written_before: datetime, at_most: int) -> list[LoneAllocation]:
        holders = [row[0] for row in self._rows(_LONE_HOLDERS.limit(at_most))]
        older = _older(_LONE, allocations, written_before)
        return [
            LoneAllocation(*row)
            for chunk in chunks(holders)
            for row in self._rows(older.where(_allocation.consumer_id.in_(chunk)))
        ]

    def _consumer_types(self) -> dict[str | None, int]:
        numbers = {row.name: row.number for row in self._rows(_CONSUMER_TYPES)}
        return {**numbers, None: self._number(_UNTYPED)}

    def _leftover_columns(self) -> list[str]:
        """Return columns of old databases of nova that the schema of Placement does not have."""
        table = resource_providers.name
        present = {column["name"] for column in sa.inspect(self._connection).get_columns(table)}
        return [f"{table}.{name}" for name in sorted(_LEFT_BY_NOVA & present)]

    def _class_names(self) -> Mapping[int, str]:
        rows = self._rows(sa.select(resource_classes.c.id, resource_classes.c.name))
        return {row.id: row.name for row in rows}


def _is_exceeded(inventory: AuditedInventory, sums: Mapping[Key, int]) -> bool:
    amount = sums.get((inventory.provider_id, inventory.class_id), 0)
    return not is_within_capacity(inventory.limits, amount, 0)


def _older(statement: sa.Select[Any], table: sa.Table, written_before: datetime) -> sa.Select[Any]:
    written_at = _written_at(table)
    return statement.where(sa.or_(written_at.is_(None), written_at < written_before))


def _younger(
    statement: sa.Select[Any], table: sa.Table, written_before: datetime
) -> sa.Select[Any]:
    return statement.where(_written_at(table) >= written_before)


def _written_at(table: sa.Table) -> sa.ColumnElement[datetime]:
    return sa.func.coalesce(table.c.updated_at, table.c.created_at)


def _unused_classes() -> sa.Select[Any]:
    resource_class = resource_classes.c
    used = (
        sa.exists().where(table.c.resource_class_id == resource_class.id)
        for table in (inventories, allocations)
    )
    return sa.select(resource_class.name).where(
        resource_class.id >= FIRST_CUSTOM_CLASS_ID, *(~condition for condition in used)
    )


def _unused_traits() -> sa.Select[Any]:
    trait = traits.c
    used = sa.exists().where(resource_provider_traits.c.trait_id == trait.id)
    return sa.select(trait.name).where(
        trait.name.startswith(CUSTOM_PREFIX, autoescape=True), ~used
    )
