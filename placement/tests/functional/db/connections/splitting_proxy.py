"""A proxy for MariaDB that sends the reads of one client connection to a replica.

It does what MaxScale and ProxySQL do for read/write splitting: SELECT outside of a transaction
goes to the replica, settings of the session to both servers, everything else to the primary.
"""

import re
import select
import socket
import threading
from contextlib import suppress

_HEADER = 4
_COM_QUERY = 3
_BEGIN = re.compile(rb"(BEGIN|START TRANSACTION|SET AUTOCOMMIT ?= ?0)", re.IGNORECASE)
_END = re.compile(rb"(COMMIT|ROLLBACK|SET AUTOCOMMIT ?= ?1)", re.IGNORECASE)


class SplittingProxy:
    """Listens on ``port``; a thread for each client. Users must have no password."""

    def __init__(self, primary_port: int, replica_port: int) -> None:
        self._targets = primary_port, replica_port
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        self.is_splitting = True
        self.replica_reads = 0

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        primary, replica = (socket.create_connection(("127.0.0.1", at)) for at in self._targets)
        with suppress(OSError), client, primary, replica:
            _log_in(client, primary, replica)
            in_transaction = False
            while command := self._relay_until_command(client, primary, replica):
                text = command[_HEADER + 1 :] if command[_HEADER] == _COM_QUERY else b""
                in_transaction = bool(_BEGIN.match(text)) or (
                    in_transaction and not _END.match(text)
                )
                if text.upper().startswith(b"SET"):
                    replica.sendall(command)
                    _packet(replica)
                is_single_read = text.upper().startswith(b"SELECT") and not in_transaction
                is_read = is_single_read and self.is_splitting
                self.replica_reads += is_read
                (replica if is_read else primary).sendall(command)

    def _relay_until_command(self, client, *servers) -> bytes:
        while True:
            ready, _, _ = select.select([client, *servers], [], [])
            for server in set(ready) & set(servers):
                data = server.recv(65536)
                if not data:
                    return b""
                client.sendall(data)
            if client in ready:
                return _packet(client)


def _log_in(client, primary, replica) -> None:
    """Answer the challenge of both servers with that of the client: there is no password."""
    _packet(replica)
    client.sendall(_packet(primary))
    login = _packet(client)
    replica.sendall(login)
    _packet(replica)
    primary.sendall(login)


def _packet(source: socket.socket) -> bytes:
    header = _exactly(source, _HEADER)
    return header + _exactly(source, int.from_bytes(header[:3], "little"))


def _exactly(source: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = source.recv(count - len(data))
        if not part:
            raise ConnectionError
        data += part
    return data
