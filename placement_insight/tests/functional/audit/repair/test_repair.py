"""Plan, apply and undo on each database: repairs what the audit finds, and nothing else."""

import json
import os

import pytest

from placement.objects import inventory, trait
from placement.tests.support.defects import DEFECTS, Host, missing_consumer
from placement.tests.support.factories import (
    allocations_of,
    assert_sound,
    claim,
    set_inventories,
    uuid,
)
from placement_insight.audit import manage as command
from placement_insight.audit.model import AuditSettings
from placement_insight.audit.repair.actions import REPAIRABLE
from placement_insight.audit.report import audit
from placement_insight.tests.support.repairs import (
    age,
    by_nova,
    image,
    instance,
    without_generations,
)

REPAIRED = [name for name, (code, _) in DEFECTS.items() if code in REPAIRABLE]


@pytest.mark.parametrize("name", REPAIRED)
def test_each_kind_is_repaired_and_undone(store, run_audit, apply, plan, name):
    code, make = DEFECTS[name]
    Host(store)
    make(Host(store))
    before = image(store)
    assert run_audit("--plan", plan, "--code", code)[0] == command.FOUND
    assert image(store) == before
    assert apply(plan) == (1, 0, 0)
    left = ["untyped_consumers"] if code == "missing_consumer" else []  # created without a type
    assert [finding.code for finding in audit(store, AuditSettings()).findings] == left
    if code not in ("unused_class", "unused_trait"):
        assert_sound(store)
    assert apply(f"{plan}.undo") == (1, 0, 0)
    kept = without_generations if code == "missing_provider" else dict
    assert kept(image(store)) == kept(before)
    assert apply(f"{plan}.undo") == (0, 1, 0)
    assert kept(image(store)) == kept(before)


def test_the_trees_of_providers_without_a_name_come_back(store, run_audit, apply, plan):
    for host in (Host(store), Host(store)):
        host.provider(name=None, root_provider_id=None)
    run_audit("--plan", plan)
    assert apply(plan) == (2, 0, 0)
    assert apply(f"{plan}.undo") == (2, 0, 0)


def test_actions_on_the_same_consumers_are_undone(store, run_audit, apply, plan):
    """One is created; both stay, and lose allocations of two classes on a missing provider."""
    hosts = [Host(store) for _ in range(2)]
    missing_consumer(hosts[0])
    for host in hosts:
        for class_id in range(2):
            stray = {"resource_provider_id": 999_999, "resource_class_id": class_id}
            host.run(host.allocation(**stray))
    before = without_generations(image(store))
    run_audit("--plan", plan)
    assert apply(plan) == (3, 0, 0)
    assert apply(f"{plan}.undo") == (3, 0, 0)
    assert without_generations(image(store)) == before


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("name", sorted(DEFECTS.keys() - set(REPAIRED)))
def test_what_needs_a_decision_is_left(store, run_audit, apply, plan, name):
    code, make = DEFECTS[name]
    make(Host(store))
    _, printed, _ = run_audit("--plan", plan, "--code", code, "--stale-days", 1000)
    assert printed.startswith("0 actions planned")
    assert f"1 {code} not planned: you must decide" in printed
    assert len(plan.read_text().splitlines()) == 2


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_plan_says_what_it_leaves_out(store, run_audit, plan, live):
    """Notices, findings that need a decision, and consumers that are too young."""
    host = Host(store)
    orphan = instance(store, host)
    host.inventory(total=3)
    for name in ("CUSTOM_A", "CUSTOM_B"):
        trait.ensure(store, name)
    claim(store, uuid(), {Host(store).uuid: {"VCPU": 1}}, type="INSTANCE")
    _, printed, _ = run_audit("--live", live(uuid()), "--plan", plan)
    assert printed.splitlines() == [
        f"1 action planned in {plan}",
        "1 over_capacity not planned: you must decide; see the audit without --plan",
        "2 unused_trait not planned: notices are planned only with --code unused_trait",
        "2 not compared for orphaned_consumer: the list does not cover the consumer type POD "
        "(--type POD)",
        "1 orphaned_consumer left out: younger than 30 minutes (--grace-minutes)",
        "1 not compared for server_without_allocations: the list has no hosts",
        f"To apply them: placement-manage audit --apply {plan}",
    ]
    _, action, _ = map(json.loads, plan.read_text().splitlines())
    assert (action["consumer"], action["names"]) == (orphan, {host.uuid: host.name})


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_an_action_that_is_skipped_is_reported_with_the_name_of_its_provider(
    store, run_audit, plan
):
    host = Host(store)
    host.inventory(used=3)
    run_audit("--plan", plan)
    host.inventory(used=4)
    named = f"{host.name} ({host.uuid})"
    assert run_audit("--apply", plan)[1].splitlines()[0] == (
        f"skipped set_usage_counter, finding usage_counter, provider {named}, resource_class "
        "VCPU, counter 3, used 4: The counter is the sum of the allocations: 4."
    )
    _, printed, _ = run_audit("--apply", plan, "--json")
    assert json.loads(printed)["names"] == {host.uuid: host.name}


# --- live consumers ---------------------------------------------------------------------


def test_an_orphaned_consumer_is_removed_and_comes_back(store, run_audit, apply, plan, live):
    host = Host(store)
    alive, orphan = instance(store, host), instance(store, host)
    listed = live(alive)
    status, printed, _ = run_audit("--live", listed, "--json")
    assert status == command.FOUND
    (finding,) = json.loads(printed)["findings"]
    assert (finding["code"], finding["rows"]["consumer"]) == ("orphaned_consumer", orphan)
    before = image(store)
    run_audit("--live", listed, "--plan", plan)
    assert image(store) == before
    assert apply(plan) == (1, 0, 0)
    assert allocations_of(store, orphan) == {}
    assert allocations_of(store, alive) == {host.uuid: {"VCPU": 2}}
    assert_sound(store)
    assert run_audit("--live", listed)[0] == command.CLEAN
    assert apply(plan) == (0, 1, 0)
    assert apply(f"{plan}.undo") == (1, 0, 0)
    assert image(store) == before
    assert_sound(store)


def test_only_the_other_host_of_an_instance_is_removed(store, run_audit, apply, plan, live):
    old, new, storage = Host(store), Host(store), Host(store)
    doubled = instance(store, old, new)
    before = image(store)
    assert run_audit("--live", live(f"{doubled} {new.name}"), "--plan", plan)[0] == command.FOUND
    assert apply(plan) == (1, 0, 0)
    assert allocations_of(store, doubled) == {new.uuid: {"VCPU": 2}}
    assert_sound(store)
    assert apply(f"{plan}.undo") == (1, 0, 0)
    assert without_generations(image(store)) == without_generations(before)
    assert storage.name not in plan.read_text()


def test_what_has_changed_since_the_plan_is_skipped(store, run_audit, apply, plan, live):
    host = Host(store)
    orphans = [instance(store, host, vcpus=1) for _ in range(3)]
    run_audit("--live", live(), "--allow-many-orphans", "--plan", plan, "--type", "INSTANCE")
    claim(store, orphans[0], {host.uuid: {"VCPU": 2}}, type="INSTANCE")
    claim(store, orphans[1], {})
    assert apply(plan) == (1, 0, 2)
    assert allocations_of(store, orphans[0]) == {host.uuid: {"VCPU": 2}}
    assert_sound(store)
    _, printed, _ = run_audit("--apply", plan)
    assert "has generation 2; it had 1 when planned" in printed
    assert f"The consumer {orphans[1]} does not exist" in printed
    assert "0 applied, 1 applied already, 2 skipped" in printed


def test_an_undo_leaves_what_has_changed_since(store, run_audit, apply, plan, live):
    host = Host(store)
    again, orphan = instance(store, host, vcpus=1), instance(store, host, vcpus=1)
    run_audit("--live", live(), "--allow-many-orphans", "--plan", plan)
    assert apply(plan) == (2, 0, 0)
    by_nova(store, claim, again, {host.uuid: {"VCPU": 3}}, type="INSTANCE")
    assert apply(f"{plan}.undo") == (1, 0, 1)
    _, printed, _ = run_audit("--apply", f"{plan}.undo")
    placed = f"server {again}: placed on {host.name} (VCPU 3) at "
    assert f"The rows have changed since the action: {placed}" in printed
    assert ", request req-1, user nova" in printed
    assert allocations_of(store, again) == {host.uuid: {"VCPU": 3}}
    assert allocations_of(store, orphan) == {host.uuid: {"VCPU": 1}}
    assert_sound(store)


def test_the_undo_of_a_counter_keeps_the_changes_since(store, run_audit, apply, plan):
    host = Host(store)
    host.inventory(used=3)
    run_audit("--plan", plan)
    assert apply(plan) == (1, 0, 0)
    claim(store, uuid(), {host.uuid: {"VCPU": 2}}, type="INSTANCE")
    set_inventories(store, host.uuid, VCPU=120)
    assert apply(plan) == (0, 1, 0)
    assert apply(f"{plan}.undo") == (1, 0, 0)
    assert inventory.list_of(store, host.uuid).inventories["VCPU"].total == 120
    (finding,) = audit(store, AuditSettings(codes={"usage_counter"})).findings
    assert (finding.rows["counter"], finding.rows["used"]) == (5, 6)


def test_a_plan_can_be_applied_again_after_its_undo(store, run_audit, apply, plan, live):
    host = Host(store)
    orphan = instance(store, host)
    before = image(store)
    run_audit("--live", live(), "--allow-many-orphans", "--plan", plan)
    for _ in range(2):
        assert apply(plan) == (1, 0, 0)
        assert allocations_of(store, orphan) == {}
        assert apply(f"{plan}.undo") == (1, 0, 0)
        assert image(store) == before


def test_the_ids_of_removed_rows_may_be_taken(store, run_audit, apply, plan, live):
    """SQLite gives the largest ids away again."""
    host = Host(store)
    orphan = instance(store, host)
    run_audit("--live", live(), "--allow-many-orphans", "--plan", plan)
    assert apply(plan) == (1, 0, 0)
    another = instance(store, host, vcpus=1)
    assert apply(f"{plan}.undo") == (1, 0, 0)
    assert allocations_of(store, orphan) == {host.uuid: {"VCPU": 2}}
    assert allocations_of(store, another) == {host.uuid: {"VCPU": 1}}
    assert_sound(store)
    assert apply(f"{plan}.undo") == (0, 1, 0)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_line_of_a_plan_can_be_deleted(store, run_audit, apply, plan, live):
    host = Host(store)
    orphans = [instance(store, host, vcpus=1) for _ in range(3)]
    run_audit("--live", live(), "--allow-many-orphans", "--plan", plan)
    lines = plan.read_text().splitlines(keepends=True)
    plan.write_text("".join(line for line in lines if orphans[1] not in line))
    assert apply(plan) == (2, 0, 0)
    assert [bool(allocations_of(store, orphan)) for orphan in orphans] == [False, True, False]


# --- which consumers are compared ---------------------------------------------------------


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_types_that_the_list_is_not_of_are_left_alone(store, run_audit, live):
    host = Host(store)
    by_type = {
        name: instance(store, host, type=type_, vcpus=1)
        for name, type_ in (
            ("INSTANCE", "INSTANCE"),
            ("MIGRATION", "MIGRATION"),
            ("unknown", None),
        )
    }

    def found(*types):
        options = [each for name in types for each in ("--type", name)]
        _, printed, _ = run_audit("--live", live(host.consumer), "--json", *options)
        listed = json.loads(printed)["findings"]
        return {each["rows"]["consumer"] for each in listed if each["severity"] == "error"}

    assert found() == {by_type["INSTANCE"]}
    assert found("MIGRATION") == {by_type["MIGRATION"]}
    assert found("INSTANCE", "unknown") == {by_type["INSTANCE"], by_type["unknown"]}


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_consumers_written_after_the_list_are_left_alone(store, run_audit, live):
    host = Host(store)
    instance(store, host)
    path = live(host.consumer)
    assert run_audit("--live", path)[0] == command.FOUND
    four_days_ago = path.stat().st_mtime - 4 * 86400
    os.utime(path, (four_days_ago, four_days_ago))
    assert run_audit("--live", path)[0] == command.CLEAN


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_young_consumers_are_left_alone(store, run_audit, live):
    host = Host(store)
    claim(store, host.consumer, {host.uuid: {"VCPU": 1}}, type="INSTANCE")
    options = ("--live", live(), "--allow-many-orphans")
    assert run_audit(*options)[0] == command.CLEAN
    assert run_audit(*options, "--grace-minutes", "0")[0] in (command.CLEAN, command.FOUND)
    age(store, days=1)
    assert run_audit(*options)[0] == command.FOUND
    assert run_audit(*options, "--grace-minutes", "2000")[0] == command.CLEAN


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_an_instance_with_shared_storage_is_not_on_two_hosts(store, run_audit, live):
    host, storage = Host(store), Host(store)
    set_inventories(store, storage.uuid, VCPU=8, DISK_GB=100)
    consumer = uuid()
    amounts = {host.uuid: {"VCPU": 1}, storage.uuid: {"DISK_GB": 5}}
    claim(store, consumer, amounts, type="INSTANCE")
    age(store)
    assert run_audit("--live", live(f"{consumer} {host.name}"))[0] == command.CLEAN


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_an_instance_whose_host_is_none_of_its_providers_is_left_alone(store, run_audit, live):
    consumer = instance(store, Host(store), Host(store))
    for host in ("", "None", "elsewhere"):
        assert run_audit("--live", live(f"{consumer} {host}"))[0] == command.CLEAN


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_list_that_lacks_most_consumers_is_refused(store, run_audit, plan, live):
    host = Host(store)
    set_inventories(store, host.uuid, VCPU=100)
    alive = [instance(store, host) for _ in range(24)]
    status, _, errors = run_audit("--live", live(*alive[:11]), "--plan", plan)
    assert (status, "13 of 24 consumers, more than half" in errors) == (1, True)
    assert not plan.exists()
    assert run_audit("--live", live(*alive[:12]), "--plan", plan)[0] == command.FOUND
    assert run_audit("--live", live(), "--plan", plan)[0] == 1
    assert run_audit("--live", live(), "--plan", plan, "--allow-many-orphans")[0] == command.FOUND
