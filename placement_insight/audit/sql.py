"""Reads the audited state: see :mod:`placement_insight.audit.model`.

The reads are in one transaction and take no locks; the database sums up the allocations.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

import sqlalchemy as sa

from placement.core.claims import Amounts
from placement.core.model import CUSTOM_PREFIX, FIRST_CUSTOM_CLASS_ID, Inventory
from placement.db.resources.providers import NAME
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
from placement_insight.audit.model import (
    AuditedInventory,
    AuditedProvider,
    AuditedState,
    ClassName,
    NotAdmitted,
    StrayUsage,
)
from placement_insight.hosts import COMPUTE_NODE, DISABLED

_Providers = Mapping[int, AuditedProvider]

_provider = resource_providers.c
_inventory = inventories.c
_allocation = allocations.c

_PROVIDERS = sa.select(
    _provider.id,
    _provider.uuid,
    NAME,
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
).order_by(_inventory.resource_provider_id, _inventory.resource_class_id)
_CLASSES = sa.select(resource_classes.c.id, resource_classes.c.name)
_KEY = (_allocation.resource_provider_id, _allocation.resource_class_id)
# An index has all three columns; the time of the newest allocation is read for few keys.
_USAGE = sa.select(*_KEY, sa.func.sum(_allocation.used)).group_by(*_KEY)
_NEWEST = sa.select(*_KEY, sa.func.max(_allocation.created_at)).group_by(*_KEY)
# A step_size of 0, which only SQL can write, admits no amount: the database divides by NULL.
_step = _allocation.used % sa.func.nullif(_inventory.step_size, 0)
_NOT_ADMITTED = (
    sa.select(*_KEY, sa.func.count(), sa.func.min(_allocation.used), sa.func.max(_allocation.used))
    .join(
        inventories,
        sa.and_(
            _inventory.resource_provider_id == _allocation.resource_provider_id,
            _inventory.resource_class_id == _allocation.resource_class_id,
        ),
    )
    .where(
        sa.or_(
            _allocation.used < _inventory.min_unit,
            _allocation.used > _inventory.max_unit,
            _step > 0,
        )
    )
    .group_by(*_KEY)
)
# Each consumer is looked up once, however many allocations it has.
_holders = sa.select(_allocation.consumer_id).group_by(_allocation.consumer_id).subquery()
_lone_holders = (
    sa.select(_holders.c.consumer_id)
    .select_from(_holders.outerjoin(consumers, consumers.c.uuid == _holders.c.consumer_id))
    .where(consumers.c.id.is_(None))
    .subquery()
)
_last_written = sa.func.max(sa.func.coalesce(_allocation.updated_at, _allocation.created_at))
_LONE_HOLDERS = (
    sa.select(_allocation.consumer_id)
    .join(_lone_holders, _lone_holders.c.consumer_id == _allocation.consumer_id)
    .group_by(_allocation.consumer_id)
)
_written_at = sa.func.coalesce(consumers.c.updated_at, consumers.c.created_at)
_EMPTY = (
    sa.select(consumers.c.uuid, consumers.c.generation)
    .select_from(consumers.outerjoin(allocations, consumers.c.uuid == _allocation.consumer_id))
    .where(_allocation.id.is_(None))
)

_trait, _aggregate = resource_provider_traits.c, resource_provider_aggregates.c
_WITH_TRAIT = (
    sa.select(_provider.uuid)
    .join(resource_provider_traits, _trait.resource_provider_id == _provider.id)
    .join(traits, traits.c.id == _trait.trait_id)
)
_AGGREGATES = (
    sa.select(_provider.uuid, placement_aggregates.c.uuid)
    .join(resource_provider_aggregates, _aggregate.resource_provider_id == _provider.id)
    .join(placement_aggregates, placement_aggregates.c.id == _aggregate.aggregate_id)
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
    ~sa.exists().where(_trait.trait_id == traits.c.id),
)


def read_state(connection: sa.Connection, written_before: datetime, at_most: int) -> AuditedState:
    """Return the state that the transaction sees.

    Consumers without a row and consumers without allocations are included if they were written
    before ``written_before`` (naive UTC), at most ``at_most`` of each kind.
    Cost: reads each row of ``allocations`` and ``consumers`` about twice, in the database.
    """
    rows = map(AuditedProvider._make, connection.execute(_PROVIDERS))
    providers = {provider.id: provider for provider in rows}
    names = _ClassNames(connection.execute(_CLASSES).all())
    sums = {(row[0], row[1]): int(row[2]) for row in connection.execute(_USAGE)}
    inventories = _inventories(connection, providers, names, sums)
    for provider_id, class_id, *numbers in connection.execute(_NOT_ADMITTED):
        if (key := (provider_id, class_id)) in inventories:
            inventories[key] = inventories[key]._replace(not_admitted=NotAdmitted(*numbers))
    types = {row.name: row.number for row in connection.execute(_CONSUMER_TYPES)}
    is_older = sa.or_(_written_at.is_(None), _written_at < written_before)
    empty = _EMPTY.where(is_older).limit(at_most)
    is_older = sa.or_(_last_written.is_(None), _last_written < written_before)
    holders = _LONE_HOLDERS.having(is_older).limit(at_most).subquery()
    lone = sa.select(_allocation.consumer_id, *_KEY, _allocation.used).join(
        holders, holders.c.consumer_id == _allocation.consumer_id
    )
    return AuditedState(
        providers=providers,
        inventories=list(inventories.values()),
        stray=[
            StrayUsage(key[0], providers.get(key[0]), names[key[1]], used)
            for key, used in sorted(sums.items())
            if key not in inventories
        ],
        lone_allocations=_lone(connection.execute(lone), providers, names),
        empty_consumers=[(row.uuid, row.generation) for row in connection.execute(empty)],
        young=_young(connection, written_before),
        unused_classes=connection.scalars(_UNUSED_CLASSES).all(),
        unused_traits=connection.scalars(_UNUSED_TRAITS).all(),
        hosts=set(connection.scalars(_WITH_TRAIT.where(traits.c.name == COMPUTE_NODE))),
        disabled=set(connection.scalars(_WITH_TRAIT.where(traits.c.name == DISABLED))),
        aggregates=_aggregates(connection),
        consumer_types={**types, None: _number(connection, _UNTYPED)},
    )


def _aggregates(connection: sa.Connection) -> Mapping[str, Collection[str]]:
    aggregates: dict[str, set[str]] = defaultdict(set)
    for provider, uuid in connection.execute(_AGGREGATES):
        aggregates[provider].add(uuid)
    return aggregates


class _ClassNames(dict[int, ClassName]):
    """Names of resource classes by id."""

    def __missing__(self, id_: int) -> ClassName:
        return id_


def _inventories(
    connection: sa.Connection,
    providers: _Providers,
    names: _ClassNames,
    sums: Mapping[tuple[int, int], int],
) -> dict[tuple[int, int], AuditedInventory]:
    """Return the inventories of existing providers, by the ids of provider and class."""
    found = {}
    for row in connection.execute(_INVENTORIES):
        key = (row.resource_provider_id, row.resource_class_id)
        if key[0] in providers:
            found[key] = AuditedInventory(
                providers[key[0]],
                names[key[1]],
                Inventory(*row[4:]),
                counter=row.used,
                changed_at=row.changed_at,
                used=sums.get(key, 0),
            )
    exceeded = {id_ for (id_, _), each in found.items() if each.is_exceeded}
    for chunk in chunks(sorted(exceeded)):
        newest = _NEWEST.where(_allocation.resource_provider_id.in_(chunk))
        for id_, class_id, at in connection.execute(newest):
            if (id_, class_id) in found:
                found[id_, class_id] = found[id_, class_id]._replace(newest_at=at)
    return found


def _lone(
    rows: Iterable[tuple[str, int, int, int]], providers: _Providers, names: _ClassNames
) -> Mapping[str, Amounts]:
    """Return the amounts by consumer; another program may have written two rows of a class."""
    amounts: dict[str, dict[str, dict[str, int]]] = defaultdict(dict)
    for consumer, id_, class_id, used in rows:
        provider = providers[id_].uuid if id_ in providers else f"id {id_}"
        name, of_provider = str(names.get(class_id, f"id {class_id}")), amounts[consumer]
        by_class = of_provider.setdefault(provider, {})
        by_class[name] = by_class.get(name, 0) + used
    return amounts


def _young(connection: sa.Connection, written_before: datetime) -> Mapping[str, int]:
    """Return the numbers of younger consumers without a row or without allocations."""
    lone = _LONE_HOLDERS.having(_last_written >= written_before)
    return {
        "missing_consumer": _number(connection, lone),
        "empty_consumer": _number(connection, _EMPTY.where(_written_at >= written_before)),
    }


def _number(connection: sa.Connection, statement: sa.SelectBase) -> int:
    count = sa.select(sa.func.count()).select_from(statement.subquery())
    return connection.scalar(count) or 0
