"""The audit finds each kind of defect on each database, and nothing in what is healthy."""

import json
import random
import re
import shlex
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
import webtest

from placement import exception
from placement.cmd import manage
from placement.core.model import Inventory
from placement.db import clocks
from placement.db.schema import migration
from placement.db.tables import (
    allocations,
    inventories,
    resource_provider_aggregates,
    resource_provider_traits,
)
from placement.http.request import Context
from placement.objects import allocation, trait
from placement.tests.plugin import BACKENDS
from placement.tests.support.defects import DEFECTS, LONG_AGO, Host, compute_node
from placement.tests.support.factories import (
    claim,
    generation,
    new_provider,
    set_inventories,
    uuid,
)
from placement_insight.audit import manage as command
from placement_insight.audit.consumers.model import ConsumerFilter
from placement_insight.audit.consumers.sql import all_matching
from placement_insight.audit.kinds import KINDS, Audit
from placement_insight.audit.live_consumers import Comparison
from placement_insight.audit.model import (
    AuditedProviders,
    AuditSettings,
    LeftOut,
    ListOfFile,
    RunsOn,
)
from placement_insight.audit.repair.actions import REPAIRABLE, Planned, action_for, plan
from placement_insight.audit.report import audit
from placement_insight.audit.sql import read_state
from placement_insight.history.observer import History

HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest"}
STALE_DAYS = 1000
TYPES = frozenset({"INSTANCE", "unknown"})
EVERYTHING = AuditSettings(stale_days=STALE_DAYS)


def codes(store, settings=EVERYTHING):
    return [finding.code for finding in audit(store, settings).findings]


@pytest.mark.parametrize("name", DEFECTS)
def test_each_defect_is_found_and_nothing_else(store, name):
    code, make = DEFECTS[name]
    Host(store)
    make(Host(store))
    report = audit(store, EVERYTHING)
    (finding,) = report.findings
    assert finding.code == code
    assert Audit.from_json(json.loads(json.dumps(report.as_json()))) == report
    assert (action_for(finding) is not None) == (code in REPAIRABLE)
    assert (" --plan " in finding.repair_command) == (code in REPAIRABLE)
    assert finding.repair_command
    if code == "over_capacity":
        assert bool(finding.cause) == (name == "total")


def test_the_commands_have_the_configuration_file_in_use(store, run_audit, tmp_path, capsys):
    for name in ("usage_counter", "empty_consumer"):
        DEFECTS[name][1](Host(store))
    path = tmp_path / "region 1.conf"
    path.write_text("")
    assert "--config-file" not in run_audit()[1]
    manage.main(["--config-file", str(path), "audit"])
    printed = capsys.readouterr().out
    commands = [line for line in printed.splitlines() if line.startswith("  command: ")]
    assert len(commands) == 2
    assert all(f"placement-manage --config-file '{path}' " in each for each in commands)


def test_the_commands_that_apply_and_undo_have_the_options_in_use(
    store, run_audit, tmp_path, capsys
):
    """Each printed command is run as it was printed, on a database with another epoch."""
    DEFECTS["usage_counter"][1](Host(store))
    folder, plan = tmp_path / "region 1", tmp_path / "the plan"
    folder.mkdir()
    configured = ["--config-dir", str(folder)]
    undone = audit(store, EVERYTHING).findings

    def printed(name, *arguments):
        manage.main(arguments)
        (line,) = [each for each in capsys.readouterr().out.splitlines() if f"{name}: " in each]
        program, *words = shlex.split(line.partition(": ")[2])
        assert (program, words[:2]) == ("placement-manage", configured)
        return words

    to_apply = printed("To apply them", *configured, "audit", "--plan", str(plan))
    store.write(lambda tx: clocks.start_epoch(tx.connection))
    to_undo = printed("To undo", *to_apply, "--any-epoch")
    assert audit(store, EVERYTHING).findings == []
    assert manage.main(to_undo) == 0
    assert audit(store, EVERYTHING).findings == undone


def test_the_defects_are_of_every_code_that_the_databases_let_be_made():
    """A foreign key prevents a missing parent; others need a list of nova."""
    codes_of_defects = {code for code, _ in DEFECTS.values()}
    assert KINDS.keys() - codes_of_defects == {
        "missing_parent",
        "orphaned_consumer",
        "doubled_consumer",
        "server_without_allocations",
        "allocations_on_other_host",
        "aggregates_of_nova",
        "edited_by_sql",
        "hypervisor_without_provider",
        "provider_without_hypervisor",
        "status_of_nova",
    }


def test_defects_of_every_kind_at_once_are_all_found(store):
    for _, make in reversed(DEFECTS.values()):
        make(Host(store))
    reported = codes(store)
    assert set(reported) == {code for code, _ in DEFECTS.values()}
    assert reported == sorted(reported, key=list(KINDS).index)
    assert reported.count("over_capacity") == 2


@pytest.mark.parametrize(
    ("units", "smallest", "largest", "number"),
    [({"max_unit": 3}, 4, 5, 2), ({"min_unit": 5}, 2, 4, 2), ({"step_size": 2}, 5, 5, 1),
     ({"step_size": 0}, None, None, 0), ({"max_unit": 5, "min_unit": 2}, None, None, 0)],
)  # fmt: skip
def test_allocations_that_units_no_longer_admit(store, *, units, smallest, largest, number):
    """The host has consumers of 4, 2 and 5 VCPU; another one is as it was."""
    host, _ = Host(store), Host(store)
    set_inventories(store, host.uuid, VCPU=100)
    for vcpus in (2, 5):
        claim(store, uuid(), {host.uuid: {"VCPU": vcpus}}, type="POD")
    host.inventory(**units)
    found = [each for each in audit(store, EVERYTHING).findings if "units" in each.code]
    assert [(each.cause.split()[0], each.smallest, each.largest) for each in found] == (
        [(f"{number}", smallest, largest)] if number else []
    )
    assert {each.severity for each in found} <= {"notice"}
    assert all(host.uuid in each.repair_command for each in found)


def test_young_consumers_do_not_displace_older_ones(store):
    """More young consumers without a row than are listed; the old one has the last UUID."""
    host = Host(store)
    set_inventories(store, host.uuid, VCPU=100)
    for number, created_at in [*((each, None) for each in range(3)), (9, LONG_AGO)]:
        consumer_id = f"{number}" * 8 + uuid()[8:]
        at = created_at or datetime.now(UTC).replace(tzinfo=None)
        host.run(host.allocation(consumer_id=consumer_id, created_at=at))
    report = audit(store, AuditSettings(codes={"missing_consumer"}, at_most=1))
    (finding,) = report.findings
    assert finding.consumer.startswith("99999999")
    assert (report.truncated, [row.count for row in report.skipped]) == ([], [3])
    only = audit(store, AuditSettings(codes={"missing_consumer"}, at_most=1, grace_minutes=-1))
    assert only.truncated == ["missing_consumer"]


def test_a_provider_without_a_name_has_its_uuid(store):
    """Programs that write to the database can leave the name empty."""
    host = Host(store)
    host.provider(name=None)
    host.inventory(used=3)
    (finding,) = audit(store, EVERYTHING).findings
    assert (finding.code, finding.names) == ("usage_counter", {host.uuid: host.uuid})
    (consumer,) = all_matching(store, ConsumerFilter(limit=10))
    assert consumer.providers == {host.uuid: host.uuid}


def test_what_is_young_is_left_alone(store):
    """A consumer is written a moment before its allocations by other implementations."""
    host = Host(store)
    host.run(allocations.delete())
    host.inventory(used=0)
    assert codes(store) == []
    (skipped,) = audit(store, EVERYTHING).skipped
    assert skipped == LeftOut("empty_consumer", 1, "younger than 30 minutes (--grace-minutes)")
    assert audit(store, AuditSettings(codes={"usage_counter"})).skipped == []
    assert codes(store, AuditSettings(grace_minutes=-60)) == ["empty_consumer"]
    assert codes(store, AuditSettings(grace_minutes=0)) in ([], ["empty_consumer"])


def test_an_inventory_that_is_written_unchanged_is_no_cause(store):
    """Nova writes all inventories of a host when one of them changes."""
    provider = new_provider(store, VCPU=8, DISK_GB=100)
    consumer = uuid()
    claim(store, consumer, {provider: {"VCPU": 8}})

    def cause():
        (finding,) = audit(store, AuditSettings(codes={"over_capacity"})).findings
        return finding.cause

    set_time(store, LONG_AGO)
    set_inventories(store, provider, VCPU=4, DISK_GB=100)
    assert cause().startswith("the inventory was changed at 20")
    set_time(store, LONG_AGO)
    set_inventories(store, provider, VCPU=Inventory(total=6, max_unit=3), DISK_GB=100)
    assert "total" not in cause(), "the last change raised it"
    assert cause().endswith("; its values before are not recorded")
    set_inventories(store, provider, VCPU=4, DISK_GB=100)
    claim(store, consumer, {provider: {"VCPU": 7}}, generation=1)  # the server shrinks
    set_time(store, LONG_AGO)
    set_inventories(store, provider, VCPU=4, DISK_GB=90)
    assert cause() == ""


def test_the_cause_is_the_recorded_change_before_which_the_usage_fitted(store):
    observed = store.writing_with(observer=History(store, 1000))
    provider = new_provider(observed, VCPU=8, DISK_GB=100)
    claim(observed, uuid(), {provider: {"VCPU": 6}})
    set_time(store, LONG_AGO)
    Context(request_id="req-1", global_request_id="req-2", user_id="nova")
    set_inventories(observed, provider, VCPU=4, DISK_GB=90)
    Context()

    def cause():
        (finding,) = audit(store, AuditSettings(codes={"over_capacity"})).findings
        return finding.cause

    assert re.fullmatch(
        r"VCPU total 8 -> 4 at \S+Z, request req-2, user nova; 6 were in use", cause()
    )
    for total in (5, 3):  # the change that crossed the limit remains the cause
        set_inventories(observed, provider, VCPU=total, DISK_GB=90)
        assert cause().startswith("VCPU total 8 -> 4 at ")


def set_time(store, at):
    """Let all inventories and allocations have been written at a time."""

    def work(tx):
        for table in (inventories, allocations):
            tx.connection.execute(table.update().values(created_at=at, updated_at=None))

    store.write(work)


def test_an_audit_sees_one_state_and_no_writer_waits_for_it(store, other_store):
    host = Host(store)
    before = datetime.now(UTC).replace(tzinfo=None)
    with store.read() as tx:
        first = read_state(tx.connection, before, 1)
        claim(other_store, uuid(), {host.uuid: {"VCPU": 2}})
        host_of_another = Host(other_store)
        assert read_state(tx.connection, before, 1) == first
    assert host_of_another.name in {each.name for each in _providers(store).values()}


def test_nothing_is_found_in_a_random_healthy_database(store, backend):
    numbers = random.Random(BACKENDS.index(backend))  # another one on each database
    for _ in range(120):
        _step(store, numbers)
    assert len(_consumers(store)) > 5
    listed_at = datetime.now(UTC).replace(tzinfo=None) + timedelta(days=1)
    live = ListOfFile(dict.fromkeys(_consumers(store), RunsOn("elsewhere")), listed_at, TYPES)
    comparison = Comparison(live, AuditedProviders({}, {}, ()), listed_at, "young")
    comparison.add(all_matching(store, ConsumerFilter()))
    assert (comparison.orphans, comparison.compared) == ([], len(_consumers(store)))
    findings = audit(store, replace(EVERYTHING, grace_minutes=-24 * 60)).findings
    assert findings == []
    assert plan(findings, KINDS) == Planned([], {})


def _step(store, numbers):
    """Do something that the API lets be done, and that leaves no more used than there is."""
    hosts = [each.uuid for each in _providers(store).values()]
    if len(hosts) < 3 or numbers.random() < 0.1:
        parent = numbers.choice([None, *hosts])
        hosts.append(new_provider(store, parent=parent, VCPU=_vcpu(numbers), DISK_GB=100))
    # Half of the steps concern a new consumer, so that some remain in the end.
    consumer = numbers.choice([uuid(), numbers.choice([uuid(), *_consumers(store)])])
    host = numbers.choice(hosts)
    try:
        match numbers.randrange(4):
            case 0 | 1:
                resources = {"VCPU": numbers.randint(1, 4), "DISK_GB": numbers.randint(1, 40)}
                claim(store, consumer, {host: resources})
            case 2:
                allocation.delete(store, consumer)
            case 3 if not held_on(store, host):
                set_inventories(store, host, VCPU=_vcpu(numbers), DISK_GB=numbers.randint(50, 100))
    except exception.PlacementException:
        pass


def _vcpu(numbers):
    return Inventory(numbers.randint(4, 16), reserved=1, allocation_ratio=numbers.choice([1, 1.7]))


def _providers(store):
    with store.read() as tx:
        return read_state(tx.connection, datetime.now(UTC).replace(tzinfo=None), 1).providers


def _consumers(store):
    with store.read() as tx:
        return sorted(set(tx.connection.execute(sa.select(allocations.c.consumer_id)).scalars()))


def held_on(store, host):
    return allocation.of_provider(store, host).allocations


# --- over HTTP, and on the command line ------------------------------------------------------


@pytest.fixture
def http(application):
    return webtest.TestApp(application)


def test_findings_over_http(http, store):
    Host(store).inventory(used=3)
    host = Host(store)
    host.inventory(reserved=6)
    response = http.get("/insight/findings", headers=HEADERS).json
    assert [each["code"] for each in response["findings"]] == ["usage_counter", "reserved_in_use"]
    assert (response["version"], response["truncated"], response["skipped"]) == (1, [], [])
    assert response["findings"][1] == {
        "code": "reserved_in_use",
        "severity": "notice",
        "rows": {
            "provider": {"uuid": host.uuid, "name": host.name},
            "resource_class": "VCPU",
            "used": 4,
            "capacity": 2,
            "total": 8,
            "reserved": 6,
            "allocation_ratio": 1.0,
        },
        "cause": "reserved: the usage is within the capacity without it",
        "repair": "none if the amount was reserved on purpose, as nova reserves devices in use",
        "repair_command": f"openstack resource consumer list --provider {host.uuid}",
        "names": {host.uuid: host.name},
    }
    one = http.get("/insight/findings?code=usage_counter", headers=HEADERS).json
    assert [each["code"] for each in one["findings"]] == ["usage_counter"]


def test_a_provider_that_was_changed_by_sql_is_reported_and_logged(http, store, caplog):
    host, removed = Host(store), Host(store)
    path = f"/resource_providers?name={host.name}"
    new = uuid()
    assert http.get("/insight/findings", headers=HEADERS).json["findings"] == []
    host.provider(uuid=new)
    (finding,) = http.get("/insight/findings", headers=HEADERS).json["findings"]
    assert (finding["code"], finding["repair_command"]) == (
        "edited_by_sql",
        "placement-manage db sync",
    )
    assert (finding["rows"]["stored"], finding["rows"]["served"]) == (new, host.uuid)
    assert finding["rows"]["differences"] == ["uuid", "root_uuid"]
    assert f"the first: {host.name}. Run: placement-manage db sync" in caplog.text
    migration.sync(store)
    assert http.get("/insight/findings", headers=HEADERS).json["findings"] == []
    (provider,) = http.get(path, headers=HEADERS).json["resource_providers"]
    assert provider["uuid"] == new
    assert removed.uuid != new


@pytest.mark.parametrize(
    ("edit", "differences"),
    [
        (lambda host: host.provider(name="x"), ["name"]),
        (lambda host: host.provider(generation=99), ["generation"]),
        (lambda host: host.inventory(total=4), ["inventories"]),
        (lambda host: host.inventory(used=5), ["used"]),
        (lambda host: host.run(resource_provider_traits.delete()), ["traits"]),
        (lambda host: host.run(resource_provider_aggregates.delete()), ["aggregates"]),
        (lambda host: host.run(inventories.delete()), ["inventories", "used"]),
    ],
)
def test_any_part_that_was_changed_by_sql_is_reported(http, store, edit, differences):
    host = Host(store)
    path = f"/resource_providers/{host.uuid}"
    for name, values in (("traits", ["HW_CPU_X86_AVX2"]), ("aggregates", [uuid()])):
        body = http.get(f"{path}/{name}", headers=HEADERS).json | {name: values}
        http.put_json(f"{path}/{name}", body, headers=HEADERS)
    assert edited(http) == []
    edit(host)
    assert edited(http) == [differences]
    migration.sync(store)
    assert edited(http) == []


def edited(http):
    document = http.get("/insight/findings?code=edited_by_sql", headers=HEADERS).json
    return [each["rows"]["differences"] for each in document["findings"]]


def test_allocations_that_were_deleted_by_sql_are_reported_and_logged(http, store, caplog):
    host = Host(store)
    host.run(allocations.delete())
    findings = http.get("/insight/findings?grace_minutes=0", headers=HEADERS).json["findings"]
    assert "usage_counter" in {each["code"] for each in findings}
    assert f"the first: {host.name}. Run: placement-manage db sync" in caplog.text
    migration.sync(store)
    usages = http.get(f"/resource_providers/{host.uuid}/usages", headers=HEADERS).json
    assert usages["usages"] == {"VCPU": 0}


@pytest.mark.parametrize(
    "query", ["code=nonsense", "grace_minutes=-1", "grace_minutes=x", "stale_days=0", "all=true"]
)
@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_query_that_cannot_be_read_is_refused(http, query):
    response = http.get(f"/insight/findings?{query}", headers=HEADERS, status=400)
    assert (
        query.split("=")[0 if query == "all=true" else 1] in response.json["errors"][0]["detail"]
    )


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_of_very_many_findings_the_first_are_returned(store):
    for _ in range(4):
        Host(store).inventory(used=3)
    findings = audit(store, AuditSettings(at_most=2))
    assert ([each.code for each in findings.findings], findings.truncated) == (
        ["usage_counter"] * 2,
        ["usage_counter"],
    )


@pytest.fixture
def run(database_url, monkeypatch, capsys):
    """Return a function that runs the command; it returns the exit status and the output."""
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", database_url)

    def run(*arguments):
        status = manage.main(["audit", *arguments])
        return status, capsys.readouterr().out

    return run


def test_the_command_reports_and_exits_by_what_it_finds(run, store):
    host = Host(store)
    assert run() == (command.CLEAN, "Nothing found\n")
    new_provider(store, f"{host.name}.example.org", VCPU=8)
    status, printed = run()
    assert (status, printed.splitlines()[0]) == (command.CLEAN, "1 notice similar_names")
    host.inventory(used=3)
    status, printed = run()
    assert status == command.FOUND
    assert f"provider {host.name} ({host.uuid}), resource_class VCPU, counter 3, used 4" in printed
    assert "  repair: set the counter to the sum\n" in printed
    assert "  command: placement-manage audit --code usage_counter --plan repair.plan\n" in printed
    assert printed.startswith("1 error usage_counter\n1 notice similar_names\n\n")
    status, printed = run("--json", "--code", "usage_counter")
    assert (status, [each["code"] for each in json.loads(printed)["findings"]]) == (
        command.FOUND,
        ["usage_counter"],
    )
    assert run("--code", "unused_class")[0] == command.CLEAN


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("arguments", [["--code", "nonsense"], ["--grace-minutes", "-1"]])
def test_the_command_refuses_what_it_cannot_read(run, arguments):
    assert run(*arguments) == (1, "")


@pytest.mark.parametrize("minutes", ["x", "1000000", "1.5"])
def test_the_range_of_a_number_is_in_the_message(minutes, capsys):
    assert manage.main(["audit", "--grace-minutes", minutes]) == 1
    assert f"{minutes} is not a number from 0 to 999999" in capsys.readouterr().err


def test_another_trait_makes_no_host_and_disables_none(store):
    node, off = (compute_node(store, new_provider(store)) for _ in range(2))
    disk = new_provider(store)
    traits = {off: ["COMPUTE_NODE", "COMPUTE_STATUS_DISABLED"], disk: ["STORAGE_DISK_SSD"]}
    for each, names in traits.items():
        trait.replace(store, each, generation(store, each), names)
    with store.read() as tx:
        state = read_state(tx.connection, datetime.now(), 1)
    assert (state.hosts, state.disabled) == ({node, off}, {off})


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_the_inventories_of_a_provider_are_together(store):
    hosts = [new_provider(store, VCPU=8, MEMORY_MB=8) for _ in range(2)]
    with store.read() as tx:
        inventories = read_state(tx.connection, datetime.now(), 1).inventories
    expected = [(host, name) for host in hosts for name in ("VCPU", "MEMORY_MB")]
    assert [(each.provider.uuid, each.resource_class) for each in inventories] == expected
