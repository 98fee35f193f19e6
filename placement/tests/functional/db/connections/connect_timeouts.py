"""Timeouts of new connections in tests of an unresponsive database host.

They are short only while the host does not respond. At other times a busy machine may take longer
than such a timeout to open a connection.
"""

import threading
from collections import Counter
from collections.abc import MutableMapping, Sequence
from typing import Any

from sqlalchemy.engine import Dialect

from placement.db.connections import timeouts
from placement.db.errors import HostUnresponsive
from placement.tests.support.unreachable_host import UnreachableHost

SHORT_SECONDS = 2  # the least of libpq
LONG_SECONDS = 60

_connect = timeouts.connect


class ConnectTimeouts:
    """A replacement of ``tcp_timeouts.connect``: sets the timeout, and counts the timeouts."""

    def __init__(self, host: UnreachableHost) -> None:
        self._host = host
        self._counts: Counter[int] = Counter()

    def connect(
        self,
        dialect: Dialect,
        record: object,
        arguments: Sequence[Any],
        parameters: MutableMapping[str, Any],
    ) -> Any:
        """Return a new connection of the driver: a listener for ``do_connect``."""
        seconds = LONG_SECONDS if self._host.is_responding else SHORT_SECONDS
        try:
            return _connect(dialect, record, arguments, {**parameters, "connect_timeout": seconds})
        except HostUnresponsive:
            self._counts[threading.get_ident()] += 1
            raise

    def count(self) -> int:
        """Return how many connections of this thread have timed out."""
        return self._counts[threading.get_ident()]
