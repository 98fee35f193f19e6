"""Reading all providers row by row.

``provider_columns`` reads them several times faster, but not if a name contains its separator, or
if the server truncates long texts.

Rows are read one by one, and equal parts of the states are shared: objects that exist only during
a load, between those that stay, leave gaps in the memory of the process.

Reading the contents of a snapshot: all providers, or those that changed.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import sqlalchemy as sa

from placement.core.model import Inventory, Provider, ProviderState
from placement.core.snapshot.provider_table import ParentLoop, ProviderTable
from placement.core.snapshot.rows import numbers
from placement.db import clocks, tables
from placement.db.resources.providers import SELECT_PROVIDER
from placement.db.snapshot import changes, columns, grouped_rows, inconsistent_rows
from placement.db.snapshot.changes import StateTexts
from placement.db.statements import packed_rows
from placement.db.tables import (
    inventories,
    placement_aggregates,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    traits,
)

_Rows = Iterable[Any]
V = TypeVar("V")

_INVENTORIES = sa.select(inventories.c.resource_provider_id, *changes.INVENTORY).order_by(
    inventories.c.resource_class_id
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


def read(
    connection: sa.Connection, class_names: Mapping[int, str], trait_names: Mapping[int, str]
) -> list[ProviderState]:
    """Return all providers that have a root.  Cost: four statements."""
    providers = _providers(_streamed(connection, SELECT_PROVIDER))
    ids = [each.id for each in providers]
    inventories_of, used_of = _inventories(class_names, _streamed(connection, _INVENTORIES), ids)
    traits_of = _traits(trait_names, _streamed(connection, _TRAITS), ids)
    aggregates_of = _SharedSets(ids)
    for provider_id, uuid in _streamed(connection, _AGGREGATES):
        aggregates_of.add(provider_id, uuid)
    return list(
        map(
            ProviderState,
            providers,
            inventories_of.in_order(),
            used_of.in_order(),
            traits_of.in_order(),
            aggregates_of.in_order(),
        )
    )


def _streamed(connection: sa.Connection, statement: sa.Select[Any]) -> _Rows:
    """Yield the rows of a large result, which drivers of MySQL otherwise keep all at once."""
    if connection.dialect.name == "mysql":
        statement = statement.execution_options(stream_results=True)
    yield from connection.execute(statement)


def _providers(rows: _Rows) -> list[Provider]:
    """Return the providers of the rows, which share the text of UUIDs."""
    texts: dict[str, str] = {}
    return [_provider(row, texts) for row in rows]


def _provider(row: Sequence[Any], texts: dict[str, str]) -> Provider:
    """Return a provider whose UUIDs are the same objects as those of its parent and root."""
    id_, uuid, name, generation, parent_uuid, root_uuid, modified_at = row
    uuid = texts.setdefault(uuid, uuid)
    parent_uuid = parent_uuid and texts.setdefault(parent_uuid, parent_uuid)
    root_uuid = texts.setdefault(root_uuid, root_uuid)
    return Provider(id_, uuid, name, generation, parent_uuid, root_uuid, modified_at)


def _inventories(
    class_names: Mapping[int, str], rows: _Rows, provider_ids: Sequence[int]
) -> tuple["_SharedDicts[Inventory]", "_SharedDicts[int]"]:
    """Return inventories and used amounts, by provider id and class."""
    shared: dict[tuple[Any, ...], Inventory] = {}
    inventories_of = _SharedDicts[Inventory](provider_ids)
    used_of = _SharedDicts[int](provider_ids)
    for provider_id, class_id, used, *values in rows:
        key = tuple(values)
        inventory = shared.get(key)
        if inventory is None:
            inventory = shared[key] = Inventory(*values)
        name = class_names.get(class_id)
        if name is None or inventory.step_size < 1:
            inconsistent_rows.warn_inventory(provider_id, class_id)
            continue
        inventories_of.add(provider_id, name, inventory, id(inventory))
        if used:
            used_of.add(provider_id, name, used, used)
    return inventories_of, used_of


def _traits(
    trait_names: Mapping[int, str], rows: _Rows, provider_ids: Sequence[int]
) -> "_SharedSets":
    traits_of = _SharedSets(provider_ids)
    for provider_id, trait_id in rows:
        name = trait_names.get(trait_id)
        if name is None:
            inconsistent_rows.warn_trait(provider_id, trait_id)
        else:
            traits_of.add(provider_id, name)
    return traits_of


class _SharedDicts(Generic[V]):
    """A dictionary for each of some providers, where providers with equal items share one.

    A tree of dictionaries: each is found by the one with an item less, and the item. So there
    is no dictionary for each provider at any time: a cloud has few different ones.
    """

    def __init__(self, provider_ids: Sequence[int]) -> None:
        # kept until the end, even if no provider remains without items: another dictionary would
        # get its id, which is in keys of _next; all others are values of _next
        self._empty: dict[str, V] = {}
        # with all keys from the start, as these objects are kept by the providers, too
        self._of: dict[int, dict[str, V]] = dict.fromkeys(provider_ids, self._empty)
        self._next: dict[tuple[int, str, int], dict[str, V]] = {}

    def in_order(self) -> Iterable[dict[str, V]]:
        """Return the dictionaries, in the order of the providers."""
        return self._of.values()

    def add(self, provider_id: int, name: str, value: V, identity: int) -> None:
        """Add an item to a provider; ``identity`` differs for different values."""
        before = self._of.get(provider_id)
        if before is None:
            return
        key = id(before), name, identity
        after = self._next.get(key)
        if after is None:
            after = self._next[key] = {**before, name: value}
        self._of[provider_id] = after


class _SharedSets:
    """A set of names for each of some providers, where providers with equal sets share one."""

    def __init__(self, provider_ids: Sequence[int]) -> None:
        self._of: dict[int, frozenset[str]] = dict.fromkeys(provider_ids, frozenset())
        self._next: dict[tuple[frozenset[str], str], frozenset[str]] = {}

    def in_order(self) -> Iterable[frozenset[str]]:
        """Return the sets, in the order of the providers."""
        return self._of.values()

    def add(self, provider_id: int, name: str) -> None:
        """Add a name to a provider."""
        before = self._of.get(provider_id)
        if before is None:
            return
        after = self._next.get((before, name))
        if after is None:
            after = self._next[before, name] = before | {name}
        self._of[provider_id] = after


LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NameTables:
    """The names of all resource classes and traits, by id."""

    classes: Mapping[int, str]
    traits: Mapping[int, str]

    def renames(self, before: "NameTables") -> bool:
        """Return whether an id has another name than before, so that older states are wrong.

        Custom classes can be renamed; SQLite reuses the id of a removed trait.
        """
        return _renamed(before.classes, self.classes) or _renamed(before.traits, self.traits)


def _renamed(before: Mapping[int, str], now: Mapping[int, str]) -> bool:
    return any(now.get(id_, name) != name for id_, name in before.items())


@dataclass(frozen=True, slots=True)
class ProviderChanges:
    """The providers that changed, as rows, and the ids of those that were removed.

    An id may be in both: SQLite reuses the id of a removed provider. ``names`` is None if no
    resource class, trait or aggregate was created, renamed or removed. ``is_complete`` is false if
    a clock advanced whose changes were not read; the changes of one transaction may then be read
    in part.
    """

    clocks: Mapping[int, int]
    is_complete: bool
    removed: Sequence[int]
    names: NameTables | None
    _rows: Mapping[int, Sequence[Any]]

    def states(self, names: NameTables) -> list[ProviderState]:
        """Return the changed providers that have a root; the names must be as new as the clocks.

        Raises: grouped_rows.Unreadable if the server truncated a text.
        """
        texts = StateTexts(names.classes, names.traits)
        rows = self._rows[changes.PROVIDER]
        return [_state(row, texts) for row in rows if row.root_uuid is not None]


def _state(row: Any, texts: StateTexts) -> ProviderState:
    provider = Provider(
        row.id,
        row.uuid,
        row.name,
        row.generation,
        row.parent_uuid,
        row.root_uuid,
        texts.time(row.modified_at),
    )
    return ProviderState(
        provider,
        *texts.amounts(row.id, row.inventories),
        texts.traits(row.id, row.traits),
        texts.aggregates(row.aggregates),
    )


@dataclass(frozen=True, slots=True)
class TouchedProviders:
    """Ids of changed providers, and UUIDs of removed ones; None if one of these is not known."""

    ids: Sequence[int]
    removed: Sequence[str] | None


def touched(
    connection: sa.Connection, seen: Mapping[int, int], now: Mapping[int, int]
) -> TouchedProviders:
    """Return the providers written since the clocks were ``seen``, of clocks that differ ``now``.

    They may include what was written after ``now``. Cost: one statement.
    """
    rows = connection.execute(*changes.touched_since(seen, _moved(seen, now))).all()
    removed = [row.uuid for row in rows if row.is_removed]
    return TouchedProviders(
        ids=[row.id for row in rows if not row.is_removed],
        removed=None if None in removed else removed,
    )


def _moved(seen: Mapping[int, int], now: Mapping[int, int]) -> list[int]:
    return [clock for clock in range(clocks.PROVIDER_CLOCKS) if seen[clock] != now[clock]]


class SnapshotReader:
    """Providers with their inventories, usage, traits and aggregates, in one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

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
        return {row[0]: row[1] for row in self._connection.execute(sa.select(id_, name))}

    def table(self, names: NameTables) -> ProviderTable:
        """Return all providers, in tree order.  Cost: four statements, eight if row by row."""
        try:
            table = columns.read(self._connection, names.classes, names.traits)
        except grouped_rows.Unreadable as error:
            LOG.info("Providers are read row by row: %s", error)
            table = ProviderTable.of(self.states(names))
        try:
            return table.in_tree_order()
        except ParentLoop:
            return _in_trees(table).in_tree_order()

    def states(self, names: NameTables) -> list[ProviderState]:
        """Return all providers, read row by row.  Cost: four statements."""
        return read(self._connection, names.classes, names.traits)

    def changes(self, seen: Mapping[int, int], now: Mapping[int, int]) -> ProviderChanges:
        """Return the providers that changed since the clocks had the values ``seen``.

        Reads the changes of the clocks whose values differ between ``seen`` and ``now``.
        Cost: one statement, which sees one state of the database even without a transaction.
        """
        moved = _moved(seen, now)
        has_names = seen[clocks.NAMES_CLOCK] != now[clocks.NAMES_CLOCK]
        statement, parameters = changes.since(
            seen,
            moved,
            dialect=self._connection.dialect.name,
            has_names=has_names,
            has_many_versions=tables.are_many(self._connection),
        )
        rows: dict[int, list[Any]] = defaultdict(list)
        for row in packed_rows.execute(self._connection, statement, parameters):
            rows[row.kind].append(row)
        values = clocks.by_id(rows[changes.CLOCKS][0].name)
        read = {*moved, clocks.NAMES_CLOCK} if has_names else set(moved)
        return ProviderChanges(
            clocks=values,
            is_complete=all(values[id_] == seen.get(id_) or id_ in read for id_ in values),
            removed=[row.id for row in rows[changes.REMOVED]],
            names=_name_tables(rows) if has_names else None,
            _rows=rows,
        )


def _in_trees(table: ProviderTable) -> ProviderTable:
    """Return the providers that lead to a root; the others have no place in any tree."""
    looped = inconsistent_rows.in_loops(dict(zip(table.uuids, table.parent_uuids, strict=True)))
    inconsistent_rows.warn_once(
        f"Providers in a loop of parents are left out: {sorted(looped)[:5]}."
    )
    kept = [index for index, uuid in enumerate(table.uuids) if uuid not in looped]
    return table.take(numbers(kept))


def _name_tables(rows: Mapping[int, Sequence[Any]]) -> NameTables:
    return NameTables(
        classes={row.id: row.name for row in rows[changes.RESOURCE_CLASS]},
        traits={row.id: row.name for row in rows[changes.TRAIT]},
    )
