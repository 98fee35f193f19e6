"""Reading all providers row by row.

``provider_columns`` reads them several times faster, but not if a name contains its separator, or
if the server truncates long texts.

Rows are read one by one, and equal parts of the states are shared: objects that exist only during
a load, between those that stay, leave gaps in the memory of the process.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import sqlalchemy as sa

from placement.core.model import Inventory, Provider, ProviderState
from placement.db.sqlalchemy import changed_providers, odd_rows
from placement.db.sqlalchemy.models import (
    inventories,
    placement_aggregates,
    resource_provider_aggregates,
    resource_provider_traits,
)
from placement.db.sqlalchemy.providers import SELECT_PROVIDER

_Rows = Iterable[Any]
V = TypeVar("V")

_INVENTORIES = sa.select(
    inventories.c.resource_provider_id, *changed_providers.INVENTORY
).order_by(inventories.c.resource_class_id)
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
            odd_rows.warn_inventory(provider_id, class_id)
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
            odd_rows.warn_trait(provider_id, trait_id)
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
