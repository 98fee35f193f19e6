"""The one statement that reads the providers that changed since the clocks were last read.

A single statement sees one state of the database even outside a transaction, so it needs neither
BEGIN nor COMMIT: one round trip instead of nine for the same data. The first column of a row is
its kind; columns that a kind does not use are NULL.

A changed provider is one row, in which its inventories, traits and aggregates are texts: see
``grouped_rows``.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import sqlalchemy as sa

from placement.core.model import Inventory, Provider, ProviderState
from placement.db import clocks, grouped_rows
from placement.db.resources.providers import SELECT_PROVIDER
from placement.db.tables import (
    LIMITS,
    inventories,
    placement_aggregates,
    removed_providers,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)

LOG = logging.getLogger(__name__)

_provider, _inventory = resource_providers.c, inventories.c
_other = resource_providers.alias("other").c
_trait, _member = resource_provider_traits.c, resource_provider_aggregates.c

INVENTORY = (_inventory.resource_class_id, _inventory.used, *LIMITS)


# The kinds of rows: a provider, a removed provider, the values of all clocks, a resource class, a
# trait. The columns are the fields of a provider; ``name`` is also the name of a class or trait,
# or the values of the clocks.
_PROVIDER, _REMOVED, _CLOCKS, _RESOURCE_CLASS, _TRAIT = range(5)
_COLUMNS = (
    "kind",
    "id",
    "name",
    "uuid",
    "generation",
    "parent_uuid",
    "root_uuid",
    "modified_at",
    "inventories",
    "traits",
    "aggregates",
)


@cache  # to build it takes longer than to send it
def since(count: int, dialect: str, *, has_names: bool) -> sa.CompoundSelect[Any]:
    """Return the statement for the changes of ``count`` clocks; see ``parameters``.

    With ``has_names`` it also reads all resource classes and traits.
    """
    removed = removed_providers.c
    return sa.union_all(
        # the first part determines the names and types of the columns
        _providers(dialect).where(_between(_provider.stamp, count)),
        _part(_REMOVED, id=removed.provider_id, uuid=_text(removed.uuid)).where(
            _between(removed.stamp, count)
        ),
        _part(_CLOCKS, name=clocks.ALL),
        *(_name_parts() if has_names else ()),
    )


def _providers(dialect: str) -> sa.Select[Any]:
    """Return the statement for the rows of providers; ``root_uuid`` is NULL without a root.

    All other tables are in subqueries. PostgreSQL estimates that a 200th of all providers changed
    unless statistics say otherwise, and for so many it would join whole tables.
    """
    inventories_of = sa.select(grouped_rows.joined(dialect, *INVENTORY)).where(
        _inventory.resource_provider_id == _provider.id
    )
    traits_of = sa.select(grouped_rows.joined(dialect, _trait.trait_id)).where(
        _trait.resource_provider_id == _provider.id
    )
    aggregates_of = (
        sa.select(grouped_rows.joined(dialect, grouped_rows.escaped(placement_aggregates.c.uuid)))
        .join_from(
            resource_provider_aggregates,
            placement_aggregates,
            placement_aggregates.c.id == _member.aggregate_id,
        )
        .where(_member.resource_provider_id == _provider.id)
    )
    columns = SELECT_PROVIDER.selected_columns
    return _part(
        _PROVIDER,
        **dict(columns.items())
        | {
            "name": _text(columns.name),
            "uuid": _text(columns.uuid),
            "modified_at": sa.func.coalesce(_text(columns.modified_at), ""),
            "parent_uuid": _uuid_of(_provider.parent_provider_id),
            "root_uuid": _uuid_of(_provider.root_provider_id),
            "inventories": inventories_of.scalar_subquery(),
            "traits": traits_of.scalar_subquery(),
            "aggregates": aggregates_of.scalar_subquery(),
        },
    )


def _uuid_of(id_: sa.Column[int]) -> sa.ScalarSelect[str]:
    return sa.select(_other.uuid).where(_other.id == id_).scalar_subquery()


def _text(value: sa.ColumnElement[Any]) -> sa.ColumnElement[str]:
    """Return the value as a text of the connection's collation: tables may have different ones."""
    return sa.cast(value, sa.Text)


def _part(kind: int, **values: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Return the statement for the rows of one kind, which have these values."""
    values["kind"] = sa.literal_column(str(kind), sa.Integer)
    null: sa.ColumnElement[Any] = sa.literal_column("NULL")
    return sa.select(*(values.get(name, null).label(name) for name in _COLUMNS))


def _name_parts() -> Iterator[sa.Select[Any]]:
    for kind, table in ((_RESOURCE_CLASS, resource_classes), (_TRAIT, traits)):
        yield _part(kind, id=table.c.id, name=_text(table.c.name))


def parameters(seen: Mapping[int, int], moved: Iterable[int]) -> dict[str, int]:
    """Return the parameters of a statement for the clocks that have moved since ``seen``."""
    values = {}
    for number, clock in enumerate(moved):
        values[f"after_{number}"] = seen[clock]
        values[f"before_{number}"] = clocks.first_value(clock + 1)
    return values


def _between(stamp: sa.Column[int], count: int) -> sa.ColumnElement[bool]:
    """Return the condition for stamps after the seen values of the clocks.

    It is one range of the index for each clock.
    """
    return sa.or_(
        sa.false(),
        *(
            (stamp > _bound(f"after_{number}")) & (stamp < _bound(f"before_{number}"))
            for number in range(count)
        ),
    )


def _bound(name: str) -> sa.BindParameter[int]:
    return sa.bindparam(name, type_=sa.BigInteger)


@lru_cache(maxsize=1000)
def warn_once(message: str) -> None:
    """Log once in a process that an inconsistent row is left out: others must remain readable."""
    LOG.warning("%s Run `placement-status upgrade check`.", message)


class UnknownNameError(LookupError):
    """A row has the id of a resource class or trait that is not in the names of the process."""


@dataclass(frozen=True, slots=True)
class NameTables:
    """The names of all resource classes and traits, by id."""

    classes: Mapping[int, str]
    traits: Mapping[int, str]

    def has_usable(self, class_id: int, inventory: Inventory) -> bool:
        """Return whether an inventory can be used; otherwise log once that it is left out."""
        is_usable = class_id in self.classes and inventory.step_size >= 1
        if not is_usable:
            warn_once(
                f"Inventories of resource class {class_id} are left out: the class does not "
                "exist, or their step_size is below 1."
            )
        return is_usable

    def of_traits(self, ids: Iterable[int]) -> frozenset[str]:
        """Return the names of traits; missing traits are left out, and logged once."""
        all_ids = set(ids)
        if not all_ids <= self.traits.keys():
            warn_once("Traits that do not exist are left out of providers.")
        return frozenset(self.traits[id_] for id_ in all_ids & self.traits.keys())


@dataclass(frozen=True, slots=True)
class ProviderChanges:
    """The providers that changed, as rows, and the ids and UUIDs of the removed providers.

    A provider without root is also removed. An id may be in both: SQLite reuses the id of a
    removed provider. ``names`` is None if the names were not read: no resource class or trait was
    created, renamed or removed. ``is_complete`` is false if a clock advanced whose changes were
    not read; the changes of one transaction may then be read in part.
    """

    clocks: Mapping[int, int]
    is_complete: bool
    removed: Sequence[int]
    removed_uuids: Sequence[str]
    names: NameTables | None
    _rows: Sequence[Any]

    @property
    def changed(self) -> list[int]:
        """The ids of the changed providers."""
        return [row.id for row in self._rows]

    def states(self, names: NameTables) -> list[ProviderState]:
        """Return the changed providers that have a root; the names must be as new as the clocks.

        Another program may insert classes and traits without advancing the clock of names: an
        unknown id is left out only if this statement also read the names.
        Raises: UnknownNameError, grouped_rows.Truncated.
        """
        texts = _StateTexts(names, are_new=self.names is not None)
        return [texts.state(row) for row in self._rows if row.root_uuid is not None]


class _StateTexts:
    """Reads the rows of providers; equal texts are read once, and share objects."""

    def __init__(self, names: NameTables, *, are_new: bool) -> None:
        self._names = names
        self._are_new = are_new
        self._inventory = cache(inventory_of)
        self._trait_names = cache(self._traits)
        self._aggregates = cache(self._uuids)

    def state(self, row: Any) -> ProviderState:
        """Return the state in a row."""
        provider = Provider(
            row.id,
            row.uuid,
            row.name,
            row.generation,
            row.parent_uuid,
            row.root_uuid,
            clocks.time_of_text(row.modified_at),
        )
        traits_, aggregates = self._trait_names(row.traits), self._aggregates(row.aggregates)
        return ProviderState(provider, *self._amounts(row.inventories), traits_, aggregates)

    def _amounts(self, text: str | None) -> tuple[dict[str, Inventory], dict[str, int]]:
        """Return the inventories and the used amounts by class, in the order of class ids."""
        inventories_, used = {}, {}
        ids, amounts, *limits = _fields(text, len(INVENTORY))
        class_ids = self._known(ids, self._names.classes)
        rows = zip(class_ids, amounts, zip(*limits, strict=True), strict=True)
        for class_id, amount, inventory_limits in sorted(rows):
            inventory = self._inventory(inventory_limits)
            if self._names.has_usable(class_id, inventory):
                inventories_[self._names.classes[class_id]] = inventory
                if amount != "0":
                    used[self._names.classes[class_id]] = int(amount)
        return inventories_, used

    def _traits(self, text: str | None) -> frozenset[str]:
        (ids,) = _fields(text, 1)
        return self._names.of_traits(self._known(ids, self._names.traits))

    def _known(self, texts: Iterable[str], names: Mapping[int, str]) -> list[int]:
        """Return the ids in some texts.  Raises: UnknownNameError."""
        ids = [*map(int, texts)]
        if not self._are_new and not names.keys() >= set(ids):
            raise UnknownNameError
        return ids

    def _uuids(self, text: str | None) -> frozenset[str]:
        (uuids,) = _fields(text, 1)
        return frozenset(map(grouped_rows.unescaped, uuids))


def _fields(text: str | None, width: int) -> list[Sequence[str]]:
    """Return the columns of a text; a provider without rows has none."""
    return grouped_rows.fields(text or grouped_rows.NO_ROWS, width)


def inventory_of(limits: Sequence[Any]) -> Inventory:
    """Return the inventory of the columns ``LIMITS``: numbers, or texts of numbers."""
    *integers, ratio = limits
    total, reserved, min_unit, max_unit, step_size = map(int, integers)
    return Inventory(total, reserved, min_unit, max_unit, step_size, float(ratio))


def clocks_to_read(seen: Mapping[int, int], now: Mapping[int, int]) -> list[int]:
    """Return the clocks of providers that moved, and others up to a power of two.

    So there are few different statements: SQLAlchemy compiles each for 20 ms, while a request
    waits. If one of the others moves before the statement begins, it need not be repeated.
    """
    moved_first = sorted(
        range(clocks.PROVIDER_CLOCKS), key=lambda clock: seen[clock] == now[clock]
    )
    moved = sum(seen[clock] != now[clock] for clock in moved_first)
    return moved_first[: 1 << (moved - 1).bit_length() if moved else 0]


def read(
    connection: sa.Connection,
    seen: Mapping[int, int],
    now: Mapping[int, int],
    *,
    has_names: bool = False,
) -> ProviderChanges:
    """Return the providers that changed since the clocks had the values ``seen``.

    Reads the changes of ``clocks_to_read``, and all names if their clock moved, or with
    ``has_names``.
    Cost: one statement, which sees one state of the database even without a transaction.
    """
    read_clocks = clocks_to_read(seen, now)
    has_names = has_names or seen[clocks.NAMES_CLOCK] != now[clocks.NAMES_CLOCK]
    statement = since(len(read_clocks), connection.dialect.name, has_names=has_names)
    rows = defaultdict[int, list[Any]](list)
    for row in connection.execute(statement, parameters(seen, read_clocks)):
        rows[row.kind].append(row)
    values = clocks.by_id(rows[_CLOCKS][0].name)
    current = {*read_clocks, clocks.NAMES_CLOCK} if has_names else set(read_clocks)
    names = NameTables(
        classes={row.id: row.name for row in rows[_RESOURCE_CLASS]},
        traits={row.id: row.name for row in rows[_TRAIT]},
    )
    # the undo of a repair may take the root of a provider
    gone = [*rows[_REMOVED], *(row for row in rows[_PROVIDER] if row.root_uuid is None)]
    return ProviderChanges(
        clocks=values,
        is_complete=all(values[id_] == seen.get(id_) or id_ in current for id_ in values),
        removed=[row.id for row in gone],
        removed_uuids=[row.uuid for row in gone],
        names=names if has_names else None,
        _rows=rows[_PROVIDER],
    )
