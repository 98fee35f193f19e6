"""A server that runs on the claim of a migration, after its move was aborted or has failed."""

import json

import pytest

from placement.engine.engine import loaded
from placement.tests.support.defects import Host
from placement.tests.support.factories import allocations_of, assert_sound, claim
from placement.tests.support.snapshots import assert_exact
from placement_insight.audit import manage as command
from placement_insight.audit.repair.consumers import TakeOverAllocations
from placement_insight.audit.repair.plan_file import plan_text, planned_actions, read_file
from placement_insight.tests.support.repairs import image, instance, without_generations

TYPES = ("--type", "INSTANCE", "--type", "MIGRATION")
VCPUS = (1, 2)


@pytest.fixture
def sources(store):
    return [Host(store) for _ in VCPUS]


@pytest.fixture
def target(store):
    return Host(store)


@pytest.fixture
def servers(store, target):
    """Two servers that run on the sources, with allocations on the target."""
    return [instance(store, target, vcpus=vcpus) for vcpus in VCPUS]


@pytest.fixture
def migrations(store, sources, servers):
    """The migrations of the servers, with allocations on the sources."""
    pairs = zip(sources, VCPUS, strict=True)
    return [instance(store, host, vcpus=vcpus, type="MIGRATION") for host, vcpus in pairs]


@pytest.fixture
def running(sources, servers):
    """The lines of the servers in a file, each on its source."""
    return [*map(on, sources, servers)]


def on(host, server):
    return f"{server} {host.name}"


def found(run_audit, path, *arguments):
    """Return the findings by consumer, and the rows of migrations that were left out."""
    document = json.loads(run_audit("--live", path, *TYPES, "--json", *arguments)[1])
    findings = {each["rows"]["consumer"]: each for each in document["findings"]}
    assert len(findings) == len(document["findings"])
    left_out = [(row["count"], row["reason"]) for row in document["skipped"] if row["found"]]
    return findings, left_out


def test_one_action_moves_the_claim_and_is_undone(
    store, run_audit, *, apply, plan, live, sources, servers, migrations, running
):
    listed = live(*running)
    findings, _ = found(run_audit, listed)
    assert findings.keys() == set(servers)
    for server, migration in zip(servers, migrations, strict=True):
        finding = findings[server]
        assert finding["code"] == "allocations_on_other_host"
        assert finding["rows"]["migration"]["uuid"] == migration
        assert migration in finding["cause"]
        assert f"--code {finding['code']} --plan repair.plan" in finding["repair_command"]
    before = image(store)
    with store.read() as tx:
        view = loaded(tx)
    run_audit("--live", listed, *TYPES, "--plan", plan)
    assert image(store) == before
    assert apply(plan) == (2, 0, 0)
    for server, migration, source, vcpus in zip(servers, migrations, sources, VCPUS, strict=True):
        assert allocations_of(store, server) == {source.uuid: {"VCPU": vcpus}}
        assert allocations_of(store, migration) == {}
    assert_sound(store)
    with store.read() as tx:
        (view,) = assert_exact(tx, view)
    assert run_audit("--live", listed, *TYPES)[0] == command.CLEAN
    assert apply(f"{plan}.undo") == (2, 0, 0)
    assert without_generations(image(store)) == without_generations(before)
    with store.read() as tx:
        assert_exact(tx, view)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_the_text_names_the_migration_and_its_host(run_audit, live, sources, migrations, running):
    source, _ = sources
    _, printed, _ = run_audit("--live", live(*running), *TYPES)
    assert f"migration {migrations[0]} with {source.name} ({source.uuid}): VCPU 1" in printed
    assert "2 errors allocations_on_other_host" in printed
    assert "orphaned_consumer" not in printed.replace("for orphaned_consumer", "")


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_code_selects_the_finding_and_never_the_claim_alone(
    run_audit, plan, *, live, migrations, running
):
    listed = live(*running)
    for code, number in (("allocations_on_other_host", 2), ("orphaned_consumer", 0)):
        run_audit("--live", listed, *TYPES, "--code", code, "--plan", plan)
        actions = planned_actions(read_file(plan.read_text()))
        assert [type(action) for action in actions] == [TakeOverAllocations] * number


AMBIGUOUS = "a server without a claim on its host may run on it"
SEVERAL = "several migrations have a claim on the host of their server"
NOT_COMPARED = "its server is not compared, and may run on it"


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_ambiguous_claims_are_held_back(
    store, run_audit, *, live, sources, target, servers, migrations, running
):
    """A second migration with the amounts; another server on the host, of whatever size."""
    source, _ = sources
    again = instance(store, source, vcpus=1, type="MIGRATION")
    findings, left_out = found(run_audit, live(*running))
    assert findings.keys() == set(servers)
    assert "migration" not in findings[servers[0]]["rows"]
    assert findings[servers[1]]["rows"]["migration"]["uuid"] == migrations[1]
    assert left_out == [(2, SEVERAL)]
    claim(store, again, {})
    for vcpus in (1, 4):  # a resize that was aborted has other amounts
        another = instance(store, Host(store), vcpus=vcpus)
        findings, left_out = found(run_audit, live(*running, on(source, another)))
        assert findings.keys() == {*servers, another}
        assert left_out == [(1, AMBIGUOUS)]
        claim(store, another, {})


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_the_claim_of_a_young_server_is_held_back(
    store, run_audit, *, live, target, servers, migrations, running
):
    claim(store, servers[0], {target.uuid: {"VCPU": 1}}, type="INSTANCE")
    findings, left_out = found(run_audit, live(*running))
    assert findings.keys() == {servers[1]}
    young = "younger than 30 minutes (--grace-minutes)"
    assert left_out == [(1, NOT_COMPARED), (1, young)]


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_list_without_hosts_does_not_show_who_runs_on_a_claim(
    run_audit, live, servers, migrations
):
    findings, left_out = found(run_audit, live(*servers))
    assert (findings, left_out) == ({}, [(2, AMBIGUOUS)])


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_migration_is_an_orphan_if_its_server_has_a_claim(
    store, run_audit, *, live, sources, target, servers, migrations
):
    """After a resize that was confirmed halfway, and of servers that were deleted."""
    on_target = [on(target, server) for server in servers]
    findings, left_out = found(run_audit, live(*on_target))
    assert {each["code"] for each in findings.values()} == {"orphaned_consumer"}
    assert (findings.keys(), left_out) == (set(migrations), [])
    doubled = on(sources[0], instance(store, sources[0], target, vcpus=1))
    findings, left_out = found(run_audit, live(doubled, *on_target))
    assert {*migrations} < findings.keys()
    assert left_out == []


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("generation", 7),
        ("generation", None),
        ("written_at", "2020-01-01T00:00:00Z"),
        ("allocations", {}),
        ("migration", "5e08ea53-c4c6-448e-9334-ac4953de3cf1"),
        ("migration_generation", 7),
        ("migration_allocations", {}),
    ],
)
def test_a_stale_plan_is_skipped(
    store, run_audit, *, apply, plan, live, migrations, running, field, value
):
    run_audit("--live", live(*running), *TYPES, "--plan", plan)
    action, _ = planned_actions(read_file(plan.read_text()))
    stale = type(action).from_json({**action.__dict__, field: value})
    plan.write_text(plan_text(str(store.epoch()), [stale], {}))
    before = image(store)
    assert apply(plan) == (0, 0, 1)
    assert image(store) == before
