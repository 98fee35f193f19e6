"""The providers that a name could mean, as JSON and as rows of a table.

Clients of the API convert the JSON document back to the value (``from_document``), and print
the same table as ``placement-manage``.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from placement.core.model import ProviderSummary
from placement.core.text import timestamp
from placement.insight.documents import document
from placement.insight.identity.model import Identity, Match, NameConflict

COLUMNS: Final = (
    *("match", "uuid", "name", "generation", "updated_at"),
    *("consumers", "inventories", "children", "holder"),
)
REFUSED: Final = "refused"
"""In the column ``match``, of a provider that could not be created or renamed."""

_KEYS: Final = (
    *("uuid", "name", "generation", "parent_provider_uuid", "root_provider_uuid"),
    *("updated_at", "consumers", "inventories", "children"),
)
"""The fields of a provider, in the order of the fields of ``ProviderSummary``."""

Row = Sequence[str | int | None]


def identity(matched: Identity) -> bytes:
    """Return the JSON document of an identity."""
    return document(
        name=matched.name,
        database=matched.database,
        at=timestamp(matched.at),
        providers=[_match(match) for match in matched.matches],
        conflicts=[
            {**conflict._asdict(), "at": timestamp(conflict.at)} for conflict in matched.conflicts
        ],
    )


def _match(match: Match) -> dict[str, object]:
    return {
        "match": match.match,
        **_provider(match.provider),
        "descendants": [_provider(provider) for provider in match.descendants],
    }


def _provider(provider: ProviderSummary) -> dict[str, object]:
    document = dict(zip(_KEYS, provider, strict=True))
    return {**document, "updated_at": timestamp(provider.changed_at)}


def from_document(document: Mapping[str, Any]) -> Identity:
    """Return the value of a document that ``identity`` returned, for clients of the service."""
    return Identity(
        document["name"],
        document["database"],
        datetime.fromisoformat(document["at"]),
        [
            Match(provider["match"], _read(provider), tuple(map(_read, provider["descendants"])))
            for provider in document["providers"]
        ],
        [_read_conflict(conflict) for conflict in document["conflicts"]],
    )


def _read(document: Mapping[str, Any]) -> ProviderSummary:
    updated_at = document["updated_at"]
    at = None if updated_at is None else datetime.fromisoformat(updated_at)
    return ProviderSummary(*[document[key] for key in _KEYS])._replace(changed_at=at)


def _read_conflict(document: Mapping[str, Any]) -> NameConflict:
    values = {name: document[name] for name in NameConflict._fields if name != "at"}
    return NameConflict(at=datetime.fromisoformat(document["at"]), **values)


def rows(identity: Identity) -> Iterator[Row]:
    """Yield a row for each provider and conflict.

    A conflict has the UUID and the name of the request, its time as ``updated_at``, and as
    ``holder`` the UUID of the provider that had the name or UUID.
    """
    for match in identity.matches:
        provider = match.provider
        at = timestamp(provider.changed_at)
        numbers = provider.consumers, provider.inventories, provider.children
        yield match.match, provider.uuid, provider.name, provider.generation, at, *numbers, None
    for conflict in identity.conflicts:
        at = timestamp(conflict.at)
        yield REFUSED, conflict.uuid, conflict.name, None, at, None, None, None, conflict.holder
