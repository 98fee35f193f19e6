"""Compare the usage that a service reports with the claims that it accepted.

An Audit records each write and the status of its response. Then it reads the usage of the
project, and of the provider with the most claims: a claim that was lost, counted twice, or
stored although it was refused, changes one of them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from bench.client import Allocations, Connection, Get, Request
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
        differences = (self._difference(connection, provider) for provider in self._compared())
        discrepancy = next(filter(None, differences), "")
        # a claim that is lost is missing in each later row, too: report it once
        before, self._reported = self._reported, discrepancy
        return discrepancy if discrepancy != before else ""

    def _compared(self) -> Iterator[str]:
        """Yield "" for the project, and the provider with the most claims."""
        yield ""
        claims = Counter(provider for accepted in self._accepted.values() for provider in accepted)
        yield from (provider for provider, _ in claims.most_common(1))

    def _difference(self, connection: Connection, provider: str) -> str:
        """Describe which stored amounts are outside of their bounds, and by how much."""
        of_provider = f"/resource_providers/{provider}/usages"
        path = of_provider if provider else f"/usages?project_id={PROJECT}"
        response = connection.send(Get(path, PLAIN_USAGES))
        if response.status != 200:
            raise WrongResponse(f"GET {path} answered {response.status}")
        stored = Counter(response.json()["usages"])
        least = self.loaded_world.used(provider) + _sum(provider, self._accepted.values())
        most = least + _sum(provider, self._unconfirmed)
        parts = [
            f"{name} {least[name] - stored[name]} too few"
            if stored[name] < least[name]
            else f"{name} {stored[name] - most[name]} too many"
            for name in sorted({*stored, *most})
            if not least[name] <= stored[name] <= most[name]
        ]
        subject = f"provider {provider}" if provider else "the project"
        return f"usage of {subject}: {', '.join(parts)}" if parts else ""


def _sum(provider: str, allocations: Iterable[Allocations]) -> Counter[str]:
    """Return the sums of the amounts on a provider, or on all."""
    total: Counter[str] = Counter()
    for each in allocations:
        for uuid, amounts in each.items():
            if provider in ("", uuid):
                total.update(amounts)
    return total
