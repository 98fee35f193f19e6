"""``placement-compare --log`` reads what servers write to their logs for this service."""

import time

import pytest

from placement.tests.support.processes import (
    WSGI_FILE,
    program,
    sample,
    start_apache_proxy,
    start_mod_wsgi,
    start_nginx,
    start_uwsgi_behind_proxy,
    uwsgi,
)
from placement_compare.model import Read
from placement_compare.requests import read_log

pytestmark = pytest.mark.long

PATHS = [
    "/resource_providers?name=h%C3%B6st&resources=VCPU:1",
    "/allocation_candidates?resources=VCPU:1,MEMORY_MB:1024&required=in:HW_CPU_X86_AVX2,COMPUTE_NODE",
    "/traits?name=startswith:HW_CPU",
]
DEFAULT = (1, 39)
SECONDS_TO_WRITE = 60
FORMATS = {  # of Apache, by the names of its logs
    "common": '"%h %l %u %t \\"%r\\" %>s %O"',
    "combined": '"%h %l %u %t \\"%r\\" %>s %O \\"%{Referer}i\\" \\"%{User-Agent}i\\""',
}


@pytest.fixture
def backend():
    return "sqlite"


def check_read(deployment, *logs, prefix="", pattern=""):
    """Send requests; check that the lines with the pattern contain the reads, and only these."""
    deployment.wait(f"{prefix}/")
    for path in PATHS:
        assert deployment.request("GET", prefix + path).status_code == 200
    deployment.request("POST", f"{prefix}/resource_providers", json={"name": "host"})
    deployment.request("PUT", f"{prefix}/traits/CUSTOM_A")
    for log in logs:
        check_log(deployment, log, pattern)


def check_log(deployment, log, pattern):
    written = [*PATHS, "/traits/CUSTOM_A"]
    deadline = time.monotonic() + SECONDS_TO_WRITE
    while True:  # requests are logged in the order in which they end
        text = log.read_text() if log.exists() else ""
        lines = [line for line in text.splitlines(keepends=True) if pattern in line]
        if all(any(path in line for line in lines) for path in written):
            break
        assert time.monotonic() < deadline, deployment.logs()
        time.sleep(0.1)
    reads = sorted(read_log(lines, DEFAULT), key=str)
    assert reads == sorted((Read(path, DEFAULT) for path in PATHS), key=str), text


def test_log_of_uwsgi(deployment):
    options = [
        option for option in uwsgi("--wsgi-file", WSGI_FILE) if option != "--disable-logging"
    ]
    deployment.start(*options, f"--http-socket={deployment.address}", "--logto", "requests.log")
    # the log of the service is in the same file
    check_read(deployment, deployment.folder / "requests.log", pattern="=> generated")


def test_log_of_gunicorn(deployment):
    gunicorn = program("gunicorn", "pip install gunicorn")
    deployment.start(
        *(gunicorn, "--bind", deployment.address, "--access-logfile", "requests.log"),
        "placement.wsgi.api:application",
    )
    check_read(deployment, deployment.folder / "requests.log")


def logs_of_apache(deployment):
    """Return the logs of Apache in each format, and the change of its configuration for them."""
    logs = {name: deployment.folder / f"{name}.log" for name in FORMATS}
    end = "</VirtualHost>"
    lines = [f"CustomLog {log} {FORMATS[name]}" for name, log in logs.items()]
    return logs.values(), (end, "\n".join([*lines, end]))


def test_logs_of_apache(deployment):
    logs, fragment = logs_of_apache(deployment)
    path = start_uwsgi_behind_proxy(deployment)
    start_apache_proxy(deployment, path, fragment=fragment)
    check_read(deployment, *logs, prefix="/placement")


@pytest.mark.parametrize("backend", ["mariadb"])  # the daemons cannot read files of root
def test_logs_of_apache_with_mod_wsgi(deployment):
    logs, fragment = logs_of_apache(deployment)
    start_mod_wsgi(deployment, WSGI_FILE, fragment=fragment)
    check_read(deployment, *logs, prefix="/placement")


def test_log_of_nginx(deployment):
    log = deployment.folder / "requests.log"
    path = start_uwsgi_behind_proxy(deployment)
    site = sample(
        "nginx/placement-api.conf",
        listen=("listen 8778;", f"listen {deployment.address}; access_log {log} combined;"),
        socket=("/run/placement/uwsgi.sock", f"{path}"),
    )
    start_nginx(deployment, site)
    check_read(deployment, log, prefix="/placement")
