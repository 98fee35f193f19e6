"""One transaction, with the statements for each kind of resource."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import sqlalchemy as sa

from placement.db import clocks
from placement.db.claims.allocations import Allocations
from placement.db.claims.consumers import Consumers
from placement.db.claims.first_claims import FirstClaims
from placement.db.claims.inventories import Inventories
from placement.db.resources.names import ResourceClasses, Traits
from placement.db.resources.providers import Aggregates, Providers, ProviderSummaries
from placement.db.snapshot.load import SnapshotReader
from placement.db.statements.batch import StatementBatch


class Transaction:
    """One transaction of a store; each attribute has the statements for one kind of resource."""

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self.batch = StatementBatch(connection)
        self.providers = Providers(connection)
        self.inventories = Inventories(self.batch)
        self.allocations = Allocations(self.batch)
        self.consumers = Consumers(self.batch)
        self.first_claims = FirstClaims(connection)
        self.aggregates = Aggregates(connection)
        self.traits = Traits(connection)
        self.resource_classes = ResourceClasses(connection)
        self.snapshot = SnapshotReader(connection)
        self.summaries = ProviderSummaries(connection)

    @property
    def lineage(self) -> int:
        """The number of the lineage that the connection belongs to; see ``Store.lineage``."""
        number: int = self.connection.info.get("lineage", 0)
        return number

    def publish(
        self,
        changed: Iterable[int] = (),
        *,
        generation_bumped: Iterable[int] = (),
        removed: Mapping[int, str] = MappingProxyType({}),
        names: bool = False,
        epoch: bool = False,
    ) -> None:
        """Make the change visible to the snapshots of all processes: the last call of each write.

        Advances the clocks of the providers, given by id, in a fixed order, and stamps them.
        The generation of the ``generation_bumped`` providers is increased by one. ``removed`` has
        the UUIDs of removed providers by id, which are recorded for readers of changes. ``names``
        is true if resource classes, traits or aggregates were created or removed, ``epoch`` if
        everything must be loaded again.
        """
        with self.batch.together():
            clocks.publish(
                self.batch,
                set(changed),
                generation_bumped=set(generation_bumped),
                removed=removed,
                names=names,
            )
        if epoch:
            clocks.start_epoch(self.connection)
