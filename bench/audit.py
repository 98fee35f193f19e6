"""What a service must hold after the claims that it accepted, and whether it does.

A Book is told of each write and its answer. Afterwards the service is asked for
the usage of the project, and of the provider that most was taken from: if a
claim was lost or counted twice, or taken though it was refused, one of them shows it.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.answers import WrongAnswer
from bench.client import Amounts, Connection, Get, Holding, Request
from bench.worlds import PROJECT, LoadedWorld

# the last one that gives plain sums for a project, not by type of consumer; at those the
# reference answers 500 over PostgreSQL
PLAIN_USAGES = "1.37"


@dataclass
class Book:
    """The holdings of one service's consumers, on top of what its world began with."""

    place: LoadedWorld
    _held: dict[str, Holding] = field(default_factory=dict)
    # of writes without an answer, or with one that leaves it open: stored, or not
    _doubtful: list[Holding] = field(default_factory=list)
    _is_checked: bool = True
    _told: str = ""

    def note(self, request: Request, status: int) -> None:
        """Take in a write and the status of its answer; 0 is none."""
        for consumer, holding in request.holdings.items():
            self._is_checked = False
            if status in (200, 204):
                self._held[consumer] = holding
            elif not 400 <= status < 500:
                self._doubtful.extend((holding, self._held.pop(consumer, {})))

    def mistake(self, connection: Connection) -> str:
        """In what the usage is not what was accepted since the last time; "" if it is.

        Raises: OSError, or WrongAnswer if the service does not tell its usage.
        """
        if self._is_checked:
            return ""
        self._is_checked = True
        wrong = self._wrong_in_project(connection) or self._wrong_in_busiest(connection)
        # a claim that is lost is missing in each later row, too
        before, self._told = self._told, wrong
        return wrong if wrong != before else ""

    def _wrong_in_project(self, connection: Connection) -> str:
        stored = _usages(connection, f"/usages?project_id={PROJECT}")
        held = self.place.used() + _sum(_everywhere(self._held.values()))
        doubtful = _sum(_everywhere(self._doubtful))
        return _difference("the project", stored, held, held + doubtful)

    def _wrong_in_busiest(self, connection: Connection) -> str:
        taken = Counter(provider for holding in self._held.values() for provider in holding)
        if not taken:
            return ""
        busiest = max(taken, key=taken.__getitem__)
        stored = _usages(connection, f"/resource_providers/{busiest}/usages")
        held = self.place.used(busiest) + _sum(_on(busiest, self._held.values()))
        doubtful = _sum(_on(busiest, self._doubtful))
        return _difference(f"provider {busiest}", stored, held, held + doubtful)


def _usages(connection: Connection, path: str) -> Counter[str]:
    answer = connection.send(Get(path, PLAIN_USAGES))
    if answer.status != 200:
        raise WrongAnswer(f"GET {path} answered {answer.status}")
    return Counter(answer.json()["usages"])


def _sum(amounts: Iterable[Amounts]) -> Counter[str]:
    total: Counter[str] = Counter()
    for each in amounts:
        total.update(each)
    return total


def _everywhere(holdings: Iterable[Holding]) -> Iterable[Amounts]:
    return (amounts for holding in holdings for amounts in holding.values())


def _on(provider: str, holdings: Iterable[Holding]) -> Iterable[Amounts]:
    return (holding[provider] for holding in holdings if provider in holding)


def _difference(what: str, stored: Counter[str], least: Counter[str], most: Counter[str]) -> str:
    """By how much what is stored is outside of its bounds, in words."""
    parts = [
        f"{name} {least[name] - stored[name]} too few"
        if stored[name] < least[name]
        else f"{name} {stored[name] - most[name]} too many"
        for name in sorted({*stored, *most})
        if not least[name] <= stored[name] <= most[name]
    ]
    return f"usage of {what}: {', '.join(parts)}" if parts else ""
