"""Deployments under the servers that operators run: start, concurrent claims, stop.

The samples in ``etc`` are used as they are, except for paths and ports.
"""

import os
import signal
import socket
import subprocess
import time

import psutil
import pytest
import requests

from placement.tests.processes import (
    BIN,
    IS_ROOT,
    START_TIMEOUT_SECONDS,
    WSGI_FILE,
    check_claims,
    program,
    sample,
    start_apache_proxy,
    start_mod_wsgi,
    start_nginx,
    start_uwsgi,
    start_uwsgi_behind_proxy,
    uwsgi,
)


@pytest.fixture
def backend():
    return "mariadb"


# --- uWSGI ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--wsgi-file", WSGI_FILE], id="loaded-before-the-fork"),
        pytest.param(["--module=placement.wsgi.api:application", "--lazy-apps"], id="lazy-apps"),
        pytest.param(["--wsgi-file", BIN / "placement-api"], id="installed-command"),
    ],
)
def test_uwsgi(deployment, options):
    start_uwsgi(deployment, *options)
    check_claims(deployment)


@pytest.mark.parametrize("backend", ["sqlite"])
def test_workers_have_no_additional_threads(deployment):
    """The kernel may deliver a signal to any thread; uWSGI stops only from its own threads."""
    start_uwsgi(deployment, "--wsgi-file", WSGI_FILE, "--lazy-apps")
    (master,) = deployment.processes
    assert [worker.num_threads() for worker in psutil.Process(master.pid).children()] == [4, 4]


@pytest.mark.parametrize("backend", ["postgresql", "sqlite"])
def test_uwsgi_loaded_before_the_fork_on_other_databases(deployment, backend):
    start_uwsgi(deployment, "--wsgi-file", WSGI_FILE)
    check_claims(deployment)


LOADS = 'placement_snapshot_refresh_seconds_count{kind="load"} '


@pytest.mark.parametrize("backend", ["sqlite"])
def test_uwsgi_workers_load_the_snapshot_before_they_accept_requests(deployment):
    """No request has to wait for a worker that is replaced, see ``touch-chain-reload``."""
    reload_file = deployment.folder / "reload"
    reload_file.touch()
    deployment.variables |= {
        "OS_METRICS__ENABLED": "true",
        "OS_METRICS__FOLDER": str(deployment.folder / "metrics"),
        "OS_METRICS__INVENTORY": "false",
    }
    options = ["--lazy-apps", f"--touch-chain-reload={reload_file}"]
    start_uwsgi(deployment, "--wsgi-file", WSGI_FILE, *options)
    wait_for_loads(deployment, 2)
    os.utime(reload_file, (time.time() + 10,) * 2)
    wait_for_loads(deployment, 4)


def wait_for_loads(deployment, count):
    """Wait until the processes have loaded snapshots so often, without a request for one."""
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    lines = []
    while time.monotonic() < deadline:
        text = requests.get(f"{deployment.url}/metrics", timeout=30).text
        lines = [line for line in text.splitlines() if line.startswith(LOADS)]
        if lines == [f"{LOADS}{count}.0"]:
            return
        time.sleep(0.1)
    raise AssertionError(f"{lines}, not {count}\n{deployment.logs()}")


def test_uwsgi_behind_nginx(deployment):
    nginx = program("nginx", "apt-get install nginx-light")
    path = start_uwsgi_behind_proxy(deployment)
    site = sample(
        "nginx/placement-api.conf",
        listen=("listen 8778", f"listen {deployment.address}"),
        socket=("/run/placement/uwsgi.sock", f"{path}"),
    )
    start_nginx(deployment, nginx, site)
    check_claims(deployment, "/placement")


def test_uwsgi_notifies_systemd_and_reloads_on_sighup(deployment):
    notify = deployment.folder / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(notify))
        systemd.settimeout(START_TIMEOUT_SECONDS)
        start_uwsgi_behind_proxy(deployment, NOTIFY_SOCKET=str(notify))
        while b"READY=1" not in systemd.recv(4096):
            pass
    before = new_workers(deployment)
    deployment.processes[0].send_signal(signal.SIGHUP)
    assert new_workers(deployment, before)


def new_workers(deployment, before=frozenset()):
    """Wait until both workers of the master have been replaced, and return their ids."""
    give_up_at = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < give_up_at and deployment.processes[0].poll() is None:
        pids = {child.pid for child in deployment.children()}
        if len(pids - before) == len(pids) == 2:
            return pids
        time.sleep(0.05)
    raise AssertionError(deployment.logs())


def test_systemd_unit_is_valid(deployment):
    analyze = program("systemd-analyze", "apt-get install systemd")
    unit = sample(
        "systemd/placement-api.service",
        installed=("/opt/placement/bin/uwsgi", program("uwsgi", "pip install uWSGI")),
    )
    (deployment.folder / "placement-api.service").write_text(unit)
    command = [analyze, "--man=no", "verify", deployment.folder / "placement-api.service"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    # it warns of other units of the machine too
    warnings = [line for line in result.stderr.splitlines() if "placement-api" in line]
    assert (result.returncode, warnings) == (0, [])


# --- Gunicorn -----------------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--preload"]], ids=["loaded-by-each", "preload"])
def test_gunicorn(deployment, options):
    gunicorn = program("gunicorn", "pip install gunicorn")
    deployment.start(
        *(gunicorn, "--bind", deployment.address, "--workers=2", "--threads=4", *options),
        "placement.wsgi.api:application",
    )
    check_claims(deployment)


# --- Apache -------------------------------------------------------------------------------


@pytest.mark.parametrize("script", [BIN / "placement-api", WSGI_FILE], ids=["command", "file"])
def test_apache_with_mod_wsgi(deployment, script):
    """The daemon processes run as an unprivileged user."""
    start_mod_wsgi(deployment, script)
    check_claims(deployment, "/placement")
    if IS_ROOT:
        users = {process.username() for process in deployment.children()}
        assert users == {"nobody"}


def test_uwsgi_behind_apache(deployment):
    start_apache_proxy(deployment, start_uwsgi_behind_proxy(deployment))
    check_claims(deployment, "/placement")


# --- a read-only file system ----------------------------------------------------------

READ_ONLY = """
mount --make-rprivate /
awk '$5 ~ "^/" {print $5}' /proc/self/mountinfo | while read -r place; do
    mount -o remount,bind,ro "$place" 2>/dev/null || true
done
! touch "$1/probe" 2>/dev/null || exit 99
shift
exec "$@"
"""


def test_service_runs_on_read_only_file_system(deployment):
    try:
        subprocess.run(["unshare", "--mount", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("NOT TESTED: this user cannot create mount namespaces")
    deployment.start(
        *uwsgi(f"--http-socket={deployment.address}", "--wsgi-file", WSGI_FILE),
        prefix=["unshare", "--mount", "sh", "-c", READ_ONLY, "sh", str(deployment.folder)],
        PYTHONDONTWRITEBYTECODE="1",
    )
    check_claims(deployment)
