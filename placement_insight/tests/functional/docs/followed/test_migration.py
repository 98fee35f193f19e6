"""The page on migration and rollback, followed with openstack-placement in a container.

openstack-placement is used as a black box: by its command and its WSGI module.
"""

import json
import os
import re
import sys
from contextlib import contextmanager

import pytest

from bench.services import install_upstream
from placement.db.schema import migration
from placement.tests.support import docs
from placement.tests.support.processes import BIN
from placement_insight.tests.functional.docs.followed.machine import (
    PATH,
    Machine,
    skip_without_programs,
)
from placement_insight.tests.functional.docs.pages import executed, path_of

REHEARSAL = executed("admin/migration", "Rehearsal")
MIGRATION = executed("admin/migration", "Migration")
ROLLBACK = executed("admin/migration", "Rollback")
UPGRADE = executed("admin/upgrade")
COMPARISON = executed("cli/placement-compare")
REPETITION = executed("admin/migration", "Repeating the migration")

DATABASE = """
CREATE DATABASE placement CHARACTER SET utf8mb4;
CREATE USER 'placement'@'%' IDENTIFIED BY 'SECRET';
GRANT ALL ON placement.* TO 'placement'@'%';
"""
CONFIGURATION = """
[placement_database]
connection = mysql+pymysql://placement:SECRET@db/placement
[api]
auth_strategy = noauth2
"""
URL = "http://127.0.0.1:8778"
HOST = "6f8a2c14-3d0b-4b5e-9a57-1c2f8e7d9b01"
SERVERS = [f"a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d1{number}" for number in range(3)]
PAGE = path_of("admin/migration").read_text()
SERVE = f"{BIN}/uwsgi --master --die-on-term"
MODULE = "--module placement.wsgi.api"
# The token of Keystone; test_installation issues one.
TOKEN = "openstack() { test \"$*\" = 'token issue -f value -c id'; echo admin; }"
PREFIX = "--mount /placement=placement.wsgi.api:application --manage-script-name"
LOG = "--logto /var/log/placement/placement-api.log"

pytestmark = [
    pytest.mark.skipif("PACKAGES" not in os.environ, reason="make test-docs"),
    pytest.mark.timeout(1800),
    pytest.mark.xdist_group("packages"),
]


class Implementation:
    """One implementation in the container: the variables that select its environment."""

    def __init__(self, machine, environment):
        self._machine = machine
        self._variables = {"PATH": f"{environment}/bin:{PATH}", "UWSGI_VIRTUALENV": environment}
        self._variables = {name: str(text) for name, text in self._variables.items()}

    def run(self, *lines):
        """Run lines of the shell with the commands of this implementation."""
        return self._machine.run(*lines, **self._variables)

    @contextmanager
    def serving(self, *options, port=8778, database="placement"):
        """Serve a database until the end of the block."""
        url = f"mysql+pymysql://placement:SECRET@db/{database}"
        variables = self._variables | {"OS_PLACEMENT_DATABASE__CONNECTION": url}
        given = " ".join(f"--setenv={name}={text}" for name, text in variables.items())
        command = " ".join([SERVE, f"--http-socket 127.0.0.1:{port}", *(options or [MODULE])])
        path = "/placement" if options else ""
        self.run(
            f"systemd-run --quiet --collect --unit=serving-{port} {given} {command}",
            wait(f"http://127.0.0.1:{port}{path}"),
        )
        yield
        self.run(f"systemctl stop serving-{port}")

    def send(self, method, path, body=None):
        """Return the response to a request to the running service."""
        data = f"--data '{json.dumps(body)}'" if body else ""
        headers = (
            "--header 'X-Auth-Token: admin' --header 'Content-Type: application/json'"
            " --header 'OpenStack-API-Version: placement 1.39'"
        )
        text = self.run(f"curl -sS --fail-with-body -X {method} {headers} {data} {URL}{path}")
        return json.loads(text) if text else None

    def claim(self, server):
        """Allocate a VCPU of the host for a server."""
        body = {
            "allocations": {HOST: {"resources": {"VCPU": 1}}},
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
            "project_id": "demo",
            "user_id": "me",
        }
        self.send("PUT", f"/allocations/{server}", body)

    def servers(self):
        """Return the consumers of the host."""
        path = f"/resource_providers/{HOST}/allocations"
        return sorted(self.send("GET", path)["allocations"])


def wait(url):
    return (
        f"timeout 90 bash -c 'until curl --silent --fail {url}/; do sleep 0.2; done' > /dev/null"
    )


@pytest.fixture
def upstream_environment():
    return install_upstream(docs.ROOT / ".bench").resolve()


@pytest.fixture
def machine(tmp_path, upstream_environment):
    skip_without_programs()
    with Machine(tmp_path, upstream_environment) as machine:
        machine.run("echo 127.0.0.1 db >> /etc/hosts", "systemctl start mariadb")
        machine.run("mariadb", stdin=DATABASE)
        machine.run(
            "mkdir -p /etc/placement; cat > /etc/placement/placement.conf", stdin=CONFIGURATION
        )
        yield machine


def rehearsed(machine, old):
    """Follow the rehearsal in one shell; return what it prints."""
    lines = [
        TOKEN,
        "trap 'kill %1 %2; wait' EXIT",
    ]
    for command in REHEARSAL:
        lines.append(command)
        port = re.search(r"(?:--port |127\.0\.0\.1:)(\d+) .*&", command)
        if port:
            lines.append(wait(f"http://127.0.0.1:{port[1]}"))
    # the commands are those of this service; the variable selects openstack-placement in uWSGI
    return machine.run(*lines, UWSGI_VIRTUALENV=str(old))


def compared(machine, old, new):
    """Compare as the manual of the command does: below a prefix, with a log."""
    machine.run("mkdir -p /var/log/placement")
    with (
        old.serving(PREFIX, LOG, database="placement_old"),
        new.serving(PREFIX, port=8779, database="placement_new"),
    ):
        query = "/placement/allocation_candidates?resources=VCPU:1"
        old.send("GET", query)
        return machine.run(TOKEN, *COMPARISON)


def assert_equal(report):
    found = re.search(r"Compared \d+ requests: (\d+) equal, 0 different", report)
    assert found, report
    assert int(found[1]) > 30


def test_migration_and_rollback_keep_all_allocations(machine, upstream_environment):
    old, new = (Implementation(machine, each) for each in (upstream_environment, sys.prefix))
    old.run("placement-manage db sync")
    with old.serving():
        old.send("POST", "/resource_providers", {"name": "host", "uuid": HOST})
        inventories = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}
        old.send("PUT", f"/resource_providers/{HOST}/inventories", inventories)
        old.claim(SERVERS[0])
        assert_equal(rehearsed(machine, upstream_environment))
    assert_equal(compared(machine, old, new))

    version, *upgrade = MIGRATION
    shown = re.search(r"^      \$ placement-manage db version\n      (\w+)$", PAGE, re.MULTILINE)[
        1
    ]
    assert old.run(version).strip() == shown == migration.COMMON_HEAD
    new.run(*upgrade)
    new.run(*UPGRADE)  # has nothing to do on this schema
    with new.serving():
        new.claim(SERVERS[1])
        assert new.servers() == SERVERS[:2]

    new.run(*ROLLBACK)
    assert old.run(version).strip() == shown
    with old.serving():
        old.claim(SERVERS[2])
        assert old.servers() == SERVERS

    new.run(*REPETITION)
    with new.serving():
        assert new.servers() == SERVERS
        usages = new.send("GET", f"/resource_providers/{HOST}/usages")["usages"]
        assert usages == {"VCPU": 3}
        query = "/allocation_candidates?resources=VCPU:5"
        assert len(new.send("GET", query)["allocation_requests"]) == 1
        query = "/allocation_candidates?resources=VCPU:6"
        assert new.send("GET", query)["allocation_requests"] == []
