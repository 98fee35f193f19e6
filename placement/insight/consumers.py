"""Consumers with their allocations, as operators ask for them."""

from collections.abc import Mapping

from placement.core.insight.consumers import ConsumerFilter, ConsumerPage
from placement.core.storable_text import check_storable
from placement.db.sqlalchemy.consumer_list import ConsumerList
from placement.db.store import Store


def page(store: Store, criteria: ConsumerFilter) -> ConsumerPage:
    """Return a page of the consumers that the filter describes.

    Raises: BadRequest for a marker that no database can hold.
    """
    check_storable("marker", criteria.marker or "")
    with store.read() as tx:
        return ConsumerList(tx.connection).page(criteria)


def count_by_provider(store: Store) -> Mapping[int, int]:
    """Return the number of consumers with allocations, by provider id.

    Cost: one statement that reads all allocations.
    """
    with store.read() as tx:
        return ConsumerList(tx.connection).count_by_provider()
