"""Reading the contents of a snapshot: all providers, or those that changed."""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from placement.core.model import Provider, ProviderState
from placement.core.snapshot.provider_table import ProviderTable
from placement.core.snapshot.rows import numbers
from placement.core.snapshot.tree_order import ParentLoop
from placement.db.sqlalchemy import (
    changed_providers,
    clock_versions,
    clocks,
    grouped_rows,
    odd_rows,
    packed_rows,
    provider_columns,
    provider_rows,
)
from placement.db.sqlalchemy.models import resource_classes, traits
from placement.db.sqlalchemy.state_texts import StateTexts

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
        rows = self._rows[changed_providers.PROVIDER]
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
    rows = connection.execute(*changed_providers.touched_since(seen, _moved(seen, now))).all()
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
            table = provider_columns.read(self._connection, names.classes, names.traits)
        except grouped_rows.Unreadable as error:
            LOG.info("Providers are read row by row: %s", error)
            table = ProviderTable.of(self.states(names))
        try:
            return table.in_tree_order()
        except ParentLoop:
            return _in_trees(table).in_tree_order()

    def states(self, names: NameTables) -> list[ProviderState]:
        """Return all providers, read row by row.  Cost: four statements."""
        return provider_rows.read(self._connection, names.classes, names.traits)

    def changes(self, seen: Mapping[int, int], now: Mapping[int, int]) -> ProviderChanges:
        """Return the providers that changed since the clocks had the values ``seen``.

        Reads the changes of the clocks whose values differ between ``seen`` and ``now``.
        Cost: one statement, which sees one state of the database even without a transaction.
        """
        moved = _moved(seen, now)
        has_names = seen[clocks.NAMES_CLOCK] != now[clocks.NAMES_CLOCK]
        statement, parameters = changed_providers.since(
            seen,
            moved,
            dialect=self._connection.dialect.name,
            has_names=has_names,
            has_many_versions=clock_versions.are_many(self._connection),
        )
        rows: dict[int, list[Any]] = defaultdict(list)
        for row in packed_rows.execute(self._connection, statement, parameters):
            rows[row.kind].append(row)
        values = clocks.by_id(rows[changed_providers.CLOCKS][0].name)
        read = {*moved, clocks.NAMES_CLOCK} if has_names else set(moved)
        return ProviderChanges(
            clocks=values,
            is_complete=all(values[id_] == seen.get(id_) or id_ in read for id_ in values),
            removed=[row.id for row in rows[changed_providers.REMOVED]],
            names=_name_tables(rows) if has_names else None,
            _rows=rows,
        )


def _in_trees(table: ProviderTable) -> ProviderTable:
    """Return the providers that lead to a root; the others have no place in any tree."""
    looped = odd_rows.in_loops(dict(zip(table.uuids, table.parent_uuids, strict=True)))
    odd_rows.warn_once(f"Providers in a loop of parents are left out: {sorted(looped)[:5]}.")
    kept = [index for index, uuid in enumerate(table.uuids) if uuid not in looped]
    return table.take(numbers(kept))


def _name_tables(rows: Mapping[int, Sequence[Any]]) -> NameTables:
    return NameTables(
        classes={row.id: row.name for row in rows[changed_providers.RESOURCE_CLASS]},
        traits={row.id: row.name for row in rows[changed_providers.TRAIT]},
    )
