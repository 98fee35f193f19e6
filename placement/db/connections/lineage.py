"""Whether data read earlier from a database may still be combined with data read now.

A process keeps a snapshot, and the clocks at which it was read. Both are valid for one lineage of
one database: a history that only moves forward. After a failover to a replica that lacks the last
commits, or after a restore, the same clock values may stand for other data. The lineage therefore
ends whenever one of these may have happened: a connection was lost, a connection reached a server
that was not seen before, or the table of clocks was created anew. Data of an earlier lineage is
discarded. A restore with ``placement-manage db sync`` is also noticed by its new epoch.
"""

import threading
from collections.abc import Hashable


class Lineage:
    """The number of the current lineage, for all connections of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._servers: set[Hashable] = set()
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

    def reach(self, server: Hashable) -> None:
        """End the lineage if a server was not seen before; the first server begins it.

        A server that was seen before does not end the lineage: a proxy may choose among
        the nodes of a cluster.

        >>> lineage = Lineage()
        >>> for server in "aabba":
        ...     lineage.reach(server)
        >>> lineage.number
        1
        """
        with self._lock:
            if server not in self._servers:
                self.number += bool(self._servers)
                self._servers.add(server)
