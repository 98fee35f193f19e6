"""Connections of PyMySQL without the cost of certificates that are not used.

TCP timeouts: connections to an unresponsive database host end within seconds.

A host without power, or behind a network that drops packets, neither responds nor resets a
connection; by default, TCP retries for about 15 minutes. These options make the kernel end such a
connection sooner. The kernel of a slow database server acknowledges keep-alive probes, so queries
that take long are not interrupted.

A request waits for at most one timeout of an open connection and one of a new connection. The
first ends the lineage of all connections, so that no other open one is used. The second raises
HostUnresponsive, and the request is not retried.
"""

import os
import socket
import ssl
import time
from collections.abc import Callable, MutableMapping, Sequence
from functools import cache, partial
from typing import Any

from sqlalchemy.engine import Dialect

from placement.db.errors import HostUnresponsive, first_line


@cache
def pymysql_connection() -> Callable[..., Any]:
    """Return the class of connections of PyMySQL, which is imported only if it is used.

    Without options for TLS, PyMySQL 1.2 encrypts if the server offers it, and verifies nothing. It
    nevertheless loads the certificates of the machine for each connection, which takes 20 ms.
    """
    from pymysql.connections import Connection  # noqa: PLC0415

    class PymysqlConnection(Connection):
        def _create_ssl_ctx(self, options: Any) -> Any:
            return super()._create_ssl_ctx(options) if options else _unverified()  # type: ignore[misc]

    return PymysqlConnection


@cache
def _unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


# PyMySQL's default for a new connection; libpq would wait without limit.
CONNECT_SECONDS = 10

# A connection without an acknowledgment for this time is closed.
UNRESPONSIVE_SECONDS = 15
# While a client waits for a response, only keep-alive probes are sent and acknowledged.
PROBE_SECONDS = 5
# Beyond the timeout: the timers of the kernel are coarse.
MARGIN_SECONDS = 1.0

_FAMILIES = frozenset({socket.AF_INET, socket.AF_INET6})


def connect(
    dialect: Dialect,
    _record: object,
    arguments: Sequence[Any],
    parameters: MutableMapping[str, Any],
) -> Any:
    """Return a new connection of the driver: a listener for SQLAlchemy's event ``do_connect``.

    Raises: HostUnresponsive after a timeout, any other error of the driver as it is.
    """
    begun_at = time.monotonic()
    try:
        return _connect(dialect, arguments, parameters)
    except Exception as error:
        if time.monotonic() - begun_at >= _shortest_timeout(parameters):
            raise HostUnresponsive(first_line(error)) from error
        raise


def _connect(
    dialect: Dialect, arguments: Sequence[Any], parameters: MutableMapping[str, Any]
) -> Any:
    """Connect; PyMySQL's own timeout ends before the handshake, which has none by default."""
    if dialect.driver != "pymysql":
        return dialect.connect(*arguments, **parameters)
    connect = pymysql_connection()
    if "read_timeout" in parameters:
        return connect(*arguments, **parameters)
    timeout = parameters.get("connect_timeout", CONNECT_SECONDS)
    connection: Any = connect(*arguments, **parameters, read_timeout=timeout)
    connection._read_timeout = None  # statements may take long
    return connection


def _shortest_timeout(parameters: MutableMapping[str, Any]) -> float:
    """Return the seconds from which on a failure is a timeout: libpq counts whole seconds."""
    return max(1.0, float(parameters.get("connect_timeout", CONNECT_SECONDS)) / 2)


def has_time_to_reconnect(begun_at: float) -> bool:
    """Return whether an operation has waited for no more than one connection since it began."""
    return time.monotonic() - begun_at <= UNRESPONSIVE_SECONDS + MARGIN_SECONDS


def limit_unresponsive(connection: Any, _record: object) -> None:
    """Make the kernel end a new connection when its host becomes unresponsive.

    A listener for SQLAlchemy's event ``connect``.
    """
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
