"""``placement-api``: the service on waitress, in one process, for trials and development.

It reads ``placement.conf`` like any deployment; with ``--development`` it needs no configuration.
"""

import argparse
import ipaddress
import logging
import math
import os
import re
import socket
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import waitress
from oslo_config import cfg
from sqlalchemy.engine import make_url

from placement import db_api, exception, surface, terminal, wsgi
from placement.cmd import errors
from placement.conf.base import config_files
from placement.http import auth, request_log
from placement.http.middleware import AfterResponse
from placement.microversion import UNVERSIONED

DEFAULT_FOLDER = ".serve"
DATABASE_FILE = "placement.sqlite"

_CONNECTIONS = 1000
_STORED_BYTES = 2**30  # of a response; a thread waits for the client only if there are more

# The page reads every few seconds; these lines would hide those of other clients.
_READ_OF_PAGE = re.compile(rf'\S+ "GET {UNVERSIONED}/\S*" status: [23]')


def main() -> int:
    """Run the command; return its exit code."""
    conf = cfg.ConfigOpts()
    return errors.run("placement-api", lambda: run(parse(sys.argv[1:]), conf), conf)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line; exit with a usage message if they are invalid."""
    parser = argparse.ArgumentParser(
        prog="placement-api",
        description="Serve Placement over HTTP, for trials and development.",
        epilog="The other options are those of oslo.config and oslo.log: --config-file FILE and "
        "--config-dir DIR replace the default locations; --debug logs more.",
    )
    version = f"%(prog)s {metadata.version('openplacement')}"
    parser.add_argument("--version", action="version", version=version)
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: %(default)s)"
    )
    parser.add_argument(
        "--port",
        type=_number(0, 65535),
        default=8778,
        help="port to listen on (default: %(default)s)",
    )
    parser.add_argument(
        "--threads",
        type=_number(1),
        default=8,
        help="requests handled at a time (default: %(default)s)",
    )
    parser.add_argument(
        "--development",
        nargs="?",
        const=DEFAULT_FOLDER,
        metavar="DIR",
        type=Path,
        help=f"use a SQLite database in DIR (default: {DEFAULT_FOLDER}) and accept every token",
    )
    parser.add_argument(
        "--demo",
        nargs="?",
        const=300,
        metavar="HOSTS",
        type=_number(15, 20_000),
        help="with --development: fill an empty database with a realistic cloud of 15 to 20000 "
        "hosts (default: 300)",
    )
    parser.add_argument(
        "--allow-noauth2-on-network",
        action="store_true",
        help="accept every token from any client that can reach this machine",
    )
    parsed, others = parser.parse_known_args(arguments)
    if parsed.demo and not parsed.development:
        parser.error("--demo needs --development, which names the directory of its database")
    return argparse.Namespace(**vars(parsed), configuration=others)


def _number(minimum: int, maximum: float = math.inf) -> Callable[[str], int]:
    """Return a function that converts an argument to a number within these bounds."""
    bounds = f"at least {minimum}" if maximum == math.inf else f"between {minimum} and {maximum}"

    def number(text: str) -> int:
        if minimum <= (value := int(text)) <= maximum:
            return value
        raise argparse.ArgumentTypeError(f"{text} is not {bounds}")

    return number


def run(options: argparse.Namespace, conf: cfg.ConfigOpts) -> int:
    """Serve until SIGTERM or SIGINT.  Raises: errors.ERRORS."""
    load_configuration(options, conf)
    check_noauth2_is_local(options, conf)
    conf.set_default("max_waiting_writes", options.threads // 2, "placement_database")
    if options.development:
        logging.getLogger("alembic").setLevel(logging.WARNING)  # not of interest here
        request_log.LOG.addFilter(lambda record: not _READ_OF_PAGE.match(record.getMessage()))
    with _listening(options.host, options.port) as listener:
        application, engine = wsgi.load(conf)
        if options.demo:
            _fill(conf, application, options.demo)
        if conf.api.auth_strategy == auth.NOAUTH2 and not options.allow_noauth2_on_network:
            application = for_local_hosts(application)
        wsgi.preload(engine)
        url = _url(options.host, listener)
        _announce(url, conf, is_development=options.development is not None)
        _serve(application, listener, options.threads, conf.api.max_request_body_size)
    return 0


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens on the address; port 0 is replaced by a free port.

    Raises: OSError if the address is in use or does not belong to this machine.
    """
    family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    try:
        return socket.create_server(address, family=family)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise OSError(
            f"Cannot listen on {host}, port {port}: {reason}. Choose another address by --host, "
            "or another port by --port."
        ) from error


def _fill(conf: cfg.ConfigOpts, application: WSGIApplication, hosts: int) -> None:
    logging.disable(logging.WARNING)  # the requests that fill the database are not of interest
    is_filled = surface.installed().fill(db_api.store(conf), application, hosts)
    logging.disable(logging.NOTSET)
    if not is_filled:
        print("The database has providers already: the demo cloud is not written.")


def _serve(
    application: WSGIApplication, listener: socket.socket, threads: int, max_body_bytes: int
) -> None:
    """Serve until SIGTERM or SIGINT; requests in progress have 5 seconds to complete.

    The main loop of waitress receives the requests, and stores the responses that clients do not
    read: idle and slow clients occupy no thread.
    """
    terminal.stop_by(_stop)
    waitress.serve(
        application,
        sockets=[listener],
        threads=threads,
        connection_limit=_CONNECTIONS,
        asyncore_use_poll=True,  # select() fails beyond 1,024 open files
        max_request_body_size=max_body_bytes,
        outbuf_high_watermark=_STORED_BYTES,
        clear_untrusted_proxy_headers=False,  # enable_proxy_headers_parsing decides
    )


def _stop(_number: int, _frame: object) -> None:
    """Make ``waitress.serve`` return; another signal ends the process at once."""
    terminal.stop_by(terminal.end)
    raise SystemExit(0)


def load_configuration(options: argparse.Namespace, conf: cfg.ConfigOpts) -> None:
    """Read the configuration.  Raises: CommandError if it has no database or cannot be read."""
    files = config_files()
    defaults: Mapping[tuple[str, str], object] = {}
    if options.development:
        files, defaults = [], development_defaults(options.development)
    try:
        wsgi.read_configuration(files, defaults, options.configuration, conf)
    except cfg.RequiredOptError as error:
        raise errors.CommandError(
            f"{errors.message(error)} To try the service without any configuration: "
            "placement-api --development"
        ) from None


def development_defaults(folder: Path) -> Mapping[tuple[str, str], object]:
    """Return the defaults for development: a SQLite database in the directory, and no Keystone.

    Only this user can read the database.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    database = folder.resolve() / DATABASE_FILE
    _check_is_own(folder, folder.resolve())
    if not database.is_symlink():
        database.touch(mode=0o600)
    _check_is_own(database)
    database.chmod(0o600)  # SQLite's other files get the same mode
    return {
        ("placement_database", "connection"): f"sqlite:///{database}",
        ("placement_database", "sync_on_startup"): True,
        ("api", "auth_strategy"): auth.NOAUTH2,
        **surface.installed().development_defaults(),
    }


def _check_is_own(*paths: Path) -> None:
    """Check that this user owns the files, or the links to them.  Raises: CommandError."""
    for path in paths:
        if (owner := path.lstat().st_uid) != os.geteuid():
            raise errors.CommandError(
                f"{path} belongs to the user with the ID {owner}, who could replace the database. "
                "Choose another directory: placement-api --development DIR"
            )
        if path.name == DATABASE_FILE and path.is_symlink():
            raise errors.CommandError(
                f"{path} is a symbolic link. Remove it, or set [placement_database]connection."
            )


def check_noauth2_is_local(options: argparse.Namespace, conf: cfg.ConfigOpts) -> None:
    """Check that noauth2 is not reachable from a network.  Raises: CommandError."""
    is_noauth2 = conf.api.auth_strategy == auth.NOAUTH2
    if is_noauth2 and not (options.allow_noauth2_on_network or _is_loopback(options.host)):
        raise errors.CommandError(
            f"auth_strategy is noauth2, which accepts every token, and {options.host} is "
            "reachable from the network. Listen on 127.0.0.1, set [api]auth_strategy to "
            "keystone, or add --allow-noauth2-on-network to accept this."
        )


def for_local_hosts(application: WSGIApplication) -> WSGIApplication:
    """Return the application, for requests that name a loopback host.

    A page of another site, whose name resolves to this machine (DNS rebinding), has no access.
    """

    def checked(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        host = environ.get("HTTP_HOST", "localhost")
        error = exception.BadRequest(
            f"Host {host} is not a name of the loopback interface. Send the request to localhost, "
            "or start the service with --allow-noauth2-on-network."
        )
        allowed = application if _is_loopback(_without_port(host)) else _refusal(error)
        return allowed(environ, start_response)

    return checked


def _refusal(error: Exception) -> WSGIApplication:
    """Return an application that responds with an error document, and logs the request."""
    return AfterResponse(request_log.RequestLog(partial(request_log.refuse, error)))


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).strip("[]")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _url(host: str, listener: socket.socket) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listener.getsockname()[1]}"


def _announce(url: str, conf: cfg.ConfigOpts, *, is_development: bool) -> None:
    """Print the addresses of service and database; in development, also an example request."""
    print(f"Placement listens on {url}")
    print("This server is for trials and development; in production, run uWSGI or Gunicorn.")
    database = make_url(conf.placement_database.connection).set(query={})
    print(f"The database is {database.render_as_string(hide_password=True)}")
    for line in surface.installed().announcements(conf, url):
        print(line)
    if is_development:
        print(
            f"Try: curl -H 'X-Auth-Token: admin' {url}/resource_classes "
            "-H 'OpenStack-API-Version: placement latest'"
        )
    sys.stdout.flush()
