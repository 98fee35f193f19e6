"""Compare the usage that a service reports with the claims that it accepted.

An Audit records each write and the status of its response. Then it reads the usage of the
project, and of the provider with the most claims: a claim that was lost, counted twice, or
stored although it was refused, changes one of them.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.client import Allocations, Amounts, Connection, Get, Request
from bench.responses import WrongResponse
from bench.worlds import PROJECT, LoadedWorld

# the last microversion with sums by class alone; with consumer types openstack-placement
# answers 500 on PostgreSQL
PLAIN_USAGES = "1.37"


@dataclass
class Audit:
    """The allocations of the consumers of one service, besides those of its world."""

    loaded_world: LoadedWorld
    _accepted: dict[str, Allocations] = field(default_factory=dict)
    # of writes without a response, or with a 5xx: they may be stored
    _unconfirmed: list[Allocations] = field(default_factory=list)
    _is_checked: bool = True
    _reported: str = ""

    def record(self, request: Request, status: int) -> None:
        """Record a write and the status of its response; 0 means no response."""
        for consumer, allocations_ in request.allocations.items():
            self._is_checked = False
            if status in (200, 204):
                self._accepted[consumer] = allocations_
            elif not 400 <= status < 500:
                self._unconfirmed.extend((allocations_, self._accepted.pop(consumer, {})))

    def discrepancy(self, connection: Connection) -> str:
        """Describe how the usage differs from what was accepted; "" if equal or reported before.

        Raises: OSError, or WrongResponse if the service does not report its usage.
        """
        if self._is_checked:
            return ""
        self._is_checked = True
        discrepancy = self._project_discrepancy(connection) or self._provider_discrepancy(
            connection
        )
        # a claim that is lost is missing in each later row, too: report it once
        before, self._reported = self._reported, discrepancy
        return discrepancy if discrepancy != before else ""

    def _project_discrepancy(self, connection: Connection) -> str:
        stored = _usages(connection, f"/usages?project_id={PROJECT}")
        accepted = self.loaded_world.used() + _sum(_everywhere(self._accepted.values()))
        unconfirmed = _sum(_everywhere(self._unconfirmed))
        return _difference("the project", stored, accepted, accepted + unconfirmed)

    def _provider_discrepancy(self, connection: Connection) -> str:
        claims = Counter(
            provider for allocations_ in self._accepted.values() for provider in allocations_
        )
        if not claims:
            return ""
        busiest = max(claims, key=claims.__getitem__)
        stored = _usages(connection, f"/resource_providers/{busiest}/usages")
        accepted = self.loaded_world.used(busiest) + _sum(_on(busiest, self._accepted.values()))
        unconfirmed = _sum(_on(busiest, self._unconfirmed))
        return _difference(f"provider {busiest}", stored, accepted, accepted + unconfirmed)


def _usages(connection: Connection, path: str) -> Counter[str]:
    response = connection.send(Get(path, PLAIN_USAGES))
    if response.status != 200:
        raise WrongResponse(f"GET {path} answered {response.status}")
    return Counter(response.json()["usages"])


def _sum(amounts: Iterable[Amounts]) -> Counter[str]:
    total: Counter[str] = Counter()
    for each in amounts:
        total.update(each)
    return total


def _everywhere(allocations: Iterable[Allocations]) -> Iterable[Amounts]:
    return (amounts for allocations_ in allocations for amounts in allocations_.values())


def _on(provider: str, allocations: Iterable[Allocations]) -> Iterable[Amounts]:
    return (allocations_[provider] for allocations_ in allocations if provider in allocations_)


def _difference(
    subject: str, stored: Counter[str], least: Counter[str], most: Counter[str]
) -> str:
    """Describe which stored amounts are outside of their bounds, and by how much."""
    parts = [
        f"{name} {least[name] - stored[name]} too few"
        if stored[name] < least[name]
        else f"{name} {stored[name] - most[name]} too many"
        for name in sorted({*stored, *most})
        if not least[name] <= stored[name] <= most[name]
    ]
    return f"usage of {subject}: {', '.join(parts)}" if parts else ""
