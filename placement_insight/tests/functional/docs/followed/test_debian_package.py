"""The Debian packages: built, installed, served and removed in a container, as the page says."""

import os
import subprocess

import pytest

from placement.tests.support.processes import ROOT
from placement_insight.tests.functional.docs.followed.machine import Machine, skip_without_programs
from placement_insight.tests.functional.docs.pages import executed
from placement_insight.tests.functional.packaging.test_packages import CONFIGURATION

WHEEL = executed("install/packages", "Wheel and source distribution")
DEBIAN = executed("install/packages", "Debian packages")
SERVED = [text for text in DEBIAN if text.startswith(("runuser", "systemctl"))]
CLIENT = DEBIAN[-2:]
MAINTAINER = executed("admin/security")
# as the page on servers says for a machine without a web server: three comments become lines
HTTP = "sed -i -E 's/^# (http|add-header)/\\1/' /etc/placement/uwsgi.ini"
CLONE = "/root/openplacement"
URL = "http://127.0.0.1:8778/placement"
JSON = "-H 'Content-Type: application/json' -H 'OpenStack-API-Version: placement latest'"
STATE_DIRECTORY = """
cd /etc/systemd/system
mkdir placement-api.service.d
printf '[Service]\\nStateDirectory=placement\\n' > placement-api.service.d/sqlite.conf
systemctl daemon-reload
"""

pytestmark = [
    pytest.mark.skipif("PACKAGES" not in os.environ, reason="make test-docs"),
    pytest.mark.timeout(1800),
    pytest.mark.xdist_group("packages"),
]


@pytest.fixture
def machine(tmp_path):
    """A container with a clone of the repository as the pages use it, with ``.venv``."""
    skip_without_programs()
    with Machine(tmp_path) as machine:
        clone = f"git clone --quiet --no-tags --no-hardlinks {ROOT} {CLONE}"
        machine.run(clone, f"cd {CLONE}", "python3 -m venv .venv")
        yield machine


def test_the_debian_package_installs_serves_and_is_removed(machine):
    *build, install = DEBIAN[: DEBIAN.index(SERVED[0])]
    assert install.startswith("dpkg --install")
    machine.run(f"cd {CLONE}", *WHEEL, *build, online=True)
    machine.run(f"cd {CLONE}", install)
    assert machine.run("stat --format '%a %G' /etc/placement/placement.conf") == "640 placement\n"
    assert machine.run("stat --format %U /var/lib/placement") == "placement\n"
    assert machine.run(*MAINTAINER) == "Ann Operator <ann@example.org>\n"
    machine.run("systemd-analyze verify placement-api.service")
    configuration = CONFIGURATION.format("/var/lib/placement/placement.sqlite")
    machine.run("cat > /etc/placement/placement.conf", stdin=configuration)
    machine.run(HTTP)
    machine.run(STATE_DIRECTORY)
    machine.run(*SERVED)
    wait = f"timeout 60 bash -c 'until curl -sf {URL}/; do sleep 0.2; done'"
    create = f"curl -sSf {URL}/resource_providers -H 'X-Auth-Token: admin' {JSON} -d"
    machine.run(wait, f"""{create} '{{"name": "host"}}'""")
    assert '"host"' in machine.run(f"curl -sSf -H 'X-Auth-Token: admin' {URL}/resource_providers")
    owner = machine.run("ps -o user= -p $(systemctl show -p MainPID --value placement-api)")
    assert owner.strip() == "placement"
    machine.run(f"cd {CLONE}", *CLIENT, online=True, MANPAGER="cat")
    options = f"--os-auth-type admin_token --os-endpoint {URL} --os-token admin"
    assert "host" in machine.run(f"openstack {options} resource provider tree")
    machine.run("systemctl stop placement-api", "dpkg --purge openplacement")
    machine.run("test ! -e /etc/placement", "test -e /var/lib/placement/placement.sqlite")
    owner = machine.run("stat --format %U /var/lib/placement/placement.sqlite")
    assert owner.strip() == "placement"


def test_a_package_without_a_maintainer_is_not_built(tmp_path):
    unset = {name: text for name, text in os.environ.items() if not name.startswith("DEB")}
    command = [ROOT / "packaging" / "build-deb", ROOT / "README.rst", tmp_path]
    refused = subprocess.run(command, env=unset, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "DEBFULLNAME" in refused.stderr
