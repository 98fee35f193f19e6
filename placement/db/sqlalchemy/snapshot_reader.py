"""What a snapshot is made of, read in few statements: all of it, or what has changed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from placement.core.model import Inventory, Provider, ProviderState
from placement.db.sqlalchemy import changed_providers, clocks
from placement.db.sqlalchemy.id_cache import Names
from placement.db.sqlalchemy.models import (
    inventories,
    placement_aggregates,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    traits,
)

_Rows = Iterable[Any]

_INVENTORIES = sa.select(inventories.c.resource_provider_id, *changed_providers.INVENTORY)
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
    """What others wrote to providers, by the clocks, and the ids of those that they removed.

    An id may be in both: SQLite gives the id of a removed provider to the next new one.
    ``is_whole`` unless a clock moved that was not asked about: what one transaction
    wrote may then be here in part.
    """

    clocks: Mapping[int, int]
    is_whole: bool
    removed: Sequence[int]
    _rows: Mapping[int, Sequence[Any]]

    def states(self, names: NameTables) -> list[ProviderState]:
        """Return the providers; the names must be as new as the clocks."""
        rows, id_ = self._rows, changed_providers.PROVIDER_ID
        providers = {
            row[id_]: row[changed_providers.PROVIDER_COLUMNS]
            for row in rows[changed_providers.PROVIDER]
        }
        return _put_together(
            names,
            providers.values(),
            (
                (row[id_], *row[changed_providers.INVENTORY_COLUMNS])
                for row in rows[changed_providers.PROVIDER]
                if row[changed_providers.NAME_ID] is not None
            ),
            ((row[id_], row[changed_providers.NAME_ID]) for row in rows[changed_providers.TRAIT]),
            (
                (row[id_], row[changed_providers.AGGREGATE_UUID])
                for row in rows[changed_providers.AGGREGATE]
            ),
        )


@dataclass(frozen=True, slots=True)
class Touched:
    """Ids of providers that were written, and UUIDs of removed ones; None if one is not known."""

    ids: Sequence[int]
    removed: Sequence[str] | None


def touched(connection: sa.Connection, seen: Mapping[int, int], now: Mapping[int, int]) -> Touched:
    """Return what was written since the clocks were ``seen``, by those that moved ``now``."""
    rows = connection.execute(*changed_providers.touched_since(seen, _moved(seen, now))).all()
    removed = [row.uuid for row in rows if row.is_removed]
    return Touched(
        ids=[row.id for row in rows if not row.is_removed],
        removed=None if None in removed else removed,
    )


def _moved(seen: Mapping[int, int], now: Mapping[int, int]) -> list[int]:
    return [clock for clock in range(clocks.PROVIDER_CLOCKS) if seen[clock] != now[clock]]


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
            read(changed_providers.PROVIDERS),
            read(_INVENTORIES),
            read(_TRAITS),
            read(_AGGREGATES),
        )

    def changes(self, seen: Mapping[int, int], now: Mapping[int, int]) -> Changes:
        """Return what was written since the clocks were ``seen``, by those that moved ``now``.

        Cost: one statement, which sees one state by itself, in a transaction or not.
        """
        moved = _moved(seen, now)
        rows = defaultdict(list)
        for row in self._connection.execute(*changed_providers.since(seen, moved)):
            rows[row[0]].append(row)
        found = clocks.by_id(rows[changed_providers.CLOCKS][0][changed_providers.CLOCK_VALUES])
        return Changes(
            clocks=found,
            is_whole=all(found[clock] == seen.get(clock) or clock in moved for clock in found),
            removed=[
                row[changed_providers.PROVIDER_ID] for row in rows[changed_providers.REMOVED]
            ],
            _rows=rows,
        )


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
