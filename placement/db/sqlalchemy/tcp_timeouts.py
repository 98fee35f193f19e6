"""A database host that fell silent is given up in seconds; one that is only slow is waited for.

A host without power, or behind a network that drops what it is sent, neither answers nor resets
a connection, and TCP by itself goes on for a quarter of an hour. The kernel is told to end it
sooner. It asks the other kernel, which also answers for a database that is busy.
"""

import os
import socket
from collections.abc import Mapping
from functools import partial
from typing import Any

# What PyMySQL waits for a new connection if nobody says otherwise; libpq waits for ever.
CONNECT_SECONDS = 10

# A connection on which nothing was acknowledged for so long is ended.
SILENCE_SECONDS = 15
# While an answer is waited for, nothing is sent that could be acknowledged, except these.
PROBE_SECONDS = 5

_FAMILIES = frozenset({socket.AF_INET, socket.AF_INET6})


def bound_connecting(query: Mapping[str, Any], arguments: dict[str, Any]) -> None:
    """Give a new connection so many seconds, unless the operator's URL says how many."""
    if "connect_timeout" not in query:
        arguments.setdefault("connect_timeout", CONNECT_SECONDS)


def is_left_to_us(query: Mapping[str, Any]) -> bool:
    """Whether the operator's URL does not itself say when PostgreSQL is given up."""
    return "tcp_user_timeout" not in query


def end_when_silent(connection: Any, _record: object) -> None:
    """Have the kernel end a new connection when its host falls silent."""
    owner = getattr(connection, "_sock", connection)  # where PyMySQL hides it
    if hasattr(owner, "fileno"):  # there are drivers that keep it to themselves
        _bound(owner.fileno())


def _bound(descriptor: int) -> None:
    """Set the limits on a socket, if it is one of TCP."""
    with socket.socket(fileno=os.dup(descriptor)) as link:
        if link.family in _FAMILIES:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _limits().items():
                link.setsockopt(socket.IPPROTO_TCP, name, value)


def _limits() -> dict[int, int]:
    """Options of TCP, as far as this system has them: not all have what Linux has."""
    limits = {
        "TCP_KEEPIDLE": PROBE_SECONDS,
        "TCP_KEEPINTVL": PROBE_SECONDS,
        "TCP_KEEPCNT": max(1, SILENCE_SECONDS // PROBE_SECONDS - 1),
        "TCP_USER_TIMEOUT": SILENCE_SECONDS * 1000,
    }
    known = filter(partial(hasattr, socket), limits)
    return {getattr(socket, name): limits[name] for name in known}
