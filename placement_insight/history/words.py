"""The sentence of each change, for commands and the page."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain
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
from placement_insight.history.model import OtherChange, Record
from placement_insight.hosts import NOUNS

_DEFAULTS = Inventory(total=0)


def handovers(records: Iterable[Record]) -> Mapping[int, str]:
    """Return what sentences add, by the ids of records: who took over allocations, and from whom.

    Nova hands the allocations of a server over to its migration in one request, and back.
    """
    by_request = defaultdict[str | None, list[tuple[int, AllocationsChange]]](list)
    for record in records:
        if isinstance(record.change, AllocationsChange):
            by_request[record.request_id].append((record.id, record.change))
    by_request.pop(None, None)  # of commands
    added = dict[int, str]()
    pairs = [each for each in by_request.values() if len(each) == 2]
    for (old, gave), (new, took) in chain(pairs, map(reversed, pairs)):
        if not gave.after and gave.before == took.after:
            added[old] = f"handed over to {_consumer(took)}; "
            added[new] = f"taken over from {_consumer(gave)}; "
    return added


def sentence(change: Change | OtherChange, names: Names, added: str = "") -> str:
    """Return what changed, with the names of providers by UUID, such as "cn1: VCPU removed"."""
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
            subject, text = _consumer(change), _of_consumer(change, names)
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
    return printable(f"{subject}: {added}{text}")


def _consumer(change: AllocationsChange) -> str:
    return f"{NOUNS.get(change.consumer_type or '', 'consumer')} {change.consumer_uuid}"


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
    lost = {uuid: before[uuid] for uuid in before if uuid not in after}
    new = {uuid: after[uuid] for uuid in after if uuid not in before}
    both = [uuid for uuid in after if uuid in before]
    resized = {u: _resized(before[u], after[u]) for u in both if before[u] != after[u]}
    unchanged = [names.get(uuid, uuid) for uuid in both if uuid not in resized]
    texts = []
    if lost and new:
        texts.append(f"moved from {_places(lost, names)} to {_places(new, names)}")
    elif lost:
        texts.append(f"released from {_places(lost, names)}")
    elif new:
        texts.append(f"{'also ' if before else ''}placed on {_places(new, names)}")
    if resized:
        texts.append(f"resized on {_places(resized, names)}")
    if unchanged and (lost or new):
        texts.append(f"remains on {', '.join(unchanged)}")
    return "; ".join(texts)


def _resized(before: Mapping[str, int], after: Mapping[str, int]) -> Mapping[str, str]:
    amounts = {name: (before.get(name, 0), after.get(name, 0)) for name in {**before, **after}}
    return {name: f"{old} -> {new}" for name, (old, new) in amounts.items() if old != new}


def _places(amounts: Amounts | Mapping[str, Mapping[str, str]], names: Names) -> str:
    return ", ".join(
        f"{names.get(uuid, uuid)} ({', '.join(f'{name} {each}' for name, each in of.items())})"
        for uuid, of in amounts.items()
    )
