"""Values of recorded requests: requests without candidates, and refused claims with their reasons.

The reason of a refused claim has a stable code, the numbers, and a line for the log.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from placement import exception
from placement.core.model import ConsumerClaim

NO_CANDIDATES = "no_candidates"
REFUSED_CLAIM = "refused_claim"
NAME_CONFLICT = "name_conflict"
"""A provider whose name or UUID is taken; listed by ``/insight/identity`` only."""

# An id is a time (milliseconds, and 10 bits for the microseconds within the millisecond) followed
# by a random number. Ids are in the order of time on every host, and an age is a range of the
# primary key. Ids stay below 2**63 until 2109.
RANDOM_BITS = 11
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
LARGEST_ID = 2**63 - 1

REFUSALS = (
    exception.NotAllocatable,
    exception.StaleConsumerGeneration,
    exception.Conflict,
)
"""The errors of claims that are recorded."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One recorded request, or a conflict of names of providers.

    ``at`` is UTC in whole seconds. ``query`` is the query of a request for candidates. ``claim``
    and ``explanation`` are JSON text. ``project_id`` and ``user_id`` identify the caller.
    """

    id: int
    at: datetime
    kind: str
    reason: str
    request_id: str | None
    global_request_id: str | None
    project_id: str | None
    user_id: str | None
    microversion: str
    query: str | None
    claim: str | None
    explanation: str


@dataclass(frozen=True, slots=True)
class RecordedFilter:
    """The recorded requests to list: at most ``limit``, and with ids below ``before`` if set."""

    since: datetime | None = None
    project_id: str | None = None
    reason: str | None = None
    before: int | None = None
    limit: int = 100


def first_id(at: datetime) -> int:
    """Return the smallest id of this time (aware), at most the largest integer of databases.

    >>> first_id(datetime(2026, 11, 21, tzinfo=UTC)) < first_id(datetime(2026, 11, 22, tzinfo=UTC))
    True
    """
    milliseconds, rest = divmod(max(at - _EPOCH, timedelta(0)), _MILLISECOND)
    return min((milliseconds << 10 | rest.microseconds) << RANDOM_BITS, LARGEST_ID)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A stable code, and the facts: numbers and names in the order of the log line."""

    code: str
    facts: Mapping[str, Any]

    def document(self) -> dict[str, Any]:
        """Return the explanation of a refused claim."""
        facts = dict(self.facts)
        if "provider" in facts:
            facts["provider"] = {"uuid": facts["provider"]}
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


def described(error: exception.PlacementException) -> Refusal:
    """Return the code and the facts of a refusal, which is one of ``REFUSALS``."""
    for kind, describe in _DESCRIPTIONS.items():
        if isinstance(error, kind):
            return describe(error)
    return Refusal("concurrent_update", {})


def _capacity(error: exception.CapacityExceeded) -> Refusal:
    return Refusal(
        "capacity",
        {
            "provider": error.uuid,
            "resource_class": error.resource_class,
            "needed": error.amount,
            "used": error.used,
            "reserved": error.reserved,
            "capacity": error.capacity,
            "consumer": error.consumer_uuid,
        },
    )


def _unit(error: exception.InventoryConstraintsViolated) -> Refusal:
    return Refusal(
        "unit",
        {
            "provider": error.uuid,
            "resource_class": error.resource_class,
            "needed": error.amount,
            "min_unit": error.min_unit,
            "max_unit": error.max_unit,
            "step_size": error.step_size,
            "consumer": error.consumer_uuid,
        },
    )


def _no_inventory(error: exception.NoSuchInventory) -> Refusal:
    return Refusal(
        "no_inventory",
        {
            "provider": error.uuid,
            "resource_classes": list(error.resource_classes),
            "consumer": error.consumer_uuid,
        },
    )


def _generation(error: exception.StaleConsumerGeneration) -> Refusal:
    return Refusal(
        "consumer_generation",
        {"consumer": error.uuid, "expected": error.actual, "given": error.given},
    )


_DESCRIPTIONS: Mapping[type[exception.PlacementException], Callable[[Any], Refusal]] = {
    exception.CapacityExceeded: _capacity,
    exception.InventoryConstraintsViolated: _unit,
    exception.NoSuchInventory: _no_inventory,
    exception.StaleConsumerGeneration: _generation,
}


def claim(
    error: exception.PlacementException, claims: Sequence[ConsumerClaim]
) -> dict[str, object]:
    """Return the refused claim as a document, or the first claim if the error names no consumer.

    ``consumers`` is the number of consumers in the request. It is 0 for a reshape of inventories
    only.
    """
    consumer = described(error).facts.get("consumer")
    refused_claims = [
        consumer_claim for consumer_claim in claims if consumer_claim.consumer_uuid == consumer
    ] or list(claims)
    if not refused_claims:
        return {"consumers": 0}
    refused = refused_claims[0]
    return {
        "consumer_uuid": refused.consumer_uuid,
        "consumer_generation": refused.generation,
        "project_id": refused.project_id,
        "user_id": refused.user_id,
        "allocations": {
            uuid: {"resources": dict(amounts)} for uuid, amounts in refused.resources.items()
        },
        "consumers": len(claims),
    }
