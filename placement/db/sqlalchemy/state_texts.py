"""The inventories, traits and aggregates of providers, of which a statement returned texts.

Providers with equal texts share the objects: of many providers that changed, most have the same
inventories, and each text is read once.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from placement.core.model import Inventory
from placement.core.snapshot.provider_table import Amounts
from placement.db.sqlalchemy import joined_values, odd_rows
from placement.db.sqlalchemy.grouped_rows import Times

_Named = tuple[str, Inventory] | None


class StateTexts:
    """Reads texts with the names of classes and traits by id.  Methods raise: Unreadable."""

    def __init__(self, class_names: Mapping[int, str], trait_names: Mapping[int, str]) -> None:
        self._class_names = class_names
        self._trait_names = trait_names
        self._amounts: dict[str | None, Amounts] = {}
        self._inventories: dict[tuple[str, ...], Mapping[str, Inventory]] = {}
        self._named: dict[str, _Named] = {}
        self._traits: dict[str | None, frozenset[str]] = {}
        self._aggregates: dict[str | None, frozenset[str]] = {}
        self._times = Times()

    def amounts(self, provider_id: int, text: str | None) -> Amounts:
        """Return the inventories and the used amounts by class, in the order of class ids.

        A value is the integers of ``changed_providers.INVENTORY``, the ratio, the used amount.
        """
        amounts = self._amounts.get(text)
        if amounts is None:
            amounts = self._amounts[text] = self._read_amounts(provider_id, text)
        return amounts

    def _read_amounts(self, provider_id: int, text: str | None) -> Amounts:
        keys, used = [], {}
        for value in sorted(joined_values.values(text), key=_class_id):
            key, _, amount = value.rpartition(",")
            named = self._named[key] if key in self._named else self._name(provider_id, key)
            if named is not None:
                keys.append(key)
                if amount != "0":
                    used[named[0]] = int(amount)
        return self._shared(tuple(keys)), used

    def _name(self, provider_id: int, key: str) -> _Named:
        """Return the class and the inventory of a text without the used amount."""
        class_id, *integers, ratio = key.split(",")
        limits: list[Any] = [*map(int, integers), float(ratio)]
        inventory = Inventory(*limits)
        name = self._class_names.get(int(class_id))
        if name is None or inventory.step_size < 1:
            odd_rows.warn_inventory(provider_id, int(class_id))
            name = None
        named = self._named[key] = None if name is None else (name, inventory)
        return named

    def _shared(self, keys: tuple[str, ...]) -> Mapping[str, Inventory]:
        inventories = self._inventories.get(keys)
        if inventories is None:
            named = (self._named[key] for key in keys)
            inventories = self._inventories[keys] = dict(filter(None, named))
        return inventories

    def traits(self, provider_id: int, text: str | None) -> frozenset[str]:
        """Return the names of the traits; a value is the id of one."""
        return _kept(self._traits, text, lambda: self._read_traits(provider_id, text))

    def _read_traits(self, provider_id: int, text: str | None) -> frozenset[str]:
        names = {int(value): None for value in joined_values.values(text)}
        for trait_id in names.keys() - self._trait_names.keys():
            odd_rows.warn_trait(provider_id, trait_id)
        return frozenset(self._trait_names[id_] for id_ in names if id_ in self._trait_names)

    def aggregates(self, text: str | None) -> frozenset[str]:
        """Return the UUIDs of the aggregates."""
        return _kept(self._aggregates, text, lambda: frozenset(joined_values.values(text)))

    def time(self, value: datetime | str | None) -> datetime | None:
        """Return a time, which is text in JSON and in SQLite."""
        return self._times[value] if isinstance(value, str) else value


def _class_id(value: str) -> int:
    return int(value.partition(",")[0])


def _kept(
    sets: dict[str | None, frozenset[str]], text: str | None, read: Callable[[], frozenset[str]]
) -> frozenset[str]:
    names = sets.get(text)
    if names is None:
        names = sets[text] = read()
    return names
