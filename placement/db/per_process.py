"""What a process makes for itself, and a forked child must not inherit."""

import os
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """A value that each process makes on first use.

    Servers load the application and then fork. A connection used on both sides
    of a fork mixes two conversations, and a lock that some thread held at the
    fork stays locked in the child for ever. The parent's value is kept but not
    touched: closing or collecting it in the child would, with some drivers,
    end the parent's connection.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: dict[int, T] = {}

    def __call__(self) -> T:
        """Return this process's value; of threads that come first together, one value stays."""
        found = self._made.get(os.getpid())
        return self._made.setdefault(os.getpid(), self._make()) if found is None else found

    def made(self) -> T | None:
        """Return this process's value if there is one yet."""
        return self._made.get(os.getpid())

    def forget(self) -> None:
        """Make anew at the next use."""
        self._made.pop(os.getpid(), None)
