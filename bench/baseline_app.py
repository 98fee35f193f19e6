"""A WSGI application that does no work: it measures uWSGI, the kernel and the client."""

from typing import Any


def application(environment: dict[str, Any], start_response: Any) -> list[bytes]:
    """Return a body of as many bytes as the path says."""
    body = bytes(int(environment["PATH_INFO"].strip("/") or 0))
    start_response("200 OK", [("content-length", str(len(body)))])
    return [body]
