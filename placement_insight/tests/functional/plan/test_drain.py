"""Plans of drains over HTTP: their moves are accepted as claims, in their order."""

import random
import re
import uuid
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from itertools import count, islice

import pytest
import requests
import webtest

from placement.core.model import SHARING_TRAIT, Inventory
from placement.core.search.deadline import Deadline
from placement.db.tables import allocations as allocations_table
from placement.tests.plugin import BACKENDS
from placement.tests.support.factories import new_provider, set_inventories
from placement.tests.support.factories import uuid as new_uuid
from placement.tests.support.processes import ApiProcess
from placement_insight.plan import sql

HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest"}
on_each_backend = pytest.mark.parametrize("backend", BACKENDS, indirect=True)
RACK = "5e08ea53-c4c6-448e-9334-ac4953de3cfa"


@pytest.fixture
def http(application):
    return webtest.TestApp(application)


def configure(http, provider, noun, value):
    path = f"/resource_providers/{provider}"
    generation = http.get(path, headers=HEADERS).json["generation"]
    body = {"resource_provider_generation": generation, noun: value}
    http.put_json(f"{path}/{noun}", body, headers=HEADERS)


def claim(http, allocations, consumer=None, kind="INSTANCE"):
    """Replace the allocations of a consumer, which are by provider; return it."""
    consumer = consumer or new_uuid()
    path = f"/allocations/{consumer}"
    current = http.get(path, headers=HEADERS).json
    body = {
        "allocations": {each: {"resources": amounts} for each, amounts in allocations.items()},
        "project_id": "p",
        "user_id": "u",
        "consumer_type": kind,
        "consumer_generation": current.get("consumer_generation"),
    }
    http.put_json(path, body, headers=HEADERS)
    return consumer


def drained(http, status=200, **body):
    """Return the plan, or the errors."""
    return http.post_json("/insight/drain", body, headers=HEADERS, status=status).json


def follow(http, plan, gone):
    """Make the moves of a plan; return whether nothing is allocated on the gone providers."""
    for move in plan["moves"]:
        claim(http, move["allocations"], move["consumer"], move["type"])
    return all(
        not http.get(f"/resource_providers/{each}/allocations", headers=HEADERS).json[
            "allocations"
        ]
        for each in gone
    )


@on_each_backend
@pytest.mark.parametrize("used", [0, -1])
def test_allocations_below_one_need_nothing(http, store, used):
    """The API refuses them; a broken database may have them."""
    host, other = (new_provider(store, VCPU=8) for _ in range(2))
    configure(http, other, "traits", ["COMPUTE_NODE"])
    broken, consumer = (claim(http, {host: {"VCPU": amount}}) for amount in (1, 2))
    is_broken = allocations_table.c.consumer_id == broken
    update = allocations_table.update().where(is_broken).values(used=used)
    store.write(lambda tx: tx.connection.execute(update))
    plan = drained(http, provider=[host])
    assert [move["consumer"] for move in plan["moves"]] == [consumer]
    survival = http.get("/insight/survival?by=root", headers=HEADERS).json
    assert (survival["verdict"], survival["survive"]) == ("fits", 2)
    body = {"query": f"resources=VCPU:7&in_tree={host}"}
    (room,) = http.post_json("/insight/room", body, headers=HEADERS).json["rooms"]
    assert [each["uuid"] for each in room["consumers"]] == [consumer]


def test_moves_that_were_found_before_the_time_limit_are_shown(http, store, monkeypatch):
    source, _target = (new_provider(store, VCPU=64) for _ in range(2))
    consumers = {claim(http, {source: {"VCPU": vcpus}}) for vcpus in (1, 2, 3)}
    plans = []
    for most in range(40):
        deadline = Deadline(most, partial(next, count()))  # ends at a number of checks
        monkeypatch.setattr("placement.http.request.Deadline", lambda *_, ends=deadline: ends)
        plans.append(drained(http, provider=[source]))
    for plan in plans:
        placed = {move["consumer"] for move in plan["moves"]}
        stuck = {each["consumer"]: each["text"] for each in plan["stuck"]}
        assert placed | stuck.keys() == consumers
        assert len(placed) + len(stuck) == plan["consumers"] == 3
        assert plan["verdict"] == ("undetermined" if stuck else "fits")
        assert all("the time limit" in reason for reason in stuck.values())
    assert {len(plan["moves"]) for plan in plans} == {0, 1, 2, 3}


@on_each_backend
def test_flat_hosts_are_emptied(http, store):
    rng = random.Random(7)
    hosts = [new_provider(store, VCPU=64, MEMORY_MB=65536, DISK_GB=1000) for _ in range(12)]
    for host in hosts:
        for _ in range(rng.randint(1, 7)):
            vcpus = rng.choice((1, 2, 3, 5, 8))
            claim(http, {host: {"VCPU": vcpus, "MEMORY_MB": vcpus * 1024, "DISK_GB": 10}})
    plan = drained(http, provider=hosts[:3])
    assert (plan["verdict"], plan["stuck"], plan["skipped"]) == ("fits", [], [])
    assert plan["placed"] == plan["consumers"] == len(plan["moves"])
    assert follow(http, plan, hosts[:3])
    assert drained(http, provider=[hosts[0]])["consumers"] == 0


def test_a_host_of_an_aggregate_that_shares_its_disk_is_drained(http, store):
    hosts = [new_provider(store, VCPU=8, DISK_GB=100) for _ in range(3)]
    new_provider(store, parent=hosts[0], VGPU=4)
    configure(http, hosts[0], "traits", [SHARING_TRAIT])
    for host in hosts[:2]:
        configure(http, host, "aggregates", [RACK])
    claim(http, {hosts[1]: {"VCPU": 2}})
    plan = drained(http, member_of=[RACK])
    assert {each["uuid"] for each in plan["providers"]} == set(hosts[:2])
    assert plan["moves"][0]["to"][0]["uuid"] == hosts[2]


def test_a_name_that_begins_with_a_dash_is_no_option_of_the_commands(http, store):
    host, _target = (new_provider(store, name, VCPU=8) for name in ("-a b", "-c"))
    configure(http, host, "traits", ["COMPUTE_NODE"])
    consumer = claim(http, {host: {"VCPU": 2}})
    plan = drained(http, provider=[host])
    assert plan["moves"][0]["text"].endswith(f" --host=-c {consumer}")
    assert "compute service set --disable -- '-a b' nova-compute, then" in plan["text"]
    assert "resource consumer list '--in-tree=-a b' is empty" in plan["text"]


def test_places_for_devices_are_counted_in_words(http, store):
    hosts = [new_provider(store, VCPU=8) for _ in range(2)]
    first, second = (new_provider(store, parent=host, VGPU=3) for host in (hosts[0], hosts[0]))
    new_provider(store, parent=hosts[1], VGPU=3)
    for device in (first, second):
        claim(http, {hosts[0]: {"VCPU": 1}, device: {"VGPU": 2}})
    (_, *reasons) = drained(http, provider=[hosts[0]])["reasons"]
    taken = "the hosts that may take them have places for 1"
    assert reasons == [
        f"2 need at least {each}; {taken}" for each in ("VCPU:1 and VGPU:2", "VGPU:2")
    ]


def test_devices_of_one_class_are_added_up(http, store):
    first, second = (new_provider(store, name, VCPU=8) for name in ("cn1", "cn2"))
    devices = [new_provider(store, parent=host, VGPU=2) for host in (first, first, second)]
    large, free = new_provider(store, parent=second, VGPU=1), devices[2]
    claim(http, {first: {"VCPU": 1}, devices[0]: {"VGPU": 1}, devices[1]: {"VGPU": 2}})

    def reasons():
        return drained(http, provider=[first])["reasons"]

    assert reasons() == []
    filling = claim(http, {second: {"VCPU": 1}, large: {"VGPU": 1}})
    assert reasons() == ["needs 3 VGPU in 2 groups; cn2 has 2 free"]
    new_provider(store, "nic", second, VGPU=1)
    claim(http, {free: {"VGPU": 1}})
    claim(http, {second: {"VCPU": 1}}, filling)
    served = "of which a provider for each group serves 1"
    assert reasons() == [f"needs 3 VGPU in 2 groups; cn2 has 3 free, {served}"]


def test_trees_with_devices_and_shared_storage(http, store):
    storage = new_provider(store, DISK_GB=1000)
    configure(http, storage, "traits", [SHARING_TRAIT])
    configure(http, storage, "aggregates", [RACK])
    trees = []
    for _ in range(4):
        host = new_provider(store, VCPU=16, MEMORY_MB=16384)
        configure(http, host, "aggregates", [RACK])
        trees.append((host, *(new_provider(store, parent=host, VGPU=4) for _ in range(2))))
    for _ in range(2):
        host, first, second = trees[0]
        claim(
            http,
            {
                host: {"VCPU": 3, "MEMORY_MB": 3000},
                first: {"VGPU": 1},
                second: {"VGPU": 2},
                storage: {"DISK_GB": 50},
            },
        )
    claim(http, {trees[1][0]: {"VCPU": 12, "MEMORY_MB": 100}})
    plan = drained(http, in_tree=[trees[0][1]])
    assert plan["verdict"] == "fits"
    assert all(move["allocations"][storage] == {"DISK_GB": 50} for move in plan["moves"])
    assert all(move["from"][0]["uuid"] == trees[0][0] for move in plan["moves"])
    # nova moves no server to another GPU of its host, nor a server with a device while it runs
    of_gpu = drained(http, provider=[trees[0][1]])
    assert (of_gpu["consumers"], of_gpu["verdict"]) == (2, "fits")
    assert all(move["to"] != move["from"] for move in of_gpu["moves"])
    uuid, target = of_gpu["moves"][0]["consumer"], of_gpu["moves"][0]["to"][0]["name"]
    assert of_gpu["moves"][0]["text"] == (
        f"openstack server migrate --wait --host {target} {uuid} && "
        f"openstack server migration confirm {uuid}"
    )
    assert follow(http, plan, trees[0])


def test_a_rack_by_aggregate_or_trait_is_drained_without_its_shared_storage(http, store):
    storage = new_provider(store, DISK_GB=100)
    configure(http, storage, "traits", [SHARING_TRAIT])
    configure(http, storage, "aggregates", [RACK])
    http.put("/traits/CUSTOM_RACK_1", headers=HEADERS)
    inside = [new_provider(store, VCPU=8) for _ in range(2)]
    outside = new_provider(store, VCPU=8, DISK_GB=60)
    for host in inside:
        configure(http, host, "aggregates", [RACK])
        configure(http, host, "traits", ["CUSTOM_RACK_1"])
        claim(http, {host: {"VCPU": 3}, storage: {"DISK_GB": 20}})
    for selected in ({"member_of": [RACK]}, {"root_trait": ["CUSTOM_RACK_1"]}):
        plan = drained(http, keep=["none"], **selected)
        assert sorted(each["uuid"] for each in plan["providers"]) == sorted(inside)
        assert plan["verdict"] == "fits"
        # the storage does not share with the other host: the disks move
        assert [move["allocations"] for move in plan["moves"]] == [
            {outside: {"VCPU": 3, "DISK_GB": 20}}
        ] * 2
    assert drained(http, member_of=[RACK])["verdict"] == "fits"  # it is not kept
    assert drained(http, root_trait=["CUSTOM_RACK_1"])["verdict"] == "does_not_fit"
    assert follow(http, plan, inside)


@on_each_backend
def test_consumers_that_are_not_planned(http, store):
    first, second = (new_provider(store, VCPU=8) for _ in range(2))
    spanning = claim(http, {first: {"VCPU": 1}, second: {"VCPU": 1}})
    migration = claim(http, {first: {"VCPU": 1}}, kind="MIGRATION")
    listed, resized = (claim(http, {first: {"VCPU": 1}}) for _ in range(2))
    of_nova = {"migrations": [listed.upper(), second], "unmovable": [resized.upper(), second]}
    plan = drained(http, provider=[first], **of_nova)
    assert plan["consumers"] == 0
    assert {each["consumer"]: each["reason"] for each in plan["skipped"]} == {
        spanning: "several_trees",
        migration: "migration",
        listed: "migration",
        resized: "state",
    }
    for state in ("resize", "task", "pause", "suspension", "shelving", "rescue", "error"):
        assert state in plan["text"]
    plan = drained(http, provider=[first], off=[resized])
    commands = {each["consumer"]: each["text"] for each in plan["moves"]}
    assert commands.keys() == {listed, resized}
    assert "--live-migration" in commands[listed]
    assert "--live-migration" not in commands[resized]


@pytest.mark.parametrize(
    ("state", "is_down", "has_device", "way"),
    [
        ("failed", False, False, None),
        ("failed", True, True, "evacuate"),
        ("paused", False, False, "--live-migration"),
        ("paused", False, True, None),
        ("paused", True, False, None),
        ("off", True, False, "evacuate"),
    ],
)
def test_states_in_which_nova_moves_servers_in_some_ways(
    http, store, *, state, is_down, has_device, way
):
    """Only servers of hosts that are down are evacuated; those in ERROR move in no other way."""
    host, other = (new_provider(store, VCPU=8) for _ in range(2))
    gpu, _ = (new_provider(store, parent=each, VGPU=1) for each in (host, other))
    server = claim(http, {host: {"VCPU": 1}, **({gpu: {"VGPU": 1}} if has_device else {})})
    down = {"down": [host]} if is_down else {}
    plan = drained(http, provider=[host], **{state: [server]}, **down)
    assert [each["reason"] for each in plan["skipped"]] == ([] if way else ["state"])
    assert [way in each["text"] for each in plan["moves"]] == ([True] if way else [])
    assert ("Evacuated servers that ran are off" in plan["text"]) is (way == "evacuate")


@pytest.mark.parametrize(
    ("name", "of_nova"),
    [("FPGA", "COMPUTE_MANAGED_PCI_DEVICE"), ("PGPU", "OWNER_NOVA"), ("VGPU", "OWNER_NOVA")],
)
def test_servers_with_accelerators_of_cyborg_are_evacuated_only(http, store, name, of_nova):
    """Their classes, or the traits of their providers, say whose they are."""
    host, other = (new_provider(store, VCPU=8) for _ in range(2))
    device, _ = (new_provider(store, parent=each, **{name: 1}) for each in (host, other))
    configure(http, device, "traits", ["OWNER_CYBORG"] if name == "VGPU" else [])
    server = claim(http, {host: {"VCPU": 1}, device: {name: 1}})
    (skipped,) = drained(http, provider=[host])["skipped"]
    assert (skipped["consumer"], skipped["reason"]) == (server, "accelerator")
    assert skipped["text"].endswith("shelve it, and unshelve it if another host has one free")
    (move,) = drained(http, provider=[host], down=[host])["moves"]
    assert move["text"].startswith("openstack server evacuate")
    configure(http, device, "traits", [of_nova])
    (move,) = drained(http, provider=[host])["moves"]
    assert move["text"].startswith("openstack server migrate --wait")


def test_traits_of_the_root_are_kept(http, store):
    for name in ("CUSTOM_AZ_A", "CUSTOM_AZ_B"):
        http.put(f"/traits/{name}", headers=HEADERS)
    first, other, disabled, same = (new_provider(store, VCPU=8) for _ in range(4))
    configure(http, first, "traits", ["CUSTOM_AZ_A"])
    configure(http, other, "traits", ["CUSTOM_AZ_B"])
    configure(http, disabled, "traits", ["CUSTOM_AZ_A", "COMPUTE_STATUS_DISABLED"])
    claim(http, {first: {"VCPU": 3}})
    assert drained(http, provider=[first], keep=["traits:CUSTOM_AZ_"])["verdict"] == "does_not_fit"
    configure(http, same, "traits", ["CUSTOM_AZ_A"])
    (move,) = drained(http, provider=[first], keep=["traits:CUSTOM_AZ_"])["moves"]
    assert [each["uuid"] for each in move["to"]] == [same]
    configure(http, first, "aggregates", [RACK])  # they are kept as well
    assert drained(http, provider=[first], keep=["traits:CUSTOM_AZ_"])["verdict"] == "does_not_fit"
    plan = drained(http, provider=[first], keep=["none", "traits:CUSTOM_AZ_"])
    assert plan["verdict"] == "fits"


PREFIXES = "Hosts have these prefixes of traits: CUSTOM_AZ_, CUSTOM_RACK_."


def test_a_prefix_that_no_host_has_is_refused(http, store):
    for name in ("CUSTOM_AZ_A", "CUSTOM_RACK_1"):
        http.put(f"/traits/{name}", headers=HEADERS)
    configure(
        http, host := new_provider(store, VCPU=8), "traits", ["CUSTOM_AZ_A", "CUSTOM_RACK_1"]
    )

    def refused(query):
        return refusal(http.get(f"/insight/survival?{query}", headers=HEADERS, status=400))

    def refused_plan(path, **body):
        return refusal(http.post_json(f"/insight/{path}", body, headers=HEADERS, status=400))

    missing = f"and no host has a trait with this prefix. {PREFIXES}"
    keep = ["traits:CUSTOM_AZ_", "traits:CUSTOM_AX_"]
    assert refused_plan("drain", provider=[host], keep=keep) == (
        f"keep is traits:CUSTOM_AX_, {missing}"
    )
    assert refused("keep=traits:CUSTOM_AX_") == f"keep is traits:CUSTOM_AX_, {missing}"
    assert refused("by=root_trait:CUSTOM_AX_") == f"by is root_trait:CUSTOM_AX_, {missing}"
    assert refused_plan("drain", root_trait=["CUSTOM_RACK_2"]) == (
        "There is no provider with root trait CUSTOM_RACK_2; sharing providers do not count. "
        "Hosts have these traits: CUSTOM_RACK_1, CUSTOM_AZ_A."
    )
    assert refused_plan("drain", provider=[host], keep=["none", "aggregates"]) == (
        "keep is none and aggregates. Give one of them; traits:PREFIX can be given with both."
    )
    assert refused_plan("room", query="resources=VCPU:9", keep=["traits:CUSTOM_AX_"]) == (
        f"keep is traits:CUSTOM_AX_, {missing}"
    )


def refusal(response):
    return response.json["errors"][0]["detail"].split("\n\n")[1].strip()


def test_server_groups_that_cannot_be_kept_are_refused(http, store):
    source, target = (new_provider(store, VCPU=8) for _ in range(2))
    known, other, unknown = claim(http, {source: {"VCPU": 2}}), new_uuid(), new_uuid()

    def post(*groups, status=400):
        of = [{"policy": policy, "members": members} for policy, *members in groups]
        body = {"provider": [source], "groups": of}
        return http.post_json("/insight/drain", body, headers=HEADERS, status=status)

    assert refusal(post(("affinity", known, other), ("anti-affinity", known, unknown))) == (
        "Members of groups with affinity are also members of groups with anti-affinity: "
        f"{known}. A server has one policy: remove it from the other groups."
    )
    assert refusal(post(("affinity", known), ("affinity", unknown))) == (
        f"No member of a server group has allocations on a host: {unknown}. Correct the UUIDs, "
        "or remove the group."
    )
    # servers that are shelved have no allocations
    plan = post(("affinity", known, unknown), status=200).json
    assert [each["to"][0]["uuid"] for each in plan["moves"]] == [target]
    assert plan["assumes"][-1] == (
        f"Members of server groups without allocations are not considered: {unknown}."
    )
    plan = post(("affinity", known), status=200).json
    assert not [each for each in plan["assumes"] if "not considered" in each]


def test_the_reason_names_what_no_other_host_has(http, store):
    http.put("/traits/CUSTOM_AZ_A", headers=HEADERS)
    first = new_provider(store, VCPU=8)
    claim(http, {first: {"VCPU": 3}})

    def reason():
        (text,) = drained(http, provider=[first], keep=["traits:CUSTOM_AZ_"])["reasons"]
        return text.removeprefix("no other enabled host has the ")

    configure(http, first, "traits", ["CUSTOM_AZ_A"])
    assert reason() == "there is no other enabled host"
    second, third = (new_provider(store, VCPU=8) for _ in range(2))
    assert reason() == "trait CUSTOM_AZ_A of its host"
    configure(http, first, "aggregates", [RACK])
    configure(http, second, "traits", ["CUSTOM_AZ_A"])
    assert reason() == f"aggregate {RACK} of its host (keep=none ignores aggregates)"
    configure(http, third, "aggregates", [RACK])
    assert reason() == (
        f"aggregate {RACK} and trait CUSTOM_AZ_A of its host (keep=none ignores aggregates)"
    )
    configure(http, first, "aggregates", zones := [new_uuid(), new_uuid()])
    aggregates = f"aggregates {', '.join(sorted(zones))}"
    assert reason() == f"{aggregates} of its host (keep=none ignores aggregates)"


def test_free_amounts_of_hosts_that_may_not_take_it_are_not_denied(http, store):
    """A disabled host has everything free: "no other host has any free" would be false."""
    first, second, disabled = (new_provider(store, VCPU=8) for _ in range(3))
    claim(http, {first: {"VCPU": 3}})
    filling = claim(http, {second: {"VCPU": 8}})

    def reason():
        (text,) = drained(http, provider=[first])["reasons"]
        return text

    configure(http, disabled, "traits", ["COMPUTE_STATUS_DISABLED"])
    assert reason() == "needs 3 VCPU; no host that may take it has any free"
    claim(http, {second: {"VCPU": 6}}, filling)
    name = http.get(f"/resource_providers/{second}", headers=HEADERS).json["name"]
    assert (
        reason() == f"needs 3 VCPU; the most that a host that may take it has free is 2 ({name})"
    )
    http.delete(f"/resource_providers/{disabled}", headers=HEADERS)
    assert reason() == f"needs 3 VCPU; the most that one host has free is 2 ({name})"
    http.delete(f"/allocations/{filling}", headers=HEADERS)
    filling = claim(http, {second: {"VCPU": 8}})
    assert reason() == "needs 3 VCPU; no other host has any free"


def test_the_host_with_most_free_is_named_with_what_an_allocation_can_have(http, store):
    """Storage counts as free that the consumers to move have in use, which the text says."""
    first, second = (new_provider(store, name, DISK_GB=20) for name in ("cn1", "cn2"))
    for child in ("cn2-0", "cn2-1"):
        new_provider(store, child, second, DISK_GB=4)
    set_inventories(store, second, VCPU=8)
    new_provider(store, "cn3", DISK_GB=Inventory(total=7, max_unit=5))
    claim(http, {first: {"DISK_GB": 9}})
    text = "needs 9 DISK_GB; cn2 has 8 free, at most 4 in one allocation"
    assert drained(http, provider=[first])["reasons"] == [text]
    storage = new_provider(store, "storage", DISK_GB=8)
    configure(http, storage, "traits", [SHARING_TRAIT])
    for each in (first, storage, second):
        configure(http, each, "aggregates", [RACK])
    claim(http, {first: {"DISK_GB": 2}, storage: {"DISK_GB": 8}})
    text = "needs 9 DISK_GB; cn2 has 16 free, at most 8 in one allocation"
    released = ", counting what all consumers that move release"
    assert drained(http, provider=[first])["reasons"] == [f"{text}{released}"]


def test_only_storage_that_a_host_can_use_counts_as_free(http, store):
    storages = []
    for aggregate in (RACK, new_uuid()):
        storages.append(storage := new_provider(store, DISK_GB=100))
        configure(http, storage, "traits", [SHARING_TRAIT])
        host = new_provider(store, VCPU=8)
        for each in (storage, host):
            configure(http, each, "aggregates", [aggregate])
        claim(http, {host: {"VCPU": 3}, storage: {"DISK_GB": 20}})
    configure(http, new_provider(store, VCPU=8), "aggregates", [RACK])
    plan = drained(http, provider=[storages[0]])
    assert plan["reasons"] == ["needs 20 DISK_GB; no host that may take it has any free"]
    assert drained(http, provider=[storages[0]], keep=["none"])["verdict"] == "fits"


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_consumer_that_changes_while_it_is_read_is_not_planned(http, store, monkeypatch):
    host = new_provider(store, VCPU=8)
    consumer, count_consumers = claim(http, {host: {"VCPU": 1}}), sql.count

    def change_first(*arguments):
        new = new_provider(store, VCPU=8)  # the snapshot of the plan does not have it
        claim(http, {host: {"VCPU": 1}, new: {"VCPU": 1}}, consumer)
        return count_consumers(*arguments)

    monkeypatch.setattr("placement_insight.plan.sql.count", change_first)
    (skipped,) = drained(http, provider=[host])["skipped"]
    assert (skipped["consumer"], skipped["reason"]) == (consumer, "changed")


@on_each_backend
def test_too_many_providers_or_consumers_are_refused(http, store, monkeypatch):
    monkeypatch.setattr("placement_insight.plan.http.MOST_PROVIDERS", 1)
    hosts = [new_provider(store, VCPU=8) for _ in range(2)]
    refused = drained(http, provider=hosts * 600, status=400)
    assert "selects 2 providers; a plan drains at most 1" in refused["errors"][0]["detail"]
    monkeypatch.setattr("placement_insight.plan.sql.MOST_CONSUMERS", 1)
    monkeypatch.delattr("placement_insight.plan.sql.holders")  # they are counted, not read
    for _ in range(2):
        claim(http, {hosts[0]: {"VCPU": 1}})
    refused = drained(http, provider=hosts[:1], status=400)
    assert "selects 2 consumers; a plan has at most 1" in refused["errors"][0]["detail"]


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_plans_that_wait_leave_threads_for_other_requests(store, database_url, tmp_path):
    """With 8 threads, 12 plans cannot continue: 4 wait, the others are refused."""
    host = new_provider(store, VCPU=8)
    path = f"/resource_providers/{host}"
    variables = {
        "OS_PLACEMENT_DATABASE__CONNECTION": database_url,
        "OS_API__AUTH_STRATEGY": "noauth2",
    }
    with (
        ApiProcess(tmp_path, "--port", "0", **variables) as service,
        ThreadPoolExecutor(12) as pool,
    ):

        def get(path):
            return requests.get(service.url + path, headers=HEADERS, timeout=60)

        def plan(number):
            body = {"provider": [host], "limit_moves": number}
            url = f"{service.url}/insight/drain"
            return requests.post(url, json=body, headers=HEADERS, timeout=60)

        assert get(path).status_code == 200
        with store.engines().writer.begin() as connection:
            connection.exec_driver_sql("LOCK TABLE allocations IN ACCESS EXCLUSIVE MODE")
            plans = [pool.submit(plan, number) for number in range(12)]
            refused = [each.result() for each in islice(as_completed(plans, 60), 8)]
            assert get(path).status_code == 200
        for response in refused:
            assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
            detail = response.json()["errors"][0]["detail"]
            assert re.search("handles [46] requests of this kind already", detail)
        assert sorted(each.result().status_code for each in plans) == [200] * 4 + [503] * 8


@on_each_backend
def test_members_of_server_groups_that_stay_are_read(http, store):
    source, used, free = (new_provider(store, name, VCPU=8) for name in ("cn1", "cn2", "cn3"))
    claim(http, {free: {"VCPU": 1}})
    first, second = (claim(http, {source: {"VCPU": 2}}) for _ in range(2))
    member = claim(http, {used: {"VCPU": 2}})

    def planned(policy, *members):
        body = {"provider": [source], "groups": [{"policy": policy, "members": members}]}
        plan = http.post_json("/insight/drain", body, headers=HEADERS).json
        return plan, {each["consumer"]: each["to"][0]["name"] for each in plan["moves"]}

    assert planned("anti-affinity", first, member)[1] == {first: "cn3", second: "cn3"}
    plan, targets = planned("affinity", second, member)
    assert (plan["verdict"], list(targets)) == ("does_not_fit", [first])
    assert [(each["consumer"], each["proved"], each["text"]) for each in plan["stuck"]] == [
        (second, True, "Nova moves no member of an affinity group alone")
    ]
    assert planned("affinity", second, new_uuid())[0]["verdict"] == "fits"  # shelved, perhaps
    plan, targets = planned("anti-affinity", first, second, member)
    assert (plan["verdict"], list(targets.values())) == ("does_not_fit", ["cn3"])
    (stuck,) = plan["stuck"]
    assert stuck["text"].startswith("no host that its server groups allow has")
    assert plan["reasons"] == [
        "2 of a server group with anti-affinity need places; the hosts that may take them have "
        "places for 1"
    ]
    new_member = claim(http, {free: {"VCPU": 1}})
    plan, targets = planned("anti-affinity", first, member, new_member)
    assert (plan["verdict"], list(targets)) == ("does_not_fit", [second])
    assert plan["reasons"] == [
        "it fits on no host that the other members of its server groups allow"
    ]


def test_consumers_stay_in_their_cells(http, store):
    """Nova answers 400 to a move into another cell."""
    hosts = [new_provider(store, f"cn{number}.example.org", VCPU=8) for number in range(3)]
    first, second = (claim(http, {hosts[number]: {"VCPU": 2}}) for number in (0, 2))
    cells = {"one": ["CN0", hosts[1]], "two": ["cn2.example.org", "cn7"]}
    plan = drained(http, provider=[hosts[0], hosts[2]], cells=cells)
    assert [(each["consumer"], each["to"][0]["uuid"]) for each in plan["moves"]] == [
        (first, hosts[1])
    ]
    assert [(each["consumer"], each["proved"], each["text"]) for each in plan["stuck"]] == [
        (second, True, "there is no other enabled host in cell two")
    ]
    assert plan["assumes"][1] == (
        "A consumer stays in the cell of its host. These hosts of cells are no root providers: "
        "cn7."
    )
    plan = drained(http, provider=[hosts[2]], cells={"one": ["cn0", "cn1"]})
    assert plan["reasons"] == ["the cell of its host is not known: cells does not name the host"]
    (plan,) = (drained(http, provider=[hosts[2]], unreachable=hosts[:1]),)
    assert plan["moves"][0]["to"][0]["uuid"] == hosts[1]
    assert plan["assumes"][0].startswith("Only Nova knows server groups, images,")
    assert "not known" in plan["assumes"][1]
    assert "migrations of Nova are not known" in plan["assumes"][2]
    assert plan["assumes"][2] in plan["text"]
    plan = drained(http, provider=[hosts[2]], migrations=[])
    assert not [each for each in plan["assumes"] if "migrations of Nova" in each]
    plan = drained(http, provider=[hosts[2]], unreachable=["cn2"])
    assert "is down: Nova cannot move it" in plan["stuck"][0]["text"]
    body = {"by": "root", "failures": 1, "keep": ["none"], "cells": cells}
    survival = http.post_json("/insight/survival", body, headers=HEADERS).json
    assert (survival["domains"], survival["survive"]) == (2, 1)
    for wrong, sentence in (
        ({"one": ["cn0"], "two": ["cn0", "cn1"]}, "cells has cn0.example.org in one and in two"),
        ({"one": ["cn8"]}, "No host in cells is a root provider: cn8."),
    ):
        assert sentence in refusal(
            http.post_json("/insight/survival", {"cells": wrong}, headers=HEADERS, status=400)
        )


def test_equal_states_give_equal_plans(http, store):
    hosts = [new_provider(store, VCPU=16) for _ in range(4)]
    for number in range(5):
        claim(http, {hosts[0]: {"VCPU": 3}}, str(uuid.UUID(int=number)))
    plans = [drained(http, provider=hosts[:1], limit_moves=n)["moves"] for n in (5, 6)]
    assert plans[0] == plans[1]
    assert [move["consumer"][-1] for move in plans[0]] == list("01234")
