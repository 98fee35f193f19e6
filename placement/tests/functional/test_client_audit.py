"""``openstack placement audit``, against the service that ``make serve`` starts."""

import json
import time

import pytest

from placement.core.insight import repair
from placement.tests.functional.osc import Client
from placement.tests.processes import ApiProcess

SERVERS = [f"a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d{number}" for number in range(10, 13)]
OWNER = ["--project-id=demo", "--user-id=me", "--consumer-type=INSTANCE"]
NO_GRACE = ["--grace-minutes", "0"]


@pytest.fixture(scope="module")
def openstack(tmp_path_factory):
    with ApiProcess(tmp_path_factory.mktemp("api"), "--development", "--port", "0") as service:
        service.get()
        client = Client(service.url)
        client.hosts = [
            client("resource provider create", name)["uuid"] for name in ("host1", "host2")
        ]
        for host in client.hosts:
            client("resource provider inventory set", host, "--resource=VCPU=16")
        claims = [[client.hosts[0]], [client.hosts[0]], client.hosts]
        for server, hosts in zip(SERVERS, claims, strict=True):
            amounts = [f"--allocation=rp={host},VCPU=2" for host in hosts]
            client("resource provider allocation set", server, *amounts, *OWNER)
        yield client


@pytest.fixture
def live(tmp_path):
    """A list that lacks an instance, and names the host of one that has two."""
    path = tmp_path / "servers"
    path.write_text(f"{SERVERS[0]} host1\n{SERVERS[2]} host2\n")
    return path


def findings(client, *arguments):
    return {each["code"]: each["rows"] for each in client("placement audit", *arguments)}


def test_orphans_are_listed_and_planned(openstack, live, tmp_path):
    plan = tmp_path / "plan"
    assert findings(openstack, "--live", str(live)) == {}
    time.sleep(1.1)  # times are stored in whole seconds
    live.touch()
    found = findings(openstack, "--live", str(live), *NO_GRACE, "--plan", str(plan))
    assert found["orphaned_consumer"]["consumer"] == SERVERS[1]
    assert found["doubled_consumer"]["providers"] == [openstack.hosts[0]]
    planned = repair.from_lines(plan.read_text().splitlines(keepends=True))
    assert [action.consumer for action in planned.actions] == SERVERS[1:]
    assert int(planned.database) > 33 << 40
    only = findings(openstack, "--live", str(live), *NO_GRACE, "--code", "doubled_consumer")
    assert only.keys() == {"doubled_consumer"}


def test_people_read_a_table(openstack, live):
    shown = openstack.run("placement audit", "--live", str(live), *NO_GRACE)
    assert shown.returncode == 0, shown.stderr
    assert "the list of live consumers does not have it" in shown.stdout


def test_bad_lists_and_files_are_refused(openstack, live, tmp_path):
    missing = str(tmp_path / "missing")
    assert missing in openstack.refused("placement audit", "--live", missing)
    live.write_text("")
    assert "is empty" in openstack.refused("placement audit", "--live", str(live))
    live.write_text("vm-1\n")
    assert "Line 1" in openstack.refused("placement audit", "--live", str(live))
    refused = openstack.refused("placement audit", "--plan", f"{missing}/plan")
    assert "The plan could not be written" in refused
    assert json.loads(openstack.run("placement audit", "-f", "json").stdout) == []
