"""The sentence of each change, for commands and the page."""

from collections.abc import Iterator, Mapping
from typing import assert_never

from placement.core.changes import (
    AggregatesChange,
    AllocationsChange,
    Change,
    ClassChange,
    Fields,
    InventoryChange,
    ProviderChange,
    RepairChange,
    TraitChange,
    TraitsChange,
)
from placement.core.claims import Amounts
from placement.core.model import Inventory
from placement.core.text import Names, printable
from placement_insight.history.model import OtherChange

_NOUNS = {"INSTANCE": "server", "MIGRATION": "migration"}
_DEFAULTS = Inventory(total=0)


def sentence(change: Change | OtherChange, names: Names) -> str:
    """Return what changed, with the names of providers by UUID.

    >>> total = {"VCPU": {"total": 40}}, {"VCPU": {"total": 32}}
    >>> sentence(InventoryChange("u1", "cn1", *total), {})
    'cn1: VCPU total 40 -> 32'
    """
    match change:
        case ProviderChange():
            subject, text = change.name, _of_provider(change, names)
        case InventoryChange():
            subject, text = change.name, _of_inventories(change)
        case TraitsChange():
            subject, text = change.name, _of_list(change, "trait")
        case AggregatesChange():
            subject, text = change.name, _of_list(change, "aggregate")
        case AllocationsChange():
            noun = _NOUNS.get(change.consumer_type or "", "consumer")
            subject, text = f"{noun} {change.consumer_uuid}", _of_consumer(change, names)
        case ClassChange():
            subject, text = "resource class", _of_name(change)
        case TraitChange():
            subject, text = "trait", _of_name(change)
        case RepairChange():
            subject, text = "repair", change.after or f"undo of {change.before}"
        case OtherChange():
            subject, text = change.kind, "recorded by a later release"
        case _:
            assert_never(change)
    return printable(f"{subject}: {text}")


def _of_provider(change: ProviderChange, names: Names) -> str:
    before, after = change.before, change.after
    if after is None:
        return "deleted"
    parent = _parent(after["parent_provider_uuid"], names)
    if before is None:
        return f"created{parent and f' below {parent}'}"
    texts = []
    if before["name"] != after["name"]:
        texts.append(f"renamed from {before['name']}")
    if before["parent_provider_uuid"] != after["parent_provider_uuid"]:
        old = _parent(before["parent_provider_uuid"], names)
        texts.append(f"moved{old and f' from {old}'} to {parent or 'the top'}")
    return "; ".join(texts)


def _parent(uuid: str | None, names: Names) -> str:
    return names.get(uuid, uuid) if uuid else ""


def _of_inventories(change: InventoryChange) -> str:
    return "; ".join(
        of_inventory(name, change.before[name], after) for name, after in change.after.items()
    )


def of_inventory(name: str, before: Fields | None, after: Fields | None) -> str:
    """Return what changed of the inventory of a resource class."""
    if after is None:
        return f"{name} removed"
    if before is None:
        shown = (
            f"{field} {value:g}" if isinstance(value, float) else f"{field} {value}"
            for field, value in after.items()
            if value != getattr(_DEFAULTS, field, None)
        )
        return f"{name} added ({', '.join(shown)})"
    fields = (f"{field} {before[field]} -> {value}" for field, value in after.items())
    return f"{name} {', '.join(fields)}"


def _of_list(change: TraitsChange | AggregatesChange, noun: str) -> str:
    parts = ((change.after, "added"), (change.before, "removed"))
    return "; ".join(f"{noun} {', '.join(names)} {verb}" for names, verb in parts if names)


def _of_name(change: ClassChange | TraitChange) -> str:
    if change.before is None:
        return f"{change.after} created"
    return f"{change.before} {f'renamed to {change.after}' if change.after else 'deleted'}"


def _of_consumer(change: AllocationsChange, names: Names) -> str:
    before, after = change.before, change.after
    if not before:
        return f"placed on {_places(after, names)}"
    if not after:
        return f"released from {_places(before, names)}"
    if before.keys() == after.keys():
        changed = {uuid: dict(_resized(before[uuid], after[uuid])) for uuid in after}
        return (
            f"resized on {_places({uuid: each for uuid, each in changed.items() if each}, names)}"
        )
    return f"moved from {_places(before, names)} to {_places(after, names)}"


def _resized(before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    for name in {**before, **after}:
        old, new = before.get(name, 0), after.get(name, 0)
        if old != new:
            yield name, f"{old} -> {new}"


def _places(amounts: Amounts | Mapping[str, Mapping[str, str]], names: Names) -> str:
    """Return providers with their amounts.

    >>> _places({"u1": {"VCPU": 4, "MEMORY_MB": 8192}}, {"u1": "cn7"})
    'cn7 (VCPU 4, MEMORY_MB 8192)'
    """
    return ", ".join(
        f"{names.get(uuid, uuid)} ({', '.join(f'{name} {each}' for name, each in of.items())})"
        for uuid, of in amounts.items()
    )
