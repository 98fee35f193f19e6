"""The state that records describe, and the state of a database; both in the same form."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, assert_never

import sqlalchemy as sa

from placement.core.changes import (
    AggregatesChange,
    AllocationsChange,
    Change,
    ClassChange,
    InventoryChange,
    ProviderChange,
    RepairChange,
    TraitChange,
    TraitsChange,
)
from placement.core.claims import Amounts
from placement.core.model import FIRST_CUSTOM_CLASS_ID, Inventory
from placement.core.text import canonical
from placement.db import tables
from placement.db.store import Store
from placement_insight.history import sql
from placement_insight.history.model import OtherChange, Record

_FIELDS = tuple(asdict(Inventory(1)))


class State:
    """Providers with their inventories, traits and aggregates; allocations; and custom names."""

    def __init__(self) -> None:
        self.providers: dict[str, Mapping[str, str | None]] = {}
        self.inventories: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)
        self.traits: dict[str, set[str]] = defaultdict(set)
        self.aggregates: dict[str, set[str]] = defaultdict(set)
        self.allocations: dict[str, Any] = {}
        self.classes: set[str | None] = set()
        self.trait_names: set[str | None] = set()
        self._renamed: dict[str, str] = {}

    def values(self) -> dict[str, object]:
        return {
            name: {key: each for key, each in values.items() if each}
            if isinstance(values, dict)
            else values
            for name, values in vars(self).items()
            if name != "_renamed"
        }

    def replay(self, records: Iterable[Record]) -> "State":
        """Apply changes, the oldest first; each begins where the one before it ended."""
        for record in records:
            assert not isinstance(record.change, OtherChange)
            self._apply(record.change)
        return self

    def _apply(self, change: Change) -> None:
        match change:
            case ProviderChange():
                self._change_provider(change)
            case InventoryChange():
                for name in change.before:
                    self._change_inventory(change, name)
            case TraitsChange():
                _replace(self.traits[change.uuid], change.before, change.after)
            case AggregatesChange():
                _replace(self.aggregates[change.uuid], change.before, change.after)
            case AllocationsChange():
                consumer = canonical(change.consumer_uuid)
                assert self.allocations.pop(consumer, {}) == self._named(change.before)
                self.allocations[consumer] = self._named(change.after)
            case ClassChange():
                self._change_class(change)
            case TraitChange():
                _replace(self.trait_names, _present(change.before), _present(change.after))
            case RepairChange():
                pass
            case _:
                assert_never(change)

    def _change_provider(self, change: ProviderChange) -> None:
        assert self.providers.pop(change.uuid, None) == change.before
        if change.after:
            self.providers[change.uuid] = change.after
            return
        for of in (self.inventories, self.traits, self.aggregates):
            of.pop(change.uuid, None)

    def _change_inventory(self, change: InventoryChange, name: str) -> None:
        of_provider = self.inventories[change.uuid]
        before, after = change.before[name], change.after[name]
        current = of_provider.pop(name, None)
        if before is None or current is None:
            assert current is before
        else:
            assert {field: current[field] for field in before} == before
        if after is not None:
            of_provider[name] = {**(current or {}), **after}

    def _named(self, amounts: Amounts) -> dict[str, dict[str, int]]:
        """Return amounts by the new names of classes.

        A claim at the same time as a rename may be recorded after it, with the old name.
        """
        return {
            uuid: {
                name if name in self.classes else self._renamed.get(name, name): amount
                for name, amount in by_class.items()
            }
            for uuid, by_class in amounts.items()
        }

    def _change_class(self, change: ClassChange) -> None:
        if change.before and change.after:
            self._renamed[change.before] = change.after
        _replace(self.classes, _present(change.before), _present(change.after))
        amounts = [each for of in self.allocations.values() for each in of.values()]
        for of in [*self.inventories.values(), *amounts]:
            if change.after and change.before in of:
                of[change.after] = of.pop(change.before)


def _replace(names: set[Any], removed: Iterable[Any], added: Iterable[Any]) -> None:
    assert names >= set(removed)
    assert names.isdisjoint(added)
    names -= set(removed)
    names |= set(added)


def _present(name: str | None) -> list[str]:
    return [] if name is None else [name]


def oldest_first(store: Store, *, after: int = 0) -> list[Record]:
    """Return the records with ids after this one."""
    with store.read() as tx:
        records = sql.find(tx, sql.Filter(limit=1_000_000))
    return [record for record in reversed(records) if record.id > after]


def state_of(store: Store) -> State:
    """Return the state of a database, without allocations on what does not exist."""
    with store.read() as tx:
        return _state(tx.connection)


def _state(connection: sa.Connection) -> State:
    state = State()
    rows = {table.name: connection.execute(table.select()).all() for table in _TABLES}
    providers = {row.id: row for row in rows["resource_providers"]}
    classes = {row.id: row.name for row in rows["resource_classes"]}
    traits = {row.id: row.name for row in rows["traits"]}
    aggregates = {row.id: row.uuid for row in rows["placement_aggregates"]}
    uuids = {id_: row.uuid for id_, row in providers.items()}
    for row in providers.values():
        parent = uuids.get(row.parent_provider_id)
        state.providers[row.uuid] = {"name": row.name, "parent_provider_uuid": parent}
    for row in rows["inventories"]:
        fields = {name: getattr(row, name) for name in _FIELDS}
        state.inventories[uuids[row.resource_provider_id]][classes[row.resource_class_id]] = fields
    for row in rows["resource_provider_traits"]:
        state.traits[uuids[row.resource_provider_id]].add(traits[row.trait_id])
    for row in rows["resource_provider_aggregates"]:
        state.aggregates[uuids[row.resource_provider_id]].add(aggregates[row.aggregate_id])
    for row in rows["allocations"]:
        if row.resource_provider_id in providers and row.resource_class_id in classes:
            of_consumer = state.allocations.setdefault(canonical(row.consumer_id), {})
            by_class = of_consumer.setdefault(uuids[row.resource_provider_id], {})
            name = classes[row.resource_class_id]
            by_class[name] = by_class.get(name, 0) + row.used
    state.classes = {name for id_, name in classes.items() if id_ >= FIRST_CUSTOM_CLASS_ID}
    state.trait_names = {name for name in traits.values() if name.startswith("CUSTOM_")}
    return state


_TABLES = (
    *(tables.resource_providers, tables.inventories, tables.allocations),
    *(tables.resource_classes, tables.traits, tables.placement_aggregates),
    *(tables.resource_provider_traits, tables.resource_provider_aggregates),
)
