"""What a name could mean, as rows of a table: providers, then refused requests."""

from collections.abc import Iterator, Sequence
from typing import Final

from placement.core.insight.identity import Identity
from placement.core.timestamps import timestamp

COLUMNS: Final = (
    *("match", "uuid", "name", "generation", "updated_at"),
    *("consumers", "inventories", "children", "holder"),
)
REFUSED: Final = "refused"
"""In the column ``match``, of a provider that could not be created or renamed."""

Row = Sequence[str | int | None]


def rows(identity: Identity) -> Iterator[Row]:
    """Yield a row for each provider and conflict.

    A conflict has the UUID and the name of the request, its time as ``updated_at``, and as
    ``holder`` the UUID of the provider that had the name or UUID.
    """
    for each in identity.matches:
        provider = each.provider
        at = timestamp(provider.changed_at)
        numbers = provider.consumers, provider.inventories, provider.children
        yield each.match, provider.uuid, provider.name, provider.generation, at, *numbers, None
    for conflict in identity.conflicts:
        at = timestamp(conflict.at)
        yield REFUSED, conflict.uuid, conflict.name, None, at, None, None, None, conflict.holder
