"""Whether data read earlier from a database may still be combined with data read now.

A process keeps a snapshot, and the clocks at which it was read. Both are valid for one lineage of
one database: a history that only moves forward. After a failover to a replica that lacks the last
commits, or after a restore, the same clock values may stand for other data. The lineage therefore
ends whenever one of these may have happened: a connection was lost, a connection reached a server
that was not seen before, or tables were created anew. Data of an earlier lineage is discarded. A
restore with ``placement-manage db sync`` is also noticed by its new epoch.

A restore takes time, and a process may read while some tables do not have their rows yet. Each
table ends the lineage, and the last one is created after all rows that a snapshot has: dumps of
MariaDB and MySQL have the tables in the order of their names, and end with ``users``; dumps of
PostgreSQL create the indexes after all rows.
"""

import threading
from collections.abc import Hashable


class Lineage:
    """The number of the current lineage, for all connections of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tables: dict[Hashable, Hashable] = {}  # by server
        self.number = 0

    def end(self) -> None:
        """Begin another lineage.

        >>> lineage = Lineage()
        >>> lineage.end()
        >>> lineage.number
        1
        """
        with self._lock:
            self.number += 1

    def reach(self, server: Hashable, tables: Hashable) -> None:
        """End the lineage if the server, or its tables, were not seen before.

        The first server begins it. Each node of a Galera cluster creates tables at its own time:
        a proxy may choose among the nodes.

        >>> lineage = Lineage()
        >>> for server in "aabba":
        ...     lineage.reach(server, "created in May")
        >>> lineage.number
        1
        >>> lineage.reach("a", "created in June")
        >>> lineage.number
        2
        """
        with self._lock:
            if (server, tables) not in self._tables.items():
                self.number += bool(self._tables)
                self._tables[server] = tables
