"""Send the same random requests to this service and to openstack-placement: ``make bench-random``.

Both run under uWSGI in two processes each, on databases of their own on one server. Statuses,
error codes and bodies are compared after each request, after a write also all providers with
their generations, and all usage. The first difference ends the run, with the last requests; the
same seed sends the same requests again. Documented differences are not provoked.
"""

import argparse
import sys
import time
from collections import Counter, deque
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

from bench.__main__ import add_options, started
from bench.client import Connection, Get, Request, Response
from bench.harness import PLACEMENT, UPSTREAM
from bench.random_requests import RandomRequests
from bench.responses import plain
from bench.services import install_upstream

STORED = ("/resource_providers", "/usages?project_id=project")
TIMEOUT_SECONDS = 60
PROGRESS_SECONDS = 30
SHOWN_REQUESTS = 20


class Difference(Exception):  # noqa: N818
    """The services returned different responses to one request."""


class Comparison:
    """Sends requests to both services and compares the responses."""

    def __init__(self, connections: Mapping[str, Connection]) -> None:
        self._connections = connections
        self.last: deque[Request] = deque(maxlen=SHOWN_REQUESTS)
        self.statuses: Counter[str] = Counter()

    def read(self, path: str) -> Any:
        """Return the body of a GET.  Raises: Difference."""
        return self._compared(Get(path)).json()

    def send(self, request: Request) -> None:
        """Send a request; after a write, compare the providers and the usage.

        Raises: Difference.
        """
        self.last.append(request)
        response = self._compared(request)
        method = request.line.partition(" ")[0]
        self.statuses[f"{method} {response.status}"] += 1
        if method != "GET" and response.status < 300:
            for path in STORED:
                self.read(path)

    def _compared(self, request: Request) -> Response:
        responses = {
            name: _response(name, each, request) for name, each in self._connections.items()
        }
        for connection in self._connections.values():
            connection.close()  # so that the next request may reach another process
        contents = {(each.status, _content(each)) for each in responses.values()}
        if len(contents) > 1:
            lines = [f"{name}: {each.status} {each.body!r}" for name, each in responses.items()]
            raise Difference("\n".join([request.line, *lines]))
        return responses[PLACEMENT]


def _response(name: str, connection: Connection, request: Request) -> Response:
    """Return the response of a service.  Raises: Difference if there is none."""
    try:
        return connection.send(request)
    except OSError as error:
        raise Difference(f"{request.line}\n{name}: no response: {error}") from error


def _content(response: Response) -> Hashable:
    """Return the body without order and links; of an error only its code."""
    if not response.body:
        return None
    content = response.json()
    if response.status >= 400:
        return tuple(error.get("code") for error in content["errors"])
    return plain(content)


def main() -> int:
    """Compare for some seconds; return 1 if a response differed."""
    options = _arguments()
    print(f"seed {options.seed}: {options.seconds:g} s, after the start of both", file=sys.stderr)
    upstream = install_upstream(options.folder)
    environments = {PLACEMENT: Path(sys.prefix), UPSTREAM: upstream}
    with started(options.database, environments, options.folder / "run") as run:
        services = run.start_empty()
        comparison = Comparison(
            {name: service.connect(TIMEOUT_SECONDS) for name, service in services.items()}
        )
        try:
            compare(comparison, options.seed, options.seconds)
        except Difference as difference:
            print(*(request.wire.decode() for request in comparison.last), sep="\n\n")
            print(f"seed {options.seed}: {difference}")
            return 1
    print(f"seed {options.seed}: no difference in {comparison.statuses.total()} requests")
    print(*(f"{count:7} {name}" for name, count in sorted(comparison.statuses.items())), sep="\n")
    return 0


def compare(comparison: Comparison, seed: int, seconds: float) -> None:
    """Send random requests for some seconds, and report the progress.  Raises: Difference."""
    start = reported_at = time.monotonic()
    for request in RandomRequests(seed, comparison.read):
        now = time.monotonic()
        if now > start + seconds:
            return
        if now > reported_at + PROGRESS_SECONDS:
            reported_at = now
            sent = comparison.statuses.total()
            print(f"{now - start:.0f} of {seconds:g} s: {sent} requests", file=sys.stderr)
        comparison.send(request)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.random_comparison", description=__doc__)
    add_options(parser)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
