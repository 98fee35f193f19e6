"""One transaction, with the statements for each kind of resource."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

import sqlalchemy as sa

from placement.core.changes import Change
from placement.db import clocks
from placement.db.claims.allocations import Allocations
from placement.db.claims.consumers import Consumers
from placement.db.claims.inventories import Inventories
from placement.db.resources.names import ResourceClasses, Traits
from placement.db.resources.providers import Providers
from placement.db.writes import Write, execute_all


class ChangeObserver:
    """Records what writes change: in their transactions, so that no change is without a record."""

    def start(self) -> None:
        """Prepare the records when a process of the service starts."""

    def records(self, _changes: Iterable[Change]) -> Sequence[Write]:
        """Return writes of the same transaction, which is possibly rolled back and run again."""
        return ()

    def after_write(self) -> None:
        """Do what is due after a committed write."""


class Transaction:
    """One transaction of a store; each attribute has the statements for one kind of resource."""

    providers = cached_property(lambda tx: Providers(tx.connection))
    inventories = cached_property(lambda tx: Inventories(tx.connection))
    allocations = cached_property(lambda tx: Allocations(tx.connection))
    consumers = cached_property(lambda tx: Consumers(tx.connection))
    traits = cached_property(lambda tx: Traits(tx.connection))
    resource_classes = cached_property(lambda tx: ResourceClasses(tx.connection))

    def __init__(self, connection: sa.Connection, observer: ChangeObserver | None = None) -> None:
        self.connection = connection
        self._observer = observer

    @property
    def lineage(self) -> int:
        """The number of the lineage that the connection belongs to; see ``Store.lineage``."""
        number: int = self.connection.info.get("lineage", 0)
        return number

    def execute_all(self, writes: Iterable[Write]) -> int:
        """Execute the writes in their order; return how many rows the last one changed."""
        return execute_all(self.connection, writes)

    def records(self, changes: Iterable[Change]) -> Sequence[Write]:
        """Return the writes that record changes; without an observer, none are computed."""
        return () if self._observer is None else self._observer.records(changes)

    def publish(
        self,
        changed: Iterable[int] = (),
        *,
        generation_bumped: Iterable[int] = (),
        removed: Mapping[int, str] = MappingProxyType({}),
        names: bool = False,
        changes: Iterable[Change] = (),
    ) -> None:
        """Make the change visible to the snapshots of all processes: the last call of each write.

        ``changes`` are recorded; the others have the same meaning as in ``clocks.publications``.
        """
        publications = clocks.publications(
            changed, generation_bumped=generation_bumped, removed=removed, names=names
        )
        self.execute_all([*self.records(changes), *publications])
