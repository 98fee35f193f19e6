"""The pages on installation, servers and configuration, followed step by step in a container.

They take minutes and need root: ``make test-docs`` runs them.
"""

import json
import os
import re
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from placement.microversion import MAX_VERSION
from placement.tests.functional.keystone import serve
from placement.tests.support import docs
from placement_insight.tests.functional.docs.followed.machine import Machine, skip_without_programs
from placement_insight.tests.functional.docs.pages import executed, path_of

STEPS = executed("install/index", "Steps")
UWSGI = executed("install/servers", "uWSGI with systemd")
NGINX = executed("install/servers", "nginx and uWSGI")
APACHE = executed("install/servers", "Apache and uWSGI")
MOD_WSGI = executed("install/servers", "Apache and mod_wsgi")
GUNICORN = executed("install/servers", "Gunicorn")
SAMPLES = executed("configuration/index", "Sample configuration and policy files")[2:]
VALIDATION = executed("configuration/index", "Validation")
AUDITOR = executed("configuration/policy", "A read-only role")

KEYSTONE = docs.ROOT / ".keystone" / "bin" / "python"
HOSTS = ("db", "keystone", "memcached", "placement")
SAMPLE_URL = "http://127.0.0.1:8778/placement"
# The TLS proxy of the test: for the names in the documentation, with a certificate of its own.
PROXY = """
server {
    listen 443 ssl;
    server_name keystone.example.org;
    ssl_certificate /etc/ssl/tls.crt;
    ssl_certificate_key /root/tls.key;
    location / { proxy_pass http://127.0.0.1:5000/; }
}
server {
    listen 443 ssl;
    server_name placement.example.org;
    ssl_certificate /etc/ssl/tls.crt;
    ssl_certificate_key /root/tls.key;
    location / { proxy_pass http://127.0.0.1:8778/placement/; }
}
"""
TLS = """
names=$(printf 'DNS:%s.example.org,' {hosts})
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test \
    -addext "subjectAltName=${{names%,}}" -keyout /root/tls.key -out /etc/ssl/tls.crt 2>/dev/null
printf '127.0.0.1 %s.example.org\\n' {hosts} >> /etc/hosts
systemctl set-environment REQUESTS_CA_BUNDLE=/etc/ssl/tls.crt
"""
ADMINISTRATOR = {
    "OS_AUTH_URL": "https://keystone.example.org/v3",
    "OS_USERNAME": "admin",
    "OS_PASSWORD": serve.PASSWORD,
    "OS_PROJECT_NAME": "admin",
    "OS_USER_DOMAIN_ID": "default",
    "OS_PROJECT_DOMAIN_ID": "default",
    "REQUESTS_CA_BUNDLE": "/etc/ssl/tls.crt",
    "CURL_CA_BUNDLE": "/etc/ssl/tls.crt",
}
TOKEN = "openstack token issue -f value -c id"
SECONDS_TO_START = 60

pytestmark = [
    pytest.mark.skipif("PACKAGES" not in os.environ, reason="make test-docs"),
    pytest.mark.timeout(1800),
    pytest.mark.xdist_group("packages"),
]


def steps(first, last=None):
    """Return the commands of the installation from the first that begins so to the last."""
    start = next(n for n, text in enumerate(STEPS) if text.startswith(first))
    stop = next((n for n, text in enumerate(STEPS) if last and text.startswith(last)), len(STEPS))
    return STEPS[start:stop]


def indented(name, language):
    """Return the code blocks of a page, also those in lists."""
    pattern = rf"^( *)\.\. code-block:: {language}\n\n((?:\1   .*\n|\n)+)"
    found = re.findall(pattern, path_of(name).read_text(), re.MULTILINE)
    return [textwrap.dedent(block).strip() for _, block in found]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """A folder with the wheel of this tree."""
    folder = tmp_path_factory.mktemp("wheels") / "dist"
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", folder, docs.ROOT]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def machine(wheels, tmp_path_factory):
    skip_without_programs()
    with (
        Machine(tmp_path_factory.mktemp("machine"), wheels) as machine,
        keystone(machine, tmp_path_factory.mktemp("keystone") / "output") as url,
    ):
        machine.run(TLS.format(hosts=" ".join(HOSTS)))
        site = PROXY.replace("127.0.0.1:5000", urlsplit(url).netloc)
        machine.run("cat > /etc/nginx/sites-enabled/tls", stdin=site)
        machine.run("rm -f /etc/nginx/sites-enabled/default", "systemctl start nginx mariadb")
        yield machine


@contextmanager
def keystone(machine, output):
    """Run Keystone in the container until the end of the block; yield its URL."""
    with (
        output.open("wb") as errors,
        subprocess.Popen(
            [*machine.entrance(), KEYSTONE, "-W", "ignore", serve.__file__, "/root"],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        yield process.stdout.readline().strip() or pytest.fail(output.read_text())
        process.terminate()


@pytest.fixture(scope="module")
def installed(machine, wheels):
    """The machine after the steps of the page up to the service and its endpoints in Keystone."""
    machine.run(f"cd {wheels.parent}", *steps("apt-get", "adduser"), online=True)
    machine.run(*steps("adduser", "export"))
    sql = next(each for each in indented("install/databases", "sql") if "utf8mb4" in each)
    machine.run("mariadb", stdin=sql)
    (configuration,) = (each for each in indented("install/index", "ini") if "SECRET" in each)
    machine.run("cat > /etc/placement/placement.conf", stdin=configuration)
    machine.run("cd /etc/placement; chown root:placement placement.conf; chmod 640 placement.conf")
    machine.run(*steps("export", "openstack user"))
    # what the installation of Keystone creates
    cloud = ("openstack project create service", "openstack region create RegionOne")
    machine.run(*cloud, **ADMINISTRATOR)
    user, *others = steps("openstack user", "curl")
    answer_prompts(machine, user, "User Password:", "Repeat User Password:")
    machine.run(*others, **ADMINISTRATOR)
    return machine


def answer_prompts(machine, command, *prompts):
    """Run a command on a terminal, and enter the password of the page at each prompt."""
    with subprocess.Popen(
        [*machine.entrance(), "script", "--quiet", "--return", "--command", command, "/dev/null"],
        env=machine.environment() | ADMINISTRATOR,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as terminal:
        shown = ""
        for prompt in prompts:
            while prompt not in shown:
                character = terminal.stdout.read(1)
                assert character, shown
                shown += character
            shown = ""
            terminal.stdin.write("SECRET\n")
            terminal.stdin.flush()
        shown = terminal.stdout.read()
    assert terminal.returncode == 0, shown


@pytest.fixture(scope="module")
def uwsgi(installed):
    """The machine with the service under uWSGI and systemd, as the page has it."""
    installed.run(*UWSGI)
    return installed


def wait(machine, url):
    """Wait until the version document is served; return it."""
    script = f"until curl --silent --fail {url}; do sleep 0.2; done"
    shown = machine.run(f"timeout {SECONDS_TO_START} bash -c '{script}'", **ADMINISTRATOR)
    return json.loads(shown)["versions"][0]["id"]


def assert_serves(machine, url):
    """Assert that a token of the service user is accepted, and one that does not exist refused."""
    assert wait(machine, f"{url}/") == "v1.0"
    credentials = {
        "OS_USERNAME": "placement",
        "OS_PASSWORD": "SECRET",
        "OS_PROJECT_NAME": "service",
    }
    list_ = f"curl --silent --write-out '%{{http_code}}' {url}/resource_providers --header"
    shown = machine.run(f'{list_} "X-Auth-Token: $({TOKEN})"', **ADMINISTRATOR | credentials)
    assert shown == '{"resource_providers":[]}200'
    assert machine.run(f"{list_} 'X-Auth-Token: x'").endswith("401")


@contextmanager
def web_server(machine, name):
    """Let a web server use the ports until the end of the block."""
    # systemd refuses more than five starts in ten seconds
    restart = ("systemctl reset-failed nginx", "systemctl restart nginx")
    machine.run("systemctl stop apache2", *restart)
    machine.run(f"systemctl start {name}")
    try:
        yield
    finally:
        sites = "/etc/nginx/sites-enabled/placement* /etc/apache2/sites-enabled/placement*"
        machine.run(f"rm -f {sites}", "systemctl stop apache2", *restart)


def test_the_unit_runs_as_an_unprivileged_user(uwsgi):
    assert uwsgi.run("systemctl is-enabled placement-api").strip() == "enabled"
    before = pid(uwsgi)
    # a worker ignores a signal that arrives while it loads the application
    loaded = '[ $(journalctl --unit placement-api | grep --count "WSGI app 0") -ge 2 ]'
    uwsgi.run(f"timeout 60 bash -c 'until {loaded}; do sleep 0.2; done'")
    workers = uwsgi.run(f"pgrep --parent {before}").split()
    uwsgi.run("systemctl reload placement-api")
    # one after the other; a worker that remains would be killed after 60 s
    uwsgi.run(*(f"timeout 50 tail --pid={worker} -f /dev/null" for worker in workers))
    assert pid(uwsgi) == before
    uwsgi.run("systemctl is-active placement-api", "test -S /run/placement/uwsgi.sock")
    assert uwsgi.run(f"stat --format %U /proc/{before}").strip() == "placement"
    uwsgi.run("systemd-analyze verify placement-api.service")


def test_other_users_reach_neither_the_socket_nor_the_configuration(uwsgi):
    connect = "import socket; socket.socket(socket.AF_UNIX).connect('/run/placement/uwsgi.sock')"
    command = f'runuser -u {{}} -- python3 -c "{connect}"'
    uwsgi.run(command.format("www-data"))
    uwsgi.run(f"! {command.format('nobody')}")
    for user in ("www-data", "nobody"):
        uwsgi.run(f"! runuser -u {user} -- cat /etc/placement/placement.conf")


def pid(machine):
    return machine.run("systemctl show --property MainPID --value placement-api").strip()


def test_nginx_serves(uwsgi):
    with web_server(uwsgi, "nginx"):
        uwsgi.run("cd /opt/placement/share/placement", *NGINX)
        assert_serves(uwsgi, SAMPLE_URL)
        assert wait(uwsgi, "https://placement.example.org/") == "v1.0"
        shown = uwsgi.run(*steps("curl"), **ADMINISTRATOR)
        assert f'"max_version": "{MAX_VERSION}"' in shown
        assert "Upgrade Check Results" in shown


def test_apache_serves_in_front_of_uwsgi(uwsgi):
    with web_server(uwsgi, "apache2"):
        uwsgi.run("cd /opt/placement/share/placement", *APACHE)
        assert_serves(uwsgi, SAMPLE_URL)


def test_apache_serves_with_mod_wsgi(installed):
    with web_server(installed, "apache2"):
        installed.run("cd /opt/placement/share/placement", *MOD_WSGI[:1], online=True)
        installed.run("cd /opt/placement/share/placement", *MOD_WSGI[1:])
        assert_serves(installed, SAMPLE_URL)


@contextmanager
def in_background(machine, command):
    """Run a command as the user of the service until the end of the block."""
    unit = "systemd-run --quiet --collect --unit documented --uid placement --setenv PATH"
    machine.run(f"{unit} {command}")
    try:
        yield
    finally:
        machine.run("systemctl stop documented")


def test_gunicorn_serves_without_a_web_server(installed):
    *preparations, server = GUNICORN
    installed.run("cd /", *preparations, online=True)
    with in_background(installed, server):
        assert_serves(installed, "http://127.0.0.1:8778")


def test_samples_are_generated_and_valid(installed):
    installed.run(*SAMPLES)
    for name in ("placement.conf", "policy.yaml"):
        lines = installed.run(f"cat /etc/placement/{name}.sample").splitlines()
        assert len(lines) > 100
        assert all(not line or line.startswith(("#", "[")) for line in lines)
    validated = installed.run(*VALIDATION)
    assert "ERROR" not in validated
    installed.run("sed -i s/^connection/conection/ /etc/placement/placement.conf")
    try:
        with pytest.raises(AssertionError, match="conection"):
            installed.run(*VALIDATION)
    finally:
        installed.run("sed -i s/^conection/connection/ /etc/placement/placement.conf")


def test_a_read_only_role_is_added(installed):
    names = {"USER": "auditor", "PROJECT": "service"}
    create = "openstack user create --domain default --password SECRET auditor"
    installed.run(create, **ADMINISTRATOR)
    commands = [re.sub(r"USER|PROJECT", lambda name: names[name[0]], text) for text in AUDITOR]
    folder = "cd /opt/placement/share/placement/placement/policy.d"
    installed.run(folder, *commands, **ADMINISTRATOR)
    token = {"roles": [{"name": "auditor"}], "user": {"id": "x"}, "project": {"id": "x"}}
    installed.run("cat > /root/token.json", stdin=json.dumps({"token": token}))
    shown = installed.run(
        "cd /opt/placement/bin",
        "./oslopolicy-policy-generator --namespace placement --output-file /root/rules.yaml",
        "./oslopolicy-checker --policy /root/rules.yaml --access /root/token.json",
    )
    sample = (docs.ROOT / "etc/placement/policy.d/auditor.yaml").read_text()
    allowed = re.findall(r'^"(\S+)":', sample, re.MULTILINE)
    assert sorted(re.findall(r"^passed: (\S+)$", shown, re.MULTILINE)) == sorted(allowed)
    mode = installed.run("stat --format '%a %U' /etc/placement/policy.d/auditor.yaml")
    assert mode.strip() == "644 root"
    installed.run("rm -r /etc/placement/policy.d")
