"""The consumers that exist outside of Placement, as nova or an operator lists them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

INSTANCE: Final = "INSTANCE"
MIGRATION: Final = "MIGRATION"


@dataclass(frozen=True, slots=True)
class LiveConsumers:
    """A complete list of the consumers of some types.

    ``hosts`` has the instances by UUID, with the name of the provider that each runs on, None if
    that is not known or about to change. ``others`` are further live consumers, such as
    migrations. ``types`` are the consumer types of which the list is complete: consumers of other
    types are not compared; ``unknown`` is that of consumers without a type. ``listed_at`` is when
    the list was begun (naive UTC): what was written later is not compared.
    """

    hosts: Mapping[str, str | None]
    listed_at: datetime
    types: frozenset[str] = frozenset({INSTANCE})
    others: Collection[str] = field(default=frozenset())

    def has(self, consumer_uuid: str) -> bool:
        """Return whether the list has a consumer.

        >>> live = LiveConsumers({"a": None}, datetime(2026, 1, 1), others={"b"})
        >>> live.has("A"), live.has("b"), live.has("c")
        (True, True, False)
        """
        uuid = consumer_uuid.lower()
        return uuid in self.hosts or uuid in self.others

    def __len__(self) -> int:
        return len(self.hosts) + len(self.others)
