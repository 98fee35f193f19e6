"""``openstack placement identity``, ``clients`` and ``dashboard``."""

import argparse
import signal
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from keystoneauth1.exceptions import ClientException, Unauthorized
from osc_lib.command import command
from osc_lib.exceptions import CommandError

from placement.core.text import printable
from placement.microversion import UNVERSIONED
from placement_insight.audit.command import add_identity_arguments
from placement_insight.cli.cells import cells
from placement_insight.cli.client import get
from placement_insight.cli.command import Table, WrittenOutput
from placement_insight.cli.names import NamesDocument
from placement_insight.page.proxy import LocalDashboard, UpstreamResponse

HOST = "127.0.0.1"
NAMES = f"{UNVERSIONED}/names"
"""The path at which the command itself responds with names that nova and keystone have."""

_OF_IDENTITY = (
    *("match", "uuid", "name", "generation", "updated_at"),
    *("consumers", "inventories", "children", "holder"),
)


class ShowIdentity(WrittenOutput, command.Lister):
    """List the providers that a host name or UUID could mean, and refused requests."""

    add_arguments = staticmethod(add_identity_arguments)
    important = ("name", "match", "consumers", "inventories", "children", "holder", "uuid")

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        """Return the providers, then the refused requests.  Raises: CommandError without any.

        A request has its time as ``updated_at``, and as ``holder`` the UUID of the provider that
        had the name or UUID.
        """
        query = {"name": parsed_args.host, "days": parsed_args.days}
        found = get(self.app, "/identity", query)
        refused = [
            {"match": "refused", "updated_at": row["at"], **row} for row in found["conflicts"]
        ]
        rows = [*found["providers"], *refused]
        if not rows:
            name = printable(found["name"])
            raise CommandError(
                f"No provider has the name or UUID {name}, with or without a domain, and no "
                "request with it was refused. `openstack resource provider list` shows all "
                "providers."
            )
        return _OF_IDENTITY, [cells(map(row.get, _OF_IDENTITY)) for row in rows]


class ListClients(WrittenOutput, command.Lister):
    """List which microversions clients sent, counted since the service started on an API host."""

    def take_action(self, parsed_args: argparse.Namespace) -> Table:  # noqa: ARG002
        document = get(self.app, "/clients")
        if not document["enabled"]:
            raise CommandError(
                f"The service on {document['host']} does not count requests. Set [metrics]enabled "
                "and [metrics]folder in its configuration, and restart it."
            )
        self.note(
            f"Requests to all processes on {document['host']} since the service started there; "
            "other API hosts count separately."
        )
        self.note(*_limited(document.get("candidates", {})))
        columns = ("client", "microversion", "requests")
        return columns, ([row[name] for name in columns] for row in document["clients"])


def _limited(candidates: Mapping[str, int]) -> Iterator[str]:
    """Yield how many responses with candidates a limit cut, as a sentence, if it cut any.

    >>> next(_limited({"responses": 310, "limited": 56, "roots_left_out": 291984}))[:40]
    '18% of 310 responses with candidates lef'
    """
    if limited := candidates.get("limited", 0):
        responses = max(candidates["responses"], limited)  # some may be in progress
        yield (
            f"{limited / responses:.0%} of {responses} responses with candidates left out hosts "
            f"because of a limit, {round(candidates['roots_left_out'] / limited)} on average. "
            "Each host gets its turn, unless [placement]rotate_limited_candidates is false. "
            "The limit of nova-scheduler is [scheduler]max_placement_results."
        )


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True  # Ctrl-C does not wait for requests


class _RequestHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Log no requests: the page sends them all the time."""


class ServeDashboard(WrittenOutput, command.Command):
    """Serve the dashboard on the loopback address with your own credentials.

    Only requests that write nothing are forwarded, to the routes below /insight. The address has a
    random secret in its path; the token never reaches the browser. Ctrl-C ends the command.
    """

    @cached_property
    def _names(self) -> NamesDocument:
        return NamesDocument(self.app)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--port", type=int, default=0, help="Port to listen on (default: any free port)"
        )
        parser.add_argument(
            "--no-browser",
            action="store_true",
            help="Print the address, but do not open a browser",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Serve until Ctrl-C.  Raises: CommandError if the port is taken or nothing responds."""
        get(self.app, "")  # the service responds
        manager = self.app.client_manager  # plugins add their clients as attributes
        dashboard = LocalDashboard(self._send, manager.region_name)
        try:
            server = make_server(HOST, parsed_args.port, dashboard, _Server, _RequestHandler)
        except OSError as error:
            raise CommandError(
                f"Cannot listen on {HOST}:{parsed_args.port}: {error}. Choose another --port."
            ) from None
        address = f"http://{HOST}:{server.server_port}{dashboard.path}"
        text = f"The dashboard is at {address}\nPress Ctrl-C to stop."
        print(text, file=self.app.stdout, flush=True)
        # also in the background of a shell, where SIGINT is ignored
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        if not parsed_args.no_browser:
            webbrowser.open(address)
        with server, suppress(KeyboardInterrupt):
            server.serve_forever()

    def _send(self, path: str, headers: Mapping[str, str], body: bytes | None) -> UpstreamResponse:
        if path == NAMES:
            return UpstreamResponse(200, {"Content-Type": "application/json"}, self._names.body())
        manager: Any = self.app.client_manager  # plugins add their clients as attributes
        client = manager.placement
        try:
            response = client.session.request(
                path,
                "GET" if body is None else "POST",
                data=body,
                headers=dict(headers),
                endpoint_filter=client.ks_filter,
                raise_exc=False,
            )
        except ClientException as error:
            status = 401 if isinstance(error, Unauthorized) else 502  # of Keystone: no new token
            return UpstreamResponse(status, {"Content-Type": "text/plain"}, str(error).encode())
        return UpstreamResponse(response.status_code, response.headers, response.content)
