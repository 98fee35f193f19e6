"""TCP limits: an unresponsive database host is given up in seconds, a slow one is waited for.

A host without power, or behind a network that drops packets, neither answers nor resets a
connection, and TCP by itself continues for a quarter of an hour. These options make the kernel end
such a connection sooner. It probes the other kernel, which also answers for a busy database.
"""

import os
import socket
from functools import partial
from typing import Any

# PyMySQL's default for a new connection; libpq would wait without limit.
CONNECT_SECONDS = 10

# A connection on which nothing was acknowledged for so long is ended.
UNRESPONSIVE_SECONDS = 15
# While a response is awaited nothing is sent that could be acknowledged, except keep-alive probes.
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
    """Return the TCP options that this system has; some systems lack options of Linux."""
    limits = {
        "TCP_KEEPIDLE": PROBE_SECONDS,
        "TCP_KEEPINTVL": PROBE_SECONDS,
        "TCP_KEEPCNT": max(1, UNRESPONSIVE_SECONDS // PROBE_SECONDS - 1),
        "TCP_USER_TIMEOUT": UNRESPONSIVE_SECONDS * 1000,
    }
    names = filter(partial(hasattr, socket), limits)
    return {getattr(socket, name): limits[name] for name in names}
