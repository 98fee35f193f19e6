"""Pgpool-II before a primary and a standby; it routes reads to the standby."""

import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg

from placement.tests.support.servers import USER, find, free_port

SECONDS_TO_START = 60


@contextmanager
def pgpool(folder: Path, primary_port: int, standby_port: int, **settings: str) -> Iterator[int]:
    """Run Pgpool-II; yield its port.  Raises: Missing."""
    port = free_port()
    values = _settings(folder, port) | _backends(primary_port, standby_port) | settings
    configuration = folder / "pgpool.conf"
    configuration.write_text("".join(f"{name} = '{values[name]}'\n" for name in values))
    for name in ("pcp.conf", "pool_hba.conf"):
        (folder / name).touch()
    files = ["-f", str(configuration), "-F", str(folder / "pcp.conf")]
    with (folder / "pgpool.log").open("wb") as log:
        process = subprocess.Popen([find("pgpool"), "-n", *files], stdout=log, stderr=log)
        try:
            _wait_until_it_knows_the_standby(port, folder / "pgpool.log")
            yield port
        finally:
            process.send_signal(signal.SIGINT)  # also with open connections
            process.wait(60)


def _settings(folder: Path, port: int) -> Mapping[str, str]:
    return {
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        "socket_dir": str(folder),
        "pcp_port": str(free_port()),
        "pcp_socket_dir": str(folder),
        "wd_ipc_socket_dir": str(folder),
        "pid_file_name": str(folder / "pgpool.pid"),
        "logdir": str(folder),
        "num_init_children": "20",
        "load_balance_mode": "on",
        "sr_check_period": "1",
        "sr_check_user": USER,
        "health_check_period": "0",
    }


def _backends(*ports: int) -> dict[str, str]:
    """Return the settings of the primary, which gets no reads, and of the standby."""
    values = {}
    for number, port in enumerate(ports):
        values |= {
            f"backend_hostname{number}": "127.0.0.1",
            f"backend_port{number}": str(port),
            f"backend_weight{number}": str(number),
            f"backend_flag{number}": "DISALLOW_TO_FAILOVER",
        }
    return values


def _wait_until_it_knows_the_standby(port: int, log: Path) -> None:
    url = f"host=127.0.0.1 port={port} user={USER} dbname=postgres"
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline:
        try:
            with psycopg.connect(url) as connection:
                nodes = connection.execute("SHOW pool_nodes").fetchall()
            if "standby" in nodes[1] and "up" in nodes[1]:
                return
        except psycopg.Error:
            pass
        time.sleep(0.2)
    raise AssertionError(log.read_text()[-3000:])
