"""The changes of a repair, from the rows that it records for its undo."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement.core import changes
from placement.core.changes import AllocationsChange, Change, RepairChange
from placement.core.model import Inventory, Provider
from placement.db.tables import (
    LIMITS,
    allocations,
    inventories,
    placement_aggregates,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)
from placement.db.transaction import Transaction
from placement.db.writes import rows_of

_Row = Mapping[str, Any]
_Image = Mapping[str, Sequence[_Row]]
"""Rows by table."""

_Texts = Mapping[int | None, str]
_Amounts = dict[str, dict[str, dict[str, int]]]


def of_repair(tx: Transaction, repair: RepairChange, *images: _Image) -> Iterator[Change]:
    """Yield the changes of a repair, from its rows before and after, then the repair."""
    yield from _of_names(*images)
    yield from _of_providers(tx, *images)
    yield from _of_allocations(tx, *images)
    yield repair


def _of_names(before: _Image, after: _Image) -> Iterator[Change]:
    for table, kind in ((resource_classes, changes.ClassChange), (traits, changes.TraitChange)):
        images = (before.get(table.name, ()), after.get(table.name, ()))
        old, new = ({row["name"] for row in image} for image in images)
        yield from (kind(name, None) for name in old - new)
        yield from (kind(None, name) for name in new - old)


def _of_providers(tx: Transaction, before: _Image, after: _Image) -> Iterator[Change]:
    """Yield the changes of providers; one that was created again has what belongs to it."""
    images = [image.get(resource_providers.name, ()) for image in (before, after)]
    parents = {row["parent_provider_id"] for image in images for row in image}
    uuids = _texts(tx, resource_providers.c.uuid, parents)
    old, new = ({row["uuid"]: _provider(row, uuids) for row in image} for image in images)
    for uuid in sorted({*old, *new}):
        was, now = old.get(uuid), new.get(uuid)
        yield from changes.of_provider(was, now)
        if was is None and now is not None:
            yield from _of_created(tx, now, after)


def _provider(row: _Row, uuids: _Texts) -> Provider:
    name, parent = row["name"] or row["uuid"], uuids.get(row["parent_provider_id"])
    return Provider(row["id"], row["uuid"], name, 0, parent, row["uuid"])


def _of_created(tx: Transaction, provider: Provider, after: _Image) -> Iterator[Change]:
    """Yield the inventories, traits and aggregates of a provider that a repair restored."""
    rows = after.get(inventories.name, ())
    classes = _texts(tx, resource_classes.c.name, (row["resource_class_id"] for row in rows))
    fields = [column.name for column in LIMITS]
    restored = {
        classes[row["resource_class_id"]]: Inventory(**{name: row[name] for name in fields})
        for row in rows
    }
    yield from changes.of_inventories(provider, {}, restored)
    for kind, table, id_, text in (
        (changes.TraitsChange, resource_provider_traits, "trait_id", traits.c.name),
        (
            changes.AggregatesChange,
            resource_provider_aggregates,
            "aggregate_id",
            placement_aggregates.c.uuid,
        ),
    ):
        ids = [row[id_] for row in after.get(table.name, ())]
        if names := sorted(_texts(tx, text, ids).values()):
            yield kind(provider.uuid, provider.name, [], names)


def _of_allocations(tx: Transaction, before: _Image, after: _Image) -> Iterator[Change]:
    """Yield the changes of consumers on the providers and classes that exist."""
    images = [image.get(allocations.name, ()) for image in (before, after)]
    rows = [row for image in images for row in image]
    uuids = _texts(tx, resource_providers.c.uuid, (row["resource_provider_id"] for row in rows))
    classes = _texts(tx, resource_classes.c.name, (row["resource_class_id"] for row in rows))
    old, new = (_amounts(image, uuids, classes) for image in images)
    for consumer in sorted({*old, *new}):
        was, now = old.get(consumer, {}), new.get(consumer, {})
        if was != now:
            yield AllocationsChange(consumer, None, was, now)


def _amounts(rows: Iterable[_Row], uuids: _Texts, classes: _Texts) -> _Amounts:
    amounts: _Amounts = {}
    for row in rows:
        uuid, name = uuids.get(row["resource_provider_id"]), classes.get(row["resource_class_id"])
        if uuid is not None and name is not None:
            by_class = amounts.setdefault(row["consumer_id"], {}).setdefault(uuid, {})
            by_class[name] = by_class.get(name, 0) + row["used"]
    return amounts


def _texts(tx: Transaction, column: sa.Column[str], ids: Iterable[int | None]) -> _Texts:
    """Return the texts of the rows with these ids, by id."""
    query = sa.select(column.table.c.id, column.label("text"))
    known = sorted({id_ for id_ in ids if id_ is not None})
    return {row.id: row.text for row in rows_of(tx.connection, query, column.table.c.id, known)}
