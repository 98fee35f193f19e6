"""``openstack placement dashboard``."""

import argparse
import signal
import webbrowser
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keystoneauth1.exceptions import ClientException
from osc_lib.command import command
from osc_lib.exceptions import CommandError
from waitress import create_server

from placement.dashboard.proxy import LocalDashboard, UpstreamResponse

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class BadGateway:
    """What the page gets if the service or Keystone cannot be reached."""

    content: bytes
    status_code: int = 502
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/plain"})


class ServeDashboard(command.Command):
    """Serve the dashboard on the loopback address with your own credentials.

    Only GET requests to the routes below /insight are forwarded. The address has a random secret
    in its path; the token never reaches the browser. Ctrl-C ends the command.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--port", type=int, default=0, help="Port to listen on (default: any free port)"
        )
        parser.add_argument(
            "--no-browser", action="store_true", help="Print the address, open no browser"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Serve until Ctrl-C.  Raises: CommandError if the port is taken or nothing responds."""
        self._check_service()
        dashboard = LocalDashboard.with_new_secret(self._get)
        try:
            server = create_server(dashboard, host=HOST, port=parsed_args.port)
        except OSError as error:
            raise CommandError(
                f"Cannot listen on {HOST}:{parsed_args.port}: {error}. Choose another --port."
            ) from None
        address = f"http://{HOST}:{server.effective_port}{dashboard.path}"
        print(f"The dashboard is at {address}\nCtrl-C ends it.", file=self.app.stdout, flush=True)
        # also in the background of a shell, where SIGINT is ignored
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        if not parsed_args.no_browser:
            webbrowser.open(address)
        server.run()

    def _check_service(self) -> None:
        response = self._get("/insight", {})
        if response.status_code != 200:
            raise CommandError(
                f"GET /insight returned {response.status_code}: "
                f"{response.content.decode(errors='replace')}. The service must be this "
                "implementation of Placement, and your roles must pass placement:insight:*."
            )

    def _get(self, path: str, headers: Mapping[str, str]) -> UpstreamResponse:
        manager: Any = self.app.client_manager  # plugins add their clients as attributes
        client = manager.placement
        try:
            response: UpstreamResponse = client.session.request(
                path,
                "GET",
                headers=dict(headers),
                endpoint_filter=client.ks_filter,
                raise_exc=False,
            )
        except ClientException as error:
            return BadGateway(str(error).encode())
        return response
