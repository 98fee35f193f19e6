"""Consumers that are written both with and without their generation.

A write below microversion 1.28 does not compare the generation of the consumer, so it replaces
without an error the allocations that another client wrote at 1.28 or newer. The database does not
have the microversion of a write. Each process therefore keeps the recent writes that it served in
memory: it can miss a consumer whose writes were served by different processes.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from placement.core.model import ConsumerClaim
from placement.core.text import printable

LOG = logging.getLogger(__name__)

MOST_CONSUMERS: Final = 10_000

_LONGEST_USER_AGENT = 200


@dataclass(frozen=True, slots=True)
class Writer:
    """The client and the microversion of a write, and whether it compared the generation."""

    user_agent: str
    microversion: str
    compares_generation: bool

    def __str__(self) -> str:
        user_agent = printable(self.user_agent) or "a client without name"
        return f"{user_agent} at {self.microversion}"


class RecentWrites:
    """The first writer of each of the consumers that this process wrote last; thread-safe."""

    def __init__(self, most_consumers: int = MOST_CONSUMERS) -> None:
        self._most = most_consumers
        self._lock = threading.Lock()
        # None for consumers that are reported
        self._writers: OrderedDict[str, Writer | None] = OrderedDict()

    def add(
        self, claims: Iterable[ConsumerClaim], user_agent: str, microversion: str
    ) -> list[tuple[str, str]]:
        """Add the successful claims of a request; log new mixtures, each once.

        Returns the User-Agents that write with and without the generation.
        """
        mixtures = []
        for claim in claims:
            writer = Writer(user_agent[:_LONGEST_USER_AGENT], microversion, claim.check_generation)
            earlier = self._earlier_writer(claim.consumer_uuid, writer)
            if earlier is not None:
                pair = sorted((earlier, writer), key=lambda each: not each.compares_generation)
                LOG.warning(
                    "Consumer %s is written with its generation (%s) and without (%s). Writes "
                    "below 1.28 replace concurrent writes without an error: upgrade the client "
                    "that sends them.",
                    claim.consumer_uuid,
                    *pair,
                )
                mixtures.append((pair[0].user_agent, pair[1].user_agent))
        return mixtures

    def _earlier_writer(self, consumer_uuid: str, writer: Writer) -> Writer | None:
        """Return the stored writer if it wrote the other way; keep the consumer as reported."""
        with self._lock:
            earlier = self._writers.setdefault(consumer_uuid, writer)
            self._writers.move_to_end(consumer_uuid)
            if len(self._writers) > self._most:
                self._writers.popitem(last=False)
            if earlier is None or earlier.compares_generation == writer.compares_generation:
                return None
            self._writers[consumer_uuid] = None
            return earlier
