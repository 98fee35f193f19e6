"""Values that belong to one process and must not be inherited by a forked child."""

import os
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """A value that each process creates on first use.

    WSGI servers load the application and then fork. A connection used on both sides of a fork
    mixes two protocol streams, and a lock held by a thread at the fork stays locked in the child.
    The parent's value is kept but not used: closing or collecting it in the child would, with
    some drivers, end the parent's connection.
    """

    def __init__(self, create: Callable[[], T]) -> None:
        self._create = create
        self._values: dict[int, T] = {}

    def __call__(self) -> T:
        """Return the value of this process; concurrent first calls all return the same one."""
        value = self._values.get(os.getpid())
        return self._values.setdefault(os.getpid(), self._create()) if value is None else value

    def existing(self) -> T | None:
        """Return the value of this process, or None if it was not created yet."""
        return self._values.get(os.getpid())
