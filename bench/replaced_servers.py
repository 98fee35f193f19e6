"""Servers with two workers, and the ways to replace these."""

import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import psutil

ETC = Path(__file__).parents[1] / "etc"
UWSGI, GUNICORN = ETC / "uwsgi/placement-api.ini", ETC / "gunicorn/placement-api.py"
BIN = Path(sys.executable).parent
WORKERS = 2


@dataclass(frozen=True)
class Place:
    """The folder and the port of a server; its output is in ``log``."""

    folder: Path
    port: int


@dataclass
class RunningServer:
    """A server: the process that replaces workers, and its place."""

    master: psutil.Process
    place: Place


Command = Callable[[Place], Sequence[str | Path]]


@dataclass(frozen=True)
class Replacement:
    """A server, and how its workers are replaced."""

    name: str
    command: Command
    replace: Callable[[RunningServer], None]
    # the number of workers that it replaces
    workers: int = WORKERS


def uwsgi(changes: Mapping[str, str] = MappingProxyType({})) -> Command:
    """The sample of uWSGI with HTTP on the port; an empty value removes an option."""

    def command(place: Place) -> Sequence[str | Path]:
        module = "placement.wsgi.api:application"
        http = {"http-socket": f"127.0.0.1:{place.port}", "module": module}
        options = {
            "socket": "",
            "chown-socket": "",
            "chmod-socket": "",
            "mount": "",
            **http,
            **changes,
        }
        kept = [
            line
            for line in UWSGI.read_text().splitlines()
            if line.partition("=")[0].strip() not in options
        ]
        lines = [*kept, *(f"{name} = {value}" for name, value in options.items() if value)]
        path = place.folder / "uwsgi.ini"
        path.write_text("\n".join(lines).replace("/run/placement", str(place.folder)))
        return [BIN / "uwsgi", "--ini", path, f"--virtualenv={sys.prefix}"]

    return command


def gunicorn(place: Place) -> Sequence[str | Path]:
    """The sample of Gunicorn on the port; each worker logs when it has loaded the application."""
    return [BIN / "gunicorn", f"--config={GUNICORN}", f"--bind=127.0.0.1:{place.port}"]


def kill_one(server: RunningServer) -> None:
    """Kill the first worker."""
    server.master.children()[0].kill()


def hang_up(server: RunningServer) -> None:
    """Send SIGHUP to the master."""
    server.master.send_signal(signal.SIGHUP)


def touch(server: RunningServer) -> None:
    """Touch the file of touch-chain-reload."""
    (server.place.folder / "reload").touch()


def write_fifo(server: RunningServer) -> None:
    """Write the command of a chain reload to the FIFO of the master."""
    (server.place.folder / "fifo").write_text("c")


def add_then_remove(server: RunningServer) -> None:
    """Add as many workers of Gunicorn as there are; when these are ready, end the oldest ones."""
    log = server.place.folder / "log"
    for number in (signal.SIGTTIN, signal.SIGTTOU):
        for _ in range(WORKERS):
            server.master.send_signal(number)
            time.sleep(0.1)  # pending signals of one number are one
        while log.read_text().count("is ready") < 2 * WORKERS:
            time.sleep(0.1)


_NO_HOOK = {"hook-master-start": ""}
_TOUCH = _NO_HOOK | {"touch-chain-reload": "/run/placement/reload"}
_FIFO = _NO_HOOK | {"master-fifo": "/run/placement/fifo"}
_FORK = _NO_HOOK | {"lazy-apps": "false"}

REPLACEMENTS = (
    Replacement("uWSGI sample, SIGHUP", uwsgi(), hang_up),
    Replacement("uWSGI sample, SIGKILL of a worker", uwsgi(), kill_one, 1),
    Replacement("uWSGI, touch-chain-reload", uwsgi(_TOUCH), touch),
    Replacement("uWSGI, c to master-fifo", uwsgi(_FIFO), write_fifo),
    Replacement("uWSGI without hook-master-start, SIGHUP", uwsgi(_NO_HOOK), hang_up),
    Replacement("uWSGI without lazy-apps, SIGHUP", uwsgi(_FORK), hang_up),
    Replacement("uWSGI without lazy-apps, SIGKILL of a worker", uwsgi(_FORK), kill_one, 1),
    Replacement("Gunicorn, SIGTTIN, then SIGTTOU", gunicorn, add_then_remove),
    Replacement("Gunicorn, SIGHUP", gunicorn, hang_up),
    Replacement("Gunicorn, SIGKILL of a worker", gunicorn, kill_one, 1),
)
