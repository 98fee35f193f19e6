"""Renamed and re-installed hosts: conflicts name the holder, and plans repair them."""

import json

import pytest
import sqlalchemy as sa
import webtest

from placement import exception
from placement.cmd import manage
from placement.core.model import Inventory
from placement.objects import allocation, provider
from placement.tests.support.factories import (
    allocations_of,
    assert_sound,
    claim,
    new_provider,
    uuid,
)
from placement.tests.support.processes import ApiProcess
from placement.tests.support.waiting import wait_until
from placement_insight.audit.identity.sql import identify
from placement_insight.audit.repair.plan_file import planned_actions, read_file
from placement_insight.tests.support.openstack_client import Client, add_claim, add_host

LATEST = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest"}
NEW = "bbbbbbbb-0000-4000-8000-000000000002"


@pytest.fixture
def http(application):
    return webtest.TestApp(application)


def detail(response):
    return response.json["errors"][0]["detail"].split("\n")[-1].strip()


def post(http, name, own=NEW, status=409):
    body = {"name": name, "uuid": own}
    return http.post_json("/resource_providers", body, headers=LATEST, status=status)


def shown(http, query):
    return http.get(f"/insight/identity?{query}", headers=LATEST).json


# --- 409 ----------------------------------------------------------------------------------


def test_a_taken_name_is_reported_with_its_holder(http, store):
    host = new_provider(store, "cn1", VCPU=8)
    for _ in range(2):
        claim(store, uuid(), {host: {"VCPU": 1}})
    response = post(http, "cn1")
    generation = provider.show(store, host).generation
    expected = (
        "Conflicting resource provider name: cn1 already exists. "
        f"It is provider {host}: name cn1, generation {generation}, last changed "
    )
    assert detail(response).startswith(expected)
    assert detail(response).endswith(" seconds ago, consumers 2.")
    assert response.json["errors"][0]["code"] == "placement.duplicate_name"


def test_a_taken_uuid_is_reported_with_its_holder(http, store):
    host = new_provider(store, "cn1")
    new_provider(store, "cn2")
    for name in ("another", "cn2"):
        text = detail(post(http, name, host))
        assert text.startswith(f"Conflicting resource provider uuid: {host} already exists. It is")
        assert f"It is provider {host}: name cn1, generation 0, " in text
        assert "Conflicting resource provider name:" not in text


def test_a_renaming_to_a_taken_name_is_reported_with_its_holder(http, store):
    first, second = new_provider(store, "cn1"), new_provider(store, "cn2")
    for body in ({"name": "cn2"}, {"name": "cn2", "parent_provider_uuid": None}):
        response = http.put_json(f"/resource_providers/{first}", body, headers=LATEST, status=409)
        assert f"name: cn2 already exists. It is provider {second}: name cn2" in detail(response)


def test_a_provider_without_a_root_holds_its_name_too(http, store):
    host = new_provider(store, "cn1")
    store.write(
        lambda tx: tx.providers._update(
            tx.connection.exec_driver_sql("SELECT id FROM resource_providers").scalars().all(),
            root_provider_id=None,
        )
    )
    assert f"It is provider {host}: name cn1" in detail(post(http, "cn1"))


def test_the_holder_is_read_in_one_transaction(store, monkeypatch):
    host = new_provider(store, "cn1")
    begin, reads = store._begin_read, []

    def counted():
        reads.append(None)
        return begin()

    monkeypatch.setattr(store, "_begin_read", counted)
    with pytest.raises(exception.DuplicateProvider) as refused:
        provider.create(store, NEW, "cn1", None)
    assert (refused.value.attribute, refused.value.holder.uuid) == ("name", host)
    with pytest.raises(exception.DuplicateProvider) as refused:
        provider.create(store, host, "cn1", None)
    assert (refused.value.attribute, refused.value.holder.uuid) == ("uuid", host)
    assert len(reads) == 2


def test_a_conflict_is_one_without_the_database_for_its_holder(store, monkeypatch):
    new_provider(store, "cn1")

    def unavailable():
        raise exception.DatabaseUnavailable("gone")

    monkeypatch.setattr(store, "_begin_read", unavailable)
    with pytest.raises(exception.DuplicateProvider) as refused:
        provider.create(store, NEW, "cn1", None)
    assert str(refused.value) == "Conflicting resource provider name: cn1 already exists."


# --- recorded conflicts -------------------------------------------------------------------


def test_conflicts_are_recorded_once_an_hour_and_listed_by_identity_only(http, store):
    host = new_provider(store, "cn1")
    headers = LATEST | {"X-Openstack-Request-Id": "req-00000000-0000-4000-8000-000000000001"}
    for _ in range(3):
        body = {"name": "cn1", "uuid": NEW}
        http.post_json("/resource_providers", body, headers=headers, status=409)
    for query in (
        "name=cn1",
        "name=CN1.example.org",
        f"name={NEW}",
        f"name={host}",
        "name=cn1&days=1",
    ):
        (conflict,) = shown(http, query)["conflicts"]
        assert conflict["holder"] == host
        assert (conflict["name"], conflict["uuid"]) == ("cn1", NEW)
        assert (conflict["reason"], conflict["user_id"]) == ("duplicate_name", "admin")
        assert conflict["request_id"] == headers["X-Openstack-Request-Id"]
    assert shown(http, "name=cn2")["conflicts"] == []
    assert http.get("/insight/requests", headers=LATEST).json["requests"] == []
    own = f"/insight/requests/{headers['X-Openstack-Request-Id']}"
    http.get(own, headers=LATEST, status=404)


def test_a_conflict_of_a_uuid_leads_to_its_holder(http, store):
    host = new_provider(store, "other")
    post(http, "cn1", host)
    document = shown(http, "name=cn1")
    assert [(each["match"], each["uuid"]) for each in document["providers"]] == [
        ("conflict", host)
    ]
    assert document["conflicts"][0]["reason"] == "duplicate_uuid"


def test_conflicts_are_not_recorded_without_a_recorder(conf, http_without_recorder, store):
    new_provider(store, "cn1")
    post(http_without_recorder, "cn1")
    assert shown(http_without_recorder, "name=cn1")["conflicts"] == []


@pytest.fixture
def http_without_recorder(conf, application):
    from placement import deploy  # noqa: PLC0415

    conf.set_override("record", False, "insight")
    return webtest.TestApp(deploy.loadapp(conf))


# --- which providers could be meant -------------------------------------------------------


def matches(store, name):
    return [(each.match, each.provider.name) for each in identify(store, name).matches]


def test_names_are_found_without_case_and_domain(store):
    exact = store.compares_text_exactly
    names = ["cn1", "cn1.example.org", "CN1.other.org", "cn10", "cn_", "xcn1", "cn1-a"]
    for name in [*names, *(["Cn1"] if exact else [])]:
        new_provider(store, name)
    host = new_provider(store, "10.0.0.1")
    new_provider(store, "10.0.0.2")
    case = [("case", "Cn1")] if exact else []
    others = [("domain", "CN1.other.org"), ("domain", "cn1.example.org")]
    assert matches(store, "cn1") == [("name", "cn1"), *case, *others]
    assert matches(store, "CN1.example.ORG")[0] == ("case", "cn1.example.org")
    assert ("domain", "cn1") in matches(store, "cn1.example.org")
    assert matches(store, "cn%") == matches(store, "") == matches(store, "a\0b") == []
    assert matches(store, "10.0.0.1") == [("name", "10.0.0.1")]
    assert matches(store, host.upper()) == [("uuid", "10.0.0.1")]


def test_numbers_and_descendants_are_those_of_the_provider(store):
    host = new_provider(store, "cn1", VCPU=8, MEMORY_MB=1024)
    numa = new_provider(store, "cn1.numa0", host, VCPU=4)
    leaf = new_provider(store, "leaf", numa)
    claim(store, uuid(), {host: {"VCPU": 1, "MEMORY_MB": 1}, numa: {"VCPU": 1}})
    identity = identify(store, "cn1")
    (match,) = identity.matches
    assert (match.provider.consumers, match.provider.inventories) == (1, 2)
    assert match.provider.children == 1
    assert [each.uuid for each in match.descendants] == [leaf, numa]
    assert identity.database == str(store.epoch())


def test_descendants_in_a_loop_of_parents_are_listed_once(store):
    host = new_provider(store, "cn1")
    numa = new_provider(store, "cn1.numa0", host)
    leaf = new_provider(store, "leaf", numa)
    loop = "UPDATE resource_providers SET parent_provider_id = :leaf WHERE id = :host"
    ids = {"host": provider.show(store, host).id, "leaf": provider.show(store, leaf).id}
    store.write(lambda tx: tx.connection.execute(sa.text(loop), ids))
    (match,) = identify(store, "cn1").matches
    assert [each.uuid for each in match.descendants] == [leaf, numa]


# --- plans --------------------------------------------------------------------------------


@pytest.fixture
def run(database_url, monkeypatch, capsys):
    """Return a function that runs ``placement-manage``: status, output and errors."""
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", database_url)

    def run(*arguments):
        status = manage.main([str(each) for each in arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def test_adopt_moves_all_allocations_to_the_provider_with_the_name(store, run, tmp_path):
    old = new_provider(store, "cn1", VCPU=8, MEMORY_MB=64)
    new_provider(store, "cn1_child", old, VGPU=1)
    now = new_provider(store, "cn1.example.org", VCPU=8, MEMORY_MB=64)
    servers = [uuid() for _ in range(3)]
    for server in servers:
        claim(store, server, {old: {"VCPU": 1, "MEMORY_MB": 8}})
    plan = tmp_path / "plan"
    status, output, errors = run("identity", "cn1.example.org", "--plan", plan, "--adopt", old)
    assert (status, output) == (
        0,
        f"Wrote 5 actions to {plan}. Read them, then run `placement-manage audit --apply {plan}` "
        "on an API host.\n",
    )
    assert errors == ""
    *moves, _, last = planned_actions(read_file(plan.read_text()))
    assert {(each.consumer, each.source, each.target) for each in moves} == {
        (server, old, now) for server in servers
    }
    assert (last.provider, last.generation) == (old, None)
    before = identify(store, "cn1.example.org").matches
    assert {each.provider.uuid for each in before} == {old, now}, "nothing is changed yet"
    assert run("audit", "--apply", plan)[0] == 0
    for server in servers:
        assert allocations_of(store, server) == {now: {"VCPU": 1, "MEMORY_MB": 8}}
    assert matches(store, "cn1") == [("domain", "cn1.example.org")]
    assert_sound(store)
    assert run("audit", "--apply", f"{plan}.undo")[0] == 0
    for server in servers:
        assert allocations_of(store, server) == {old: {"VCPU": 1, "MEMORY_MB": 8}}
    assert_sound(store)


def test_adopt_checks_when_planning_what_apply_would_refuse(store, run, tmp_path):
    """Each reason once, and the sum: the second server of 3 VCPU does not fit beside the first."""
    old = new_provider(store, "cn1", VCPU=8, MEMORY_MB=64, DISK_GB=10)
    now = new_provider(store, "cn1.example.org", VCPU=Inventory(total=8, max_unit=3), MEMORY_MB=64)
    claim(store, uuid(), {now: {"VCPU": 3}})
    refused = {
        "max_unit 3": {old: {"VCPU": 4}},
        "cn1.example.org has no inventory of DISK_GB": {old: {"DISK_GB": 1}},
        "it also has allocations on cn1.example.org": {old: {"VCPU": 1}, now: {"VCPU": 1}},
    }
    plan = tmp_path / "plan"
    for reason, resources in refused.items():
        server = uuid()
        claim(store, server, resources)
        status, output, errors = run("identity", "cn1.example.org", "--plan", plan, "--adopt", old)
        assert (status, output) == (1, "")
        assert f"cannot adopt the allocations of 1 of 1 consumer: {server}: " in errors
        assert reason in errors
        allocation.delete(store, server)
    for _ in range(2):
        claim(store, uuid(), {old: {"VCPU": 3}})
    errors = run("identity", "cn1.example.org", "--plan", plan, "--adopt", old)[2]
    assert "of 1 of 2 consumers: " in errors
    assert ": 3 VCPU: 2 of 8 are free, min_unit 1, max_unit 3, step_size 1. " in errors
    assert not plan.exists()


def test_rename_frees_a_name_for_the_host_that_was_installed_again(http, store, run, tmp_path):
    old = new_provider(store, "cn1", VCPU=8)
    claim(store, uuid(), {old: {"VCPU": 1}})
    post(http, "cn1")
    plan = tmp_path / "plan"
    assert run("identity", "cn1", "--plan", plan, "--rename", old, "cn1-before")[0] == 0
    assert run("audit", "--apply", plan)[0] == 0
    post(http, "cn1", status=200)
    assert provider.show(store, old).name == "cn1-before"


def test_retire_removes_a_tree_without_allocations(store, run, tmp_path):
    old = new_provider(store, "CN1.example.org", VCPU=8)
    child = new_provider(store, "child", old, VCPU=1)
    leaf = new_provider(store, "leaf", child)
    plan = tmp_path / "plan"
    assert run("identity", "cn1", "--plan", plan, "--retire", old.upper())[0] == 0
    actions = planned_actions(read_file(plan.read_text()))
    assert [each.provider for each in actions] == [leaf, child, old]
    assert run("audit", "--apply", plan)[0] == 0
    assert matches(store, "cn1") == []


def test_a_plan_is_skipped_if_the_provider_has_changed_since(store, run, tmp_path):
    old = new_provider(store, "cn1", VCPU=8)
    plan = tmp_path / "plan"
    assert run("identity", "cn1", "--plan", plan, "--retire", old)[0] == 0
    claim(store, uuid(), {old: {"VCPU": 1}})
    assert run("audit", "--apply", plan)[0] == 4
    assert matches(store, "cn1") == [("name", "cn1")]


def test_what_cannot_be_planned_is_a_sentence(store, run, tmp_path):
    old = new_provider(store, "cn1.example.org", VCPU=8)
    child = new_provider(store, "child", old, VCPU=8)
    now = new_provider(store, "cn1", VCPU=8)
    elsewhere = new_provider(store, "elsewhere")
    claim(store, uuid(), {child: {"VCPU": 1}})
    plan, exists = tmp_path / "plan", tmp_path / "exists"
    exists.write_text("")
    for arguments, text in (
        (["cn1", "--retire", old], "--plan FILE together with"),
        (["cn1", "--plan", plan], "--plan FILE together with"),
        (["nobody", "--plan", plan, "--retire", old], "the name nobody. Matching providers: none"),
        (["cn1", "--plan", plan, "--retire", elsewhere], "does not match the name cn1"),
        (["cn1", "--plan", plan, "--retire", old], "Cannot retire provider"),
        (["cn1", "--plan", plan, "--adopt", old], "its descendant child"),
        (["cn1", "--plan", plan, "--adopt", now], "has the name cn1 already"),
        (["CN1.org", "--plan", plan, "--adopt", old], "No provider has exactly the name CN1.org"),
        (["cn1", "--plan", plan, "--rename", old, "cn1"], f"provider {now} has the name cn1"),
        (["cn1", "--plan", exists, "--retire", now], "exists. Name another file"),
        (["cn1", "--plan", tmp_path / "no" / "plan", "--retire", now], "No such file"),
    ):
        status, output, errors = run("identity", *arguments)
        assert (status, output) == (1, ""), arguments
        assert errors.startswith("placement-manage: ")
        assert text in errors
        assert errors.count("\n") == 1
    assert not plan.exists()


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_the_command_without_a_change_names_the_command_that_lists(run, backend):
    status, output, errors = run("identity", "cn1 of az1")
    assert (status, output) == (1, "")
    assert errors == (
        "placement-manage: Give --plan FILE together with one of --adopt, --rename and --retire. "
        "`openstack placement identity 'cn1 of az1'` lists the providers.\n"
    )


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_database_that_cannot_be_read_is_a_sentence(run, monkeypatch, tmp_path, backend):
    for url, text in (
        ("mysql+pymysql://u:p@127.0.0.1:1/placement", "The database is not available"),
        (f"sqlite:///{tmp_path}/empty", "db sync"),
    ):
        monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", url)
        status, output, errors = run("identity", "cn1", "--plan", "x", "--retire", NEW)
        assert (status, output) == (1, "")
        assert text in errors
        assert errors.count("\n") == 1
        assert "Traceback" not in errors


# --- openstack ----------------------------------------------------------------------------

shares_service = pytest.mark.xdist_group("identity")

SHOW = "placement identity"


@pytest.fixture(scope="module")
def openstack(tmp_path_factory):
    with ApiProcess(tmp_path_factory.mktemp("api"), "--development", "--port", "0") as service:
        service.get()
        yield Client(service.url)


def create(openstack, name, **totals):
    return add_host(openstack.options[1], name, **totals)


@shares_service
def test_openstack_shows_what_could_be_meant(openstack):
    old, now = create(openstack, "os1", VCPU=8), create(openstack, "os1.example.org", VCPU=8)
    add_claim(openstack.options[1], uuid(), {old: {"VCPU": 2}})
    conflict = openstack.refused("resource provider create", "os1", f"--uuid={NEW}")
    assert f"It is provider {old}: name os1, generation 2, last changed" in conflict
    assert "consumers 1. (HTTP 409)" in conflict

    def shown():
        result = openstack.run(SHOW, "OS1.example.org", "-f", "json", "--days=1")
        return [(row["match"], row["uuid"], row["consumers"]) for row in json.loads(result.stdout)]

    wait_until(lambda: len(shown()) == 3)  # a conflict is recorded after the response
    assert shown() == [
        ("case", now, 0),
        ("domain", old, 1),
        ("refused", NEW, None),
    ]


@shares_service
def test_openstack_reports_mistakes_in_one_line(openstack):
    reader = Client(openstack.options[1])
    reader.options[-1] = "reader"
    elsewhere = Client(f"{openstack.options[1]}/elsewhere")
    nothing = Client("http://127.0.0.1:1")
    create(openstack, "os2")
    for client, arguments, text in (
        (openstack, ["nobody"], "No provider has the name or UUID nobody"),
        (reader, ["os2"], "Policy does not allow placement:insight:identity"),
        (
            elsewhere,
            ["os2"],
            "Check that the service runs and is this implementation of Placement",
        ),
        (nothing, ["os2"], "Unable to establish connection"),
    ):
        result = client.run(SHOW, *arguments)
        assert result.returncode == 1, result
        assert text in result.stderr
        assert "Traceback" not in result.stderr


@shares_service
def test_openstack_refuses_days_that_are_no_number_of_days(openstack):
    result = openstack.run(SHOW, "os2", "--days=0")
    assert result.returncode == 1
    assert "argument --days: 0 is not a number of days from 1 to 999." in result.stderr
