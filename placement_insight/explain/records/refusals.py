"""Refused claims: a class for each reason, with its code, its facts and its sentence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Final

from placement import exception
from placement.core.model import ConsumerClaim
from placement.core.text import Names
from placement_insight.documents import Response

REFUSALS = (exception.NotAllocatable, exception.StaleConsumerGeneration, exception.Conflict)
"""The errors of claims that are recorded."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason; its fields are the facts, in the order of the log line."""

    code: ClassVar[str]

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


@dataclass(frozen=True, slots=True)
class Capacity(Refusal):
    """The amount exceeds the free capacity; ``state`` is ``core.capacity.occupation``."""

    code: ClassVar = "capacity"
    provider: str
    resource_class: str
    needed: int
    used: int
    reserved: int
    capacity: int
    consumer: str | None
    state: str


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


@dataclass(frozen=True, slots=True)
class NoInventory(Refusal):
    """The provider has no inventory of the classes."""

    code: ClassVar = "no_inventory"
    provider: str
    resource_classes: Sequence[str]
    consumer: str | None


@dataclass(frozen=True, slots=True)
class ConsumerGeneration(Refusal):
    """The claim has another generation than the consumer; None of a consumer that is new."""

    code: ClassVar = "consumer_generation"
    consumer: str
    expected: int | None
    given: int | None


@dataclass(frozen=True, slots=True)
class ConcurrentUpdate(Refusal):
    """Each retry met a concurrent write."""

    code: ClassVar = "concurrent_update"


_KINDS: Final[Mapping[str, type[Refusal]]] = {
    kind.code: kind for kind in (Capacity, Unit, NoInventory, ConsumerGeneration, ConcurrentUpdate)
}
CODES = tuple(_KINDS)
"""The codes of refused claims."""


def described(error: exception.PlacementException) -> Refusal:
    """Return the code and the facts of a refusal, which is one of ``REFUSALS``."""
    match error:
        case exception.CapacityExceeded():
            numbers = (error.amount, error.used, error.reserved, error.capacity)
            reason = (error.consumer_uuid, error.occupation)
            return Capacity(error.uuid, error.resource_class, *numbers, *reason)
        case exception.InventoryConstraintsViolated():
            units = (error.amount, error.min_unit, error.max_unit, error.step_size)
            return Unit(error.uuid, error.resource_class, *units, error.consumer_uuid)
        case exception.NoSuchInventory():
            return NoInventory(error.uuid, error.resource_classes, error.consumer_uuid)
        case exception.StaleConsumerGeneration():
            return ConsumerGeneration(error.uuid, error.actual, error.given)
        case _:
            return ConcurrentUpdate()


def claim(refusal: Refusal, claims: Sequence[ConsumerClaim], names: Names) -> dict[str, object]:
    """Return the refused claim as a document, or the first claim if the error names no consumer.

    ``consumers`` is the number of consumers in the request. It is 0 for a reshape of inventories
    only.
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
    """Return the claim of the consumer that the error names, else the first one, if any."""
    consumer = refusal.facts.get("consumer")
    named = (claim for claim in claims if claim.consumer_uuid == consumer)
    return next(named, claims[0] if claims else None)


def classes(refusal: Refusal) -> Sequence[str]:
    """Return the resource classes that were refused."""
    match refusal:
        case Capacity() | Unit():
            return (refusal.resource_class,)
        case NoInventory():
            return refusal.resource_classes
    return ()


# --- sentences -------------------------------------------------------------------------


def sentence(explanation: Response, claim: Response) -> str | None:
    """Return the sentence of a recorded refusal; None if its facts were too long to record.

    A claim that was too long to record has no fields; most facts have the consumer.

    >>> facts = {"resource_class": "VCPU", "needed": 4, "used": 62, "capacity": 64}
    >>> host = {"uuid": "u", "name": "cn17"}
    >>> sentence({"code": "capacity", "provider": host, **facts}, {"consumer_uuid": "c"})
    'cn17 has 2 of 64 VCPU free, 4 were claimed by consumer c'
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
    nouns = {"INSTANCE": "server", "MIGRATION": "migration"}
    noun = nouns.get(claim.get("consumer_type") or "", "consumer")
    return _sentence(kind(**facts), f"{noun} {uuid}" if uuid else "")


def _sentence(refusal: Refusal, consumer: str) -> str:
    match refusal:
        case Capacity(provider, name, needed, used):
            free = f"{max(refusal.capacity - used, 0)} of {refusal.capacity} {name} free"
            state = f" ({refusal.state})" if refusal.state else ""
            return f"{provider} has {free}{state}, {_amount(needed)} claimed by {consumer}"
        case Unit(provider, needed=needed):
            return f"{provider} allows {_rule(refusal)}, {_amount(needed)} claimed by {consumer}"
        case NoInventory(provider, names):
            return f"{provider} has no inventory of {' or '.join(names)}, claimed by {consumer}"
        case ConsumerGeneration(_, current, given):
            is_at = "does not exist" if current is None else f"is at generation {current}"
            expected = "a new consumer" if given is None else f"generation {given}"
            return f"{consumer} {is_at}, the claim expected {expected}"
        case _:
            by = f" by {consumer}" if consumer else ""
            return f"the claim{by} conflicted with concurrent updates, in every retry"


def _amount(needed: int) -> str:
    return f"{needed} {'was' if needed == 1 else 'were'}"


def _rule(refusal: Unit) -> str:
    name = refusal.resource_class
    if refusal.needed > refusal.max_unit:
        return f"at most {refusal.max_unit} {name} in one allocation (max_unit)"
    if refusal.needed < refusal.min_unit:
        return f"at least {refusal.min_unit} {name} in one allocation (min_unit)"
    return f"multiples of {refusal.step_size} {name} (step_size)"
