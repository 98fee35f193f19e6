"""Survival over HTTP: what happens if hosts, aggregates or racks fail."""

import uuid
from functools import partial
from itertools import count

import pytest
import webtest

from placement.core.model import SHARING_TRAIT, Inventory, Provider, ProviderState
from placement.core.search.deadline import Deadline
from placement.db.tables import allocations
from placement.tests.support.factories import new_provider, rows
from placement.tests.support.provider_tables import snapshot_of_states
from placement.tests.support.queries import snapshot_of
from placement_insight.plan import sql
from placement_insight.plan.model import Keep, NeedsReader
from placement_insight.plan.survival import Group, Survival
from placement_insight.tests.functional.plan.test_drain import (
    HEADERS,
    claim,
    configure,
    on_each_backend,
)

RACKS = [f"5e08ea53-c4c6-448e-9334-ac4953de3cf{number}" for number in range(2)]


@pytest.fixture
def http(application):
    return webtest.TestApp(application)


def new_host(http, store, name=None, **inventories):
    """Create an empty host as nova does."""
    host = new_provider(store, name, **inventories)
    configure(http, host, "traits", ["COMPUTE_NODE"])
    return host


def survival(http, query="by=root"):
    return http.get(f"/insight/survival?{query}", headers=HEADERS).json


@on_each_backend
def test_hosts_aggregates_and_racks(http, store):
    for number in range(2):
        http.put(f"/traits/CUSTOM_RACK_{number}", headers=HEADERS)
    storage = new_provider(store, DISK_GB=1000)
    configure(http, storage, "traits", [SHARING_TRAIT])
    configure(http, storage, "aggregates", RACKS)
    hosts = [new_provider(store, f"cn{number}", VCPU=8, MEMORY_MB=8192) for number in range(4)]
    for number, host in enumerate(hosts):
        configure(http, host, "aggregates", [RACKS[number % 2]])
        configure(http, host, "traits", [f"CUSTOM_RACK_{number % 2}"])
        amounts = {"VCPU": 3 + number % 2, "MEMORY_MB": 1024}
        claim(http, {host: amounts, storage: {"DISK_GB": 10}})
    # two servers of a rack fit on one host of the other rack if VCPUs are free there
    by_host = survival(http, "by=root&keep=none")
    assert (by_host["verdict"], by_host["domains"], by_host["survive"]) == ("fits", 4, 4)
    by_rack = survival(http, "by=root_trait:CUSTOM_RACK_&keep=none")
    assert (by_rack["verdict"], by_rack["survive"]) == ("fits", 2)
    claim(http, {hosts[0]: {"VCPU": 5}})
    by_rack = survival(http, "by=root_trait:CUSTOM_RACK_&keep=none")
    assert (by_rack["verdict"], by_rack["survive"], by_rack["undetermined"]) == (
        "does_not_fit",
        0,
        0,
    )
    first, second = by_rack["not"]
    assert (first["name"], first["hosts"], first["consumers"]) == ("CUSTOM_RACK_0", 2, 3)
    assert (first["stuck"], first["lacks"]) == (1, {"VCPU": 5})
    assert first["reason"].startswith("needs 5 VCPU; the most that one host has free is ")
    assert (second["name"], second["stuck"], second["lacks"]["VCPU"]) == ("CUSTOM_RACK_1", 1, 4)
    by_aggregate = survival(http, "by=aggregate&keep=none")
    assert [each["domain"] for each in by_aggregate["not"]] == RACKS
    # a target has the aggregates of the host, except for the aggregate that fails
    assert survival(http, "by=aggregate")["not"] == by_aggregate["not"]
    pairs = survival(http, "failures=2&keep=none")
    assert (pairs["domains"], pairs["verdict"]) == (6, "does_not_fit")
    assert pairs["not"][0]["name"] == "cn0 cn1"


@on_each_backend
def test_groups_are_the_consumers_of_trees_without_migrations(http, store):
    host = new_provider(store, "host", VCPU=16)
    child = new_provider(store, "child", host, VGPU=4)
    other = new_host(http, store, "other", VCPU=8)
    for _ in range(3):
        claim(http, {host: {"VCPU": 2}, child: {"VGPU": 1}})
    claim(http, {host: {"VCPU": 2}}, kind="MIGRATION")
    migration = claim(http, {host: {"VCPU": 2}})
    claim(http, {host: {"VCPU": 1}, other: {"VCPU": 1}})
    assert survival(http)["not"][0]["consumers"] == 4
    body = {"migrations": [migration]}
    document = http.post_json("/insight/survival", body, headers=HEADERS).json
    assert (document["skipped"], document["domains"]) == (1, 2)
    (failed,) = document["not"]
    assert (failed["name"], failed["consumers"], failed["stuck"]) == ("host", 3, 3)
    assert failed["lacks"] == {"VGPU": 3}


def test_servers_on_storage_that_another_host_shares_are_skipped(http, store):
    host, other = (new_host(http, store, name, VCPU=8) for name in ("host", "other"))
    storage = new_provider(store, "storage", other, DISK_GB=10)
    configure(http, storage, "traits", [SHARING_TRAIT])
    for each in (host, storage):
        configure(http, each, "aggregates", RACKS[:1])
    claim(http, {host: {"VCPU": 2}, storage: {"DISK_GB": 8}})  # it needs both hosts
    document = survival(http, "keep=none")
    assert (document["verdict"], document["survive"], document["skipped"]) == ("fits", 2, 1)


def test_roots_that_are_no_hosts_are_no_domains(http, store):
    """A routed segment of Neutron has an aggregate; an agent can be left without its host."""
    host, used = new_host(http, store, VCPU=8), new_provider(store, VCPU=8)
    claim(http, {used: {"VCPU": 2}})
    segment = new_provider(store, IPV4_ADDRESS=254)
    new_provider(store, "agent", NET_BW_EGR_KILOBIT_PER_SEC=1000)
    assert survival(http)["domains"] == 2
    configure(http, segment, "aggregates", RACKS[1:])
    refused = http.get("/insight/survival?by=aggregate", headers=HEADERS, status=400)
    assert "no host has one" in refused.text
    configure(http, host, "aggregates", RACKS)
    assert survival(http, "by=aggregate")["domains"] == 2


@on_each_backend
def test_repeated_rows_of_a_broken_database_add_up(http, store):
    host, _other = new_provider(store, "host", VCPU=8), new_provider(store, "other", VCPU=5)
    claim(http, {host: {"VCPU": 3}})
    (row,) = rows(store, allocations)
    again = {**row._mapping, "id": row.id + 1}
    store.write(lambda tx: tx.connection.execute(allocations.insert().values(again)))
    assert survival(http)["not"][0]["lacks"] == {"VCPU": 6}


def test_not_everything_is_determined_within_the_budget(http, store, monkeypatch):
    hosts = [new_host(http, store, VCPU=8) for _ in range(3)]
    claim(http, {hosts[0]: {"VCPU": 2}})
    monkeypatch.setattr("placement.http.request.Deadline", Ended)
    document = survival(http)
    assert (document["verdict"], document["complete"]) == ("undetermined", False)
    assert (document["survive"], document["undetermined"]) == (0, 3)
    assert document["text"].startswith("3 of 3 hosts not determined: the time limit")
    assert sorted(document["left_out"]) == sorted(hosts)
    assert survival(http, "failures=2")["left_out"] == []


def test_domains_that_need_a_plan_come_after_the_others(http, store, monkeypatch):
    hosts = [new_host(http, store, VCPU=8) for _ in range(3)]
    claim(
        http, {hosts[0]: {"VCPU": 2}, new_provider(store, "child", hosts[0], VGPU=4): {"VGPU": 1}}
    )
    claim(http, {hosts[1]: {"VCPU": 2}})
    monkeypatch.setattr("placement_insight.plan.survival.drain", Ended().check)
    document = survival(http)
    assert (document["survive"], document["undetermined"]) == (2, 1)
    assert not document["complete"]
    assert document["left_out"] == [hosts[0]]


def test_servers_in_trees_survive_without_a_plan(http, store, monkeypatch):
    hosts = [new_host(http, store, VCPU=8) for _ in range(2)]
    gpus = [[new_provider(store, None, host, VGPU=2) for _ in range(2)] for host in hosts]
    for _ in range(2):
        claim(http, {hosts[0]: {"VCPU": 2}, gpus[0][0]: {"VGPU": 1}})
    monkeypatch.setattr("placement_insight.plan.survival.drain", Ended().check)
    document = survival(http)
    assert (document["complete"], document["verdict"], document["survive"]) == (True, "fits", 2)


def test_storage_in_the_tree_of_the_failed_host_is_not_free(http, store):
    """Other hosts could claim of it, but it fails with its host."""
    host, other = (new_host(http, store, name, VCPU=8) for name in ("host", "other"))
    storage = new_provider(store, "storage", host, DISK_GB=100)
    configure(http, storage, "traits", [SHARING_TRAIT])
    for each in (other, storage):
        configure(http, each, "aggregates", RACKS[:1])
    claim(http, {host: {"VCPU": 2}, storage: {"DISK_GB": 8}})
    (failed,) = survival(http, "keep=none")["not"]
    assert (failed["name"], failed["lacks"]) == ("host", {"DISK_GB": 8})


def test_the_budget_begins_after_the_allocations_are_read(http, store, monkeypatch):
    new_host(http, store, VCPU=8)
    events = []
    groups = sql.groups

    def read(*arguments):
        result = groups(*arguments)
        events.append("read")
        return result

    def begin(*arguments):
        events.append("begin")
        return Deadline(*arguments)

    monkeypatch.setattr(sql, "groups", read)
    monkeypatch.setattr("placement.http.request.Deadline", begin)
    assert survival(http)["survive"] == 1
    assert events == ["read", "begin"]


def test_groups_are_read_in_pieces_and_leave_few_objects():
    """The garbage collector stops all requests of a process; many new objects take it long."""
    uuids = [str(uuid.UUID(int=number)) for number in range(1, 1001)]
    inventories = {"VCPU": Inventory(8, 0, 1, 8, 1, 1.0)}
    states = [
        ProviderState(
            Provider(number, each, each, 0, None, each), inventories, {}, frozenset(), frozenset()
        )
        for number, each in enumerate(uuids)
    ]
    snapshot, checks = snapshot_of_states(states), []
    groups = (Group({("VCPU", row): 2}, 3) for row in range(1000))
    deadline = Deadline(10, lambda: checks.append(0) or 0)
    Survival(snapshot, groups, Keep(), deadline)
    assert len(checks) > 10
    reader = NeedsReader(snapshot, snapshot.hosts, Keep())
    first, second = (reader.needs({("VCPU", row): 2}, row) for row in range(2))
    assert first is second


def test_a_domain_whose_plan_did_not_end_is_not_counted_as_determined():
    """Of two hosts, one is full: its consumers need a plan, at whose end the time is over."""
    snapshot = snapshot_of("cn1 VCPU=8(used=16)\ncn2 VCPU=8")
    groups = [Group({("VCPU", 0): 8}, 2)]

    def outcomes(most):
        survival = Survival(snapshot, groups, Keep(), Deadline(most, partial(next, count())))
        return [*survival.until_deadline(survival.domains("root"))]

    found = [outcomes(most) for most in range(1, 60)]
    assert all(each.verdict != "undetermined" for some in found for each in some)
    assert [each.verdict for each in found[-1]] == ["does_not_fit"]


class Ended:
    """A deadline that is over."""

    def __init__(self, *_):
        pass

    def tick(self, *_):
        from placement.exception import SearchDeadlineExceeded  # noqa: PLC0415

        raise SearchDeadlineExceeded(0)

    check = tick


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("by=root_trait:CUSTOM_NO_", "by is root_trait:CUSTOM_NO_, and no host"),
        ("by=rack", "root_trait:PREFIX"),
        ("failures=3", "1 or 2"),
        ("failures=2&by=aggregate", "Two failures are computed for by=root only"),
        ("hosts=1", "hosts"),
    ],
)
def test_bad_input(http, query, sentence):
    refused = http.get(f"/insight/survival?{query}", headers=HEADERS, status=400).json
    assert sentence in refused["errors"][0]["detail"]
