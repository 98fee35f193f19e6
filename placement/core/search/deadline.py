"""How long a search may take."""

from collections.abc import Callable

from placement.exception import SearchDeadlineExceeded

_STRIDE = 64


class Budget:
    """Ends a search that takes too long; ``spend`` is called once for each small piece of work."""

    def __init__(self, seconds: float, now: Callable[[], float]) -> None:
        self._seconds = seconds
        self._now = now
        self._end = now() + seconds
        self._until_look = _STRIDE

    def spend(self) -> None:
        """Count a piece of work, and look at the clock now and then.

        Raises: SearchDeadlineExceeded.
        """
        self._until_look -= 1
        if not self._until_look:
            self._until_look = _STRIDE
            self.look()

    def look(self) -> None:
        """Look at the clock, before a larger piece of work.

        Raises: SearchDeadlineExceeded.
        """
        if self._now() > self._end:
            raise SearchDeadlineExceeded(self._seconds)

    def part(self, share: float) -> "Budget":
        """Return a budget of a share of this one, that begins now."""
        return Budget(self._seconds * share, self._now)
