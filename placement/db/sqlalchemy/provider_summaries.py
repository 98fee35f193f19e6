"""Statements that find providers by similar names: for operators and for errors.

They run for conflicts and for ``/insight/identity`` only, not for requests that succeed.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from placement.core.model import ProviderSummary
from placement.core.storable_text import is_storable
from placement.db.sqlalchemy.lookups import chunks
from placement.db.sqlalchemy.models import allocations, inventories, resource_providers

_provider = resource_providers.c
_root = resource_providers.alias("root")
_parent = resource_providers.alias("parent")
_child = resource_providers.alias("child")


def _count(counted: sa.ColumnElement[Any], condition: sa.ColumnElement[bool]) -> Any:
    return sa.select(sa.func.count(counted)).where(condition).scalar_subquery()


# The columns are those of ProviderSummary. Providers without a root are included: their names are
# taken, too.
_SELECT = (
    sa.select(
        _provider.uuid,
        sa.func.coalesce(_provider.name, _provider.uuid),
        sa.func.coalesce(_provider.generation, 0),
        _parent.c.uuid,
        _root.c.uuid,
        sa.func.coalesce(_provider.updated_at, _provider.created_at),
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
_name = sa.func.lower(_provider.name)


class ProviderSummaries:
    """Providers by name and UUID, in one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def with_name(self, name: str) -> ProviderSummary | None:
        """Return the provider whose name is this one to the unique key of the database."""
        return self._first(_SELECT.where(_provider.name == name))

    def with_uuid(self, uuid: str) -> ProviderSummary | None:
        """Return the provider with this UUID, or None."""
        return self._first(_SELECT.where(_provider.uuid == uuid))

    def similar(self, name: str, host: str, limit: int) -> list[ProviderSummary]:
        """Return those whose name or UUID is this one, but for letter case and a domain.

        ``host`` is the name without a domain. Children whose name begins with it and a dot are
        among them. SQLite, and PostgreSQL with the locale C, ignore the case of ASCII letters
        only.
        Cost: compares the names of all providers, in the database.
        """
        if not is_storable(name):
            return []
        escaped = host.replace("/", "//").replace("%", "/%").replace("_", "/_")
        condition = sa.or_(
            _provider.uuid == name.lower(),
            _provider.name == name,
            _name == sa.func.lower(name),
            _name == sa.func.lower(host),
            _name.like(sa.func.lower(f"{escaped}.%"), escape="/"),
        )
        return self._all(_SELECT.where(condition).order_by(_provider.name).limit(limit))

    def with_uuids(self, uuids: Iterable[str]) -> list[ProviderSummary]:
        """Return those of these providers that exist."""
        return [
            provider
            for chunk in chunks(sorted(uuids))
            for provider in self._all(_SELECT.where(_provider.uuid.in_(chunk)))
        ]

    def in_trees(self, roots: Iterable[str]) -> list[ProviderSummary]:
        """Return all providers in the trees of these roots."""
        return [
            provider
            for chunk in chunks(sorted(roots))
            for provider in self._all(_SELECT.where(_root.c.uuid.in_(chunk)))
        ]

    def _first(self, statement: sa.Select[Any]) -> ProviderSummary | None:
        return next(iter(self._all(statement.limit(1))), None)

    def _all(self, statement: sa.Select[Any]) -> list[ProviderSummary]:
        rows: Sequence[Any] = self._connection.execute(statement).all()
        return [ProviderSummary(*row) for row in rows]
