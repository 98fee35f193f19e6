"""Raw HTTP requests, including malformed ones."""

import socket


def send(port, request, timeout_seconds=60):
    """Return everything that the server sends until it closes the connection."""
    response = b""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout_seconds) as connection:
        connection.sendall(request)
        while received := connection.recv(2**16):
            response += received
    return response
