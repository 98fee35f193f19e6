"""Worlds as text, the input of ``world``.

A line is a provider: its name, then in any order inventories ``CLASS=total`` or
``CLASS=total(used=2, reserved=1, ratio=2.0, min=1, max=4, step=1)``, traits
``+TRAIT`` and aggregates ``@name``. A line that is indented further than one
above it is its child. ``#`` begins a comment.

    cn1      MEMORY_MB=16384  @rack1
      numa0  VCPU=4           +HW_CPU_X86_AVX2
    ss1      DISK_GB=1000     @rack1  +MISC_SHARES_VIA_AGGREGATE

Ids count from 1 in the order of the lines; UUIDs follow from the names.
"""

import re
import uuid
from collections.abc import Iterable, Iterator

from placement.core.model import MAX_INT, Inventory, Provider, ProviderState

_SPACE = uuid.UUID("0b5b7f0e-6c0e-4b5c-8f2e-6f6d0a2f7a11")

_WORD = re.compile(r"[^\s(]+(?:\([^)]*\))?")
_INVENTORY = re.compile(r"(?P<name>\w+)=(?P<total>\d+)(?:\((?P<options>[^)]*)\))?")


def provider_uuid(name: str) -> str:
    """Return the UUID of the provider with this name."""
    return str(uuid.uuid5(_SPACE, f"provider/{name}"))


def aggregate_uuid(name: str) -> str:
    """Return the UUID of the aggregate with this name."""
    return str(uuid.uuid5(_SPACE, f"aggregate/{name}"))


def world(world_text: str) -> list[ProviderState]:
    """Return the providers that the text describes, parents before children."""
    above: list[tuple[int, Provider]] = []
    states = []
    for number, (indent, words) in enumerate(_lines(world_text), start=1):
        while above and above[-1][0] >= indent:
            above.pop()
        parent = above[-1][1] if above else None
        state = _state(_provider(number, words[0], parent), words[1:])
        above.append((indent, state.provider))
        states.append(state)
    return states


def _lines(world_text: str) -> Iterator[tuple[int, list[str]]]:
    for line in world_text.splitlines():
        text = line.split("#", 1)[0].rstrip()
        if text:
            yield len(text) - len(text.lstrip()), _WORD.findall(text)


def _provider(number: int, name: str, parent: Provider | None) -> Provider:
    own = provider_uuid(name)
    return Provider(
        id=number,
        uuid=own,
        name=name,
        generation=0,
        parent_uuid=parent.uuid if parent else None,
        root_uuid=parent.root_uuid if parent else own,
    )


def _state(provider: Provider, words: Iterable[str]) -> ProviderState:
    inventories, used, traits, aggregates = {}, {}, set(), set()
    for word in words:
        if word.startswith("+"):
            traits.add(word[1:])
        elif word.startswith("@"):
            aggregates.add(aggregate_uuid(word[1:]))
        else:
            name, inventory, amount = _inventory(word)
            inventories[name] = inventory
            if amount:
                used[name] = amount
    return ProviderState(provider, inventories, used, frozenset(traits), frozenset(aggregates))


def _inventory(word: str) -> tuple[str, Inventory, int]:
    match = _INVENTORY.fullmatch(word)
    if match is None:
        raise ValueError(f"neither CLASS=total, +TRAIT nor @aggregate: {word}")
    options = dict(
        option.strip().split("=") for option in (match["options"] or "").split(",") if option
    )
    inventory = Inventory(
        total=int(match["total"]),
        reserved=int(options.pop("reserved", 0)),
        min_unit=int(options.pop("min", 1)),
        max_unit=int(options.pop("max", MAX_INT)),
        step_size=int(options.pop("step", 1)),
        allocation_ratio=float(options.pop("ratio", 1.0)),
    )
    used = int(options.pop("used", 0))
    if options:
        raise ValueError(f"unknown options in {word}: {sorted(options)}")
    return match["name"], inventory, used
