"""What ``objects`` and ``engine`` may ask of a database, whichever it is.

A store runs work in transactions. A write is a function that gets a
transaction and is run as a whole, again from its start if the database
refuses it for a conflict, so it must have no effect but through ``tx``.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class WriteConflict(Exception):  # noqa: N818
    """Raised in a write to have it run again from its start: what it had read has changed."""


class Transaction(Protocol):
    """One transaction; each attribute holds the statements about one noun."""

    providers: Any
    inventories: Any
    allocations: Any
    consumers: Any
    aggregates: Any
    traits: Any
    resource_classes: Any
    picture: Any
    insight_requests: Any

    def publish(
        self,
        changed: Iterable[int] = (),
        *,
        generation_bumped: Iterable[int] = (),
        removed: Mapping[int, str] = MappingProxyType({}),
        names: bool = False,
        epoch: bool = False,
    ) -> None:
        """Make the change known to every process: the last call of each write.

        Advances the clocks of the providers named by id, in a fixed order, and
        stamps them; ``generation_bumped`` providers also get their generation increased.
        ``removed`` has the UUIDs of removed ones, which are noted for readers of changes.
        ``names`` tells that classes, traits or aggregates were made, renamed or removed;
        ``epoch`` that everything read before is void.
        """


class Store(Protocol):
    """A database of placement.

    Of its clocks, ``NAMES`` tells of classes, traits and aggregates, ``EPOCH`` that all that
    was read before is void, and the others of providers.
    """

    NAMES: int
    EPOCH: int

    def write(
        self, work: Callable[Concatenate[Any, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return ``work(tx, ...)`` after its transaction is committed.

        The work is run again on deadlocks, serialization failures, entries that another
        transaction made first, and WriteConflict.
        Raises: Conflict when that does not end, DatabaseUnavailable when the database cannot be
        reached.
        """

    def trying(self, attempts: int) -> Self:
        """Return this store, but that its writes give up after so many lost races.

        With none, each write ends in Conflict.
        """

    def read(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one state of the database, and writes nothing."""

    def probe(self) -> Mapping[int, int]:
        """Return the value of each clock: one of them is larger after each committed write.

        Cost: one statement that reads a few rows, outside of any transaction.
        """

    def changes(self, seen: Mapping[int, int], now: Mapping[int, int]) -> Any:
        """Return what was written to providers since the clocks were ``seen``.

        Looked for are the changes of the clocks that have moved ``now``; which others moved
        meanwhile is told with them.
        Cost: one statement, outside of any transaction.
        """

    def touched(self, seen: Mapping[int, int], now: Mapping[int, int]) -> Any:
        """Return ids of providers that changed since, and UUIDs of those that were removed.

        They may include what was written after ``now``. ``removed`` is None if a UUID is not
        known.
        Cost: one statement that reads the rows concerned, outside of any transaction.
        """
