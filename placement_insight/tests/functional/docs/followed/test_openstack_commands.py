"""The ``openstack`` commands of the pages, run against a service and a stand-in for Nova."""

import os
import re
import shlex
import signal
import subprocess

import pytest
import requests

from placement.tests.support.processes import BIN, ApiProcess, environment
from placement_insight.tests.functional.docs.pages import executed
from placement_insight.tests.support.nova_api import nova_api
from placement_insight.tests.support.nova_documents import FROM_VOLUME, flavor, server
from placement_insight.tests.support.openstack_client import AGGREGATE, Client

COMMANDS = [
    *executed("admin/audit-and-repair", matching="openstack|.* nova "),
    *executed("admin/day-2"),
    *executed("admin/maintenance"),
    *executed("admin/troubleshooting-no-valid-host", "Find the explanation"),
    *executed("admin/what-changed"),
    *executed("cli/openstack"),
]
(PLAN,) = [each for each in COMMANDS if re.match("placement-manage .* --plan", each)]
(DASHBOARD,) = executed("admin/dashboard")
CN1 = "6f8a2c14-3d0b-4b5e-9a57-1c2f8e7d9b01"
REQUEST_ID = "req-8c1f0a2b-1b3d-4e5f-9a7b-0c1d2e3f4a5b"
SERVERS = [f"a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d1{number}" for number in range(2)]
OWNER = ["--project-id=demo", "--user-id=me", "--consumer-type=INSTANCE"]
# What a command prints, a regular expression; those not named print something.
PRINTED = {
    "openstack server list": "",  # redirected to a file
    "openstack resource provider tree": r"\| cn1 (.|\n)*VCPU +8/16",
    "openstack resource capacity show --flavors": "m1.tiny",
    "openstack resource capacity show --mix": r"\| shapes +\| 200 x resources=VCPU:1",
    "openstack resource capacity show": AGGREGATE,
    "openstack resource consumer list --in-tree cn1": "cn1: VCPU=8",
    "openstack resource consumer list --group-by project": "demo +",
    "openstack resource consumer list": "^$",  # none is as old as the example says
    f"openstack allocation candidate explain --request-id {REQUEST_ID}": "VCPU",
    "openstack allocation candidate explain --query": r"\| fits +\| 0 ",
    "openstack allocation candidate explain --resource VCPU=48": r"\| room ",
    "openstack allocation candidate explain --resource VCPU=8 --forbidden": (
        "cn2: trait COMPUTE_STATUS_DISABLED added at .*, user admin"
    ),
    "openstack allocation candidate explain --resource": "root has trait COMPUTE_STATUS_DISABLED",
    "openstack allocation request list --summary": r"\| reason +\| ",
    "openstack placement changes --consumer": r"^(\+.*\n)?",  # no claim of this server
    "openstack placement changes --request": r"^(\+.*\n)?",  # a request that changed nothing
    "openstack placement changes": "cn1: created",
    "openstack placement clients": "1.39",
    "openstack placement top": r"\| cn1 +\| ",
    "openstack placement survive": r"^(\+.*\n)?",  # those that do not survive, if any
    "openstack placement drain": "^(\\+.*\\n)?",  # the moves, if there are any
    "nova-manage": "",  # redirected to a file
    "openstack placement identity": "cn1.example.org",
}
STATUSES = {
    "openstack placement drain": 1,  # the other hosts are disabled
    "openstack placement survive --failures 2": 0,  # there is no second host with servers
    "openstack placement survive": 1,
}
pytestmark = [
    pytest.mark.skipif("PACKAGES" not in os.environ, reason="make test-docs"),
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("openstack commands"),  # the tests share one service
]
HOSTS_OF_CELLS = """\
+-----------+--------------------------------------+----------+
| Cell Name |              Cell UUID               | Hostname |
+-----------+--------------------------------------+----------+
|   cell1   | 0ee0c3a1-7a52-4c1a-9d0e-2f4b6a8c0d11 |   cn1    |
|   cell1   | 0ee0c3a1-7a52-4c1a-9d0e-2f4b6a8c0d11 |   cn2    |
+-----------+--------------------------------------+----------+
"""
CLOUDS = """
clouds:
  CLOUD:
    region_name: R
    auth:
      auth_url: {url}/v3
      username: operator
      password: secret
      project_name: admin
      user_domain_id: default
      project_domain_id: default
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("commands")


@pytest.fixture(scope="module")
def cloud(folder):
    """The variables for clients of a service with the hosts and servers of the pages, and Nova."""
    metrics = {"OS_METRICS__ENABLED": "true", "OS_METRICS__FOLDER": str(folder / "metrics")}
    api = ApiProcess(folder, "--development", "--port", "0", **metrics)
    with api as service, nova_api() as nova:
        service.get()
        fill(Client(service.url))
        requests.get(
            f"{service.url}/allocation_candidates?resources=VCPU:48",
            headers={
                "X-Auth-Token": "admin",
                "OpenStack-API-Version": "placement latest",
                "X-OpenStack-Request-ID": REQUEST_ID,
            },
            timeout=60,
        )
        nova.token_id, nova.placement_url = "admin", service.url
        nova.flavors = [
            flavor() | {"id": size, "name": f"m1.{size}"} for size in ("tiny", "small", "large")
        ]
        nova.servers = [server(SERVERS[0], "cn1"), server(SERVERS[1], "cn1", image=FROM_VOLUME)]
        (folder / "clouds.yaml").write_text(CLOUDS.format(url=nova.url))
        (folder / "cells").write_text(HOSTS_OF_CELLS)  # in any order of the tests
        nova_manage = folder / "nova-manage"
        nova_manage.write_text(f"#!/bin/sh\ncat << EOF\n{HOSTS_OF_CELLS}EOF\n")
        nova_manage.chmod(0o755)
        yield environment(
            OS_CLOUD="CLOUD",
            OS_PLACEMENT_DATABASE__CONNECTION=f"sqlite:///{folder}/.serve/placement.sqlite",
            PATH=f"{BIN}:{folder}:/usr/bin:/bin",
        )


def fill(openstack):
    """Create the hosts of the pages, of which one is enabled, and its servers."""
    for name, uuid, trait in (
        ("cn1", CN1, "HW_CPU_X86_AVX2"),
        ("cn1.example.org", "a1d0f3b2-77c4-4e21-8f0a-5b6c7d8e9f02", "COMPUTE_STATUS_DISABLED"),
        ("cn2", "6f8a2c14-3d0b-4b5e-9a57-1c2f8e7d9b02", "COMPUTE_STATUS_DISABLED"),
    ):
        openstack("resource provider create", name, f"--uuid={uuid}")
        inventories = ("--resource=VCPU=16", "--resource=MEMORY_MB=16384")
        openstack("resource provider inventory set", uuid, *inventories)
        openstack("resource provider trait set", uuid, f"--trait={trait}")
        aggregate = ("resource provider aggregate set", uuid, f"--aggregate={AGGREGATE}")
        openstack(*aggregate, "--generation=2")
    for server_, amount in zip(SERVERS, ("VCPU=8", "MEMORY_MB=512"), strict=True):
        allocation = f"--allocation=rp={CN1},{amount}"
        openstack("resource provider allocation set", server_, allocation, *OWNER)


def expected(table, command, default):
    return next((each for name, each in table.items() if command.startswith(name)), default)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[:60])
def test_a_command_works(command, cloud, folder):
    before = f"{PLAN}; " if "--apply" in command else ""  # in any order of the tests
    result = subprocess.run(
        ["bash", "-euc", before + command],
        cwd=folder,
        env=cloud,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert result.returncode == expected(STATUSES, command, 0), result.stdout + result.stderr
    assert re.search(expected(PRINTED, command, "."), result.stdout), result.stdout
    if "server list" in command:
        lines = (folder / "servers").read_text().splitlines()
        assert sorted(lines) == [f"{uuid} cn1" for uuid in SERVERS]
    if "--plan" in command:
        assert (folder / shlex.split(command)[shlex.split(command).index("--plan") + 1]).exists()


def test_the_dashboard_is_served_until_ctrl_c(cloud, folder):
    with (folder / "dashboard").open("w") as output:
        process = subprocess.Popen(
            DASHBOARD.split(), cwd=folder, env=cloud | {"BROWSER": "true"}, stdout=output
        )
    while not (found := re.search(r"http://127\.0\.0\.1:\S+", (folder / "dashboard").read_text())):
        assert process.poll() is None
    assert "<html" in requests.get(found[0], timeout=60).text
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
