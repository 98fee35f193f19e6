"""Providers with everything they have, as JSON text, for ``GET /insight/providers``.

The text is made in pieces of a few hundred providers, so that the response is never in
memory as a whole. Inventories, traits and aggregates that many providers have in common are
turned into text once for each response.

UUIDs of providers, class names and numbers hold nothing that JSON escapes; all else goes
through the encoder.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from json.encoder import encode_basestring_ascii as quoted

from placement.core.capacity import integer_capacity
from placement.core.insight.document import VERSION
from placement.core.model import Inventory, Provider, ProviderState

BATCH = 512  # providers in one piece of the response: about 300 kB

Write = Callable[[ProviderState], str]


def _parent(provider: Provider) -> str:
    return "null" if provider.parent_uuid is None else f'"{provider.parent_uuid}"'


_OF_PROVIDER: Mapping[str, Write] = {
    "uuid": lambda state: f'"{state.provider.uuid}"',
    "name": lambda state: quoted(state.provider.name),
    "generation": lambda state: str(state.provider.generation),
    "parent_provider_uuid": lambda state: _parent(state.provider),
    "root_provider_uuid": lambda state: f'"{state.provider.root_uuid}"',
}
FIELDS = (*_OF_PROVIDER, "inventories", "traits", "aggregates")
"""The fields of a provider, in the order of the response."""


def as_json(
    states: Iterable[ProviderState],
    *,
    token: str,
    complete: bool,
    removed: Sequence[str] = (),
    fields: Sequence[str] = FIELDS,
) -> Iterator[bytes]:
    """Yield the document in pieces.  Cost: 3 to 5 microseconds a provider."""
    start = f'{{"version":{VERSION},"token":{quoted(token)},"complete":{_boolean(complete)}'
    start += ',"providers":['
    for text in _joined(states, fields, ","):
        yield (start + text).encode("ascii")
        start = ","
    end = f'],"removed":{_names(removed)}}}'
    yield (end if start == "," else start + end).encode("ascii")


def as_lines(
    states: Iterable[ProviderState],
    *,
    token: str,
    complete: bool,
    removed: Sequence[str] = (),
    fields: Sequence[str] = FIELDS,
) -> Iterator[bytes]:
    """Yield the same as newline-delimited JSON: a head, a provider a line, what was removed."""
    head = f'{{"version":{VERSION},"token":{quoted(token)},"complete":{_boolean(complete)}}}\n'
    yield head.encode("ascii")
    for text in _joined(states, fields, "\n"):
        yield f"{text}\n".encode("ascii")
    yield f'{{"removed":{_names(removed)}}}\n'.encode("ascii")


def _joined(
    states: Iterable[ProviderState], fields: Sequence[str], separator: str
) -> Iterator[str]:
    write = writer(fields)
    source = iter(states)
    while batch := list(islice(source, BATCH)):
        yield separator.join([write(state) for state in batch])


def writer(fields: Sequence[str]) -> Write:
    """Return a function from a provider to its JSON object, with exactly these fields."""
    parts = _Parts()
    if tuple(fields) == FIELDS:
        return parts.everything
    by_name: Mapping[str, Write] = {
        **_OF_PROVIDER,
        "inventories": lambda state: parts.inventories(state.inventories, state.used),
        "traits": lambda state: parts.names(state.traits),
        "aggregates": lambda state: parts.names(state.aggregates),
    }
    writers = [(f'"{name}":', by_name[name]) for name in FIELDS if name in fields]
    return lambda state: "{{{}}}".format(",".join([key + write(state) for key, write in writers]))


class _Parts:
    """Texts that providers have in common, made once for each response."""

    def __init__(self) -> None:
        self._names: dict[frozenset[str], str] = {}
        # by identity: equal inventories of a snapshot are one object, which lives as long as it
        self._starts: dict[int, tuple[Mapping[str, Inventory], list[tuple[str, str]]]] = {}

    def everything(self, state: ProviderState) -> str:
        """Return the object with all fields."""
        provider = state.provider
        return (
            f'{{"uuid":"{provider.uuid}","name":{quoted(provider.name)},'
            f'"generation":{provider.generation},"parent_provider_uuid":{_parent(provider)},'
            f'"root_provider_uuid":"{provider.root_uuid}",'
            f'"inventories":{self.inventories(state.inventories, state.used)},'
            f'"traits":{self.names(state.traits)},"aggregates":{self.names(state.aggregates)}}}'
        )

    def names(self, names: frozenset[str]) -> str:
        """Return the names as a list, sorted."""
        text = self._names.get(names)
        if text is None:
            text = self._names[names] = _names(sorted(names))
        return text

    def inventories(self, inventories: Mapping[str, Inventory], used: Mapping[str, int]) -> str:
        """Return the inventories by class, sorted, with what is used of each."""
        kept = self._starts.get(id(inventories))
        if kept is None:
            starts = [(name, _start(name, inventories[name])) for name in sorted(inventories)]
            kept = self._starts[id(inventories)] = (inventories, starts)
        return "{{{}}}".format(
            ",".join([f"{start}{used.get(name, 0)}}}" for name, start in kept[1]])
        )


def _start(name: str, inventory: Inventory) -> str:
    """Return the text of an inventory up to the used amount, which comes last."""
    return (
        f'"{name}":{{"total":{inventory.total},"reserved":{inventory.reserved},'
        f'"min_unit":{inventory.min_unit},"max_unit":{inventory.max_unit},'
        f'"step_size":{inventory.step_size},"allocation_ratio":{inventory.allocation_ratio!r},'
        f'"capacity":{integer_capacity(inventory)},"used":'
    )


def _names(names: Iterable[str]) -> str:
    return "[{}]".format(",".join(map(quoted, names)))


def _boolean(value: bool) -> str:
    return "true" if value else "false"
