"""Recorded changes: the values of a record, and its JSON in the database."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from placement.core import changes
from placement.core.changes import (
    AllocationsChange,
    Change,
    ClassChange,
    ProviderChange,
    RepairChange,
    TraitChange,
)
from placement.core.text import timestamp

_OF_PROVIDER: Final = {
    kind.kind: kind
    for kind in (
        *(changes.ProviderChange, changes.InventoryChange),
        *(changes.TraitsChange, changes.AggregatesChange),
    )
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
        parts = [f"at {timestamp(self.at)}"]
        parts += [f"request {request}"] if request else []
        parts += [f"user {self.user_id}"] if self.user_id else []
        return ", ".join(parts)


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
    match change:
        case AllocationsChange():
            return None, change.consumer_uuid, change.consumer_type
        case ClassChange() | TraitChange() | RepairChange() | OtherChange():
            return None, None, None
        case _:
            return change.uuid, None, change.name


def columns_of(change: Change) -> Mapping[str, str]:
    """Return the columns of a change that are not NULL; every database can store its JSON."""
    provider, consumer, name = subject_of(change)
    columns = {"kind": change.kind, "change": _ENCODE((name, change.before, change.after))}
    if consumer is not None:
        columns["consumer_uuid"] = consumer
        uuids = uuids_of(change)
        provider = uuids.pop() if len(uuids) == 1 else None
    if provider is not None:
        columns["provider_uuid"] = provider
    return columns


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
