"""The time limit of one request."""

from collections.abc import Callable

from placement.exception import SearchDeadlineExceeded

_STRIDE = 64


class Deadline:
    """Ends a search that takes too long. Not shared between threads.

    ``tick`` is for small pieces of work, ``check`` for larger pieces. Each check first calls
    ``give_way``, which may wait for other work. The error has the ``advice``, a sentence.
    """

    def __init__(
        self,
        seconds: float,
        now: Callable[[], float],
        give_way: Callable[[], None] = lambda: None,
        advice: str = SearchDeadlineExceeded.advice,
    ) -> None:
        self._seconds = seconds
        self._advice = advice
        self._now = now
        self._give_way = give_way
        self._end = now() + seconds
        self._until_check = _STRIDE

    def tick(self) -> None:
        """Count a small piece of work; check the deadline at every 64th call.

        Raises: SearchDeadlineExceeded.
        """
        self._until_check -= 1
        if not self._until_check:
            self._until_check = _STRIDE
            self.check()

    def check(self) -> None:
        """Read the clock, before a larger piece of work.

        Raises: SearchDeadlineExceeded.
        """
        self._give_way()
        if self._now() > self._end:
            raise SearchDeadlineExceeded(self._seconds, self._advice)

    def fraction(self, share: float) -> "Deadline":
        """Return a deadline with a share of the seconds, counted from now."""
        return Deadline(self._seconds * share, self._now, self._give_way, self._advice)
