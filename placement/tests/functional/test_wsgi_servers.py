"""Each server that operators run is started, claims are made through it, and it is stopped.

Where ``etc`` has a sample for it, the sample is what is run, but for its paths and port.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
import requests
import sqlalchemy as sa

import placement
from placement.tests.servers import free_port

ROOT = Path(placement.__file__).parent.parent
SCRIPT = ROOT / "placement" / "wsgi" / "api.py"
SITE = Path(sa.__file__).parent.parent
BIN = Path(sys.executable).parent
APACHE_MODULES = Path("/usr/lib/apache2/modules")
HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.39"}
SECONDS_TO_START = 60
CLAIMS = 12
IS_ROOT = os.getuid() == 0


def missing(what):
    """Skip, and fail where everything has to be there."""
    message = f"NOT TESTED: {what}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def program(name, package):
    found = shutil.which(name, path=f"{BIN}:/usr/sbin:{os.environ.get('PATH', '')}")
    return found or missing(f"{name} is not installed: {package}")


def apache_modules(*names):
    package = "apt-get install apache2 libapache2-mod-wsgi-py3"
    for name in names:
        path = APACHE_MODULES / f"mod_{name}.so"
        if not path.exists():
            missing(f"{path} is not there: {package}")
        yield f"LoadModule {name}_module {path}\n"


def sample(name, **changes):
    """Return a sample of ``etc`` with what is of a machine changed."""
    text = (ROOT / "etc" / name).read_text()
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    return text


class Server:
    """A deployment in a folder: its processes, and what they wrote."""

    def __init__(self, folder, environment):
        self.folder = folder
        self.environment = environment
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.address}"
        self.processes = []

    def start(self, *command, prefix=(), **environment):
        environ = {name: text for name, text in os.environ.items() if not name.startswith("OS_")}
        with (self.folder / "output").open("ab") as output:
            process = subprocess.Popen(
                [*prefix, *map(str, command)],
                stdout=output,
                stderr=output,
                cwd=self.folder,
                env=environ | self.environment | environment,
            )
        self.processes.append(process)

    def wait(self, path="/"):
        give_up_at = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < give_up_at:
            try:
                if requests.get(self.url + path, timeout=30).status_code == 200:
                    return
            except requests.RequestException:
                pass
            if any(process.poll() is not None for process in self.processes):
                break
            time.sleep(0.05)
        raise AssertionError(self.written())

    def written(self):
        logs = [path for path in self.folder.iterdir() if path.name in {"output", "error.log"}]
        return "\n".join(path.read_text(errors="replace")[-4000:] for path in logs)

    def stop(self):
        """Stop it as an init system does; nothing may be left running."""
        running = [psutil.Process(found.pid) for found in self.processes if found.poll() is None]
        family = [child for found in running for child in found.children(recursive=True)]
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        _, alive = psutil.wait_procs([*running, *family], timeout=20)
        for process in alive:
            process.kill()
        for process in self.processes:
            process.wait(10)
        assert not alive


@pytest.fixture
def backend():
    return "mariadb"


@pytest.fixture
def deployed(database_url, server, backend):
    """A server to be started, with a configuration; it is stopped at the end."""
    folder = Path(tempfile.mkdtemp(prefix="placement-wsgi-"))
    folder.chmod(0o755)  # servers may run as somebody else
    if backend != "sqlite":
        database_url = server(backend).tcp_url(sa.make_url(database_url).database)
    (folder / "placement.conf").write_text(
        f"[placement_database]\nconnection = {database_url}\n"
        "max_pool_size = 4\n"
        "[api]\nauth_strategy = noauth2\n"
    )
    found = Server(folder, {"OS_PLACEMENT_CONFIG_DIR": str(folder)})
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        stack.callback(found.stop)
        yield found


def ask(server, method, path, **kwargs):
    return requests.request(method, server.url + path, headers=HEADERS, timeout=30, **kwargs)


def claim(server, provider):
    body = {
        "allocations": {provider: {"resources": {"VCPU": 1}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    return ask(server, "PUT", f"{server.prefix}/allocations/{uuid.uuid4()}", json=body).status_code


def serves_claims(server, prefix=""):
    """Check that many claims at once are made, and that every process sees them all."""
    server.prefix = prefix
    server.wait(f"{prefix}/")
    made = ask(server, "POST", f"{prefix}/resource_providers", json={"name": "host1"}).json()
    provider = made["uuid"]
    assert {link["href"] for link in made["links"] if link["rel"] == "self"} == {
        f"{prefix}/resource_providers/{provider}"
    }
    body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": CLAIMS}}}
    path = f"{prefix}/resource_providers/{provider}"
    assert ask(server, "PUT", f"{path}/inventories", json=body).status_code == 200
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(claim(server, provider)))
        for _ in range(CLAIMS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [204] * CLAIMS, server.written()
    for _ in range(8):  # each time another connection, and so another process sooner or later
        usages = ask(server, "GET", f"{path}/usages").json()
        assert usages["usages"] == {"VCPU": CLAIMS}
        query = f"{prefix}/allocation_candidates?resources=VCPU:1"
        assert ask(server, "GET", query).json()["allocation_requests"] == []
    assert claim(server, provider) == 409


# --- uWSGI ------------------------------------------------------------------------------


def uwsgi(*options):
    return [
        program("uwsgi", "pip install uWSGI"),
        *("--master", "--die-on-term", "--skip-atexit-teardown", "--need-app"),
        *("--processes=2", "--threads=4", f"--virtualenv={Path(sys.prefix)}"),
        *("--disable-logging", *options),
    ]


def start_uwsgi(deployed, *options):
    """Start it on the port, with its application in every worker.

    A worker forgets a signal to end that comes while it loads the application.
    """
    deployed.start(*uwsgi(f"--http-socket={deployed.address}", *options))
    loaded = 2 if "--lazy-apps" in options else 1
    give_up_at = time.monotonic() + SECONDS_TO_START
    while (deployed.folder / "output").read_text().count("WSGI app 0 ") < loaded:
        assert time.monotonic() < give_up_at, deployed.written()
        time.sleep(0.05)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--wsgi-file", SCRIPT], id="loaded-before-the-fork"),
        pytest.param(["--module=placement.wsgi.api:application", "--lazy-apps"], id="lazy-apps"),
        pytest.param(["--wsgi-file", BIN / "placement-api"], id="installed-command"),
    ],
)
def test_uwsgi(deployed, options):
    start_uwsgi(deployed, *options)
    serves_claims(deployed)


@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_worker_has_the_threads_that_it_was_given(deployed):
    """A signal to end may come to any thread, and uWSGI ends only from its own."""
    start_uwsgi(deployed, "--wsgi-file", SCRIPT, "--lazy-apps")
    (master,) = deployed.processes
    assert [worker.num_threads() for worker in psutil.Process(master.pid).children()] == [4, 4]


@pytest.mark.parametrize("backend", ["postgresql", "sqlite"])
def test_uwsgi_loaded_before_the_fork_on_other_databases(deployed, backend):
    start_uwsgi(deployed, "--wsgi-file", SCRIPT)
    serves_claims(deployed)


def uwsgi_behind_a_proxy(deployed, **environment):
    path = deployed.folder / "uwsgi.sock"
    configured = sample("uwsgi/placement-api.ini", socket=("/run/placement/uwsgi.sock", f"{path}"))
    (deployed.folder / "uwsgi.ini").write_text(configured)
    deployed.start(*uwsgi("--ini", deployed.folder / "uwsgi.ini"), **environment)
    return path


def start_nginx(deployed, nginx, site):
    folders = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{name}_temp_path {deployed.folder}/{name};\n" for name in folders)
    (deployed.folder / "nginx.conf").write_text(
        f"daemon off;\npid {deployed.folder}/pid;\nerror_log {deployed.folder}/error.log;\n"
        f"events {{}}\nhttp {{\naccess_log off;\n{paths}{site}}}\n"
    )
    deployed.start(nginx, "-p", deployed.folder, "-c", deployed.folder / "nginx.conf")


def test_uwsgi_behind_nginx(deployed):
    nginx = program("nginx", "apt-get install nginx-light")
    path = uwsgi_behind_a_proxy(deployed)
    site = sample(
        "nginx/placement-api.conf",
        listen=("listen 8778", f"listen {deployed.address}"),
        socket=("/run/placement/uwsgi.sock", f"{path}"),
    )
    start_nginx(deployed, nginx, site)
    serves_claims(deployed, "/placement")


def test_uwsgi_tells_systemd_that_it_is_ready_and_is_reloaded_by_its_signal(deployed):
    notify = deployed.folder / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(notify))
        systemd.settimeout(SECONDS_TO_START)
        uwsgi_behind_a_proxy(deployed, NOTIFY_SOCKET=str(notify))
        while b"READY=1" not in systemd.recv(4096):
            pass
    before = new_workers(deployed)
    deployed.processes[0].send_signal(signal.SIGHUP)
    assert new_workers(deployed, before)


def new_workers(deployed, before=frozenset()):
    """Wait until there are two that were not there before, of the same master."""
    give_up_at = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < give_up_at and deployed.processes[0].poll() is None:
        pids = {child.pid for child in children(deployed)}
        if len(pids - before) == len(pids) == 2:
            return pids
        time.sleep(0.05)
    raise AssertionError(deployed.written())


def test_systemd_accepts_the_unit(deployed):
    analyze = program("systemd-analyze", "apt-get install systemd")
    unit = sample(
        "systemd/placement-api.service",
        installed=("/opt/placement/bin/uwsgi", program("uwsgi", "pip install uWSGI")),
    )
    (deployed.folder / "placement-api.service").write_text(unit)
    command = [analyze, "--man=no", "verify", deployed.folder / "placement-api.service"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# --- Gunicorn -----------------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--preload"]], ids=["loaded-by-each", "preload"])
def test_gunicorn(deployed, options):
    gunicorn = program("gunicorn", "pip install gunicorn")
    deployed.start(
        *(gunicorn, "--bind", deployed.address, "--workers=2", "--threads=4", *options),
        "placement.wsgi.api:application",
    )
    serves_claims(deployed)


# --- Apache -------------------------------------------------------------------------------


def apache(deployed, site, *modules):
    httpd = program("apache2", "apt-get install apache2")
    loaded = "".join(apache_modules("mpm_event", "authz_core", *modules))
    somebody = "User nobody\nGroup nogroup\n" if IS_ROOT else ""
    (deployed.folder / "apache.conf").write_text(
        f"ServerRoot {deployed.folder}\nServerName localhost\nPidFile {deployed.folder}/pid\n"
        f"DefaultRuntimeDir {deployed.folder}\nErrorLog {deployed.folder}/error.log\n"
        f"{loaded}{somebody}{site}"
    )
    deployed.start(httpd, "-f", deployed.folder / "apache.conf", "-D", "FOREGROUND")


@pytest.mark.parametrize("script", [BIN / "placement-api", SCRIPT], ids=["command", "file"])
def test_apache_with_mod_wsgi(deployed, script):
    """Its daemons run as somebody who owns nothing.

    Debian's module has Debian's interpreter in it, which takes the packages of one of the same
    version.
    """
    built_for = sorted(APACHE_MODULES.glob("mod_wsgi.so-*"))
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    if not built_for:
        missing("mod_wsgi is not installed: apt-get install libapache2-mod-wsgi-py3")
    if version not in {path.name.partition("-")[2] for path in built_for}:
        missing(f"mod_wsgi is {built_for[0].name}, and the tests run on Python {version}")
    user = "user=nobody group=nogroup" if IS_ROOT else ""
    site = sample(
        "apache2/placement-api.conf",
        listen=("Listen 8778", f"Listen {deployed.address}"),
        host=("*:8778", deployed.address),
        user=("user=placement group=placement", user),
        home=("python-home=/opt/placement", f"python-path={SITE}"),
        script=("/opt/placement/bin/placement-api", str(script)),
        folder=("/opt/placement/bin", str(script.parent)),
        file=("<Files placement-api>", f"<Files {script.name}>"),
        log=("/var/log/apache2/placement-api.log", f"{deployed.folder}/error.log"),
    )
    apache(deployed, f"WSGISocketPrefix {deployed.folder}/wsgi\n{site}", "wsgi")
    serves_claims(deployed, "/placement")
    if IS_ROOT:
        users = {process.username() for process in children(deployed)}
        assert users == {"nobody"}


def children(deployed):
    return [
        child
        for process in deployed.processes
        for child in psutil.Process(process.pid).children(recursive=True)
    ]


def apache_before(deployed, path, *modules, **changes):
    """Start Apache as the sample has it, with more changes, before a uWSGI at a path."""
    site = sample(
        "apache2/placement-api-uwsgi.conf",
        listen=("Listen 8778", f"Listen {deployed.address}"),
        host=("*:8778", deployed.address),
        socket=("/run/placement/uwsgi.sock", f"{path}"),
        log=("/var/log/apache2/placement-api.log", f"{deployed.folder}/error.log"),
        **changes,
    )
    apache(deployed, site, "proxy", "proxy_uwsgi", *modules)


def test_uwsgi_behind_apache(deployed):
    apache_before(deployed, uwsgi_behind_a_proxy(deployed))
    serves_claims(deployed, "/placement")


# --- where nothing can be written ----------------------------------------------------------

READ_ONLY = """
mount --make-rprivate /
awk '$5 ~ "^/" {print $5}' /proc/self/mountinfo | while read -r place; do
    mount -o remount,bind,ro "$place" 2>/dev/null || true
done
! touch "$1/probe" 2>/dev/null || exit 99
shift
exec "$@"
"""


def test_a_file_system_that_cannot_be_written_to_is_enough(deployed):
    try:
        subprocess.run(["unshare", "--mount", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("NOT TESTED: this user may not make a file system read-only for a process")
    deployed.start(
        *uwsgi(f"--http-socket={deployed.address}", "--wsgi-file", SCRIPT),
        prefix=["unshare", "--mount", "sh", "-c", READ_ONLY, "sh", str(deployed.folder)],
        PYTHONDONTWRITEBYTECODE="1",
    )
    serves_claims(deployed)
