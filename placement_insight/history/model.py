"""Recorded changes: the values of a record, and its JSON in the database."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, get_args

from placement.core.changes import (
    AllocationsChange,
    Change,
    ClassChange,
    OfProvider,
    ProviderChange,
    RepairChange,
    TraitChange,
)
from placement.core.text import timestamp

_OF_PROVIDER: Final[Mapping[str, Callable[..., Change]]] = {
    each.kind: each for each in get_args(OfProvider)
}
LARGEST_ID: Final = 2**63 - 1
_OTHERS: Final = {kind.kind: kind for kind in (ClassChange, TraitChange, RepairChange)}
_ENCODE: Final = json.JSONEncoder(separators=(",", ":")).encode
KINDS: Final = (*_OF_PROVIDER, AllocationsChange.kind, *_OTHERS)


@dataclass(frozen=True, slots=True)
class OtherChange:
    """A change of a kind that a later release recorded, before a return to this one."""

    kind: str
    before: object
    after: object


@dataclass(frozen=True, slots=True)
class Record:
    """A change, when it was made (naive UTC), by which request, and the user of the request.

    The ids are None for a command on the database.
    """

    id: int
    at: datetime
    request_id: str | None
    global_request_id: str | None
    project_id: str | None
    user_id: str | None
    change: Change | OtherChange

    @property
    def origin(self) -> str:
        """The time, the request and the user, as a part of a sentence."""
        request = self.global_request_id or self.request_id
        parts = {"at": timestamp(self.at), "request": request, "user": self.user_id}
        return ", ".join(f"{name} {text}" for name, text in parts.items() if text)


def uuids_of(change: Change | OtherChange) -> set[str]:
    """Return the UUIDs of providers in a change, besides the provider that has its name."""
    match change:
        case AllocationsChange():
            return {*change.before, *change.after}
        case ProviderChange():
            places = (change.before or {}, change.after or {})
            return {uuid for each in places if (uuid := each.get("parent_provider_uuid"))}
        case _:
            return set()


def subject_of(change: Change | OtherChange) -> tuple[str | None, str | None, str | None]:
    """Return the UUID of a provider or that of a consumer, and its name or type."""
    if isinstance(change, AllocationsChange):
        return None, change.consumer_uuid, change.consumer_type
    if isinstance(change, OfProvider):
        return change.uuid, None, change.name
    return None, None, None


def columns_of(change: Change) -> Mapping[str, str | None]:
    """Return the columns of a change; every database can store its JSON."""
    provider, consumer, name = subject_of(change)
    if consumer is not None:
        uuids = uuids_of(change)
        provider = uuids.pop() if len(uuids) == 1 else None
    return {
        "kind": change.kind,
        "provider_uuid": provider,
        "consumer_uuid": consumer,
        "change": _ENCODE((name, change.before, change.after)),
    }


def change_of(kind: str, provider: str, consumer: str, text: str) -> Change | OtherChange:
    """Return the change of the columns."""
    name, before, after = json.loads(text)
    if of_provider := _OF_PROVIDER.get(kind):
        return of_provider(provider, name, before, after)
    if kind == AllocationsChange.kind:
        return AllocationsChange(consumer, name, before, after)
    if other := _OTHERS.get(kind):
        return other(before, after)
    return OtherChange(kind, before, after)
