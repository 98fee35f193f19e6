"""Refused claims: a stable code, the facts, a sentence for people, and a line for the log.

The sentence is written from the recorded documents, because it is written when they are read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from placement import exception
from placement.core.model import ConsumerClaim

Document = Mapping[str, Any]
Names = Mapping[str, str]
"""Names of providers by UUID."""

REFUSALS = (
    exception.NotAllocatable,
    exception.StaleConsumerGeneration,
    exception.Conflict,
)
"""The errors of claims that are recorded."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A stable code, and the facts: numbers and names in the order of the log line."""

    code: str
    facts: Mapping[str, Any]

    def document(self, names: Names) -> dict[str, Any]:
        """Return the explanation of a refused claim, with the name of the provider if known."""
        facts = dict(self.facts)
        if "provider" in facts:
            uuid = facts["provider"]
            name = {"name": names[uuid]} if uuid in names else {}
            facts["provider"] = {"uuid": uuid, **name}
        return {"version": 1, "code": self.code, **facts}

    def line(self) -> str:
        """Return the code and the facts in one line.

        >>> Refusal("capacity", {"provider": "u", "needed": 4, "used": 6}).line()
        'capacity: provider u, needed 4, used 6'
        """
        facts = ", ".join(f"{name} {_text(value)}" for name, value in self.facts.items())
        return f"{self.code}: {facts}" if facts else self.code


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


_FACTS: Mapping[type[exception.PlacementException], tuple[str, Mapping[str, str]]] = {
    exception.CapacityExceeded: (
        "capacity",
        {
            "provider": "uuid",
            "resource_class": "resource_class",
            "needed": "amount",
            **{name: name for name in ("used", "reserved", "capacity")},
            "consumer": "consumer_uuid",
        },
    ),
    exception.InventoryConstraintsViolated: (
        "unit",
        {
            "provider": "uuid",
            "resource_class": "resource_class",
            "needed": "amount",
            **{name: name for name in ("min_unit", "max_unit", "step_size")},
            "consumer": "consumer_uuid",
        },
    ),
    exception.NoSuchInventory: (
        "no_inventory",
        {"provider": "uuid", "resource_classes": "resource_classes", "consumer": "consumer_uuid"},
    ),
    exception.StaleConsumerGeneration: (
        "consumer_generation",
        {"consumer": "uuid", "expected": "actual", "given": "given"},
    ),
}
"""The code of each error, and its attributes by the names of the facts."""


def described(error: exception.PlacementException) -> Refusal:
    """Return the code and the facts of a refusal, which is one of ``REFUSALS``."""
    for kind, (code, attributes) in _FACTS.items():
        if isinstance(error, kind):
            facts = {name: getattr(error, attribute) for name, attribute in attributes.items()}
            return Refusal(code, facts)
    return Refusal("concurrent_update", {})


def claim(refusal: Refusal, claims: Sequence[ConsumerClaim], names: Names) -> dict[str, object]:
    """Return the refused claim as a document, or the first claim if the error names no consumer.

    ``consumers`` is the number of consumers in the request. It is 0 for a reshape of inventories
    only.
    """
    if not claims:
        return {"consumers": 0}
    refused = _refused(refusal, claims)
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


def owner(refusal: Refusal, claims: Sequence[ConsumerClaim]) -> tuple[str, str] | None:
    """Return the project and the user of the refused claim, if there is a claim."""
    if not claims:
        return None
    refused = _refused(refusal, claims)
    return refused.project_id, refused.user_id


def _refused(refusal: Refusal, claims: Sequence[ConsumerClaim]) -> ConsumerClaim:
    consumer = refusal.facts.get("consumer")
    return next((claim for claim in claims if claim.consumer_uuid == consumer), claims[0])


# --- sentences -------------------------------------------------------------------------


def sentence(explanation: Document, claim: Document) -> str | None:
    """Return the reason of a refused claim for people; None if its facts were too long to record.

    >>> facts = {"resource_class": "VCPU", "needed": 4, "used": 62, "capacity": 64}
    >>> host = {"uuid": "u", "name": "cn17"}
    >>> sentence({"code": "capacity", "provider": host, **facts}, {"consumer_uuid": "c"})
    'cn17 has 2 of 64 VCPU free, 4 were claimed by consumer c'
    """
    write = _SENTENCES.get(explanation.get("code", ""))
    return write(explanation, claim) if write else None


def _capacity_sentence(facts: Document, claim: Document) -> str:
    free = max(facts["capacity"] - facts["used"], 0)
    amount = f"{free} of {facts['capacity']} {facts['resource_class']} free"
    return f"{_provider(facts)} has {amount}, {_claimed(facts, claim)}"


def _unit_sentence(facts: Document, claim: Document) -> str:
    needed, name = facts["needed"], facts["resource_class"]
    if needed > facts["max_unit"]:
        rule = f"at most {facts['max_unit']} {name} in one allocation (max_unit)"
    elif needed < facts["min_unit"]:
        rule = f"at least {facts['min_unit']} {name} in one allocation (min_unit)"
    else:
        rule = f"multiples of {facts['step_size']} {name} (step_size)"
    return f"{_provider(facts)} allows {rule}, {_claimed(facts, claim)}"


def _no_inventory_sentence(facts: Document, claim: Document) -> str:
    classes = " or ".join(facts["resource_classes"])
    return (
        f"{_provider(facts)} has no inventory of {classes}, claimed by {_consumer(facts, claim)}"
    )


def _generation_sentence(facts: Document, claim: Document) -> str:
    is_at = "does not exist"
    if facts["expected"] is not None:
        is_at = f"is at generation {facts['expected']}"
    expected = "a new consumer" if facts["given"] is None else f"generation {facts['given']}"
    return f"{_consumer(facts, claim)} {is_at}, the claim expected {expected}"


def _conflict_sentence(facts: Document, claim: Document) -> str:
    claimed_by = f" by {_consumer(facts, claim)}" if "consumer_uuid" in claim else ""
    return f"the claim{claimed_by} conflicted with concurrent updates, in every retry"


_SENTENCES: Mapping[str, Callable[[Document, Document], str]] = {
    "capacity": _capacity_sentence,
    "unit": _unit_sentence,
    "no_inventory": _no_inventory_sentence,
    "consumer_generation": _generation_sentence,
    "concurrent_update": _conflict_sentence,
}


CODES = tuple(_SENTENCES)
"""The codes of refused claims."""


def _provider(facts: Document) -> str:
    provider = facts["provider"]
    return str(provider.get("name") or provider["uuid"])


def _claimed(facts: Document, claim: Document) -> str:
    needed = facts["needed"]
    return f"{needed} {'was' if needed == 1 else 'were'} claimed by {_consumer(facts, claim)}"


def _consumer(facts: Document, claim: Document) -> str:
    """Return the consumer with the word that operators use for its type.

    A claim that was too long to record has no fields; most facts have the consumer.
    """
    nouns = {"INSTANCE": "server", "MIGRATION": "migration"}
    noun = nouns.get(claim.get("consumer_type") or "", "consumer")
    return f"{noun} {claim.get('consumer_uuid') or facts['consumer']}"
