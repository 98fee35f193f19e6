"""The change that explains why a provider does not meet a requirement.

Each recorded change is undone, the newest first, which gives the earlier states of the provider.
The cause is the change after the last state that met the requirement. A change that was undone
since, or that made less difference than another one, is none.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby

from placement.core.capacity import is_valid_amount, is_within_capacity
from placement.core.changes import (
    AggregatesChange,
    AllocationsChange,
    Change,
    InventoryChange,
    OfProvider,
    ProviderChange,
    TraitsChange,
)
from placement.core.model import Inventory, Provider, ProviderState
from placement.core.text import Names
from placement_insight.history.model import OtherChange, Record, uuids_of
from placement_insight.history.words import sentence

Past = ProviderState | None
"""A state of a provider, None if it did not exist."""

IsMet = Callable[[Past], bool]
"""Whether a provider in this state meets a requirement."""


class _NotRecorded(Exception):  # noqa: N818 - not an error: other programs record nothing
    """A state differs from what the change before it left."""


@dataclass(frozen=True, slots=True)
class Question:
    """A requirement that providers do not meet; ``names`` are its classes, traits or aggregates.

    ``kinds`` are the changes that matter, besides those of providers. ``consumer`` is the consumer
    of a claim, whose allocations do not count.
    """

    providers: Sequence[str]
    names: Collection[str]
    is_met: IsMet
    kinds: tuple[type[Change], ...] = ()
    consumer: str | None = None

    def matters(self, change: Change | OtherChange) -> bool:
        """Return whether a change can explain the question."""
        of_consumer = isinstance(change, AllocationsChange) and change.consumer_uuid
        return isinstance(change, (ProviderChange, *self.kinds)) and of_consumer != self.consumer


@dataclass(frozen=True, slots=True)
class Recorded:
    """The records of providers, the newest first, and the generations of the time of the read.

    Of allocations, all records from an id on are there.
    """

    records: Mapping[str, Sequence[Record]]
    generations: Mapping[str, int | None]
    first_of_allocations: int

    def answer(self, question: Question, state_of: Callable[[str], Past]) -> str:
        """Return which change explains a question, empty if it is not recorded."""
        causes = (self._cause(question, uuid, state_of(uuid)) for uuid in question.providers)
        found = [cause for cause in causes if cause]
        if not found:
            return ""
        last = max(found, key=lambda record: record.id)
        states = map(state_of, {*question.providers, *uuids_of(last.change)})
        names = {state.provider.uuid: state.provider.name for state in states if state}
        change = part(last.change, question.names, names)
        return f"{sentence(change, names)} {last.origin}"

    def _cause(self, question: Question, uuid: str, state: Past) -> Record | None:
        if self.generations.get(uuid) != (state and state.provider.generation):
            return None  # written since the state was read
        first = self.first_of_allocations if AllocationsChange in question.kinds else 0
        records = (
            record
            for record in self.records.get(uuid, ())
            if record.id >= first and question.matters(record.change)
        )
        return cause(uuid, state, records, question.is_met)


def has_inventories(names: Iterable[str], state: Past) -> bool:
    """Return whether a provider has inventories of all of the classes."""
    return state is not None and state.inventories.keys() >= set(names)


def has_units(name: str, amount: int, state: Past) -> bool:
    """Return whether the units of an inventory admit an amount."""
    if state is None or (inventory := state.inventories.get(name)) is None:
        return False
    return is_valid_amount(inventory, amount)


def has_capacity(name: str, amount: int, state: Past) -> bool:
    """Return whether a provider has an amount of a class free."""
    if state is None or (inventory := state.inventories.get(name)) is None:
        return False
    return is_within_capacity(inventory, state.used.get(name, 0), amount)


def cause(uuid: str, state: Past, records: Iterable[Record], is_met: IsMet) -> Record | None:
    """Return the change after the last state that met the requirement; None if not recorded.

    Changes of one request, such as those of a server and of its migration, are one.
    """
    if is_met(state):
        return None
    try:
        for _, same in groupby(records, key=lambda each: each.request_id or each.at):
            group, before = list(same), state
            for record in group:
                before = _before(uuid, before, record.change)
            if is_met(before):
                return next((each for each in group if _is_cause(uuid, state, each, is_met)), None)
            if state is None:
                return None  # what it had before it was deleted is not recorded
            state = before
    except _NotRecorded:
        pass
    return None


def _is_cause(uuid: str, state: Past, record: Record, is_met: IsMet) -> bool:
    try:
        return is_met(_before(uuid, state, record.change))
    except _NotRecorded:
        return False


def _before(uuid: str, state: Past, change: Change | OtherChange) -> Past:
    """Return the state before a change.  Raises: _NotRecorded."""
    match change:
        case ProviderChange():
            return _before_place(uuid, state, change)
        case InventoryChange() if state:
            return replace(state, inventories=_before_inventories(state.inventories, change))
        case TraitsChange() if state:
            return replace(state, traits=_before_names(state.traits, change))
        case AggregatesChange() if state:
            return replace(state, aggregates=_before_names(state.aggregates, change))
        case AllocationsChange(before=before, after=after) if state:
            used = Counter(state.used)
            used.update(before.get(uuid, {}))
            used.subtract(after.get(uuid, {}))
            _check(min(used.values(), default=0) >= 0)
            return replace(state, used=used)
    raise _NotRecorded


def _before_place(uuid: str, state: Past, change: ProviderChange) -> Past:
    """Return the state before a provider was created, renamed, moved or deleted.

    What it had before it was deleted is not recorded with this change.
    """
    place, is_deleted = change.before, change.after is None
    _check(is_deleted is (state is None))
    if place is None:
        return None
    name, parent = place["name"] or uuid, place["parent_provider_uuid"]
    if state is None:
        provider = Provider(0, uuid, name, 0, parent, uuid)
        return ProviderState(provider, {}, {}, frozenset(), frozenset())
    return replace(state, provider=replace(state.provider, name=name, parent_uuid=parent))


def _before_inventories(
    current: Mapping[str, Inventory], change: InventoryChange
) -> Mapping[str, Inventory]:
    inventories = {**current}
    for name, fields in change.before.items():
        after, inventory = change.after[name], inventories.pop(name, None)
        values = asdict(inventory) if inventory else {}
        _check((after or {}).items() <= values.items() and bool(values) is (after is not None))
        if fields is not None:
            inventories[name] = Inventory(**{**values, **fields})
    return inventories


def _before_names(
    current: frozenset[str], change: TraitsChange | AggregatesChange
) -> frozenset[str]:
    _check(current.issuperset(change.after) and current.isdisjoint(change.before))
    return current.difference(change.after).union(change.before)


def _check(is_recorded: bool) -> None:
    if not is_recorded:
        raise _NotRecorded


def part(
    change: Change | OtherChange, about: Collection[str], names: Names
) -> Change | OtherChange:
    """Return what a change has of these names; the provider gets its current name."""
    if not isinstance(change, OfProvider):
        return change
    change = replace(change, name=names.get(change.uuid, change.name))
    match change:
        case InventoryChange():
            before, after = (
                {name: fields for name, fields in of.items() if name in about}
                for of in (change.before, change.after)
            )
            return replace(change, before=before, after=after)
        case TraitsChange() | AggregatesChange():
            removed, added = (
                [name for name in of if name in about] for of in (change.before, change.after)
            )
            return replace(change, before=removed, after=added)
    return change
