"""What the clients of a storm were told, to be held against what is there."""

import threading
from collections import Counter
from dataclasses import dataclass, field

Amounts = dict[str, dict[str, int]]


@dataclass
class Ledger:
    """What all clients note together."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    answers: Counter = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    guarded: dict[tuple[str, int], object] = field(default_factory=dict)
    doubtful: set[str] = field(default_factory=set)
    slowest: float = 0.0

    def count(self, what: str, seconds: float = 0.0) -> None:
        with self.lock:
            self.answers[what] += 1
            self.slowest = max(self.slowest, seconds)

    def violation(self, text: str) -> None:
        with self.lock:
            self.violations.append(text)

    def accept(self, uuid: str, generation: int, written: object) -> None:
        """Note a write that was accepted at a generation: one only for each."""
        with self.lock:
            if (uuid, generation) in self.guarded:
                self.violations.append(f"two writes of {uuid} at generation {generation}")
            self.guarded[uuid, generation] = written

    def doubt(self, uuid: str) -> None:
        """Note that an unanswered write may have been made."""
        with self.lock:
            self.doubtful.add(uuid)

    def newest(self, uuid: str) -> tuple[int, object]:
        """Return the largest generation at which a write was accepted, and the write."""
        found = [(at, written) for (of, at), written in self.guarded.items() if of == uuid]
        return max(found, key=lambda one: one[0], default=(-1, None))

    @property
    def operations(self) -> int:
        return sum(self.answers.values())

    @property
    def unavailable(self) -> int:
        """How many requests were answered 503."""
        return sum(count for what, count in self.answers.items() if what.endswith(" 503"))

    @property
    def served(self) -> int:
        """How many requests were accepted, or refused for a reason that the database gave."""
        return self.operations - self.unavailable - self.answers["broken"]
