"""Statements about traits, and about which providers have them.

Custom traits are locked like custom classes, see ``resource_classes``.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.core.model import CUSTOM_PREFIX
from placement.core.storable_text import is_storable
from placement.db.sqlalchemy.clocks import advance_all_of_providers, utcnow
from placement.db.sqlalchemy.id_cache import Names
from placement.db.sqlalchemy.lookups import chunks, rows_named
from placement.db.sqlalchemy.models import resource_provider_traits, traits

_own = traits.c
_of = resource_provider_traits.c
_modified_at = sa.func.coalesce(_own.updated_at, _own.created_at).label("modified_at")
_TRAIT = sa.select(_own.id, _own.name, _modified_at).order_by(_own.id)
_OF_PROVIDER = _TRAIT.join(resource_provider_traits, _of.trait_id == _own.id).where(
    _of.resource_provider_id == sa.bindparam("provider_id")
)
_HAD_BY_SOMEBODY = sa.exists().where(_of.trait_id == _own.id)


class Trait(NamedTuple):
    """A trait as it is stored."""

    id: int
    name: str
    modified_at: datetime | None

    @property
    def is_standard(self) -> bool:
        """Whether it belongs to every cloud."""
        return not self.name.startswith(CUSTOM_PREFIX)


class Traits:
    """Traits, in one transaction."""

    def __init__(self, connection: sa.Connection, names: Names) -> None:
        self._connection = connection
        self._names = names

    def matching(
        self, names: Iterable[str] | None, prefix: str | None, *, associated: bool | None
    ) -> list[Trait]:
        """Return the traits, by id, that meet all that is given."""
        query = _TRAIT
        if associated is not None:
            query = query.where(_HAD_BY_SOMEBODY if associated else ~_HAD_BY_SOMEBODY)
        if prefix is not None:
            if not is_storable(prefix):
                return []
            query = query.where(_own.name.startswith(prefix, autoescape=True))
        if names is None:
            rows: Iterable[Any] = self._connection.execute(query)
        else:
            rows = sorted(rows_named(self._connection, query, _own.name, names))
        # SQLite's and most of MySQL's LIKE takes a prefix in either case
        return [Trait(*row) for row in rows if prefix is None or row.name.startswith(prefix)]

    def find(self, name: str) -> Trait | None:
        """Return the trait, None if there is none."""
        return self._one(_TRAIT, name)

    def lock(self, name: str) -> Trait | None:
        """Return the trait; until the end no provider gets it and nobody changes it."""
        return self._one(_TRAIT.with_for_update(), name)

    def _one(self, statement: sa.Select[Any], name: str) -> Trait | None:
        rows = [*rows_named(self._connection, statement, _own.name, [name])]
        return Trait(*rows[0]) if rows else None

    def use(self, names: Collection[str]) -> list[Trait]:
        """Return those that are there, by id; they stay there until the end."""
        custom = {name for name in names if name.startswith(CUSTOM_PREFIX)}
        shared = _TRAIT.with_for_update(read=True)
        rows = [
            *rows_named(self._connection, _TRAIT, _own.name, set(names) - custom),
            *rows_named(self._connection, shared, _own.name, custom),
        ]
        return sorted(Trait(*row) for row in rows)

    def insert(self, name: str) -> None:
        """Add a custom trait."""
        self._connection.execute(traits.insert(), {"name": name, "created_at": utcnow()})

    def is_in_use(self, id_: int) -> bool:
        """Tell whether some provider has a locked trait; until the end none gets it."""
        advance_all_of_providers(self._connection)
        found = sa.select(_of.trait_id).where(_of.trait_id == id_).limit(1)
        return self._connection.execute(found).first() is not None

    def delete(self, id_: int) -> None:
        """Remove a locked trait."""
        self._connection.execute(traits.delete().where(_own.id == id_))

    def of_provider(self, provider_id: int) -> list[Trait]:
        """Return the traits of a provider, by id."""
        rows = self._connection.execute(_OF_PROVIDER, {"provider_id": provider_id})
        return [Trait(*row) for row in rows]

    def give(self, provider_id: int, trait_ids: Collection[int]) -> None:
        """Add traits to a locked provider."""
        rows = [
            {"resource_provider_id": provider_id, "trait_id": id_, "created_at": utcnow()}
            for id_ in sorted(trait_ids)
        ]
        if rows:
            self._connection.execute(resource_provider_traits.insert(), rows)

    def take(self, provider_id: int, trait_ids: Collection[int]) -> None:
        """Take traits from a locked provider."""
        for chunk in chunks(trait_ids):
            self._connection.execute(
                resource_provider_traits.delete().where(
                    _of.resource_provider_id == provider_id, _of.trait_id.in_(chunk)
                )
            )
