"""Used amounts: on one provider, and by the consumers of a project."""

from collections import Counter
from collections.abc import Mapping

from placement.core.model import ProviderUsages, TypeUsage
from placement.db.store import Store

ALL = "all"
UNKNOWN = "unknown"


def of_provider(store: Store, uuid: str) -> ProviderUsages:
    """Return the used amounts of the provider.  Raises: ProviderNotFound."""
    generation, inventories = store.read_once(lambda tx: tx.inventories.of(uuid))
    return ProviderUsages(generation, {name: row.used for name, row in inventories.items()})


def of_project(store: Store, project_id: str, user_id: str | None) -> Mapping[str, int]:
    """Return the amount used of each class by all consumers of the project (and user)."""
    return store.read_once(lambda tx: tx.allocations.usage_of_project(project_id, user_id))


def of_project_by_type(
    store: Store, project_id: str, user_id: str | None, consumer_type: str | None
) -> Mapping[str, TypeUsage]:
    """Return usage by consumer type (1.38).

    ``consumer_type`` is None for every type by itself, ``all`` for the sum under that key,
    ``unknown`` for consumers without type, else the name of a type.
    """
    usages = store.read_once(lambda tx: tx.allocations.usage_by_type(project_id, user_id))
    by_type = {UNKNOWN if name is None else name: usage for name, usage in usages.items()}
    if consumer_type is None:
        return by_type
    if consumer_type == ALL:
        return {ALL: _sum(by_type)} if by_type else {}
    return {name: usage for name, usage in by_type.items() if name == consumer_type}


def consumers_by_provider(store: Store) -> Mapping[int, int]:
    """Return the number of consumers by provider id, without providers that have none.

    Cost: one statement that reads all allocations.
    """
    return store.read_once(lambda tx: tx.allocations.consumers_by_provider())


def _sum(by_type: Mapping[str, TypeUsage]) -> TypeUsage:
    """Return the sum of the usages; each consumer has one type only."""
    resources: Counter[str] = Counter()
    for usage in by_type.values():
        resources.update(usage.resources)
    return TypeUsage(sum(usage.consumer_count for usage in by_type.values()), dict(resources))
