"""Connections of PyMySQL without the cost of certificates that are not used."""

import ssl
from collections.abc import Callable
from functools import cache
from typing import Any


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
