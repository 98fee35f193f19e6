"""Which providers a name could mean: a host that was renamed, re-installed, or given a domain."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from placement.core.model import ProviderSummary
from placement.core.text import timestamp
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
    values = zip(_KEYS, provider, strict=True)
    return {**dict(values), "updated_at": timestamp(provider.changed_at)}


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
    at: datetime
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
