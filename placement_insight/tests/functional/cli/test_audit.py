"""``openstack placement audit``, against the service that ``make serve`` starts."""

import json
import time

import pytest
import requests

from placement.cmd.api import DATABASE_FILE
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.db.tables import resource_providers
from placement.tests.support.processes import ApiProcess
from placement_insight.audit.repair.plan_file import planned_actions, read_file
from placement_insight.tests.support.nova_api import nova_api
from placement_insight.tests.support.nova_documents import hypervisor, migration, server
from placement_insight.tests.support.openstack_client import Client, add_claim, add_host

SERVERS = [f"a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d{number}" for number in range(10, 13)]
NO_GRACE = ["--grace-minutes", "0"]
# the tests share one service
pytestmark = pytest.mark.xdist_group("client insight")


@pytest.fixture(scope="module")
def openstack(tmp_path_factory):
    with ApiProcess(tmp_path_factory.mktemp("api"), "--development", "--port", "0") as service:
        service.get()
        client = Client(service.url)
        client.hosts = [add_host(service.url, name, VCPU=16) for name in ("host1", "host2")]
        claims = [[client.hosts[0]], [client.hosts[0]], client.hosts]
        for server, hosts in zip(SERVERS, claims, strict=True):
            add_claim(service.url, server, {host: {"VCPU": 2} for host in hosts})
        time.sleep(1.1)  # times are stored in whole seconds: the lists of the tests are newer
        yield client


@pytest.fixture
def live(tmp_path):
    """A list that lacks an instance, and names the host of one that has two."""
    path = tmp_path / "servers"
    path.write_text(f"{SERVERS[0]} host1\n{SERVERS[2]} host2\n")
    return path


def findings(client, *arguments):
    result = client.run("placement audit", *arguments, "-f", "json")
    listed = json.loads(result.stdout)
    found = any(each["severity"] != "notice" for each in listed)
    assert result.returncode == (3 if found else 0), result.stderr
    return {each["code"]: each["rows"] for each in listed}


def test_orphans_are_listed_and_planned(openstack, live, tmp_path):
    plan = tmp_path / "plan"
    assert findings(openstack, "--live", str(live)) == {}
    reported = findings(openstack, "--live", str(live), *NO_GRACE, "--plan", str(plan))
    assert reported["orphaned_consumer"]["consumer"] == SERVERS[1]
    assert reported["doubled_consumer"]["providers"] == [openstack.hosts[0]]
    planned = read_file(plan.read_text())
    assert [action.consumer for action in planned_actions(planned)] == SERVERS[1:]
    assert int(planned.header.database) > 33 << 40
    only = findings(openstack, "--live", str(live), *NO_GRACE, "--code", "doubled_consumer")
    assert only.keys() == {"doubled_consumer"}


def test_people_read_a_table(openstack, live):
    shown = openstack.run("placement audit", "--live", str(live), *NO_GRACE)
    assert shown.returncode == 3, shown.stderr
    assert shown.stderr.splitlines()[:2] == [
        "1 error orphaned_consumer",
        "1 error doubled_consumer",
    ]
    (row,) = (line for line in shown.stdout.splitlines() if "orphaned_consumer" in line)
    assert f"consumer: {SERVERS[1]}; type: INSTANCE; allocations: host1 (" in row
    assert "the list of live consumers" in row
    assert max(map(len, shown.stdout.splitlines())) <= 200
    narrow = openstack.run("placement audit", "--live", str(live), *NO_GRACE, "--max-width=80")
    assert max(map(len, narrow.stdout.splitlines())) <= 80
    assert f"consumer: {SERVERS[1]}; type:" in narrow.stdout
    assert "In all rows: severity error.\nColumns left out: " in narrow.stderr
    of_code = openstack.run(
        *("placement audit", "--live", str(live), *NO_GRACE),
        *("--code=orphaned_consumer", "--max-width=80"),
    )
    assert of_code.stdout.splitlines()[1].split()[1::2] == ["rows", "cause"]
    wide = openstack.run("placement audit", "--live", str(live), *NO_GRACE, "--max-width=900")
    command = f"openstack placement audit --live {live} --grace-minutes 0 --code orphaned"
    assert command in wide.stdout


def test_an_audit_without_findings_says_so(openstack):
    shown = openstack.run("placement audit", "--code", "over_capacity")
    assert (shown.returncode, shown.stdout.strip()) == (0, "")
    assert shown.stderr == "Nothing found\n"


def test_an_unknown_code_is_refused_with_the_codes(openstack):
    errors = openstack.refused("placement audit", "--code", "orphans")
    assert "argument --code: invalid choice: 'orphans' (choose from " in errors
    assert "orphaned_consumer" in errors


def test_bad_lists_and_files_are_refused(openstack, live, tmp_path):
    missing = str(tmp_path / "missing")
    assert missing in openstack.refused("placement audit", "--live", missing)
    live.write_text("")
    assert "is empty" in openstack.refused("placement audit", "--live", str(live))
    live.write_text("vm-1\n")
    assert "Line 1" in openstack.refused("placement audit", "--live", str(live))
    refused = openstack.refused("placement audit", "--plan", f"{missing}/plan")
    assert ": No such file or directory." in refused
    assert json.loads(openstack.run("placement audit", "-f", "json").stdout) == []


# --- lists of nova and of standard input ----------------------------------------------------


@pytest.fixture
def nova(openstack):
    """A stand-in for Keystone and nova, whose catalog has the service."""
    with nova_api() as api:
        api.token_id = "admin"
        api.placement_url = openstack.options[1]
        yield api


@pytest.fixture
def with_password(openstack, nova):
    """The client as operators use it: it gets its token and its endpoints from Keystone."""
    return Client(openstack.options[1], *nova.credentials())


def test_each_command_has_the_options_that_select_the_cloud(openstack, with_password):
    """Those of findings that the service returns, too: it does not know the options."""
    path = f"{openstack.options[1]}/resource_providers"
    headers = {"X-Auth-Token": "admin"}
    created = requests.post(path, json={"name": "empty"}, headers=headers, timeout=60)
    code = "provider_without_inventory"
    shown = with_password.run("placement audit", "-f", "json", "--code", code)
    uuid = created.headers["location"].rpartition("/")[2]
    requests.delete(f"{path}/{uuid}", headers=headers, timeout=60)
    (finding,) = json.loads(shown.stdout)
    program = "openstack --os-region-name R"
    assert finding["repair_command"] == f"{program} resource provider tree --in-tree {uuid}"


def test_what_was_not_compared_is_reported_once(with_password, nova, tmp_path):
    nova.servers = [server(each, "host1") for each in SERVERS[:2]]
    nova.servers.append(server(SERVERS[2], "host2", status="MIGRATING"))
    arguments = ("--live", "nova", *NO_GRACE, "--plan", str(tmp_path / "plan"))
    shown = with_password.run("placement audit", *arguments).stderr
    assert shown.count("not compared for doubled_consumer") == 1


def test_nova_is_listed_by_the_session_of_the_client(openstack, with_password, nova, tmp_path):
    plan = tmp_path / "plan"
    nova.servers = [server(SERVERS[0], "host1"), server(SERVERS[2], "host2")]
    arguments = ["--live", "nova", *NO_GRACE, "--plan", str(plan)]
    reported = findings(with_password, *arguments)
    assert reported["orphaned_consumer"]["consumer"] == SERVERS[1]
    assert reported["doubled_consumer"]["providers"] == [openstack.hosts[0]]
    assert nova.shows == [SERVERS[1]]
    result = with_password.run("placement audit", *arguments[:4], "-f", "json")
    commands = [each["repair_command"] for each in json.loads(result.stdout)]
    program = "openstack --os-region-name R placement audit --live nova --grace-minutes 0"
    assert f"{program} --code orphaned_consumer --plan repair.plan" in commands
    assert {version for _, _, version in nova.lists} == {"2.69", "2.59", "2.53"}
    actions = planned_actions(read_file(plan.read_text()))
    assert [action.consumer for action in actions] == SERVERS[1:]
    shown = with_password.run("placement audit", "--live", "nova", *NO_GRACE).stdout
    assert f"consumer: new-server-test ({SERVERS[2]})" in shown
    nova.hypervisors = [hypervisor(SERVERS[0], "host1")]
    reported = findings(with_password, "--live", "nova", "--code", "hypervisor_without_provider")
    assert reported["hypervisor_without_provider"] == {
        "hypervisor": {"uuid": SERVERS[0], "name": "host1"},
        "provider": {"uuid": openstack.hosts[0], "name": "host1"},
    }
    nova.hypervisors = []
    nova.shown = {SERVERS[1]}
    nova.migrations = [migration(SERVERS[1], SERVERS[2])]
    nova.servers[1] = server(SERVERS[2], "host2", "MIGRATING", "migrating")
    assert findings(with_password, "--live", "nova", *NO_GRACE) == {}


@pytest.mark.long  # it starts two services
def test_a_host_without_a_root_is_one_finding(tmp_path):
    """The service does not list it; its server, hypervisor and status are no findings."""
    arguments = (tmp_path, "--development", str(tmp_path), "--port", "0")
    with ApiProcess(*arguments) as service:
        service.get()
        hosts = [add_host(service.url, name, VCPU=16) for name in ("host1", "host2")]
        for consumer, host in zip(SERVERS, hosts, strict=False):
            add_claim(service.url, consumer, {host: {"VCPU": 2}})
    store = Store(DatabaseSettings(f"sqlite:///{tmp_path / DATABASE_FILE}"))
    own = resource_providers.update().where(resource_providers.c.uuid == hosts[0])
    store.write(lambda tx: tx.connection.execute(own.values(root_provider_id=None)))
    store.dispose()
    with ApiProcess(*arguments) as service, nova_api() as nova:
        service.get()
        nova.token_id, nova.placement_url = "admin", service.url
        nova.servers = [server(SERVERS[0], "host1"), server(SERVERS[1], "host2")]
        nova.hypervisors = [hypervisor(hosts[0], "host1", status="disabled")]
        nova.hypervisors.append(hypervisor(hosts[1], "host2"))
        client = Client(service.url, *nova.credentials())
        result = client.run("placement audit", "--live", "nova", *NO_GRACE, "-f", "json")
    assert [each["code"] for each in json.loads(result.stdout)] == ["missing_root"]
    assert "1 not compared for status_of_nova: its provider has no root\n" in result.stderr


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [({"failures": {1: 403}}, "could not be listed"),
     ({"failures": {2: 503}}, "could not be listed"),
     ({"newest": "2.65"}, "2.69"),
     ({}, "is empty"),
     ({"token_status": 401}, "requires authentication")],
)  # fmt: skip
def test_a_nova_that_cannot_be_listed_is_refused(
    with_password, nova, tmp_path, settings, sentence
):
    plan = tmp_path / "plan"
    for name, value in settings.items():
        setattr(nova, name, value)
    if settings:
        nova.servers = [server(SERVERS[0], "host1")]
    errors = with_password.refused("placement audit", "--live", "nova", "--plan", str(plan))
    assert sentence in errors
    assert "Traceback" not in errors
    assert not plan.exists()


def test_nova_needs_a_catalog(openstack, tmp_path):
    errors = openstack.refused("placement audit", "--live", "nova")
    assert "Traceback" not in errors
    assert "nova" in errors


def test_a_list_is_read_from_standard_input(openstack, live):
    arguments = ["placement audit", "--live", "-", *NO_GRACE, "-f", "json"]
    result = openstack.run(*arguments, stdin=live.read_text())
    assert result.returncode == 3, result.stderr
    codes = [each["code"] for each in json.loads(result.stdout)]
    assert codes == ["orphaned_consumer", "doubled_consumer"]
    for text, sentence in (("", "is empty"), ("vm-1\n", "Line 1")):
        result = openstack.run(*arguments, stdin=text)
        assert (result.returncode, sentence in result.stderr) == (1, True), result.stderr
