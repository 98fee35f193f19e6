"""A client that can only send GET requests."""

import http.client
import json
import ssl
import string
import time
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

from placement_compare.model import Microversion, Read, Response


class UnusableService(Exception):  # noqa: N818  the name states the condition
    """A service cannot be compared; the text contains the URL, the reason and the action."""


class Service:
    """A Placement service. Sends GET requests over one connection; nothing else."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout_seconds: float = 60,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._parts = _parts(self.url)
        if not (token.isascii() and token.isprintable()):
            raise UnusableService(f"The token for {url} has characters that no token has")
        self._token = token
        self._timeout_seconds = timeout_seconds
        self._context = context
        self._connection: http.client.HTTPConnection | None = None

    @property
    def prefix(self) -> str:
        """Return the path of the URL, which links in responses begin with."""
        return self._parts.path

    def get(self, read: Read) -> Response:
        """Return the response; with status 0 if none arrives within the timeout."""
        begin = time.perf_counter()
        try:
            status, body = self._send(read)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            status, body = 0, (str(error) or type(error).__name__).encode()
        return Response(status, body, time.perf_counter() - begin)

    def json(self, read: Read) -> Any:
        """Return the body of a response. Raises: UnusableService if the status is not 200."""
        response = self.get(read)
        if response.status == 200:
            return self._document(response)
        text = response.body[:200].decode(errors="replace")
        if response.status == 0:
            raise UnusableService(
                f"GET {self.url}{read.path} failed: {text}; check that the service runs and that "
                "the URL is right, and name the CA certificates of an HTTPS service by --cacert"
            )
        action = {401: "; set a valid token", 403: "; use a token with the role admin"}
        raise UnusableService(
            f"GET {self.url}{read.path} returned {response.status}: {_detail(response.body)}"
            + action.get(response.status, "")
        )

    def newest(self) -> Microversion:
        """Return the newest microversion of the service. Raises: UnusableService."""
        body = self.json(Read("/", (1, 0)))
        try:
            _, minor = body["versions"][0]["max_version"].split(".")
            return (1, int(minor))
        except (KeyError, IndexError, TypeError, ValueError):
            raise UnusableService(f"{self.url} is not a Placement service") from None

    def _document(self, response: Response) -> Any:
        try:
            return json.loads(response.body)
        except ValueError:
            raise UnusableService(f"{self.url} is not a Placement service") from None

    def close(self) -> None:
        """Close the connection; the next request opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(self, read: Read) -> tuple[int, bytes]:
        """Send a request; repeat it on a new connection if the server closed an idle one."""
        is_reused = self._connection is not None
        try:
            return self._exchange(read)
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            self.close()
            if not is_reused:
                raise
            return self._exchange(read)

    def _exchange(self, read: Read) -> tuple[int, bytes]:
        if self._connection is None:
            self._connection = self._connect()
        headers = {
            "Accept": "application/json",
            "OpenStack-API-Version": f"placement {read.version}",
            "X-Auth-Token": self._token,
        }
        path = quote(self.prefix, safe=string.punctuation) + read.encoded_path
        self._connection.request("GET", path, headers=headers)
        response = self._connection.getresponse()
        return response.status, response.read()

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(
                host, port, timeout=self._timeout_seconds, context=self._context
            )
        return http.client.HTTPConnection(host, port, timeout=self._timeout_seconds)


def _detail(body: bytes) -> str:
    """Return the first sentence of an error document, or the beginning of another body."""
    try:
        detail = str(json.loads(body)["errors"][0]["detail"])
    except (ValueError, LookupError, TypeError):
        detail = body[:200].decode(errors="replace")
    return (detail.strip().splitlines() or [""])[0].rstrip(".")


def _parts(url: str) -> SplitResult:
    """Return the parts of a URL.  Raises: UnusableService without scheme, host or valid port."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = SplitResult("", "", "", "", "")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UnusableService(f"{url} is not a URL; use http://HOST:PORT/PREFIX")
    return parts
