"""API processes for tests: ``placement-api``, and deployments under the servers operators use."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import requests

import placement
from placement.tests.support import docs, preloaded
from placement.tests.support.servers import free_port
from placement.tests.support.waiting import SECONDS_OF_COMMANDS, wait_until

ROOT = Path(placement.__file__).parent.parent
WSGI_FILE = ROOT / "placement" / "wsgi" / "api.py"
BIN = Path(sys.executable).parent
SITE_PACKAGES = Path(requests.__file__).parent.parent
API_COMMAND = [sys.executable, "-W", "ignore", str(BIN / "placement-api")]
LATEST = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest"}
APACHE_MODULES = Path("/usr/lib/apache2/modules")
IS_ROOT = os.getuid() == 0
START_TIMEOUT_SECONDS = SECONDS_OF_COMMANDS
STOP_TIMEOUT_SECONDS = 90  # uWSGI kills a worker that missed the signal after 60
CLAIMS = 12


def skip_untested(reason):
    """Skip the test because something is not installed; on CI, fail."""
    message = f"NOT TESTED: {reason}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def skip_unless_readable_by_nobody():
    """Skip the test if user ``nobody`` cannot read this checkout, as in a home directory."""
    for path in (WSGI_FILE, SITE_PACKAGES):
        command = ["setpriv", "--reuid=nobody", "--clear-groups", "test", "-r", path]
        if IS_ROOT and subprocess.run(command, check=False).returncode:
            pytest.skip(f"NOT TESTED: user nobody cannot read {path}")


def program(name, package):
    """Return the path of an installed program; skip the test if there is none."""
    path = shutil.which(name, path=f"{BIN}:/usr/sbin:{os.environ.get('PATH', '')}")
    return path or skip_untested(f"{name} is not installed: {package}")


def sample(name, **changes):
    """Return a sample of ``etc`` with replacements, each a pair of old and new text."""
    text = (ROOT / "etc" / name).read_text()
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    return text


def environment(**variables):
    """Return the environment without the variables of oslo.config, and with these."""
    return {
        name: text for name, text in os.environ.items() if not name.startswith("OS_")
    } | variables


class ApiProcess:
    """``placement-api`` in a process of its own, and its output."""

    def __init__(self, folder, *arguments, **variables):
        self.output = Path(folder) / "output"
        with self.output.open("w") as output:
            self.process = self.start(arguments, folder, environment(**variables), output)

    def start(self, arguments, folder, environ, output):
        return preloaded.start_api(arguments, folder=folder, environ=environ, output=output)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(STOP_TIMEOUT_SECONDS)

    @property
    def url(self):
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            match = re.search(
                r"^Placement listens on (\S+)$", self.output.read_text(), re.MULTILINE
            )
            if match:
                return match[1]
            time.sleep(0.05)
        raise AssertionError(self.output.read_text())

    def get(self, path="/", **headers):
        """Return status and body of a response, as soon as the server responds."""
        request = urllib.request.Request(self.url + path, headers=headers)
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(request, timeout=60) as response:
                    return response.status, response.read()
            except urllib.error.HTTPError as error:
                return error.code, error.read()
            except OSError:
                time.sleep(0.1)
        raise AssertionError(self.output.read_text())


class InterpretedApiProcess(ApiProcess):
    """``placement-api`` in an interpreter of its own, which imports all modules."""

    command = API_COMMAND

    def start(self, arguments, folder, environ, output):
        return subprocess.Popen(
            [*self.command, *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environ,
        )


class UwsgiProcesses(ApiProcess):
    """Worker processes of uWSGI on a new SQLite database, which accept every token."""

    def __init__(self, folder, *, workers, **variables):
        self._port, self._workers = free_port(), workers
        options = {
            "OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{folder}/placement.sqlite",
            "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": "true",
            "OS_API__AUTH_STRATEGY": "noauth2",
        }
        super().__init__(folder, **options | variables)

    def start(self, arguments, folder, environ, output):
        command = uwsgi_workers(self._port, self._workers)
        return subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, cwd=folder, env=environ
        )

    @property
    def url(self):
        return f"http://127.0.0.1:{self._port}"


def read_terminal(terminal):
    """Return all that processes wrote to a terminal, after the last of them has ended."""
    shown = b""
    with suppress(OSError):  # at the end; a read returns a part
        while part := os.read(terminal, 65536):
            shown += part
    return shown


class Deployment:
    """A deployment in a folder: its processes, and their output."""

    def __init__(self, folder, variables):
        self.folder = folder
        self.variables = variables
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.address}"
        self.processes = []

    def start(self, *command, prefix=(), **variables):
        with (self.folder / "output").open("ab") as output:
            process = subprocess.Popen(
                [*prefix, *map(str, command)],
                stdout=output,
                stderr=output,
                cwd=self.folder,
                env=environment(**self.variables) | variables,
            )
        self.processes.append(process)

    def wait(self, path="/"):
        """Wait until the deployment responds."""
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            try:
                if requests.get(self.url + path, timeout=60).status_code == 200:
                    return
            except requests.RequestException:
                pass
            if any(process.poll() is not None for process in self.processes):
                break
            time.sleep(0.05)
        raise AssertionError(self.logs())

    def logs(self):
        """Return the ends of the logs."""
        return "\n".join(text[-4000:] for text in self._texts())

    def complete_logs(self):
        return "\n".join(self._texts())

    def _texts(self):
        logs = [path for path in self.folder.iterdir() if path.name in {"output", "error.log"}]
        return [path.read_text(errors="replace") for path in logs]

    def children(self):
        return [
            child
            for process in self.processes
            for child in psutil.Process(process.pid).children(recursive=True)
        ]

    def stop(self):
        """Stop the processes as an init system does; no process may remain."""
        running = [
            psutil.Process(process.pid) for process in self.processes if process.poll() is None
        ]
        children = [child for process in running for child in process.children(recursive=True)]
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        _, alive = psutil.wait_procs([*running, *children], timeout=STOP_TIMEOUT_SECONDS)
        for process in alive:
            process.kill()
        for process in self.processes:
            process.wait(STOP_TIMEOUT_SECONDS)
        assert not alive

    def request(self, method, path, **kwargs):
        """Return the response to a request of the administrator at the newest microversion."""
        return requests.request(method, self.url + path, headers=LATEST, timeout=60, **kwargs)


def uwsgi(*options, workers=2):
    """Return the command line of a uWSGI server."""
    return [
        program("uwsgi", "pip install uWSGI"),
        *("--master", "--die-on-term", "--skip-atexit-teardown", "--need-app"),
        *(f"--processes={workers}", "--threads=4", f"--virtualenv={Path(sys.prefix)}"),
        *("--disable-logging", *options),
    ]


def uwsgi_workers(port, workers):
    """Return the command line of workers that serve HTTP, each a request a connection."""
    return uwsgi(
        *(f"--http-socket=127.0.0.1:{port}", "--add-header=Connection: close"),
        *("--module", "placement.wsgi.api:application", "--buffer-size=65535"),
        workers=workers,
    )


def start_uwsgi(deployment, *options):
    """Start uWSGI on the port, and wait until every worker has loaded the application."""
    deployment.start(*uwsgi(f"--http-socket={deployment.address}", *options))
    wait_for_applications(deployment, "output", 2 if "--lazy-apps" in options else 1)


def wait_for_applications(deployment, log, count):
    """Wait until uWSGI has loaded the application ``count`` times.

    A worker ignores SIGTERM that arrives while it loads the application.
    """
    wait_for_text_in_log(deployment, log, "WSGI app 0 ", count)


def wait_for_text_in_log(deployment, log, text, count):
    """Wait until a log of the deployment contains the text ``count`` times."""
    wait_until(
        lambda: (deployment.folder / log).read_text().count(text) >= count,
        START_TIMEOUT_SECONDS,
        message=deployment.logs,
    )


def start_uwsgi_behind_proxy(deployment, *, has_http=False, **variables):
    """Start uWSGI with the sample configuration; return the path of its socket."""
    path = deployment.folder / "uwsgi.sock"
    web_server = "nobody:nogroup" if IS_ROOT else f"{os.getuid()}:{os.getgid()}"
    configuration = sample(
        "uwsgi/placement-api.ini",
        socket=("/run/placement/uwsgi.sock", f"{path}"),
        owner=("placement:www-data", web_server),
        http=("# http = 127.0.0.1:8778", f"# http = {deployment.address}"),
    )
    if has_http:  # as the sample says: three comments become lines
        configuration, count = re.subn(
            "^# (http|add-header)", r"\1", configuration, flags=re.MULTILINE
        )
        assert count == 3
    (deployment.folder / "uwsgi.ini").write_text(configuration)
    deployment.start(*uwsgi("--ini", deployment.folder / "uwsgi.ini"), **variables)
    wait_for_applications(deployment, "output", 2)
    return path


def apache_modules(*names):
    """Yield the directives that load Debian's modules; skip the test if one is missing."""
    package = "apt-get install apache2 libapache2-mod-wsgi-py3"
    for name in names:
        path = APACHE_MODULES / f"mod_{name}.so"
        if not path.exists():
            skip_untested(f"{path} does not exist: {package}")
        yield f"LoadModule {name}_module {path}\n"


def nginx_site(deployment, path, *, tls=False, **changes):
    """Return the sample of nginx for the address of the deployment and a socket of uWSGI."""
    if tls:  # as the sample says: the first line goes, the comments become lines
        changes["plain"] = ("    listen 8778;\n", "")
        changes["listen_tls"] = ("# listen 8778", f"listen {deployment.address}")
        changes["tls"] = ("# ssl_", "ssl_")
    else:
        changes["listen"] = ("    listen 8778", f"    listen {deployment.address}")
    return sample(
        "nginx/placement-api.conf", socket=("/run/placement/uwsgi.sock", f"{path}"), **changes
    )


def nginx_http_site(deployment, service):
    """Return a site of nginx with the lines of the page on servers for a service with HTTP."""
    page = (docs.SOURCE / "install" / "servers.rst").read_text()
    (lines,) = re.findall(r"^   client_max_body_size .*\n(?:   .+\n)+", page, re.MULTILINE)
    assert "127.0.0.1:8778" in lines
    lines = lines.replace("127.0.0.1:8778", service)
    return f"server {{ listen {deployment.address};\n{lines}}}\n"


def nginx_main_lines():
    """Return the lines for ``nginx.conf`` in the comments of the sample."""
    lines = re.findall("^#     (.+)$", sample("nginx/placement-api.conf"), re.MULTILINE)
    assert len(lines) == 2
    return "\n".join(lines)


def start_nginx(deployment, site, main="events {}"):
    """Start nginx with a site configuration, and lines of its main configuration."""
    nginx = program("nginx", "apt-get install nginx-light")
    folders = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{name}_temp_path {deployment.folder}/{name};\n" for name in folders)
    (deployment.folder / "nginx.conf").write_text(
        f"daemon off;\npid {deployment.folder}/pid;\nerror_log {deployment.folder}/error.log;\n"
        f"{main}\nhttp {{\naccess_log off;\n{paths}{site}}}\n"
    )
    deployment.start(nginx, "-p", deployment.folder, "-c", deployment.folder / "nginx.conf")


def start_gunicorn(deployment, address, **changes):
    """Start Gunicorn with the sample configuration, and wait until its workers are ready."""
    gunicorn = program("gunicorn", "pip install gunicorn")
    bind = ("127.0.0.1:8778", address)
    (deployment.folder / "gunicorn.conf.py").write_text(
        sample("gunicorn/placement-api.py", bind=bind, **changes)
    )
    deployment.start(gunicorn, "--config", deployment.folder / "gunicorn.conf.py")
    wait_for_text_in_log(deployment, "output", " is ready", 2)


def certificate(folder, name):
    """Return the files of a new self-signed certificate for 127.0.0.1, and of its key."""
    files = folder / f"{name}.crt", folder / f"{name}.key"
    command = [
        program("openssl", "apt-get install openssl"),
        *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
        *("-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"),
        *("-out", files[0], "-keyout", files[1]),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return files


def start_apache(deployment, site, *modules):
    """Start Apache with a site configuration and modules."""
    httpd = program("apache2", "apt-get install apache2")
    loaded = "".join(apache_modules("mpm_event", "authz_core", *modules))
    user_lines = "User nobody\nGroup nogroup\n" if IS_ROOT else ""
    (deployment.folder / "apache.conf").write_text(
        f"ServerRoot {deployment.folder}\nServerName localhost\nPidFile {deployment.folder}/pid\n"
        f"DefaultRuntimeDir {deployment.folder}\nErrorLog {deployment.folder}/error.log\n"
        f"{loaded}{user_lines}{site}"
    )
    deployment.start(httpd, "-f", deployment.folder / "apache.conf", "-D", "FOREGROUND")


def start_mod_wsgi(deployment, script, **changes):
    """Start Apache with the sample configuration of mod_wsgi; daemons run as an unprivileged user.

    Debian's module embeds Debian's interpreter, which can use packages of the same version only.
    """
    built_for = sorted(APACHE_MODULES.glob("mod_wsgi.so-*"))
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    if not built_for:
        skip_untested("mod_wsgi is not installed: apt-get install libapache2-mod-wsgi-py3")
    if version not in {path.name.partition("-")[2] for path in built_for}:
        pytest.skip(f"mod_wsgi is {built_for[0].name}, and the tests run on Python {version}")
    skip_unless_readable_by_nobody()
    user = "user=nobody group=nogroup" if IS_ROOT else ""
    site = sample(
        "apache2/placement-api.conf",
        listen=("Listen 8778", f"Listen {deployment.address}"),
        host=("*:8778", deployment.address),
        user=("user=placement group=placement", user),
        home=("python-home=/opt/placement", f"python-path={SITE_PACKAGES}"),
        script=("/opt/placement/bin/placement-api", str(script)),
        folder=("/opt/placement/bin", str(script.parent)),
        file=("<Files placement-api>", f"<Files {script.name}>"),
        log=("/var/log/apache2/placement-api.log", f"{deployment.folder}/error.log"),
        **changes,
    )
    start_apache(
        deployment, f"WSGISocketPrefix {deployment.folder}/wsgi\n{site}", "wsgi", "reqtimeout"
    )


def start_apache_proxy(deployment, path, *modules, **changes):
    """Start Apache with the sample configuration as a proxy of the uWSGI socket."""
    site = sample(
        "apache2/placement-api-uwsgi.conf",
        listen=("Listen 8778", f"Listen {deployment.address}"),
        host=("*:8778", deployment.address),
        socket=("/run/placement/uwsgi.sock", f"{path}"),
        log=("/var/log/apache2/placement-api.log", f"{deployment.folder}/error.log"),
        **changes,
    )
    start_apache(deployment, site, "proxy", "proxy_uwsgi", "reqtimeout", *modules)


def claim(deployment, prefix, provider):
    """Return the status of a claim of one VCPU for a new consumer."""
    body = {
        "allocations": {provider: {"resources": {"VCPU": 1}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    path = f"{prefix}/allocations/{uuid.uuid4()}"
    return deployment.request("PUT", path, json=body).status_code


def check_claims(deployment, prefix="", *, logged_by=None):
    """Check that concurrent claims succeed, and that every worker process returns them.

    ``logged_by`` is the deployment that logs them, if it is another one.
    """
    deployment.wait(f"{prefix}/")
    earlier = logged_claims(logged_by or deployment, prefix)
    path = f"{prefix}/resource_providers"
    name = {"name": f"host{uuid.uuid4()}"}
    provider = deployment.request("POST", path, json=name).json()
    path = f"{prefix}/resource_providers/{provider['uuid']}"
    assert {link["href"] for link in provider["links"] if link["rel"] == "self"} == {path}
    body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": CLAIMS}}}
    assert deployment.request("PUT", f"{path}/inventories", json=body).status_code == 200
    statuses = []
    threads = [
        threading.Thread(
            target=lambda: statuses.append(claim(deployment, prefix, provider["uuid"]))
        )
        for _ in range(CLAIMS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [204] * CLAIMS, deployment.logs()
    for _ in range(8):  # each on a new connection, which any of the workers may accept
        usages = deployment.request("GET", f"{path}/usages").json()
        assert usages["usages"] == {"VCPU": CLAIMS}
        query = f"{prefix}/allocation_candidates?resources=VCPU:1"
        assert deployment.request("GET", query).json()["allocation_requests"] == []
    assert claim(deployment, prefix, provider["uuid"]) == 409
    check_claims_are_logged(logged_by or deployment, prefix, [*earlier, *statuses, 409])


def check_claims_are_logged(deployment, prefix, statuses):
    """Check that each claim has its line, which is written after the response."""
    wait_until(
        lambda: logged_claims(deployment, prefix) == sorted(statuses),
        message=lambda: f"not {statuses}\n{deployment.logs()}",
    )


def logged_claims(deployment, prefix):
    """Return the statuses of the claims in the logs, sorted."""
    pattern = rf'"PUT {prefix}/allocations/[0-9a-f-]+" status: (\d+) '
    return sorted(map(int, re.findall(pattern, deployment.complete_logs())))
