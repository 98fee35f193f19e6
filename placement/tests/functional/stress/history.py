"""The responses of all stress clients, to be compared with the stored state."""

import threading
import time
from collections import Counter
from dataclasses import dataclass, field

Amounts = dict[str, dict[str, int]]


@dataclass
class History:
    """Writes, responses and violations of all clients."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    responses: Counter = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    writes: dict[tuple[str, int], object] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    unavailable_at: list[float] = field(default_factory=list)  # time.monotonic() of each 503
    slowest: float = 0.0

    def record_response(self, what: str, seconds: float = 0.0) -> None:
        with self.lock:
            self.responses[what] += 1
            self.slowest = max(self.slowest, seconds)
            if what.endswith(" 503"):
                self.unavailable_at.append(time.monotonic())

    def record_violation(self, text: str) -> None:
        with self.lock:
            self.violations.append(text)

    def record_write(self, uuid: str, generation: int, written: object) -> None:
        """Record a write that was accepted at a generation; one per generation is correct."""
        with self.lock:
            if (uuid, generation) in self.writes:
                self.violations.append(f"two writes of {uuid} at generation {generation}")
            self.writes[uuid, generation] = written

    def record_unknown(self, uuid: str) -> None:
        """Record that a write without a response may be stored."""
        with self.lock:
            self.unknown.add(uuid)

    def newest(self, uuid: str) -> tuple[int, object]:
        """Return the largest generation at which a write was accepted, and the write."""
        writes = [(at, written) for (of, at), written in self.writes.items() if of == uuid]
        return max(writes, key=lambda one: one[0], default=(-1, None))

    @property
    def operations(self) -> int:
        return sum(self.responses.values())

    @property
    def unavailable(self) -> int:
        """The number of 503 responses."""
        return len(self.unavailable_at)

    @property
    def served(self) -> int:
        """The number of requests that were accepted, or refused after reading the database."""
        with self.lock:  # a response is being counted otherwise
            return self.operations - self.unavailable - self.responses["broken"]
