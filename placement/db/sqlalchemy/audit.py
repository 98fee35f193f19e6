"""Reads what an audit needs: see :mod:`placement.core.insight.audit`.

Plain reads in one transaction, which lock nothing; allocations are summed up by the database.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from placement.core.insight.audit import (
    AuditData,
    AuditedInventory,
    AuditedProvider,
    Key,
    LoneAllocation,
    UsageSum,
)
from placement.core.model import CUSTOM_PREFIX, FIRST_CUSTOM_CLASS_ID
from placement.db.sqlalchemy.models import (
    allocations,
    consumers,
    inventories,
    resource_classes,
    resource_provider_traits,
    resource_providers,
    traits,
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
_INVENTORIES = sa.select(
    _inventory.resource_provider_id,
    _inventory.resource_class_id,
    _inventory.total,
    _inventory.reserved,
    _inventory.allocation_ratio,
    _inventory.used,
    sa.func.coalesce(_inventory.updated_at, _inventory.created_at),
)
_USAGE = sa.select(
    _allocation.resource_provider_id,
    _allocation.resource_class_id,
    sa.func.sum(_allocation.used),
    sa.func.max(_allocation.created_at),
).group_by(_allocation.resource_provider_id, _allocation.resource_class_id)
_LONE = (
    sa.select(
        _allocation.consumer_id,
        _allocation.resource_provider_id,
        _allocation.resource_class_id,
        _allocation.used,
    )
    .select_from(allocations.outerjoin(consumers, consumers.c.uuid == _allocation.consumer_id))
    .where(consumers.c.id.is_(None))
)
_EMPTY = (
    sa.select(consumers.c.uuid)
    .select_from(consumers.outerjoin(allocations, consumers.c.uuid == _allocation.consumer_id))
    .where(_allocation.id.is_(None))
)


class AuditReader:
    """What an audit reads, in one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def data(self, written_before: datetime, at_most: int) -> AuditData:
        """Return the state that the transaction sees.

        Of allocations without consumer and consumers without allocations, those written before
        this time (naive UTC), and ``at_most`` of each.
        Cost: reads each row of ``allocations`` and ``consumers`` about twice, in the database.
        """
        return AuditData(
            providers=[AuditedProvider(*row) for row in self._rows(_PROVIDERS)],
            inventories=[AuditedInventory(*row) for row in self._rows(_INVENTORIES)],
            usage=self._usage(),
            class_names=self._class_names(),
            lone_allocations=[
                LoneAllocation(*row)
                for row in self._rows(_older(_LONE, allocations, written_before).limit(at_most))
            ],
            empty_consumers=[
                row[0]
                for row in self._rows(_older(_EMPTY, consumers, written_before).limit(at_most))
            ],
            unused_classes=[row[0] for row in self._rows(_unused_classes())],
            unused_traits=[row[0] for row in self._rows(_unused_traits())],
        )

    def _rows(self, statement: sa.Select[Any]) -> Any:
        return self._connection.execute(statement)

    def _usage(self) -> Mapping[Key, UsageSum]:
        return {
            (provider_id, class_id): UsageSum(int(amount), newest_at)
            for provider_id, class_id, amount, newest_at in self._rows(_USAGE)
        }

    def _class_names(self) -> Mapping[int, str]:
        rows = self._rows(sa.select(resource_classes.c.id, resource_classes.c.name))
        return {row.id: row.name for row in rows}


def _older(statement: sa.Select[Any], table: sa.Table, written_before: datetime) -> sa.Select[Any]:
    written_at = sa.func.coalesce(table.c.updated_at, table.c.created_at)
    return statement.where(sa.or_(written_at.is_(None), written_at < written_before))


def _unused_classes() -> sa.Select[Any]:
    own = resource_classes.c
    used = (
        sa.exists().where(table.c.resource_class_id == own.id)
        for table in (inventories, allocations)
    )
    return sa.select(own.name).where(own.id >= FIRST_CUSTOM_CLASS_ID, *(~each for each in used))


def _unused_traits() -> sa.Select[Any]:
    own = traits.c
    used = sa.exists().where(resource_provider_traits.c.trait_id == own.id)
    return sa.select(own.name).where(own.name.startswith(CUSTOM_PREFIX, autoescape=True), ~used)
