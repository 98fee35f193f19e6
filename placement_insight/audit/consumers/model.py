"""Consumers with their allocations, as values and as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from placement.core.text import timestamp
from placement_insight.documents import Response, read_time

UNKNOWN_TYPE: Final = "unknown"
"""The type of a consumer without one, as in GET /usages."""

MOST_OF_A_PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class ConsumerFilter:
    """Which consumers are listed: at most ``limit``, in the order of UUIDs, after ``marker``.

    ``provider`` selects consumers with allocations on this provider, ``in_tree`` consumers with
    allocations in the tree of this provider, ``resource_class`` consumers that use any of the
    class. ``created_before`` is UTC.
    """

    project_id: str | None = None
    user_id: str | None = None
    type: str | None = None
    provider: str | None = None
    in_tree: str | None = None
    resource_class: str | None = None
    created_before: datetime | None = None
    marker: str | None = None
    limit: int = MOST_OF_A_PAGE


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

    def as_json(self) -> dict[str, object]:
        """Return the consumer in the document."""
        times = {name: timestamp(getattr(self, name)) for name in _TIMES}
        return self._asdict() | times

    @classmethod
    def from_json(cls, document: Response) -> "ListedConsumer":
        """Return the consumer in the document."""
        times = {name: read_time(document[name]) for name in _TIMES}
        return cls(**{**{name: document[name] for name in cls._fields}, **times})


_TIMES: Final = ("created_at", "updated_at")
