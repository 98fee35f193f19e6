"""Consumers with what they have, as operators list them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

UNKNOWN_TYPE: Final = "unknown"
"""The type of a consumer without one, as in GET /usages."""


@dataclass(frozen=True, slots=True)
class ConsumerFilter:
    """Which consumers are listed: at most ``limit``, in the order of UUIDs, after ``marker``.

    ``provider`` is one that they have allocations on, ``in_tree`` one of a tree in which they
    have. ``created_before`` is UTC.
    """

    project_id: str | None = None
    user_id: str | None = None
    type: str | None = None
    provider: str | None = None
    in_tree: str | None = None
    created_before: datetime | None = None
    marker: str | None = None
    limit: int = 1000


@dataclass(frozen=True, slots=True)
class ListedConsumer:
    """A consumer, and what it has: amounts by provider UUID and resource class.

    ``project_id`` and ``user_id`` are None if the database lacks their rows.
    """

    uuid: str
    project_id: str | None
    user_id: str | None
    type: str | None
    generation: int
    created_at: datetime | None
    updated_at: datetime | None
    allocations: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class ConsumerPage:
    """Some consumers, and the marker of the next page; None if there are no more."""

    consumers: Sequence[ListedConsumer]
    next_marker: str | None
