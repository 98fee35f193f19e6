"""Statements for resource providers, their trees and their aggregates.

Aggregates are UUIDs that are inserted on first use and never removed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement import exception
from placement.core.model import Provider, ProviderAggregates, ProviderSummary
from placement.db import errors
from placement.db.clocks import utcnow
from placement.db.connections.bulkhead import before_lock
from placement.db.errors import WriteConflict
from placement.db.resources.names import (
    StoredName,
    ids_by_name,
    insert_names,
    inserted_id,
    select_names,
)
from placement.db.tables import (
    GENERATION,
    allocations,
    inventories,
    placement_aggregates,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)
from placement.db.writes import Statements, Write, chunks, rows_of, writes_of

_provider = resource_providers.c
_root = resource_providers.alias("root")
_parent = resource_providers.alias("parent")

NAME = sa.func.coalesce(_provider.name, _provider.uuid).label("name")
"""The name of a provider: rows of another program may have none."""

# The columns are the fields of ``core.model.Provider``. A provider without a root is partly
# removed or not migrated, and is not returned.
SELECT_PROVIDER = (
    sa.select(
        _provider.id,
        _provider.uuid,
        NAME,
        GENERATION.label("generation"),
        _parent.c.uuid.label("parent_uuid"),
        _root.c.uuid.label("root_uuid"),
        sa.func.coalesce(_provider.updated_at, _provider.created_at).label("modified_at"),
    )
    .join(_root, _root.c.id == _provider.root_provider_id)
    .outerjoin(_parent, _parent.c.id == _provider.parent_provider_id)
)
_HAS_UUID = _provider.uuid == sa.bindparam("uuid")
_FIND = SELECT_PROVIDER.where(_HAS_UUID)
# Few columns: each of them is repeated with each resource.
_GENERATION = (
    sa.select(_provider.uuid, GENERATION.label("generation"))
    .join(_root, _root.c.id == _provider.root_provider_id)
    .where(_HAS_UUID)
)


def with_resources(
    links: Iterable[tuple[sa.FromClause, sa.ColumnElement[bool]]], *columns: sa.ColumnElement[Any]
) -> sa.Select[Any]:
    """Return the statement for ``find_with``: the columns of each resource of a provider.

    ``links`` are tables, each with its condition on the tables before it. Outer joins keep this
    order, so a database reads the rows of the provider only: with inner joins, MariaDB reads all
    consumers of a project for the allocations of a provider. The first column is of the last
    table: it is NULL if the provider has no resources, or the row of a table is missing.
    """
    statement = _GENERATION.add_columns(*columns)
    for table, condition in links:
        statement = statement.outerjoin(table, condition)
    return statement


def find_with(
    connection: sa.Connection, statement: sa.Select[Any], uuid: str
) -> tuple[int, list[Any]]:
    """Return the generation of a provider, and the columns of its resources.

    Cost: one statement, which needs no transaction.
    Raises: ProviderNotFound.
    """
    rows = connection.execute(statement, {"uuid": uuid}).all()
    if not rows or rows[0].uuid != uuid:
        raise exception.ProviderNotFound(uuid)
    return rows[0].generation, [row[2:] for row in rows if row[2] is not None]


IS_COUNTED = (_provider.counted_generation == GENERATION).label("is_counted")
_LOCK = (
    sa.select(_provider.id, _provider.uuid, NAME, IS_COUNTED)
    .order_by(_provider.id)
    .with_for_update()
)
_IDS = sa.select(_provider.uuid, _provider.id)
_GENERATIONS = sa.select(_provider.id, GENERATION.label("generation"), _provider.updated_at)
_NAMES = sa.select(_provider.uuid, _provider.name)
_ROOTS = sa.select(_provider.root_provider_id)
_NODES = sa.select(
    _provider.id, _provider.uuid, _provider.parent_provider_id, _provider.root_provider_id
)

_association = resource_provider_aggregates.c
_WITH_AGGREGATES = with_resources(
    [
        (resource_provider_aggregates, _association.resource_provider_id == _provider.id),
        (placement_aggregates, placement_aggregates.c.id == _association.aggregate_id),
    ],
    placement_aggregates.c.uuid,
).order_by(placement_aggregates.c.id)
_trait = resource_provider_traits.c
_WITH_TRAITS = with_resources(
    [
        (resource_provider_traits, _trait.resource_provider_id == _provider.id),
        (traits, traits.c.id == _trait.trait_id),
    ],
    *select_names(traits).selected_columns,
).order_by(traits.c.id)

_child = resource_providers.alias("child")


def _count(counted: sa.ColumnElement[Any], condition: sa.ColumnElement[bool]) -> Any:
    return sa.select(sa.func.count(counted)).where(condition).scalar_subquery()


_WITHOUT_ID: list[Any] = [*SELECT_PROVIDER.selected_columns][1:]
# The columns are the fields of ProviderSummary. Providers without a root are included, because
# their names are also taken.
_SUMMARIES: sa.Select[Any] = (
    sa.select(
        *_WITHOUT_ID,
        _count(
            allocations.c.consumer_id.distinct(),
            allocations.c.resource_provider_id == _provider.id,
        ),
        _count(inventories.c.id, inventories.c.resource_provider_id == _provider.id),
        _count(_child.c.id, _child.c.parent_provider_id == _provider.id),
    )
    .select_from(resource_providers)
    .outerjoin(_root, _root.c.id == _provider.root_provider_id)
    .outerjoin(_parent, _parent.c.id == _provider.parent_provider_id)
)


def lock_providers(connection: sa.Connection, ids: Iterable[int]) -> list[sa.Row[Any]]:
    """Lock the providers that exist, in the order of their ids; return a row for each.

    A row has ``id``, ``uuid`` and ``is_counted``, which is false if the usage counters may lack
    allocations; see ``usage_counters``.
    No other transaction changes them or their resources. Later statements read these resources,
    and see everything that was committed while this statement waited. Providers are selected by
    id, because a database locks rows in the order in which it finds them.
    Cost: one statement for each thousand providers.
    """
    ordered = sorted(set(ids))
    before_lock(connection, ordered)
    return [*rows_of(connection, _LOCK, _provider.id, ordered)]


def provider_locks(connection: sa.Connection, ids: Iterable[int]) -> list[Write]:
    """Return the writes that lock providers, like ``lock_providers``."""
    ordered = sorted(set(ids))
    before_lock(connection, ordered)
    return writes_of(_LOCK, _provider.id, ordered)


def provider_ids(connection: sa.Connection, uuids: Iterable[str]) -> dict[str, int]:
    """Return the ids of the providers that exist, by UUID.  Cost: none without UUIDs."""
    rows = rows_of(connection, _IDS, _provider.uuid, sorted(set(uuids)))
    return {row.uuid: row.id for row in rows}


def provider_names(connection: sa.Connection, uuids: Iterable[str]) -> dict[str, str]:
    """Return the names of the providers that exist and have one, by UUID."""
    rows = rows_of(connection, _NAMES, _provider.uuid, sorted(set(uuids)))
    return {row.uuid: row.name for row in rows if row.name is not None}


class Node(NamedTuple):
    """The position of a provider in its tree."""

    id: int
    uuid: str
    parent_id: int | None
    root_id: int


def subtree(nodes: Mapping[str, Node], top: int) -> set[int]:
    """Return the ids of a provider and of its descendants; parents may form a loop."""
    children: dict[int | None, list[int]] = {}
    for node in nodes.values():
        children.setdefault(node.parent_id, []).append(node.id)
    below: set[int] = set()
    stack = [top]
    while stack:
        id_ = stack.pop()
        if id_ not in below:
            below.add(id_)
            stack += children.get(id_, ())
    return below


class Replaced:
    """The traits or aggregates of a provider that a write replaced: true if the set changed."""

    def __init__(
        self, connection: sa.Connection, column: sa.Column[int], before: set[int], after: set[int]
    ) -> None:
        self._connection, self._column = connection, column
        self._before, self._after = before, after

    def __bool__(self) -> bool:
        return self._before != self._after

    def names(self) -> tuple[set[str], set[str]]:
        """Return the names, or UUIDs, before and after, of those that differ.  Cost: one query."""
        changed = sorted(self._before ^ self._after)
        text = traits.c.name if self._column is _trait.trait_id else placement_aggregates.c.uuid
        query = sa.select(text.table.c.id, text.label("name"))
        rows = [*rows_of(self._connection, query, text.table.c.id, changed)]
        before = {row.name for row in rows if row.id in self._before}
        return before, {row.name for row in rows if row.id in self._after}


class Providers(Statements):
    """Resource providers, in one transaction."""

    def find(self, uuid: str) -> Provider | None:
        """Return the provider, or None."""
        row = self._connection.execute(_FIND, {"uuid": uuid}).one_or_none()
        return Provider(**row._asdict()) if row and row.uuid == uuid else None

    def traits(self, uuid: str) -> tuple[int, list[StoredName]]:
        """Return the generation of a provider, and its traits by id.  Raises: ProviderNotFound."""
        generation, rows = find_with(self._connection, _WITH_TRAITS, uuid)
        return generation, [StoredName._make(row) for row in rows]

    def aggregates(self, uuid: str) -> ProviderAggregates:
        """Return the aggregates of a provider.  Raises: ProviderNotFound."""
        generation, rows = find_with(self._connection, _WITH_AGGREGATES, uuid)
        return ProviderAggregates(generation, tuple(row[0] for row in rows))

    def replace_traits(self, id_: int, trait_ids: Collection[int]) -> Replaced:
        """Replace the traits of a locked provider."""
        return self._replace(id_, _trait.trait_id, trait_ids)

    def replace_aggregates(self, id_: int, uuids: Sequence[str]) -> Replaced:
        """Replace the aggregates of a locked provider; those that do not exist are inserted."""
        column = placement_aggregates.c.uuid
        ids = ids_by_name(self._connection, column, uuids)
        if missing := [uuid for uuid in uuids if uuid not in ids]:
            ids |= insert_names(self._connection, column, missing)
        return self._replace(id_, _association.aggregate_id, ids.values())

    def _replace(self, id_: int, column: sa.Column[int], ids: Collection[int]) -> Replaced:
        """Replace what a locked provider is associated with."""
        table, required = column.table, set(ids)
        of_provider = table.c.resource_provider_id == id_
        present = set(self._connection.scalars(sa.select(column).where(of_provider)))
        for chunk in chunks(present - required):
            self._connection.execute(table.delete().where(of_provider, column.in_(chunk)))
        created = {"resource_provider_id": id_, "created_at": utcnow()}
        rows = [{**created, column.name: new} for new in sorted(required - present)]
        if rows:
            self._connection.execute(table.insert(), rows)
        return Replaced(self._connection, column, present, required)

    def stored_name(self, name: str) -> str | None:
        """Return the name of the provider with this name, as the unique key compares names."""
        statement = sa.select(_provider.name).where(_provider.name == name)
        return self._connection.scalars(statement).first()

    def summary_named(self, name: str) -> ProviderSummary | None:
        """Return the provider with this name, as the unique key compares names."""
        return next(iter(self.summaries(_provider.name == name)), None)

    def summary_with_uuid(self, uuid: str) -> ProviderSummary | None:
        """Return the provider with this UUID, or None."""
        return next(iter(self.summaries(_provider.uuid == uuid)), None)

    def summaries(
        self, condition: sa.ColumnElement[bool], limit: int | None = None
    ) -> list[ProviderSummary]:
        """Return the first providers, by name, that satisfy a condition.

        They are read for conflicts and for ``/insight/identity``, not for requests that succeed.
        """
        statement = _SUMMARIES.where(condition).order_by(_provider.name).limit(limit)
        return [ProviderSummary(*row) for row in self._connection.execute(statement)]

    def lock(self, uuid: str) -> Provider | None:
        """Return the current provider, locked: no other transaction changes it or its resources.

        A provider that is created after the lock was requested is not locked, and not returned.
        Cost: three statements.
        """
        locked = lock_providers(self._connection, provider_ids(self._connection, [uuid]).values())
        return self.find(uuid) if locked else None

    def just_changed(self, ids: Iterable[int]) -> dict[int, int]:
        """Return the generations, by id, that increased in the last two seconds."""
        since = utcnow() - timedelta(seconds=2)
        rows = rows_of(self._connection, _GENERATIONS, _provider.id, ids)
        return {
            row.id: row.generation for row in rows if row.updated_at and row.updated_at >= since
        }

    def lock_trees(self, uuids: Iterable[str]) -> Mapping[str, Node]:
        """Lock the trees of these providers, in the order of ids; return the members by UUID.

        Trees may grow or merge while this transaction waits for their rows. Locking the new
        members at that point, out of order, could deadlock: the transaction runs again instead.
        """
        named = sorted(uuids)
        locked_ids = {node.id for node in self._nodes(named).values()}
        lock_providers(self._connection, locked_ids)
        nodes = self._nodes(named)
        if not locked_ids.issuperset(node.id for node in nodes.values()):
            raise WriteConflict
        return nodes

    def _nodes(self, uuids: list[str]) -> dict[str, Node]:
        roots = rows_of(self._connection, _ROOTS, _provider.uuid, uuids)
        root_ids = {row.root_provider_id for row in roots}
        nodes = rows_of(self._connection, _NODES, _provider.root_provider_id, root_ids)
        return {node.uuid: Node._make(node) for node in nodes}

    def insert(self, uuid: str, name: str, parent: Node | None) -> int:
        """Insert a provider and return its id; without a parent it is its own root.

        The tree of the parent must be locked.
        Raises: DuplicateProvider, which names the name even if the UUID is taken.
        """
        row = {"uuid": uuid, "name": name, "generation": 0, "created_at": utcnow()}
        if parent is not None:
            row |= {"parent_provider_id": parent.id, "root_provider_id": parent.root_id}
        with _duplicates(name):
            result = self._connection.execute(resource_providers.insert(), row)
        id_ = inserted_id(result)
        if parent is None:
            self._update([id_], root_provider_id=id_, updated_at=utcnow())
        return id_

    def rename(self, id_: int, name: str, **values: object) -> None:
        """Change the name, and other values, of a locked provider.

        Raises: DuplicateProvider.
        """
        with _duplicates(name):
            self._update([id_], name=name, **values, updated_at=utcnow())

    def move(self, ids: Iterable[int], root_id: int) -> None:
        """Change the root of locked providers, which is part of their representation."""
        self._update(ids, root_provider_id=root_id, updated_at=utcnow())

    def _update(self, ids: Iterable[int], **values: object) -> None:
        for chunk in chunks(ids):
            self._connection.execute(
                resource_providers.update().where(_provider.id.in_(chunk)).values(values)
            )

    def children(self, id_: int) -> list[tuple[str, str]]:
        """Return UUID and name of the children; while a provider is locked none can be added."""
        columns = sa.select(_provider.uuid, NAME).order_by(_provider.id)
        rows = self._connection.execute(columns.where(_provider.parent_provider_id == id_))
        return [(row.uuid, row.name) for row in rows]

    def delete(self, id_: int) -> None:
        """Delete a locked provider, with its inventories, traits and aggregate associations."""
        for table in (inventories, resource_provider_traits, resource_provider_aggregates):
            self._connection.execute(table.delete().where(table.c.resource_provider_id == id_))
        # MySQL does not delete a row that refers to itself
        self._update([id_], root_provider_id=None)
        self._connection.execute(resource_providers.delete().where(_provider.id == id_))

    def add_generations(self, steps: Mapping[int, int]) -> None:
        """Add to the generations of locked providers, in addition to the step of ``publish``."""
        for step in set(steps.values()) - {0}:
            ids = [id_ for id_, count in steps.items() if count == step]
            self._update(
                ids,
                generation=GENERATION + step,
                counted_generation=_provider.counted_generation + step,
            )


@contextmanager
def _duplicates(name: str) -> Iterator[None]:
    """Raise DuplicateProvider if another provider has the same name or UUID."""
    try:
        yield
    except sa.exc.IntegrityError as error:
        if errors.is_duplicate(error):
            raise exception.DuplicateProvider("name", name) from error
        raise
