"""Used amounts: on one provider, and by the consumers of a project."""

from collections.abc import Mapping

from placement.core.model import ProviderUsages, TypeUsage
from placement.db.store import Store


def of_provider(store: Store, uuid: str) -> ProviderUsages:
    """Return what is used on the provider.  Raises: ProviderNotFound."""
    raise NotImplementedError


def of_project(store: Store, project_id: str, user_id: str | None) -> Mapping[str, int]:
    """Return the amount used of each class by all consumers of the project (and user)."""
    raise NotImplementedError


def of_project_by_type(
    store: Store, project_id: str, user_id: str | None, consumer_type: str | None
) -> Mapping[str, TypeUsage]:
    """Return usage by consumer type (1.38).

    ``consumer_type`` is None for every type by itself, ``all`` for the sum under that key,
    ``unknown`` for consumers without type, else the name of a type.
    """
    raise NotImplementedError
