"""Which providers a name could mean: a host that was renamed, re-installed, or given a domain.

The providers are values, a JSON document, and the rows of a table, which clients of the API print.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple, Self

from placement.core.model import Inventory, ProviderSummary
from placement.core.text import printable, timestamp
from placement.exception import BadRequest
from placement_insight.audit.consumers.model import ListedConsumer
from placement_insight.documents import Response, read_time
from placement_insight.names import short_name

NAME: Final = "name"
UUID: Final = "uuid"
CASE: Final = "case"
DOMAIN: Final = "domain"
CONFLICT: Final = "conflict"
MATCHES: Final = (NAME, UUID, CASE, DOMAIN, CONFLICT)
"""The reasons why a provider could be meant, the closest match first."""

DAYS: Final = 7
"""The number of days whose refused requests are shown by default."""


class CannotPlan(BadRequest):
    """The change is not possible; the message states the reason and the action."""


class NothingFound(BadRequest):
    """No provider has the name, and no request with it was refused."""


class NameConflict(NamedTuple):
    """A refused creation or renaming; ``name`` and ``uuid`` are from the request.

    ``reason`` is ``duplicate_name`` or ``duplicate_uuid``; ``holder`` the UUID of the provider
    that had the name or UUID then.
    """

    at: datetime | None
    reason: str
    name: str
    uuid: str
    holder: str
    request_id: str | None
    user_id: str | None


_KEYS: Final = (
    *("uuid", "name", "generation", "parent_provider_uuid", "root_provider_uuid"),
    *("updated_at", "consumers", "inventories", "children"),
)
"""The fields of a provider, in the order of the fields of ``ProviderSummary``."""


def _provider(provider: ProviderSummary) -> dict[str, object]:
    values = provider._replace(changed_at=None)
    return {**dict(zip(_KEYS, values, strict=True)), "updated_at": timestamp(provider.changed_at)}


def _read(document: Response) -> ProviderSummary:
    values = ProviderSummary(*(document[key] for key in _KEYS))
    return values._replace(changed_at=read_time(document["updated_at"]))


@dataclass(frozen=True, slots=True)
class Match:
    """A provider that could be meant, with its descendants, children before their parents."""

    match: str
    provider: ProviderSummary
    descendants: Sequence[ProviderSummary] = ()


@dataclass(frozen=True, slots=True)
class Identity:
    """The providers that a name could mean; ``database`` is the epoch of the database."""

    name: str
    database: str
    at: datetime | None
    matches: Sequence[Match]
    conflicts: Sequence[NameConflict]

    @property
    def names(self) -> dict[str, str]:
        """The names of all these providers, by UUID."""
        return {
            provider.uuid: provider.name
            for match in self.matches
            for provider in (match.provider, *match.descendants)
        }

    def as_json(self) -> dict[str, object]:
        """Return the fields of the document."""
        return {
            "name": self.name,
            "database": self.database,
            "at": timestamp(self.at),
            "providers": [
                {
                    "match": match.match,
                    **_provider(match.provider),
                    "descendants": [_provider(provider) for provider in match.descendants],
                }
                for match in self.matches
            ],
            "conflicts": [
                {**conflict._asdict(), "at": timestamp(conflict.at)} for conflict in self.conflicts
            ],
        }

    @classmethod
    def from_json(cls, document: Response) -> Self:
        """Return the identity in the document, for clients of the service."""
        return cls(
            document["name"],
            document["database"],
            read_time(document["at"]),
            [
                Match(each["match"], _read(each), tuple(map(_read, each["descendants"])))
                for each in document["providers"]
            ],
            [
                NameConflict(*(each[name] for name in NameConflict._fields))._replace(
                    at=read_time(each["at"])
                )
                for each in document["conflicts"]
            ],
        )


class StoredAmounts(NamedTuple):
    """What an adoption is checked against.

    ``consumers`` have allocations on the provider to adopt. ``inventories`` and the ``used``
    amounts, by resource class, are the amounts of the provider that adopts.
    """

    consumers: Sequence[ListedConsumer]
    inventories: Mapping[str, Inventory]
    used: Mapping[str, int]


ReadAmounts = Callable[[str, str], StoredAmounts]
"""Reads the amounts for the UUIDs of the provider to adopt and of the provider that adopts."""


def match_of(
    requested_name: str, name: str, uuid: str = "", *, is_root: bool = True
) -> str | None:
    """Return why a provider with this name and UUID could be meant, None if it could not.

    Domains are compared for roots only: names of children often begin with the host name.

    >>> match_of("cn1", "CN1"), match_of("cn1.a.org", "cn1"), match_of("cn1", "cn10")
    ('case', 'domain', None)
    """
    if name == requested_name:
        return NAME
    if uuid and uuid == requested_name.lower():
        return UUID
    if name.lower() == requested_name.lower():
        return CASE
    if is_root and short_name(name) == short_name(requested_name):
        return DOMAIN
    return None


COLUMNS: Final = (
    *("match", "uuid", "name", "generation", "updated_at"),
    *("consumers", "inventories", "children", "holder"),
)
IMPORTANT: Final = ("match", "uuid", "name", "consumers", "inventories", "children")
"""The columns that a narrow terminal shows first."""

REFUSED: Final = "refused"
"""In the column ``match``, of a provider that could not be created or renamed."""

Row = Sequence[str | int | None]


def rows_of(identity: Identity) -> Iterator[Row]:
    """Yield a row for each provider and conflict.  Raises: NothingFound if there are none.

    A conflict has the UUID and the name of the request, its time as ``updated_at``, and as
    ``holder`` the UUID of the provider that had the name or UUID.
    """
    if not (identity.matches or identity.conflicts):
        raise NothingFound(
            f"No provider has the name or UUID {printable(identity.name)}, with or without a "
            "domain, and no request with it was refused. `openstack resource provider list` shows "
            "all providers."
        )
    for match in identity.matches:
        provider = match.provider
        at = timestamp(provider.changed_at)
        numbers = provider.consumers, provider.inventories, provider.children
        yield match.match, provider.uuid, provider.name, provider.generation, at, *numbers, None
    for conflict in identity.conflicts:
        at = timestamp(conflict.at)
        yield REFUSED, conflict.uuid, conflict.name, None, at, None, None, None, conflict.holder
