"""Consumers with their allocations, as values and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from placement.core.text import timestamp
from placement.insight.documents import document

UNKNOWN_TYPE: Final = "unknown"
"""The type of a consumer without one, as in GET /usages."""


@dataclass(frozen=True, slots=True)
class ConsumerFilter:
    """Which consumers are listed: at most ``limit``, in the order of UUIDs, after ``marker``.

    ``provider`` selects consumers with allocations on this provider, ``in_tree`` consumers with
    allocations in the tree of this provider. ``created_before`` is UTC.
    """

    project_id: str | None = None
    user_id: str | None = None
    type: str | None = None
    provider: str | None = None
    in_tree: str | None = None
    created_before: datetime | None = None
    marker: str | None = None
    limit: int = 1000


class ListedConsumer(NamedTuple):
    """A consumer with its allocations: amounts by provider UUID and resource class.

    ``project_id`` and ``user_id`` are None if the database lacks their rows. ``providers`` has the
    names of the providers by UUID.
    """

    uuid: str
    project_id: str | None
    user_id: str | None
    type: str | None
    generation: int
    created_at: datetime | None
    updated_at: datetime | None
    allocations: Mapping[str, Mapping[str, int]]
    providers: Mapping[str, str]

    @property
    def written_at(self) -> datetime | None:
        """When the consumer or its allocations were written last, None if unknown."""
        return self.updated_at or self.created_at


@dataclass(frozen=True, slots=True)
class ConsumerPage:
    """Some consumers, and the marker of the next page; None if there are no more."""

    consumers: Sequence[ListedConsumer]
    next_marker: str | None


def consumers_document(page: ConsumerPage) -> bytes:
    """Return the body of GET /insight/consumers.  Cost: about 5 microseconds a consumer."""
    return document(
        consumers=[_consumer(consumer) for consumer in page.consumers], next=page.next_marker
    )


def from_document(document: Mapping[str, Any]) -> ListedConsumer:
    """Return the value of a consumer in the document, for clients of the service.

    Fields that a later release of the service adds are ignored.
    """
    values = {name: document[name] for name in ListedConsumer._fields}
    times = {name: _time(document[name]) for name in ("created_at", "updated_at")}
    return ListedConsumer(**{**values, **times})


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).replace(tzinfo=None) if text else None


def _consumer(consumer: ListedConsumer) -> dict[str, Any]:
    times = {
        "created_at": timestamp(consumer.created_at),
        "updated_at": timestamp(consumer.updated_at),
    }
    return consumer._asdict() | times
