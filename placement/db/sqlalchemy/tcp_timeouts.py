"""TCP timeouts: connections to an unresponsive database host end within seconds.

A host without power, or behind a network that drops packets, neither responds nor resets a
connection; by default, TCP retries for about 15 minutes. These options make the kernel end such a
connection sooner. The kernel of a slow database server acknowledges keep-alive probes, so queries
that take long are not interrupted.
"""

import os
import socket
from functools import partial
from typing import Any

# PyMySQL's default for a new connection; libpq would wait without limit.
CONNECT_SECONDS = 10

# A connection without an acknowledgment for this time is closed.
UNRESPONSIVE_SECONDS = 15
# While a client waits for a response, only keep-alive probes are sent and acknowledged.
PROBE_SECONDS = 5

_FAMILIES = frozenset({socket.AF_INET, socket.AF_INET6})


def limit_unresponsive(connection: Any) -> None:
    """Make the kernel end a new connection when its host becomes unresponsive."""
    owner = getattr(connection, "_sock", connection)  # PyMySQL's attribute for the socket
    if hasattr(owner, "fileno"):  # some drivers do not expose it
        _set_limits(owner.fileno())


def _set_limits(descriptor: int) -> None:
    """Set the limits on a socket, if it is a TCP socket."""
    with socket.socket(fileno=os.dup(descriptor)) as link:
        if link.family in _FAMILIES:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _limits().items():
                link.setsockopt(socket.IPPROTO_TCP, name, value)


def _limits() -> dict[int, int]:
    """Return the TCP options that the operating system supports."""
    limits = {
        "TCP_KEEPIDLE": PROBE_SECONDS,
        "TCP_KEEPINTVL": PROBE_SECONDS,
        "TCP_KEEPCNT": max(1, UNRESPONSIVE_SECONDS // PROBE_SECONDS - 1),
        "TCP_USER_TIMEOUT": UNRESPONSIVE_SECONDS * 1000,
    }
    names = filter(partial(hasattr, socket), limits)
    return {getattr(socket, name): limits[name] for name in names}
