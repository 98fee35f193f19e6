"""Statements for traits, and for the traits of providers.

Custom traits are locked like custom classes, see ``resource_classes``.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.core.model import CUSTOM_PREFIX
from placement.core.storable_text import is_storable
from placement.db.sqlalchemy.clocks import advance_all_of_providers, utcnow
from placement.db.sqlalchemy.lookups import chunks, rows_named
from placement.db.sqlalchemy.models import resource_provider_traits, traits

_trait = traits.c
_association = resource_provider_traits.c
_modified_at = sa.func.coalesce(_trait.updated_at, _trait.created_at).label("modified_at")
_SELECT = sa.select(_trait.id, _trait.name, _modified_at).order_by(_trait.id)
_OF_PROVIDER = _SELECT.join(resource_provider_traits, _association.trait_id == _trait.id).where(
    _association.resource_provider_id == sa.bindparam("provider_id")
)
_IS_ASSOCIATED = sa.exists().where(_association.trait_id == _trait.id)


class Trait(NamedTuple):
    """A trait as it is stored."""

    id: int
    name: str
    modified_at: datetime | None

    @property
    def is_standard(self) -> bool:
        """Whether it is one of os-traits."""
        return not self.name.startswith(CUSTOM_PREFIX)


class Traits:
    """Traits, in one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def matching(
        self, names: Iterable[str] | None, prefix: str | None, *, associated: bool | None
    ) -> list[Trait]:
        """Return the traits that match all filters that are not None, by id."""
        query = _SELECT
        if associated is not None:
            query = query.where(_IS_ASSOCIATED if associated else ~_IS_ASSOCIATED)
        if prefix is not None:
            if not is_storable(prefix):
                return []
            query = query.where(_trait.name.startswith(prefix, autoescape=True))
        rows: Iterable[sa.Row[Any]] = (
            self._connection.execute(query)
            if names is None
            else rows_named(self._connection, query, _trait.name, names)
        )
        # LIKE ignores case on SQLite and with most collations of MySQL
        matching = [Trait._make(row) for row in rows]
        return sorted(row for row in matching if prefix is None or row.name.startswith(prefix))

    def find(self, name: str) -> Trait | None:
        """Return the trait, or None."""
        return self._one(_SELECT, name)

    def lock(self, name: str) -> Trait | None:
        """Return the trait, locked: no other transaction uses or changes it."""
        return self._one(_SELECT.with_for_update(), name)

    def _one(self, statement: sa.Select[Any], name: str) -> Trait | None:
        rows = [*rows_named(self._connection, statement, _trait.name, [name])]
        return Trait._make(rows[0]) if rows else None

    def lock_shared(self, names: Collection[str]) -> list[Trait]:
        """Return the traits that exist, by id; they are not removed in this transaction."""
        custom = {name for name in names if name.startswith(CUSTOM_PREFIX)}
        shared = _SELECT.with_for_update(read=True)
        rows = [
            *rows_named(self._connection, _SELECT, _trait.name, set(names) - custom),
            *rows_named(self._connection, shared, _trait.name, custom),
        ]
        return sorted(map(Trait._make, rows))

    def insert(self, name: str) -> None:
        """Insert a custom trait."""
        self._connection.execute(traits.insert(), {"name": name, "created_at": utcnow()})

    def is_in_use(self, id_: int) -> bool:
        """Return whether a provider has a locked trait; no provider gets it until the end."""
        advance_all_of_providers(self._connection)
        users = sa.select(_association.trait_id).where(_association.trait_id == id_).limit(1)
        return self._connection.execute(users).first() is not None

    def delete(self, id_: int) -> None:
        """Delete a locked trait."""
        self._connection.execute(traits.delete().where(_trait.id == id_))

    def of_provider(self, provider_id: int) -> list[Trait]:
        """Return the traits of a provider, by id."""
        rows = self._connection.execute(_OF_PROVIDER, {"provider_id": provider_id})
        return [Trait._make(row) for row in rows]

    def associate(self, provider_id: int, trait_ids: Collection[int]) -> None:
        """Add traits to a locked provider."""
        rows = [
            {"resource_provider_id": provider_id, "trait_id": id_, "created_at": utcnow()}
            for id_ in sorted(trait_ids)
        ]
        if rows:
            self._connection.execute(resource_provider_traits.insert(), rows)

    def dissociate(self, provider_id: int, trait_ids: Collection[int]) -> None:
        """Remove traits from a locked provider."""
        for chunk in chunks(trait_ids):
            self._connection.execute(
                resource_provider_traits.delete().where(
                    _association.resource_provider_id == provider_id,
                    _association.trait_id.in_(chunk),
                )
            )
