"""What a snapshot is made of, read in few statements: all of it, or what has changed."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from placement.core.model import Inventory, Provider, ProviderState
from placement.db.sqlalchemy import clocks
from placement.db.sqlalchemy.lookups import chunks
from placement.db.sqlalchemy.models import (
    inventories,
    placement_aggregates,
    removed_providers,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)
from placement.db.sqlalchemy.names import Names

_Rows = Iterable[Any]

_IDS: sa.BindParameter[int] = sa.bindparam("ids", expanding=True)
_own = resource_providers.c
_root = resource_providers.alias("root")
_parent = resource_providers.alias("parent")
_PROVIDERS = (
    sa.select(
        _own.id,
        _own.uuid,
        _own.name,
        sa.func.coalesce(_own.generation, 0),
        _parent.c.uuid,
        _root.c.uuid,
        sa.func.coalesce(_own.updated_at, _own.created_at),
    )
    # one without a root is half removed, or not migrated: nobody sees it
    .join(_root, _root.c.id == _own.root_provider_id)
    .outerjoin(_parent, _parent.c.id == _own.parent_provider_id)
)
_INVENTORIES = sa.select(
    inventories.c.resource_provider_id,
    inventories.c.resource_class_id,
    inventories.c.used,
    inventories.c.total,
    inventories.c.reserved,
    inventories.c.min_unit,
    inventories.c.max_unit,
    inventories.c.step_size,
    inventories.c.allocation_ratio,
)
_TRAITS = sa.select(
    resource_provider_traits.c.resource_provider_id, resource_provider_traits.c.trait_id
)
_AGGREGATES = sa.select(
    resource_provider_aggregates.c.resource_provider_id, placement_aggregates.c.uuid
).join(
    placement_aggregates,
    placement_aggregates.c.id == resource_provider_aggregates.c.aggregate_id,
)


@dataclass(frozen=True, slots=True)
class NameTables:
    """The names of all resource classes and traits, by id."""

    classes: Mapping[int, str]
    traits: Mapping[int, str]

    def renames(self, before: "NameTables") -> bool:
        """Whether an id has another name now, so that what was read by it is wrong.

        Custom classes can be renamed; SQLite gives the id of a removed trait to the next.
        """
        return _renamed(before.classes, self.classes) or _renamed(before.traits, self.traits)


def _renamed(before: Mapping[int, str], now: Mapping[int, str]) -> bool:
    return any(now.get(id_, name) != name for id_, name in before.items())


@dataclass(frozen=True, slots=True)
class Changes:
    """The providers that others wrote, and the ids of those that they removed.

    An id may be in both: SQLite gives the id of a removed provider to the next new one.
    """

    states: list[ProviderState]
    removed: list[int]


class Picture:
    """The providers with all that is theirs, in one transaction that sees one state."""

    NAMES = clocks.NAMES_CLOCK
    EPOCH = clocks.EPOCH_CLOCK

    def __init__(self, connection: sa.Connection, names: Names) -> None:
        self._connection = connection
        self._names = names

    def clocks(self) -> dict[int, int]:
        """Return the value of each clock."""
        return clocks.values(self._connection)

    def names(self) -> NameTables:
        """Return all names.  Cost: two statements."""
        return NameTables(
            classes=self._by_id(resource_classes.c.id, resource_classes.c.name),
            traits=self._by_id(traits.c.id, traits.c.name),
        )

    def _by_id(self, id_: sa.Column[int], name: sa.Column[str]) -> dict[int, str]:
        return dict(self._connection.execute(sa.select(id_, name)).all())

    def states(self, names: NameTables) -> list[ProviderState]:
        """Return all providers.  Cost: four statements."""
        read = self._connection.execute
        return _put_together(
            names,
            read(_PROVIDERS),
            read(_INVENTORIES),
            read(_TRAITS),
            read(_AGGREGATES),
        )

    def changes(
        self, names: NameTables, seen: Mapping[int, int], now: Mapping[int, int]
    ) -> Changes:
        """Return what was written to providers between two readings of the clocks.

        Cost: two statements, and three more for each thousand providers that changed.
        """
        moved = [clock for clock in range(clocks.PROVIDER_CLOCKS) if seen[clock] != now[clock]]
        if not moved:
            return Changes([], [])
        written = _between(resource_providers.c.stamp, moved, seen, now)
        providers = self._connection.execute(_PROVIDERS.where(written)).all()
        gone = sa.select(removed_providers.c.provider_id).where(
            _between(removed_providers.c.stamp, moved, seen, now)
        )
        return Changes(
            states=list(self._with_belongings(names, providers)),
            removed=list(self._connection.execute(gone).scalars()),
        )

    def _with_belongings(self, names: NameTables, providers: _Rows) -> Iterator[ProviderState]:
        for chunk in chunks(providers):
            ids = {"ids": [row[0] for row in chunk]}
            yield from _put_together(
                names,
                chunk,
                self._connection.execute(_INVENTORIES_OF, ids),
                self._connection.execute(_TRAITS_OF, ids),
                self._connection.execute(_AGGREGATES_OF, ids),
            )


_INVENTORIES_OF = _INVENTORIES.where(inventories.c.resource_provider_id.in_(_IDS))
_TRAITS_OF = _TRAITS.where(resource_provider_traits.c.resource_provider_id.in_(_IDS))
_AGGREGATES_OF = _AGGREGATES.where(resource_provider_aggregates.c.resource_provider_id.in_(_IDS))


def _between(
    stamp: sa.Column[int], moved: list[int], seen: Mapping[int, int], now: Mapping[int, int]
) -> sa.ColumnElement[bool]:
    """Stamps that one of the clocks gave after it was seen; a range of the index for each."""
    return sa.or_(*((stamp > seen[clock]) & (stamp <= now[clock]) for clock in moved))


def _put_together(
    names: NameTables,
    providers: _Rows,
    inventory_rows: _Rows,
    trait_rows: _Rows,
    aggregate_rows: _Rows,
) -> list[ProviderState]:
    """Return the state of each provider.  Equal inventories, of which there are many, are one."""
    has, used = _by_provider(names.classes, inventory_rows)
    traits_of = defaultdict(list)
    for provider_id, trait_id in trait_rows:
        traits_of[provider_id].append(names.traits[trait_id])
    aggregates_of = defaultdict(list)
    for provider_id, uuid in aggregate_rows:
        aggregates_of[provider_id].append(uuid)
    return [
        ProviderState(
            provider=Provider(*row),
            inventories=has.get(row[0], {}),
            used=used.get(row[0], {}),
            traits=frozenset(traits_of.get(row[0], ())),
            aggregates=frozenset(aggregates_of.get(row[0], ())),
        )
        for row in providers
    ]


def _by_provider(
    class_names: Mapping[int, str], rows: _Rows
) -> tuple[dict[int, dict[str, Inventory]], dict[int, dict[str, int]]]:
    """Return inventories and used amounts, by provider and class."""
    kept: dict[tuple[Any, ...], Inventory] = {}
    has: dict[int, dict[str, Inventory]] = defaultdict(dict)
    used: dict[int, dict[str, int]] = defaultdict(dict)
    for provider_id, class_id, amount, *record in rows:
        key = tuple(record)
        inventory = kept.get(key)
        if inventory is None:
            inventory = kept[key] = Inventory(*record)
        name = class_names[class_id]
        has[provider_id][name] = inventory
        if amount:
            used[provider_id][name] = amount
    return has, used
