"""Refused writes and lost races: a class for each reason, with its code, facts and sentence."""

# ruff: noqa: D102 - the base class documents the methods of all refusals
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final

from placement import exception
from placement.core.model import ConsumerClaim
from placement.core.text import Names
from placement_insight.documents import Response
from placement_insight.explain.unknown_names import UNKNOWN_CLASS
from placement_insight.history.causes import Past, has_capacity, has_inventories, has_units
from placement_insight.hosts import NOUNS


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason; its fields are the facts, in the order of the log line.

    ``is_race`` is whether the same write may be accepted once the caller has read again.
    """

    code: ClassVar[str]
    is_race: ClassVar[bool] = False

    @property
    def facts(self) -> Mapping[str, object]:
        """The facts by name; a provider is a UUID."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def document(self, names: Names) -> dict[str, object]:
        """Return the explanation of a refused claim, with the name of the provider if known."""
        facts = dict(self.facts)
        if uuid := facts.get("provider"):
            name = {"name": names[str(uuid)]} if uuid in names else {}
            facts["provider"] = {"uuid": uuid, **name}
        return {"version": 1, "code": self.code, **facts}

    def line(self) -> str:
        """Return the code and the facts in one line.

        >>> ConsumerGeneration("c", expected=3, given=2).line()
        'consumer_generation: consumer c, expected 3, given 2'
        """
        texts = {
            name: ",".join(value) if isinstance(value, list | tuple) else str(value)
            for name, value in self.facts.items()
        }
        facts = ", ".join(f"{name} {text}" for name, text in texts.items() if text)
        return f"{self.code}: {facts}" if facts else self.code

    def sentence(self, consumer: str) -> str:
        """Return the sentence; a provider is its name, the consumer a noun and a UUID or empty."""
        raise NotImplementedError

    def is_met(self, _state: Past) -> bool:
        """Return whether a provider in a state, without the consumer, is no reason to refuse."""
        return True


@dataclass(frozen=True, slots=True)
class Capacity(Refusal):
    """The amount exceeds the free capacity; ``state`` is ``core.capacity.occupation``.

    ``own`` is what the consumer has already, which ``used`` does not count.
    """

    code: ClassVar = "capacity"
    provider: str
    resource_class: str
    needed: int
    used: int
    own: int
    reserved: int
    capacity: int
    consumer: str | None
    state: str

    def sentence(self, consumer: str) -> str:
        own = self.own or 0  # older records do not have it
        free = f"{max(self.capacity - self.used - own, 0)} of {self.capacity} "
        free += f"{self.resource_class} free" + (f" ({self.state})" if self.state else "")
        free += f", and {own} of its own" if own else ""
        return f"{self.provider} has {free}, {_amount(self.needed)} claimed by {consumer}"

    def is_met(self, state: Past) -> bool:
        return has_capacity(self.resource_class, self.needed, state)


@dataclass(frozen=True, slots=True)
class Unit(Refusal):
    """The amount violates ``min_unit``, ``max_unit`` or ``step_size``."""

    code: ClassVar = "unit"
    provider: str
    resource_class: str
    needed: int
    min_unit: int
    max_unit: int
    step_size: int
    consumer: str | None

    def sentence(self, consumer: str) -> str:
        claimed = f"{_amount(self.needed)} claimed by {consumer}"
        return f"{self.provider} allows {self._rule}, {claimed}"

    def is_met(self, state: Past) -> bool:
        return has_units(self.resource_class, self.needed, state)

    @property
    def _rule(self) -> str:
        name = self.resource_class
        if self.needed > self.max_unit:
            return f"at most {self.max_unit} {name} in one allocation (max_unit)"
        if self.needed < self.min_unit:
            return f"at least {self.min_unit} {name} in one allocation (min_unit)"
        return f"multiples of {self.step_size} {name} (step_size)"


@dataclass(frozen=True, slots=True)
class NoInventory(Refusal):
    """The provider has no inventory of the classes."""

    code: ClassVar = "no_inventory"
    provider: str
    resource_classes: Sequence[str]
    consumer: str | None

    def sentence(self, consumer: str) -> str:
        names = " or ".join(self.resource_classes)
        return f"{self.provider} has no inventory of {names}{_claimed(consumer)}"

    def is_met(self, state: Past) -> bool:
        return has_inventories(self.resource_classes, state)


@dataclass(frozen=True, slots=True)
class NoProvider(Refusal):
    """The provider does not exist."""

    code: ClassVar = "no_provider"
    provider: str

    def sentence(self, consumer: str) -> str:
        return f"provider {self.provider} does not exist{_claimed(consumer)}"

    def is_met(self, state: Past) -> bool:
        return state is not None


@dataclass(frozen=True, slots=True)
class NoClass(Refusal):
    """The resource class does not exist."""

    code: ClassVar = UNKNOWN_CLASS
    resource_class: str

    def sentence(self, consumer: str) -> str:
        return f"resource class {self.resource_class} does not exist{_claimed(consumer)}"


@dataclass(frozen=True, slots=True)
class InvalidInventory(Refusal):
    """The inventory to write reserves too much."""

    code: ClassVar = "invalid_inventory"
    provider: str
    resource_class: str
    problem: str

    def sentence(self, _consumer: str) -> str:
        written = f"the inventory of {self.resource_class} on {self.provider}"
        return f"{written} was not written, because {self.problem}"


@dataclass(frozen=True, slots=True)
class ExistingInventory(InvalidInventory):
    """The inventory to create exists."""

    code: ClassVar = "inventory_exists"


@dataclass(frozen=True, slots=True)
class InUse(Refusal):
    """Consumers use the inventories, or without classes the provider, to delete."""

    code: ClassVar = "in_use"
    provider: str
    resource_classes: Sequence[str]
    consumers: str

    def sentence(self, _consumer: str) -> str:
        names = " and ".join(self.resource_classes)
        subject = f"the inventory of {names} on {self.provider}" if names else self.provider
        return f"{subject} was not deleted, because consumers use it: {self.consumers}"


@dataclass(frozen=True, slots=True)
class HasChildren(Refusal):
    """The provider to delete has child providers."""

    code: ClassVar = "has_children"
    provider: str
    children: str

    def sentence(self, _consumer: str) -> str:
        return f"{self.provider} was not deleted, because it has child providers: {self.children}"


@dataclass(frozen=True, slots=True)
class ConsumerGeneration(Refusal):
    """The claim has another generation than the consumer; None of a consumer that is new."""

    code: ClassVar = "consumer_generation"
    is_race: ClassVar = True
    consumer: str
    expected: int | None
    given: int | None

    def sentence(self, consumer: str) -> str:
        current = self.expected
        is_at = "does not exist" if current is None else f"is at generation {current}"
        expected = "a new consumer" if self.given is None else f"generation {self.given}"
        return f"{consumer} {is_at}, the claim expected {expected}"


@dataclass(frozen=True, slots=True)
class ProviderGeneration(Refusal):
    """The write has another generation than the provider."""

    code: ClassVar = "provider_generation"
    is_race: ClassVar = True
    provider: str
    expected: int
    given: int

    def sentence(self, _consumer: str) -> str:
        current, given = self.expected, self.given
        return f"{self.provider} is at generation {current}, the write expected generation {given}"


@dataclass(frozen=True, slots=True)
class ConcurrentUpdate(Refusal):
    """Each retry met a concurrent write."""

    code: ClassVar = "concurrent_update"
    is_race: ClassVar = True

    def sentence(self, consumer: str) -> str:
        written = f"the claim by {consumer}" if consumer else "the write"
        return f"{written} conflicted with concurrent updates, in every retry"


_KINDS: Final[Mapping[str, type[Refusal]]] = {
    kind.code: kind
    for kind in (
        *(Capacity, Unit, NoInventory, NoProvider, NoClass, InvalidInventory, ExistingInventory),
        *(InUse, HasChildren),
        *(ConsumerGeneration, ProviderGeneration, ConcurrentUpdate),
    )
}
RACES: Final = tuple(code for code, kind in _KINDS.items() if kind.is_race)
"""The codes of lost races."""
CODES: Final = tuple(code for code in _KINDS if code not in RACES)
"""The codes of refused writes."""


_OF_ERRORS: Final[Mapping[type[exception.PlacementException], Callable[[Any], Refusal]]] = {
    exception.CapacityExceeded: lambda error: Capacity(
        *(error.uuid, error.resource_class, error.amount, error.used, error.own),
        *(error.reserved, error.capacity, error.consumer_uuid, error.occupation),
    ),
    exception.InventoryConstraintsViolated: lambda error: Unit(
        *(error.uuid, error.resource_class, error.amount),
        *(error.min_unit, error.max_unit, error.step_size, error.consumer_uuid),
    ),
    exception.NoSuchInventory: lambda error: NoInventory(
        error.uuid, error.resource_classes, error.consumer_uuid
    ),
    exception.ProviderToAllocateNotFound: lambda error: NoProvider(error.uuid),
    exception.ReshapedProviderNotFound: lambda error: NoProvider(error.uuid),
    exception.UnknownResourceClass: lambda error: NoClass(error.name),
    exception.NegativeCapacity: lambda error: InvalidInventory(
        error.uuid, error.resource_class, f"the reserved value is {error.comparison} total"
    ),
    exception.InventoryExists: lambda error: ExistingInventory(
        error.uuid, error.resource_class, "it exists"
    ),
    exception.InventoryInUse: lambda error: InUse(
        error.uuid, error.resource_classes, error.consumers
    ),
    exception.SingleInventoryInUse: lambda error: InUse(
        error.uuid, (error.resource_class,), error.consumers
    ),
    exception.ProviderInUse: lambda error: InUse(error.uuid, (), error.consumers),
    exception.ProviderHasChildren: lambda error: HasChildren(error.uuid, error.children),
    exception.StaleConsumerGeneration: lambda error: ConsumerGeneration(
        error.uuid, error.actual, error.given
    ),
    exception.StaleProviderGeneration: lambda error: ProviderGeneration(
        error.uuid, error.actual, error.given
    ),
    exception.Conflict: lambda _error: ConcurrentUpdate(),
}
REFUSALS: Final = tuple(_OF_ERRORS)
"""The errors of writes that are recorded."""


def described(error: exception.PlacementException) -> Refusal:
    """Return the code and the facts of a refusal, which is one of ``REFUSALS``."""
    return next(make(error) for kind, make in _OF_ERRORS.items() if isinstance(error, kind))


def claim(refusal: Refusal, claims: Sequence[ConsumerClaim], names: Names) -> dict[str, object]:
    """Return the refused claim as a document, see ``refused_claim``.

    ``consumers`` is the number of consumers in the request. It is 0 for a write without claims.
    """
    refused = refused_claim(refusal, claims)
    if refused is None:
        return {"consumers": 0}
    return {
        "consumer_uuid": refused.consumer_uuid,
        "consumer_generation": refused.generation,
        "consumer_type": refused.type,
        "project_id": refused.project_id,
        "user_id": refused.user_id,
        "allocations": {
            uuid: {"resources": dict(amounts)} for uuid, amounts in refused.resources.items()
        },
        "providers": {uuid: names[uuid] for uuid in refused.resources if uuid in names},
        "consumers": len(claims),
    }


def refused_claim(refusal: Refusal, claims: Sequence[ConsumerClaim]) -> ConsumerClaim | None:
    """Return the claim of the consumer or on the provider that the error names, else the first."""
    consumer, provider = refusal.facts.get("consumer"), refusal.facts.get("provider")
    named = [claim for claim in claims if claim.consumer_uuid == consumer]
    named += [claim for claim in claims if provider in claim.resources]
    return next(iter([*named, *claims]), None)


def classes(refusal: Refusal) -> Sequence[str]:
    """Return the resource classes that were refused."""
    match refusal:
        case Capacity() | Unit() | NoClass() | InvalidInventory():
            return (refusal.resource_class,)
        case NoInventory() | InUse():
            return refusal.resource_classes
    return ()


# --- sentences -------------------------------------------------------------------------


def sentence(explanation: Response, claim: Response) -> str | None:
    """Return the sentence of a recorded refusal; None if its facts were too long to record.

    A claim that was too long to record has no fields; most facts have the consumer.

    >>> facts = {"resource_class": "VCPU", "needed": 4, "used": 60, "own": 2, "capacity": 64}
    >>> host = {"uuid": "u", "name": "cn17"}
    >>> sentence({"code": "capacity", "provider": host, **facts}, {"consumer_uuid": "c"})
    'cn17 has 2 of 64 VCPU free, and 2 of its own, 4 were claimed by consumer c'
    >>> node = {"resource_class": "PGPU", "needed": 1, "used": 1, "capacity": 0}
    >>> node = {"code": "capacity", "provider": host, **node, "state": "in use, reserved"}
    >>> sentence(node, {"consumer_uuid": "c"})
    'cn17 has 0 of 0 PGPU free (in use, reserved), 1 was claimed by consumer c'
    """
    kind = _KINDS.get(explanation.get("code", ""))
    if kind is None:
        return None
    facts = {field.name: explanation.get(field.name) for field in fields(kind)}
    provider = facts.get("provider") or {"uuid": ""}
    if "provider" in facts:
        facts["provider"] = provider.get("name") or provider["uuid"]
    uuid = claim.get("consumer_uuid") or facts.get("consumer")
    noun = NOUNS.get(claim.get("consumer_type") or "", "consumer")
    return kind(**facts).sentence(f"{noun} {uuid}" if uuid else "")


def _claimed(consumer: str) -> str:
    return f", claimed by {consumer}" if consumer else ""


def _amount(needed: int) -> str:
    return f"{needed} {'was' if needed == 1 else 'were'}"
