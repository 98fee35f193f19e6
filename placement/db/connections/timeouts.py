"""Connections to an unresponsive database host end within seconds.

A host without power, or behind a network that drops packets, neither responds nor resets a
connection; by default, TCP retries for about 15 minutes. These options make the kernel end such a
connection sooner. The kernel of a slow database server acknowledges keep-alive probes, so queries
that take long are not interrupted. A response timeout of the driver would interrupt them.

A request waits for at most one timeout of an open connection and one of a new connection. The
first timeout ends the lineage of all connections, so that no other open connection is used. The
second timeout raises HostUnresponsive, and the request is not retried.
"""

import os
import socket
import time
from collections.abc import MutableMapping, Sequence
from typing import Any

from sqlalchemy.engine import Dialect

from placement.db.errors import HostUnresponsive, first_line

# PyMySQL's default for a new connection; libpq would wait without limit.
CONNECT_SECONDS = 10

# A connection without an acknowledgment for this time is closed, whatever the number of probes.
UNRESPONSIVE_SECONDS = 15
# While a client waits for a response, only keep-alive probes are sent and acknowledged.
PROBE_SECONDS = 5
# Beyond the timeout: the timers of the kernel are coarse.
MARGIN_SECONDS = 1.0

_CANNOT_CONNECT = 2003  # the error number of the drivers of MySQL


def connect(
    dialect: Dialect,
    _record: object,
    arguments: Sequence[Any],
    parameters: MutableMapping[str, Any],
) -> Any:
    """Return a new connection of the driver: a listener for SQLAlchemy's event ``do_connect``.

    Raises: HostUnresponsive after a timeout, and other errors of the driver unchanged.
    """
    begun_at = time.monotonic()
    try:
        if dialect.driver == "pymysql":
            return _connect_pymysql(dialect, arguments, parameters)
        connection = dialect.connect(*arguments, **parameters)
    except Exception as error:
        if time.monotonic() - begun_at >= _shortest_timeout(parameters):
            raise HostUnresponsive(first_line(error)) from error
        raise
    if dialect.driver == "mysqldb":
        with socket.socket(fileno=os.dup(connection.fileno())) as link:
            _limit(link)
    return connection


def _connect_pymysql(
    dialect: Dialect, arguments: Sequence[Any], parameters: MutableMapping[str, Any]
) -> Any:
    """Connect by a socket with limits: PyMySQL has no public name for the socket that it opens.

    ``connect_timeout`` of PyMySQL does not include the wait for the greeting of the server; here
    it does.
    """
    connection: Any = dialect.connect(*arguments, **parameters, defer_connect=True)
    if connection.unix_socket:
        connection.connect()
        return connection
    source = (connection.bind_address, 0) if connection.bind_address else None
    target = connection.host, connection.port
    try:
        link = socket.create_connection(target, connection.connect_timeout, source)
        try:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _limit(link)
            link.recv(1, socket.MSG_PEEK)
        except BaseException:
            link.close()
            raise
    except OSError as error:
        raise dialect.loaded_dbapi.OperationalError(
            _CANNOT_CONNECT, f"Can't connect to MySQL server on {connection.host!r} ({error})"
        ) from error
    connection.connect(link)
    return connection


def _shortest_timeout(parameters: MutableMapping[str, Any]) -> float:
    """Return the seconds after which a failure is a timeout: libpq counts whole seconds."""
    return max(1.0, float(parameters.get("connect_timeout", CONNECT_SECONDS)) / 2)


def has_time_to_reconnect(begun_at: float) -> bool:
    """Return whether an operation has waited for no more than one connection since it began."""
    return time.monotonic() - begun_at <= UNRESPONSIVE_SECONDS + MARGIN_SECONDS


def libpq_parameters() -> dict[str, int]:
    """Return the parameters by which libpq sets the options below."""
    return {
        "keepalives_idle": PROBE_SECONDS,
        "keepalives_interval": PROBE_SECONDS,
        "tcp_user_timeout": UNRESPONSIVE_SECONDS * 1000,
    }


def _limit(link: socket.socket) -> None:
    """Set the TCP options that the operating system supports; a Unix socket has none."""
    if link.family == socket.AF_UNIX:
        return
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    limits = {
        "TCP_KEEPIDLE": PROBE_SECONDS,
        "TCP_KEEPINTVL": PROBE_SECONDS,
        "TCP_USER_TIMEOUT": UNRESPONSIVE_SECONDS * 1000,
    }
    for name, value in limits.items():
        if hasattr(socket, name):
            link.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
