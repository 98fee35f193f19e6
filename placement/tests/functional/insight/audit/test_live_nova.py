"""The audit with the servers and migrations of nova, through openstacksdk."""

import json

import pytest

from placement.cmd import audit as command
from placement.tests.support.defects import Host, compute_node
from placement.tests.support.factories import set_inventories, uuid
from placement.tests.support.nova_api import nova_api
from placement.tests.support.nova_documents import (
    hypervisor,
    migration,
    server,
    server_of_a_cell_that_is_down,
)
from placement.tests.support.repairs import image, instance

pytestmark = [
    pytest.mark.parametrize("backend", ["sqlite"], indirect=True),
    # openstacksdk warns of itself
    pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning"),
    pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK60Warning"),
]


@pytest.fixture
def nova(monkeypatch):
    with nova_api() as api:
        values = {
            "AUTH_URL": f"{api.url}/v3",
            "USERNAME": "operator",
            "PASSWORD": "secret",
            "PROJECT_NAME": "admin",
            "USER_DOMAIN_ID": "default",
            "PROJECT_DOMAIN_ID": "default",
            "REGION_NAME": "R",
        }
        for name, value in values.items():
            monkeypatch.setenv(f"OS_{name}", value)
        yield api


@pytest.fixture
def host(store):
    host = Host(store)
    set_inventories(store, host.uuid, VCPU=1000)
    return host


@pytest.fixture
def audit(run_audit):
    """Return a function that returns the codes and consumers that the audit finds."""

    def run(*arguments):
        status, printed, errors = run_audit("--live", "nova", "--json", *arguments)
        assert status in (command.CLEAN, command.FOUND), errors
        listed = json.loads(printed)["findings"]
        return sorted((each["code"], each["rows"].get("consumer")) for each in listed)

    return run


def test_what_all_pages_lack_is_an_orphan(store, host, nova, audit):
    alive = [instance(store, host, vcpus=1) for _ in range(7)]
    orphan = instance(store, host)
    nova.servers = [server(each) for each in alive]
    assert audit() == [("orphaned_consumer", orphan)]
    paths = [path for path, _, _ in nova.lists]
    assert (paths.count("/servers/detail"), paths.count("/os-migrations")) == (4, 2)
    assert {version for _, _, version in nova.lists} == {"2.69", "2.59", "2.53"}
    assert nova.shows == [orphan]


def test_a_server_that_is_only_found_by_its_uuid_is_alive(store, host, nova, audit):
    """For instance a server that is soft-deleted."""
    consumer = instance(store, host)
    nova.servers = [server(uuid())]
    nova.shown = {consumer}
    assert audit() == []


@pytest.mark.parametrize("type_", ["MIGRATION", None])
def test_the_consumer_of_a_migration_is_alive(store, host, nova, audit, type_):
    consumer, old, failed = (instance(store, host, type=type_, vcpus=1) for _ in range(3))
    nova.servers = [server(host.consumer)]
    nova.migrations = [
        migration(consumer, host.consumer),
        migration(old, host.consumer, status="confirmed"),
        migration(failed, host.consumer, status="error"),
    ]
    types = ["--type", "unknown"] if type_ is None else []
    untyped = [("untyped_consumers", None)] if type_ is None else []
    assert audit(*types) == [("orphaned_consumer", old), *untyped]
    assert nova.shows == ([old] if type_ is None else [])


def test_a_migration_of_a_cell_that_was_down_for_a_moment_is_alive(store, host, nova, audit):
    """The list of servers no longer shows that the cell was down."""
    consumer = instance(store, host, type="MIGRATION")
    nova.servers = [server(host.consumer)]
    nova.migrations = [migration(consumer, host.consumer)]
    nova.failures = {1: '{"migrations": []}'}
    assert audit() == []


def test_servers_of_cells_that_are_down_are_alive(store, host, nova, audit):
    """Nova lists them with few fields, and leaves out their migrations."""
    consumer, moving = instance(store, host), instance(store, host, type="MIGRATION")
    orphan = instance(store, host)
    nova.servers = [server_of_a_cell_that_is_down(consumer), server(host.consumer)]
    assert audit() == [("orphaned_consumer", orphan)]
    assert moving not in nova.shows


def test_consumers_without_type_are_alive_while_a_cell_is_down(store, host, nova, audit):
    """They may be those of migrations, which nova leaves out."""
    instance(store, host, type=None)
    nova.servers = [server_of_a_cell_that_is_down(uuid()), server(host.consumer)]
    assert audit("--type", "unknown") == [("untyped_consumers", None)]


@pytest.mark.parametrize(
    ("status", "task_state", "is_found"),
    [("ACTIVE", None, True), ("SHUTOFF", None, True), ("VERIFY_RESIZE", None, False),
     ("MIGRATING", "migrating", False), ("ACTIVE", "rebuilding", False)],
)  # fmt: skip
def test_an_instance_on_two_hosts(store, host, *, nova, audit, status, task_state, is_found):
    consumer = instance(store, host, Host(store))
    nova.servers = [server(consumer, host.name, status, task_state)]
    assert audit() == ([("doubled_consumer", consumer)] if is_found else [])
    nova.migrations = [migration(uuid(), consumer)]
    assert audit() == []


def test_hypervisors_are_compared_with_the_providers_of_hosts(store, host, nova, run_audit):
    """More hypervisors than a page has; while a cell is down they are not compared."""
    compute_node(store, host.uuid)
    nova.servers = [server(host.consumer)]
    nova.hypervisors = [hypervisor(uuid(), f"new{number}") for number in range(4)]

    def found():
        listed = json.loads(run_audit("--live", "nova", "--json")[1])["findings"]
        return [(each["code"], each["repair_command"].split()[-1]) for each in listed]

    missing = sorted((each["id"], each["hypervisor_hostname"]) for each in nova.hypervisors)
    assert found() == [
        *(("hypervisor_without_provider", name) for _, name in missing),
        ("provider_without_hypervisor", host.name),
    ]
    nova.hypervisors = [hypervisor(host.uuid, host.name)]
    assert found() == []
    nova.hypervisors = []
    nova.servers = [server_of_a_cell_that_is_down(host.consumer)]
    assert found() == []


@pytest.mark.parametrize("status", [401, 403, 404, 406, 500, 503])
@pytest.mark.parametrize("request_number", [1, 2, 3])
def test_a_list_that_fails_is_refused(
    store, host, *, nova, run_audit, plan, status, request_number
):
    consumers = [instance(store, host, vcpus=1) for _ in range(7)]
    nova.servers = [server(each) for each in consumers[:6]]
    nova.failures = dict.fromkeys(range(request_number, 20), status)
    before = image(store)
    assert_refused(run_audit, plan, "could not be listed")
    assert image(store) == before


def assert_refused(run_audit, plan, sentence):
    status, printed, errors = run_audit("--live", "nova", "--plan", plan)
    assert (status, printed) == (1, ""), errors
    assert sentence in errors
    assert "Traceback" not in errors
    assert not plan.exists()


@pytest.mark.parametrize(
    "body", ['{"servers": [{"id": "', "", "[]", '{"servers": null}', '{"servers": [1]}', "<html>"]
)
def test_a_page_that_is_cut_off_is_refused(store, host, *, nova, run_audit, plan, body):
    nova.servers = [server(instance(store, host, vcpus=1)) for _ in range(7)]
    nova.failures = {3: body}
    assert_refused(run_audit, plan, "a page of /servers/detail")


def test_pages_that_do_not_go_on_are_refused(store, host, nova, run_audit, plan):
    nova.servers = [server(uuid())] * 9
    assert_refused(run_audit, plan, "cannot be the marker of the next page")


def test_a_page_that_ends_without_uuid_is_refused(store, host, nova, run_audit, plan):
    nova.servers = [server(uuid()) for _ in range(7)]
    nova.failures = {3: '{"servers": [{}]}'}
    assert_refused(run_audit, plan, "cannot be the marker of the next page")


def test_an_entry_without_uuid_is_refused(store, host, nova, run_audit, plan):
    nova.servers = [server("instance-1")]
    assert_refused(run_audit, plan, "is not a UUID")


def test_an_empty_list_is_refused(store, host, nova, run_audit, plan):
    instance(store, host)
    assert_refused(run_audit, plan, "is empty")
    assert run_audit("--live", "nova", "--plan", plan, "--allow-many-orphans")[0] == command.FOUND


@pytest.mark.parametrize(
    "response",
    [
        (503, {"computeFault": {"code": 503, "message": "Service Unavailable"}}),
        (404, {"message": "No such path on this proxy"}),
    ],
    ids=["503", "404 of a proxy"],
)
def test_a_confirmation_that_fails_is_refused(
    store, host, *, nova, run_audit, plan, monkeypatch, response
):
    instance(store, host)
    nova.servers = [server(uuid())]
    original = type(nova).respond

    def fail(api, path, query, version):
        if path.startswith("/servers/") and path != "/servers/detail":
            return response
        return original(api, path, query, version)

    monkeypatch.setattr(type(nova), "respond", fail)
    assert_refused(run_audit, plan, "could not be listed")


def test_a_nova_that_is_too_old_is_refused(store, host, nova, run_audit, plan):
    nova.newest = "2.65"
    nova.servers = [server(uuid())]
    assert_refused(run_audit, plan, "2.69")


def test_a_wrong_password_of_keystone_is_refused(store, host, nova, run_audit, plan):
    nova.token_status = 401
    assert_refused(run_audit, plan, "requires authentication")


def test_a_nova_that_is_not_reached_is_refused(store, host, *, nova, run_audit, plan, monkeypatch):
    monkeypatch.setenv("OS_AUTH_URL", "http://127.0.0.1:9/v3")
    assert_refused(run_audit, plan, "127.0.0.1")


def test_missing_credentials_are_refused(store, host, run_audit, plan, monkeypatch):
    for name in ("OS_CLOUD", "OS_AUTH_URL"):
        monkeypatch.delenv(name, raising=False)
    status, _, errors = run_audit("--live", "nova", "--plan", plan, "--os-cloud", "nowhere")
    assert (status, "nowhere" in errors, "Traceback" in errors) == (1, True, False)
    assert not plan.exists()
