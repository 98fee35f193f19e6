"""Room over HTTP: consumers leave as planned, by claims, and then the request is claimed."""

import random
from contextlib import suppress

import pytest
import webtest

from placement.db import tables
from placement.tests.support.factories import new_provider, rows
from placement_insight.tests.functional.plan.test_drain import (
    HEADERS,
    claim,
    configure,
    drained,
    on_each_backend,
)

ZONE = "5e08ea53-c4c6-448e-9334-ac4953de3cfa"


@pytest.fixture
def http(application):
    return webtest.TestApp(application)


def room(http, query, status=200, **fields):
    body = {"query": query, "keep": ["none"], **fields}
    return http.post_json("/insight/room", body, headers=HEADERS, status=status).json


def leave(http, consumer):
    """Move or evict a consumer of a plan, through the API."""
    path = f"/allocations/{consumer['uuid']}"
    if consumer["to"] is None:
        http.delete(path, headers=HEADERS)
        return
    current = http.get(path, headers=HEADERS).json
    allocations = {uuid: {"resources": n} for uuid, n in consumer["allocations"].items()}
    http.put_json(path, {**current, "allocations": allocations}, headers=HEADERS)


def claimed(http, query):
    """Claim the first candidate of a request; return its providers."""
    path = f"/allocation_candidates?{query}&limit=1"
    (candidate,) = http.get(path, headers=HEADERS).json["allocation_requests"]
    claim(http, {uuid: each["resources"] for uuid, each in candidate["allocations"].items()})
    return set(candidate["allocations"])


def test_the_smallest_consumer_that_is_enough_moves(http, store):
    full, other = (new_provider(store, name, VCPU=8) for name in ("full", "other"))
    small = claim(http, {full: {"VCPU": 2}})
    claim(http, {full: {"VCPU": 4}})
    claim(http, {other: {"VCPU": 5}})
    answer = room(http, "resources=VCPU:4")
    assert (answer["verdict"], answer["fits_now"], answer["undetermined"]) == ("fits", 0, 0)
    (first,) = answer["rooms"]
    assert (first["root"], first["moved"], first["minimal"]) == (
        {"uuid": full, "name": "full"},
        1,
        True,
    )
    (mover,) = first["consumers"]
    assert (mover["uuid"], mover["frees"], mover["to"]["name"]) == (small, {"VCPU": 2}, "other")
    leave(http, mover)
    assert claimed(http, "resources=VCPU:4") == {full}


def test_as_many_roots_as_the_limit_are_listed_the_fewest_consumers_first(http, store):
    http.put("/traits/CUSTOM_A", headers=HEADERS)
    large, small = (new_provider(store, name, VCPU=8) for name in ("large", "small"))
    new_provider(store, VCPU=8)
    for host, amount in ((large, 4), (small, 2)):
        configure(http, host, "traits", ["CUSTOM_A"])
        for _ in range(8 // amount):
            claim(http, {host: {"VCPU": amount}})
    answer = room(http, "resources=VCPU:4&required=CUSTOM_A", limit=2)
    found = [(each["root"]["name"], each["moved"]) for each in answer["rooms"]]
    assert (found, answer["complete"]) == ([("large", 1), ("small", 2)], True)


@pytest.mark.parametrize(("most", "undetermined"), [(0, 1), (1, 0)])
def test_a_root_with_too_many_sets_is_undetermined(http, store, monkeypatch, most, undetermined):
    """Each of two consumers fits on the other host, but not both."""
    monkeypatch.setattr("placement_insight.plan.room._MOST_TRIED", most)
    full = new_provider(store, VCPU=8)
    new_provider(store, VCPU=5)
    for _ in range(2):
        claim(http, {full: {"VCPU": 4}})
    answer = room(http, "resources=VCPU:8")
    reason = None if undetermined else "nowhere_to_move"
    assert (answer["undetermined"], answer["reason"]) == (undetermined, reason)


def random_cloud(http, store, rng):
    """Create hosts with a device each, shared storage, and consumers of all of them."""
    http.put("/traits/CUSTOM_A", headers=HEADERS)
    storage = new_provider(store, DISK_GB=400)
    configure(http, storage, "traits", ["MISC_SHARES_VIA_AGGREGATE"])
    configure(http, storage, "aggregates", [ZONE])
    for _ in range(8):
        host = new_provider(store, VCPU=16, MEMORY_MB=24)
        device = new_provider(store, None, host, VGPU=3)
        configure(http, host, "aggregates", [ZONE])
        configure(http, host, "traits", rng.choice(([], ["CUSTOM_A"], ["CUSTOM_A"])))
        for _ in range(4):
            amounts = {"VCPU": rng.randint(1, 4), "MEMORY_MB": rng.randint(1, 5)}
            held = {host: amounts, storage: {"DISK_GB": rng.randint(1, 9)}}
            if rng.random() < 0.4:
                held[device] = {"VGPU": 1}
            with suppress(webtest.AppError):
                claim(http, held)


@on_each_backend
def test_plans_in_random_clouds_are_accepted(http, store):
    rng = random.Random(49)
    random_cloud(http, store, rng)
    moved = 0
    for number in range(30):
        resources = f"VCPU:{rng.randint(4, 12)},MEMORY_MB:{rng.randint(4, 16)},DISK_GB:2"
        query = f"resources={resources}&required=CUSTOM_A"
        if number % 3 == 0:
            query += "&resources_G=VGPU:2"
        for room_ in room(http, query)["rooms"][:1]:
            for consumer in room_["consumers"]:
                leave(http, consumer)
            assert room_["root"]["uuid"] in claimed(http, query)
            moved += room_["moved"]
    assert moved > 5


def test_only_evictable_consumers_are_evicted(http, store):
    host = new_provider(store, VCPU=8)
    consumers = [claim(http, {host: {"VCPU": 4}}, kind=kind) for kind in ("A", "B")]
    query = "resources=VCPU:4"
    assert room(http, query)["reason"] == "nowhere_to_move"
    answer = room(http, query, by="evict", evictable={"types": ["B"]})
    (evicted,) = answer["rooms"][0]["consumers"]
    assert (evicted["uuid"], evicted["to"], evicted["allocations"]) == (consumers[1], None, {})
    for criteria in (
        {"types": ["C"]},
        {"project_ids": ["nobody"]},
        {"older_than": "P1D"},
        {"types": ["A"], "consumers": [consumers[1]]},
    ):
        refused = room(http, query, by="evict", evictable=criteria)
        assert (refused["reason"], refused["verdict"]) == ("nothing_evictable", "does_not_fit")
    upper = consumers[0].upper()
    answer = room(http, query, by="evict", evictable={"consumers": [upper]})
    leave(http, answer["rooms"][0]["consumers"][0])
    assert claimed(http, query) == {host}


def test_moves_keep_the_rules_of_server_groups(http, store):
    full, used, free = (new_provider(store, name, VCPU=8) for name in ("cn1", "cn2", "cn3"))
    small, large = (claim(http, {full: {"VCPU": vcpus}}) for vcpus in (2, 4))
    member = claim(http, {used: {"VCPU": 5}})
    claim(http, {free: {"VCPU": 5}})
    query = "resources=VCPU:4"

    def moves(policy, *members):
        groups = [{"policy": policy, "members": [each.upper() for each in members]}]
        (first,) = room(http, query, groups=groups)["rooms"]
        return {each["uuid"]: each["to"]["name"] for each in first["consumers"]}

    assert moves("anti-affinity", small, member) == {small: "cn3"}
    groups = [{"policy": "affinity", "members": [small, large]}]
    answer = room(http, query, groups=groups)
    assert (answer["rooms"], answer["reason"]) == ([], "nowhere_to_move")  # none moves alone
    assert answer["assumes"][0].startswith("The plan keeps the rules of server groups")
    evicted = room(http, query, groups=groups, by="evict", evictable={"consumers": [small]})
    leave(http, evicted["rooms"][0]["consumers"][0])
    assert claimed(http, query) == {full}


@on_each_backend
def test_plans_change_no_row(http, store):
    full, other = new_provider(store, VCPU=8), new_provider(store, VCPU=8)
    for host in (full, other):
        claim(http, {host: {"VCPU": 5}})
    claim(http, {full: {"VCPU": 2}})
    before = [rows(store, table) for table in tables.metadata.sorted_tables]
    for fields in ({}, {"by": "evict", "evictable": {"types": ["INSTANCE"]}}):
        assert room(http, "resources=VCPU:3", **fields)["verdict"] == "fits"
    assert drained(http, provider=[full])["placed"] == 1
    assert [rows(store, table) for table in tables.metadata.sorted_tables] == before


def test_no_room(http, store):
    first, second = new_provider(store, VCPU=8), new_provider(store, VCPU=8)
    assert room(http, "resources=VCPU:8")["fits_now"] == 2
    for host in (first, second):
        claim(http, {host: {"VCPU": 7}})
    assert room(http, "resources=VCPU:9")["reason"] == "too_large_for_any_host"
    assert room(http, "resources=VCPU:8")["reason"] == "nowhere_to_move"
    disabled = new_provider(store, VCPU=8)
    configure(http, disabled, "traits", ["COMPUTE_STATUS_DISABLED"])
    query = "resources=VCPU:8&required=!COMPUTE_STATUS_DISABLED"
    assert room(http, query)["reason"] == "nowhere_to_move"
    assert room(http, f"{query}&root={second}")["undetermined"] == 0


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"query": "resources=CUSTOM_GPU_H1:1"}, "CUSTOM_GPU_H1"),
        ({"query": "resources=VCPU:0"}, "VCPU requires amount >= 1"),
        ({"query": "resources=VCPU:1", "by": "evict"}, "Evictable consumers are given exactly"),
        ({"query": "resources=VCPU:1", "evictable": {"types": ["A"]}}, "exactly if by is evict"),
        ({"query": "resources=VCPU:1", "by": "evict", "evictable": {}}, "evictable"),
        ({"query": "resources=VCPU:1", "keep": ["racks"]}, "racks"),
        ({"query": "resources=VCPU:1", "limit": 0}, "limit"),
        ({"limit": 1}, "query"),
        (
            {
                "query": "resources=VCPU:1",
                "by": "evict",
                "evictable": {"older_than": "P1M"},
            },
            "JSON does not validate: evictable.older_than: ",
        ),
    ],
)
def test_bad_input(http, fields, sentence):
    refused = http.post_json("/insight/room", fields, headers=HEADERS, status=400).json
    assert sentence in refused["errors"][0]["detail"]
