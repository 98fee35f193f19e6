"""The audit with the servers and migrations of nova, through openstacksdk."""

import json

import pytest

from placement.db.tables import resource_providers
from placement.objects import aggregate, resource_class, trait
from placement.tests.support.defects import TYPE, Host, compute_node, missing_consumer
from placement.tests.support.factories import (
    allocations_of,
    assert_sound,
    claim,
    generation,
    new_provider,
    set_inventories,
    uuid,
)
from placement_insight.audit import manage as command
from placement_insight.audit.consumers.model import ConsumerFilter
from placement_insight.audit.consumers.sql import all_matching
from placement_insight.tests.support.nova_api import nova_api
from placement_insight.tests.support.nova_documents import (
    hypervisor,
    migration,
    server,
    server_of_a_cell_that_is_down,
)
from placement_insight.tests.support.repairs import age, image, instance, without_generations

pytestmark = [
    pytest.mark.parametrize("backend", ["sqlite"], indirect=True),
    # openstacksdk warns of itself
    pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning"),
    pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK60Warning"),
]

NO_MIGRATIONS = '{"migrations": []}'


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
    assert nova.shows == []


@pytest.mark.parametrize("status", ["error", "failed", "migrating"])
def test_the_claim_of_a_failed_migration_that_no_server_needs_is_left_out(
    store, host, *, nova, run_audit, plan, status
):
    """It is counted, and no plan removes it: nova may still count it."""
    target = Host(store)
    consumer = instance(store, target)
    claim_of_source = instance(store, host, type="MIGRATION")
    nova.servers = [server(host.consumer), server(target.consumer), server(consumer, target.name)]
    nova.migrations = [migration(claim_of_source, consumer, status)]
    nova.hypervisors = [hypervisor(each.uuid, each.name) for each in (host, target)]
    findings, left_out = details(run_audit)
    assert claim_of_source not in str(findings)
    reason = "its migration did not complete, and nova may still count it"
    assert [(row["count"], row["code"], row["reason"]) for row in left_out] == [
        (1, "orphaned_consumer", reason)
    ]
    run_audit("--live", "nova", "--plan", plan)
    assert claim_of_source not in plan.read_text()


def test_a_migration_of_a_cell_that_was_down_for_a_moment_is_alive(store, host, nova, audit):
    """The list of servers no longer shows that the cell was down."""
    consumer = instance(store, host, type="MIGRATION")
    nova.servers = [server(host.consumer)]
    nova.migrations = [migration(consumer, host.consumer)]
    nova.failures = {1: NO_MIGRATIONS}
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
    found = [("doubled_consumer", consumer)] if is_found else []
    assert audit() == found
    nova.migrations = [migration(uuid(), consumer)]
    assert audit() == found  # its nova-compute stopped: it stays in progress
    nova.failures = {len(nova.lists) + 1: NO_MIGRATIONS}  # it began after the first list
    assert audit() == []


# --- servers that run on the claim of a migration -----------------------------------------


@pytest.mark.parametrize("type_", ["MIGRATION", None])
@pytest.mark.parametrize("status", ["cancelled", "error", "failed", "migrating"])
@pytest.mark.parametrize("vcpus", [0, 2, 3])
def test_a_server_takes_over_the_claim_of_its_migration(
    store, host, *, nova, run_audit, plan, apply, type_, status, vcpus
):
    """The server has no allocations, or those on the target, in case of a resize other amounts."""
    target = Host(store)
    claim_of_source = instance(store, host, type=type_)
    consumer = instance(store, target, vcpus=vcpus, type=type_ and "INSTANCE") if vcpus else uuid()
    alive = instance(store, target, vcpus=1, type=type_ and "INSTANCE")
    nova.servers = [server(host.consumer), server(target.consumer), server(alive, target.name)]
    nova.servers.append(server(consumer, host.name))
    nova.migrations = [migration(claim_of_source, consumer, status)]
    nova.hypervisors = [hypervisor(each.uuid, each.name) for each in (host, target)]
    findings, _ = details(run_audit)
    (finding,) = (each for each in findings if each["severity"] == "error")
    code = "allocations_on_other_host" if vcpus else "server_without_allocations"
    assert (finding["code"], finding["rows"]["consumer"]) == (code, consumer)
    assert finding["rows"]["migration"]["uuid"] == claim_of_source
    assert finding["cause"].endswith(f"; the migration {claim_of_source} has a claim there")
    before = image(store)
    run_audit("--live", "nova", "--plan", plan)
    assert apply(plan) == (1, 0, 0)
    assert allocations_of(store, consumer) == {host.uuid: {"VCPU": 2}}
    assert_sound(store)
    findings, _ = details(run_audit)
    assert [each for each in findings if each["severity"] == "error"] == []
    assert [row["type"] for row in listed_consumers(store, consumer)] == [type_ and "INSTANCE"]
    assert apply(f"{plan}.undo") == (1, 0, 0)
    assert without_generations(image(store)) == without_generations(before)


def listed_consumers(store, consumer):
    listed = all_matching(store, ConsumerFilter(limit=1000))
    return [each.as_json() for each in listed if each.uuid == consumer]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"status": "MIGRATING"}, "nova is building, moving or changing the server"),
        ({"status": "VERIFY_RESIZE"}, "nova is building, moving or changing the server"),
        ({"task_state": "migrating"}, "nova is building, moving or changing the server"),
        ({"status": "UNKNOWN"}, "a cell of nova is down"),
        ({}, "several migrations have a claim"),
        ({"current": "elsewhere"}, "its server is not compared"),
        ({"status": "SHELVED_OFFLOADED", "host": None}, None),
        ({"status": "DELETED", "host": None}, None),
    ],
)
def test_no_plan_takes_the_claim_on_which_a_server_may_run(
    store, host, *, nova, run_audit, plan, changed, reason
):
    target = Host(store)
    consumer = instance(store, target)
    ended = [instance(store, host, type="MIGRATION", vcpus=1) for _ in range(1 + (not changed))]
    current = changed.pop("current", None)
    row = server(consumer, **{"host": host.name, **changed})
    if changed.get("status") == "UNKNOWN":
        row = server_of_a_cell_that_is_down(consumer)
    nova.servers = [row, server(host.consumer), server(target.consumer)]
    nova.migrations = [migration(each, consumer, "cancelled") for each in ended]
    nova.current = {consumer: server(consumer, current)} if current else {}
    run_audit("--live", "nova", "--plan", plan)
    assert [each in plan.read_text() for each in ended] == [reason is None] * len(ended)
    _, skipped = details(run_audit)
    reasons = [row["reason"] for row in skipped if row["code"] == "orphaned_consumer"]
    assert [each.startswith(reason) for each in reasons] == ([True] if reason else [])


@pytest.mark.parametrize("status", ["cancelled", "migrating"])
def test_the_claim_of_a_server_that_only_a_request_finds_is_held_back(
    store, host, *, nova, run_audit, status
):
    """For instance a server that is soft-deleted."""
    consumer, ended = uuid(), instance(store, host, type="MIGRATION")
    nova.servers = [server(host.consumer)]
    nova.migrations = [migration(ended, consumer, status)]
    nova.shown = {consumer}
    findings, (row,) = details(run_audit)
    assert (findings, row["reason"]) == ([], "nova has the server, although its list lacks it")
    nova.shown = set()
    (finding,), _ = details(run_audit)
    assert finding["rows"]["consumer"] == ended


# --- consumers without a type, and an empty cloud -----------------------------------------


def test_consumers_without_a_type_are_compared_on_the_hosts_of_nova(store, host, nova, run_audit):
    """Nova claims below 1.38. A consumer elsewhere may be of another service: it is counted."""
    elsewhere = Host(store)
    alive, orphan = (instance(store, host, type=None) for _ in range(2))
    instance(store, elsewhere, type=None)
    nova.servers = [server(alive, host.name), server(host.consumer)]
    nova.hypervisors = [hypervisor(host.uuid, host.name)]
    document = json.loads(run_audit("--live", "nova", "--json")[1])
    found = {each["code"]: each for each in document["findings"]}
    assert found["orphaned_consumer"]["rows"]["consumer"] == orphan
    reason = (
        "the list does not cover the consumer type unknown outside of its hosts (--type unknown)"
    )
    skipped = {"code": "orphaned_consumer", "count": 1, "reason": reason, "found": False}
    assert skipped in document["skipped"]
    status, printed, _ = run_audit("--live", "nova")
    assert (status, "Nothing found" in printed) == (command.FOUND, False)
    assert f"1 not compared for orphaned_consumer: {reason}" in printed


def test_a_type_that_is_named_is_the_only_one(store, host, nova, audit):
    instance(store, host, type=None)
    nova.servers = [server(host.consumer)]
    nova.hypervisors = [hypervisor(host.uuid, host.name)]
    assert audit("--type", "INSTANCE") == [("untyped_consumers", None)]


def test_an_empty_cloud_is_audited(store, nova, run_audit):
    assert run_audit("--live", "nova")[:2] == (command.CLEAN, "Nothing found\n")
    nova.hypervisors = [hypervisor(uuid(), "cn1")]
    status, printed, _ = run_audit("--live", "nova")
    assert (status, printed.splitlines()[0]) == (
        command.FOUND,
        "1 error hypervisor_without_provider",
    )


def test_the_command_repeats_the_options(store, host, nova, run_audit, monkeypatch):
    orphan = instance(store, host, type=None)
    nova.servers = [server(host.consumer)]
    options = ("--live", "nova", "--type", "unknown", "--allow-many-orphans")
    _, printed, _ = run_audit(*options, "--grace-minutes", "5", "--code", "orphaned_consumer")
    assert orphan in printed
    assert (
        "  command: placement-manage audit --live nova --type unknown --allow-many-orphans "
        "--grace-minutes 5 --code orphaned_consumer --plan repair.plan" in printed
    )


# --- servers whose allocations are missing or elsewhere -----------------------------------


def details(run_audit):
    """Return the findings, and what was not compared except for the consumers of ``Host``."""
    document = json.loads(run_audit("--live", "nova", "--json")[1])
    skipped = [row for row in document["skipped"] if f"--type {TYPE}" not in row["reason"]]
    return document["findings"], skipped


@pytest.mark.parametrize("status", ["ACTIVE", "VERIFY_RESIZE"])
def test_a_server_without_allocations(store, host, *, nova, run_audit, status):
    """While a resize waits for its confirmation, the migration has the claim on the source."""
    lost = uuid()
    nova.servers = [server(lost, host.name, status), server(host.consumer, host.name)]
    if status == "VERIFY_RESIZE":
        of_source = instance(store, Host(store), type="MIGRATION")
        nova.migrations = [migration(of_source, lost, "finished")]
    findings, skipped = details(run_audit)
    (finding,) = (each for each in findings if each["severity"] == "error")
    assert (finding["code"], finding["rows"]["consumer"]) == ("server_without_allocations", lost)
    assert finding["rows"] == {
        "consumer": lost,
        "host": {"uuid": host.uuid, "name": host.name},
        "host_alone": True,
    }
    assert finding["repair_command"] == (
        f"nova-manage placement heal_allocations --instance {lost}"
    )
    assert [row for row in skipped if row["code"] != "orphaned_consumer"] == []


@pytest.mark.parametrize(
    ("changed", "counted"),
    [
        ({"status": "SHELVED_OFFLOADED", "host": None}, []),
        ({"status": "ERROR", "host": None}, []),
        ({"status": "BUILD", "host": None}, []),
        ({"status": "RESIZE"}, ["nova is building, moving or changing the server"]),
        ({"task_state": "migrating"}, ["nova is building, moving or changing the server"]),
        (
            {"status": "VERIFY_RESIZE", "task_state": "resize_reverting"},
            ["nova is building, moving or changing the server"],
        ),
        ({"host": "unknown"}, ["no provider is the host of the server"]),
    ],
)
def test_servers_that_need_no_allocations(store, host, *, nova, run_audit, changed, counted):
    nova.servers = [server(uuid(), **{"host": host.name, **changed})]
    findings, skipped = details(run_audit)
    assert (findings, [row["reason"] for row in skipped]) == ([], counted)


@pytest.mark.parametrize("task_state", [None, "spawning"])
def test_the_allocations_of_a_server_that_is_offloaded_are_released(
    store, host, *, nova, run_audit, plan, apply, task_state
):
    """Offloading failed after the host was left; while it is unshelved, it has claims."""
    consumer = instance(store, host)
    offloaded = {"status": "SHELVED_OFFLOADED", "task_state": task_state}
    nova.servers = [server(host.consumer, host.name), server(consumer, None, **offloaded)]
    before = image(store)
    run_audit("--live", "nova", "--plan", plan)
    assert apply(plan) == (0 if task_state else 1, 0, 0)
    assert bool(allocations_of(store, consumer)) is bool(task_state)
    if not task_state:
        assert apply(f"{plan}.undo") == (1, 0, 0)
    assert without_generations(image(store)) == without_generations(before)


@pytest.mark.parametrize("gone", [True, False])
def test_a_server_that_changes_during_the_audit(store, host, *, nova, run_audit, gone):
    """It was deleted, or moved, after the list: its consumers are read later."""
    consumer = uuid()
    nova.servers = [server(consumer, host.name)]
    nova.current = {consumer: server(consumer, "cn2")}
    original = nova.show
    if gone:
        nova.show = lambda _uuid: (404, {"itemNotFound": {}})
    findings, (row,) = details(run_audit)
    assert (findings, row["reason"]) == ([], "the server changed while it was compared")
    nova.show = original


def test_a_server_whose_host_is_hidden_by_policy(store, host, nova, run_audit):
    listed = server(uuid(), host.name)
    del listed["OS-EXT-SRV-ATTR:hypervisor_hostname"]
    nova.servers = [listed]
    findings, (row,) = details(run_audit)
    assert (findings, row["count"]) == ([], 1)
    assert row["reason"] == "nova does not return the host of the server to this user"
    claim(store, listed["id"], {Host(store).uuid: {"VCPU": 1}})
    findings, skipped = details(run_audit)
    assert {(each["code"], each["reason"]) for each in skipped} == {
        ("allocations_on_other_host", row["reason"]),
        ("doubled_consumer", row["reason"]),
    }


@pytest.mark.parametrize("type_", ["INSTANCE", None])
def test_allocations_on_another_host_only(store, host, *, nova, run_audit, type_):
    consumer, other = instance(store, host, type=type_), Host(store)
    nova.servers = [server(consumer, other.name), server(host.consumer, host.name)]
    nova.servers.append(server(other.consumer, other.name))
    findings, skipped = details(run_audit)
    (finding,) = (each for each in findings if each["severity"] == "error")
    assert (finding["code"], finding["rows"]["consumer"]) == (
        "allocations_on_other_host",
        consumer,
    )
    assert finding["rows"]["host"] == {"uuid": other.uuid, "name": other.name}
    assert finding["cause"] == (
        f"the server is on {other.name}; its allocations are on {host.name}"
    )
    assert finding["repair_command"] == (
        f"nova-manage placement heal_allocations --instance {consumer} --force"
    )
    assert skipped == []
    nova.migrations = [migration(uuid(), consumer)]
    nova.failures = {len(nova.lists) + 1: NO_MIGRATIONS}
    findings, (row,) = details(run_audit)
    assert [each for each in findings if each["severity"] == "error"] == []
    assert (row["code"], row["reason"]) == (
        "allocations_on_other_host",
        "nova is building, moving or changing the server",
    )


@pytest.mark.parametrize(
    ("specs", "more", "command_"),
    [
        ({}, "", "heal"),
        ({"resources:VCPU": "2"}, "", "heal"),
        ({"resources:VGPU": "1"}, "", "show"),
        ({"accel:device_profile": "fpga"}, "", "show"),
        ({"pci_passthrough:alias": "gpu:1"}, "", "show"),
        ({"hw:mem_encryption": "true"}, "", "show"),
        ({"resources_PCI:CUSTOM_GPU": "1"}, "", "show"),
        (None, "", "try"),
        (None, "child", "show"),
        (None, "shared", "show"),
        (None, "device", "show"),
    ],
)
def test_nova_manage_is_named_only_for_servers_that_need_their_host_alone(
    store, host, *, nova, run_audit, specs, more, command_
):
    """It refuses the others, or creates the allocations without devices and shared storage."""
    other, lost, consumer = Host(store), uuid(), uuid()
    parent = host.uuid if more == "child" else None
    set_inventories(store, host.uuid, VCPU=1000, PGPU=1)
    claimed = {host.uuid: {"VCPU": 1, "PGPU": 1} if more == "device" else {"VCPU": 1}}
    if more in {"child", "shared"}:
        claimed[new_provider(store, parent=parent, PGPU=1)] = {"PGPU": 1}
    claim(store, consumer, claimed, type="INSTANCE")
    age(store)
    nova.servers = [server(lost, other.name), server(consumer, other.name)]
    for row in nova.servers:
        row["flavor"] = {} if specs is None else {"extra_specs": specs}
    nova.servers += [server(host.consumer), server(other.consumer)]
    findings, _ = details(run_audit)
    commands = {each["rows"]["consumer"]: each["repair_command"] for each in findings}
    heal = "nova-manage placement heal_allocations --instance"
    expected = {
        "heal": f"{heal} {consumer} --force",
        "try": f"{heal} {consumer} --force --dry-run",
        "show": f"openstack resource provider allocation show {consumer}",
    }
    assert commands[consumer] == expected[command_]
    of_lost = {"heal": f"{heal} {lost}", "show": f"openstack server show {lost}"}.get(command_)
    assert commands[lost] == (f"{heal} {lost} --dry-run" if specs is None else of_lost)


def test_a_renamed_provider_is_the_host_by_its_uuid(store, host, nova, run_audit):
    consumer = instance(store, host)
    nova.servers = [server(consumer, "cn1.example.org"), server(host.consumer)]
    nova.hypervisors = [hypervisor(host.uuid, "cn1.example.org")]
    assert details(run_audit) == ([], [])


def test_allocations_on_a_child_of_the_host(store, host, nova, run_audit):
    child = new_provider(store, parent=host.uuid, PCPU=8)
    consumer = uuid()
    claim(store, consumer, {child: {"PCPU": 2}}, type="INSTANCE")
    age(store)
    nova.servers = [server(consumer, host.name), server(host.consumer, host.name)]
    assert details(run_audit) == ([], [])


def test_a_bare_metal_node_is_the_host_of_its_server(store, nova, run_audit):
    """The name of its provider and of its hypervisor is its UUID; its service has another name."""
    consumer, node = uuid(), uuid()
    resource_class.ensure(store, "CUSTOM_BAREMETAL")
    provider = new_provider(store, node, CUSTOM_BAREMETAL=1)
    claim(store, consumer, {provider: {"CUSTOM_BAREMETAL": 1}}, type="INSTANCE")
    age(store)
    nova.servers = [server(consumer, node)]
    nova.hypervisors = [hypervisor(provider, node)]
    nova.aggregates = {uuid(): "az1"}
    nova.hosts_of_aggregates = {key: ["ironic-compute"] for key in nova.aggregates}
    assert details(run_audit) == ([], [])
    # Nova does not synchronize the aggregates of nodes: an operator adds them.
    aggregate.replace(store, provider, list(nova.aggregates), None)
    # It reserves a node that has an instance: nothing is oversold without allocations.
    nova.servers.append(server(uuid(), node))
    assert details(run_audit) == ([], [])


def test_the_source_of_an_evacuation_is_a_notice_while_it_is_down(
    store, host, *, nova, run_audit, plan
):
    """Nova removes the allocations when the source returns."""
    target = Host(store)
    consumer = instance(store, host, target)
    nova.servers = [server(consumer, target.name), server(host.consumer), server(target.consumer)]
    nova.migrations = [migration(uuid(), consumer, "done", "evacuation", host.name)]
    nova.hypervisors = [
        hypervisor(host.uuid, host.name, "down"),
        hypervisor(target.uuid, target.name),
    ]
    (finding,), _ = details(run_audit)
    assert (finding["code"], finding["severity"]) == ("doubled_consumer", "notice")
    assert finding["repair"] == f"none: nova removes the allocations when {host.name} returns"
    assert finding["repair_command"] == ""
    status, printed, _ = run_audit("--live", "nova", "--plan", plan, "--code", "doubled_consumer")
    assert (status, printed.splitlines()[0]) == (0, f"0 actions planned in {plan}")
    nova.hypervisors[0]["state"] = "up"
    (finding,), _ = details(run_audit)
    assert (finding["code"], finding["severity"]) == ("doubled_consumer", "error")


def test_a_host_without_a_root_has_a_hypervisor_and_is_compared_no_further(
    store, host, nova, run_audit
):
    """The service does not return it, so the command has neither its traits nor its aggregates."""
    compute_node(store, host.uuid)
    host.provider(root_provider_id=None)
    nova.servers = [server(host.consumer, host.name)]
    nova.hypervisors = [hypervisor(host.uuid, host.name)]
    findings, skipped = details(run_audit)
    assert [each["code"] for each in findings] == ["missing_root"]
    assert {(row["code"], row["count"], row["reason"]) for row in skipped} == {
        (code, 1, "its provider has no root") for code in ("status_of_nova", "aggregates_of_nova")
    }


def test_allocations_of_another_class_on_another_host(store, host, nova, run_audit):
    """A provider with the trait of hosts shares nothing; storage that is shared has no trait."""
    other, storage = new_provider(store, PGPU=4), new_provider(store, DISK_GB=100)
    compute_node(store, other)
    consumer = uuid()
    amounts = {host.uuid: {"VCPU": 1}, other: {"PGPU": 1}, storage: {"DISK_GB": 5}}
    claim(store, consumer, amounts, type="INSTANCE")
    age(store)
    nova.servers = [server(consumer, host.name), server(host.consumer, host.name)]
    nova.hypervisors = [hypervisor(host.uuid, host.name), hypervisor(other, "gpu1")]
    (finding,), _ = details(run_audit)
    assert (finding["code"], finding["rows"]["providers"]) == ("doubled_consumer", [other])


@pytest.mark.parametrize("is_doubled", [True, False])
def test_servers_whose_allocations_are_young_are_counted(
    store, host, *, nova, run_audit, is_doubled
):
    other, consumer = Host(store), uuid()
    hosts = (host, other) if is_doubled else (other,)
    claim(store, consumer, {each.uuid: {"VCPU": 1} for each in hosts}, type="INSTANCE")
    nova.servers = [server(consumer, host.name), server(host.consumer), server(other.consumer)]
    code = "doubled_consumer" if is_doubled else "allocations_on_other_host"
    reason = "younger than 30 minutes (--grace-minutes)"
    found, skipped = details(run_audit)
    assert (found, skipped) == (
        [],
        [{"code": code, "count": 1, "reason": reason, "found": True}],
    )
    nova.servers[0]["OS-EXT-SRV-ATTR:hypervisor_hostname"] = other.name
    assert is_doubled or details(run_audit) == ([], [])


# --- aggregates ---------------------------------------------------------------------------


@pytest.mark.parametrize("names", [["domain-c7", "vc2"], ["cn1.a.org", "cn1.b.org"]])
def test_a_compute_service_with_another_name(store, host, *, nova, run_audit, names):
    """A cluster of VMware, the option ``host``, or a name that two hypervisors could have."""
    other, az1 = Host(store), uuid()
    aggregate.replace(store, host.uuid, [az1], None)
    nova.servers = [server(host.consumer), server(other.consumer)]
    nova.hypervisors = [
        hypervisor(each.uuid, name) for each, name in zip((host, other), names, strict=True)
    ]
    nova.services = {host.uuid: "cn1", other.uuid: "cn2"}
    nova.aggregates, nova.hosts_of_aggregates = {az1: "az1"}, {az1: ["cn1"]}
    assert details(run_audit) == ([], [])
    nova.hosts_of_aggregates = {az1: ["cn2"]}
    findings, _ = details(run_audit)
    found = {each["rows"]["provider"]["uuid"]: each["rows"]["extra"] for each in findings}
    assert found[host.uuid] == [{"uuid": az1, "name": "az1"}]


def test_aggregates_of_nova_are_compared(store, host, nova, run_audit):
    """The services of an aggregate may have short names; other aggregates are not of nova."""
    az1, az2, storage = uuid(), uuid(), uuid()
    other = Host(store)
    aggregate.replace(store, host.uuid, [az2, storage], None)
    aggregate.replace(store, other.uuid, [az1], None)
    nova.servers = [server(host.consumer), server(other.consumer)]
    nova.hypervisors = [
        hypervisor(host.uuid, f"{host.name}.example.org"),
        hypervisor(other.uuid, other.name),
    ]
    nova.aggregates = {az1: "az1", az2: "az2"}
    nova.hosts_of_aggregates = {az1: [host.name, other.name], az2: []}
    status, printed, _ = run_audit("--live", "nova", "--json")
    (finding,) = json.loads(printed)["findings"]
    assert (status, finding["code"], finding["severity"]) == (
        command.FOUND,
        "aggregates_of_nova",
        "warning",
    )
    assert finding["rows"] == {
        "provider": {"uuid": host.uuid, "name": host.name},
        "missing": [{"uuid": az1, "name": "az1"}],
        "extra": [{"uuid": az2, "name": "az2"}],
        "aggregates": [storage],
    }
    assert finding["repair_command"] == "nova-manage placement sync_aggregates"
    nova.hosts_of_aggregates = {az1: [other.name], az2: []}
    (finding,), _ = details(run_audit)
    assert finding["repair_command"] == (
        "openstack --os-placement-api-version 1.1 resource provider aggregate set "
        f"--aggregate {storage} {host.uuid}"
    )
    nova.hypervisors[0] = hypervisor(host.uuid, "another-name")
    nova.refused = {"os-hypervisors": 500}
    findings, (row,) = details(run_audit)
    reason = "nova did not return the compute service of the hypervisor"
    assert (findings, row["count"], row["reason"]) == ([], 1, reason)
    nova.refused = {"os-aggregates": 403}
    findings, (row,) = details(run_audit)
    assert (findings, row["reason"]) == ([], "nova returned 403 for its aggregates")


def test_hypervisors_are_compared_with_the_providers_of_hosts(store, host, nova, run_audit):
    """More hypervisors than a page has."""
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
    # a host that was installed again
    nova.hypervisors = [hypervisor(uuid(), host.name)]
    assert found() == [("hypervisor_without_provider", host.name)]


def test_allocations_of_a_server_without_a_consumer_are_one_finding(store, host, nova, audit):
    missing_consumer(host)
    nova.servers = [server(host.consumer, host.name)]
    nova.hypervisors = [hypervisor(host.uuid, host.name)]
    unused = ("unused_type", None)  # of the consumer
    assert audit() == [("missing_consumer", host.consumer), unused]


def test_a_child_without_its_parent_is_a_part_of_its_host(
    store, host, *, nova, run_audit, plan, apply
):
    """Its server has a claim on one host; the plan does not make it a host of its own."""
    nova.servers = [server(host.consumer, host.name)]
    nova.hypervisors = [hypervisor(host.uuid, host.name)]
    parent = new_provider(store, parent=host.uuid, VCPU=8)
    child = new_provider(store, parent=parent, VCPU=8)
    new_provider(store, parent=child, VCPU=8)
    claim(store, host.consumer, {each: {"VCPU": 1} for each in (host.uuid, child)})
    age(store)
    of = resource_providers.c
    host.run(resource_providers.update().where(of.uuid == child).values(parent_provider_id=99))
    (finding,), _ = details(run_audit)
    assert finding["code"] == "missing_parent"
    before = image(store)
    run_audit("--live", "nova", "--plan", plan)
    assert apply(plan) == (1, 0, 0)
    assert host.values(of.parent_provider_id, uuid=child) == [host.id]
    assert details(run_audit)[0] == []
    assert apply(f"{plan}.undo") == (1, 0, 0)
    assert image(store) == before


@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_status_of_a_host_is_its_trait(store, host, *, nova, run_audit, is_enabled):
    """One of two hosts differs, in both directions; the other one is as nova has it."""
    other = Host(store)
    for each in (host, other):
        compute_node(store, each.uuid)
    disabled = (host if is_enabled else other).uuid
    traits = ["COMPUTE_NODE", "COMPUTE_STATUS_DISABLED"]
    trait.replace(store, disabled, generation(store, disabled), traits)
    nova.servers = [server(host.consumer), server(other.consumer)]
    nova.hypervisors = [
        hypervisor(host.uuid, host.name, status="enabled" if is_enabled else "disabled"),
        hypervisor(other.uuid, other.name, status="enabled" if is_enabled else "disabled"),
    ]
    (finding,), _ = details(run_audit)
    status = "enabled" if is_enabled else "disabled"
    assert (finding["code"], finding["severity"]) == ("status_of_nova", "error")
    named = {"uuid": host.uuid, "name": host.name}
    assert finding["rows"] == {"provider": named, "status": status}
    assert finding["cause"].startswith(f"nova has it {status}")
    assert finding["repair_command"].startswith("openstack compute service list")


def test_what_nova_returns_of_the_other_cells_is_compared(
    store, host, *, nova, run_audit, plan, apply
):
    """Nova then fails to list hypervisors. Servers and migrations name the hosts that answer."""
    down, lost, other_lost = Host(store), uuid(), uuid()
    for each in (host, down):
        compute_node(store, each.uuid)
    orphans = [instance(store, host, type=type_, vcpus=1) for type_ in (None, "MIGRATION")]
    kept = [instance(store, down, type=type_, vcpus=1) for type_ in (None, "MIGRATION")]
    hidden = instance(store, down, vcpus=1)
    nova.servers = [server(lost, host.name), server(host.consumer), server(down.consumer)]
    nova.servers += map(server_of_a_cell_that_is_down, (hidden, other_lost))
    findings, skipped = details(run_audit)
    errors = [each for each in findings if each["severity"] == "error"]
    assert {each["rows"]["consumer"]: each["code"] for each in errors} == {
        lost: "server_without_allocations",
        **dict.fromkeys(orphans, "orphaned_consumer"),
    }
    failed, cell = "nova returned 500 for its hypervisors", "the cell of the server is down"
    assert {(each["code"], each["count"], each["reason"]) for each in skipped} == {
        (
            "orphaned_consumer",
            2,
            "a cell of nova is down: its servers and migrations are not known",
        ),
        ("allocations_on_other_host", 1, cell),
        ("doubled_consumer", 1, cell),
        ("server_without_allocations", 1, cell),
        ("provider_without_hypervisor", 2, failed),
        ("status_of_nova", 2, failed),
        ("aggregates_of_nova", 2, failed),
    }
    assert not any(each["found"] for each in skipped)
    _, printed, _ = run_audit("--live", "nova", "--code", "provider_without_hypervisor")
    assert printed.splitlines()[1] == f"2 not compared for provider_without_hypervisor: {failed}"
    run_audit("--live", "nova", "--plan", plan)
    assert apply(plan) == (2, 0, 0)
    assert all(allocations_of(store, each) for each in (*kept, hidden))


def test_an_evacuation_is_not_planned_while_nova_does_not_list_its_hypervisors(
    store, host, *, nova, run_audit, plan
):
    """The source may be down: nova then removes the allocations itself."""
    target = Host(store)
    consumer = instance(store, host, target)
    nova.servers = [server(consumer, target.name), server(host.consumer), server(target.consumer)]
    nova.servers.append(server_of_a_cell_that_is_down(uuid()))
    nova.migrations = [migration(uuid(), consumer, "done", "evacuation", host.name)]
    findings, skipped = details(run_audit)
    assert findings == []
    reasons = {each["code"]: each["reason"] for each in skipped}
    assert reasons["doubled_consumer"] == "nova returned 500 for its hypervisors"
    run_audit("--live", "nova", "--plan", plan)
    assert consumer not in plan.read_text()


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
    sentence = (
        "cannot be the marker of the next page. Try again: a new server can be listed twice."
    )
    assert_refused(run_audit, plan, sentence)


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
