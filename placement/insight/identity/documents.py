"""What a name could mean, as JSON, and read from it.

What a name could mean, as rows of a table: providers, then refused requests.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from placement.core.model import ProviderSummary
from placement.core.text import timestamp
from placement.insight.documents import document
from placement.insight.identity.model import Identity, Match, NameConflict


def identity(matched: Identity) -> bytes:
    """Return the body of what a name could mean."""
    return document(
        name=matched.name,
        database=matched.database,
        at=timestamp(matched.at),
        providers=[_match(each) for each in matched.matches],
        conflicts=[{**each._asdict(), "at": timestamp(each.at)} for each in matched.conflicts],
    )


def _match(match: Match) -> dict[str, object]:
    return {
        "match": match.match,
        **_provider(match.provider),
        "descendants": [_provider(each) for each in match.descendants],
    }


def _provider(provider: ProviderSummary) -> dict[str, object]:
    changed_at = provider.changed_at
    return {
        "uuid": provider.uuid,
        "name": provider.name,
        "generation": provider.generation,
        "parent_provider_uuid": provider.parent_uuid,
        "root_provider_uuid": provider.root_uuid,
        "updated_at": timestamp(changed_at),
        "consumers": provider.consumers,
        "inventories": provider.inventories,
        "children": provider.children,
    }


def from_document(document: Mapping[str, Any]) -> Identity:
    """Return the value of a document that ``identity`` wrote, for clients of the service."""
    return Identity(
        document["name"],
        document["database"],
        datetime.fromisoformat(document["at"]),
        [
            Match(each["match"], _read(each), tuple(map(_read, each["descendants"])))
            for each in document["providers"]
        ],
        [_read_conflict(each) for each in document["conflicts"]],
    )


def _read(document: Mapping[str, Any]) -> ProviderSummary:
    updated_at = document["updated_at"]
    return ProviderSummary(
        document["uuid"],
        document["name"],
        document["generation"],
        document["parent_provider_uuid"],
        document["root_provider_uuid"],
        None if updated_at is None else datetime.fromisoformat(updated_at),
        document["consumers"],
        document["inventories"],
        document["children"],
    )


def _read_conflict(document: Mapping[str, Any]) -> NameConflict:
    values = {name: document[name] for name in NameConflict._fields if name != "at"}
    return NameConflict(at=datetime.fromisoformat(document["at"]), **values)


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
