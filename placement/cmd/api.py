"""``placement-api``: the service with a server of its own.

With ``--development`` there is nothing to configure; without it, it reads ``placement.conf`` as
any deployment does.
"""

import argparse
import ipaddress
import logging
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from oslo_config import cfg
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from placement import wsgi
from placement.cmd import supervisor
from placement.cmd.server import Address, Listening, serve
from placement.dashboard import page
from placement.exception import PlacementException
from placement.http import auth

LOG = logging.getLogger(__name__)

DEFAULT_FOLDER = ".serve"
DATABASE_FILE = "placement.sqlite"

_LAST_PORT = 65535


class Refusal(Exception):  # noqa: N818  it is no error that the command says no
    """The service does not start; the text says why, and what to do."""


# Options, the schema, what is not installed, an address: operators can mend them.
_REASONS = (
    Refusal,
    PlacementException,
    cfg.Error,
    ArgumentError,
    ImportError,
    RuntimeError,
    OSError,
)


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for."""

    address: Address
    threads: int
    workers: int
    configuration: tuple[str, ...]
    development: Path | None
    allow_noauth2_on_network: bool


def main() -> int:
    """Run the command; return its exit code."""
    options = parse(sys.argv[1:])
    try:
        run(options)
    except _REASONS as error:
        LOG.debug("Not started", exc_info=True)
        print(f"placement-api: {error}", file=sys.stderr)
        return 1
    return 0


def parse(arguments: Sequence[str]) -> Options:
    """Return the options on the command line, or end the process with a word on its use."""
    parser = argparse.ArgumentParser(
        prog="placement-api", description="Serve Placement over HTTP."
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=_port, default=8778, help="port to listen on (%(default)s)")
    parser.add_argument("--threads", type=_positive, default=8, help="per worker (%(default)s)")
    parser.add_argument("--workers", type=_positive, default=1, help="processes (%(default)s)")
    # The two in one list, for what is read later wins.
    add_to_configuration = partial(
        parser.add_argument, dest="configuration", action="append", default=[]
    )
    add_to_configuration(
        "--config-file",
        metavar="FILE",
        type="--config-file={}".format,
        help="read options from FILE, not from placement.conf at its usual places",
    )
    add_to_configuration(
        "--config-dir",
        metavar="FOLDER",
        type="--config-dir={}".format,
        help="read options from all *.conf in FOLDER, not in placement.conf.d",
    )
    parser.add_argument(
        "--development",
        nargs="?",
        const=DEFAULT_FOLDER,
        metavar="FOLDER",
        type=Path,
        help=f"keep a SQLite database in FOLDER ({DEFAULT_FOLDER}) and believe every token",
    )
    parser.add_argument(
        "--allow-noauth2-on-network",
        action="store_true",
        help="let everybody who reaches this machine do everything",
    )
    asked = parser.parse_args(arguments)
    return Options(
        address=Address(asked.host, asked.port),
        threads=asked.threads,
        workers=asked.workers,
        configuration=tuple(asked.configuration),
        development=asked.development,
        allow_noauth2_on_network=asked.allow_noauth2_on_network,
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= _LAST_PORT:
        raise ValueError(text)
    return number


def run(options: Options) -> None:
    """Serve until told to stop.  Raises: what _REASONS has, if it cannot start."""
    conf = configured(options)
    refuse_open_doors(options, conf)
    if options.development:
        logging.getLogger("alembic").setLevel(logging.WARNING)  # nobody asked for a migration
    with Listening(options.address) as listening:
        application = wsgi.load(conf)
        signal.signal(signal.SIGHUP, lambda _number, _frame: read_again(conf))
        _announce(listening.address, conf, is_development=options.development is not None)
        work = partial(serve, application, listening.address, threads=options.threads)
        if options.workers == 1:
            work()
        else:
            supervisor.run(work, count=options.workers)


def read_again(conf: cfg.ConfigOpts) -> None:
    """Take from the files the options that may change while the service runs, ``debug`` say."""
    try:
        conf.mutate_config_files()
    except cfg.Error:
        LOG.exception("The configuration cannot be read; it stays as it was")


def configured(options: Options) -> cfg.ConfigOpts:
    """Return the configuration.  Raises: Refusal if it names no database, or cannot be read."""
    files = wsgi.config_files()
    defaults: Mapping[tuple[str, str], object] = {}
    if options.development:
        files, defaults = [], development_defaults(options.development)
    try:
        return wsgi.read_configuration(files, defaults, options.configuration)
    except cfg.RequiredOptError:
        raise Refusal(
            "no database is configured. Set [placement_database]connection in placement.conf "
            "(in the folder that OS_PLACEMENT_CONFIG_DIR names, or in /etc/placement), name "
            "another by --config-file, or set OS_PLACEMENT_DATABASE__CONNECTION; to try the "
            "service without any configuration: placement-api --development"
        ) from None
    except cfg.Error as error:
        raise Refusal(str(error)) from error


def development_defaults(folder: Path) -> Mapping[tuple[str, str], object]:
    """Return the options of a service that needs nothing but a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    return {
        ("placement_database", "connection"): f"sqlite:///{folder.resolve() / DATABASE_FILE}",
        ("placement_database", "sync_on_startup"): True,
        ("api", "auth_strategy"): auth.NOAUTH2,
        ("insight", "page"): True,
    }


def refuse_open_doors(options: Options, conf: cfg.ConfigOpts) -> None:
    """Refuse to believe the tokens of a whole network.  Raises: Refusal."""
    believes = conf.api.auth_strategy == auth.NOAUTH2
    if believes and not (options.allow_noauth2_on_network or _is_loopback(options.address.host)):
        raise Refusal(
            f"auth_strategy is noauth2, and {options.address.host} can be reached by others: "
            "everybody could do everything. Listen on 127.0.0.1, set [api]auth_strategy to "
            "keystone, or add --allow-noauth2-on-network if this is what you want."
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _announce(address: Address, conf: cfg.ConfigOpts, *, is_development: bool) -> None:
    """Say where the service is, and in development what to do with it."""
    print(f"Placement listens on {address.url}")
    database = make_url(conf.placement_database.connection)
    print(f"The database is {database.render_as_string(hide_password=True)}")
    if conf.insight.page:
        print(f"The dashboard is at {address.url}{page.PATH}/")
    if is_development:
        print(
            f"Try: curl -H 'X-Auth-Token: admin' {address.url}/resource_classes "
            "-H 'OpenStack-API-Version: placement latest'"
        )
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
