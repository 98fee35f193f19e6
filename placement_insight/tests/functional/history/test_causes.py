"""What changed since a request last fitted: over HTTP, on each database."""

import pytest
import webtest

from placement_insight.history import sql

HOST, GPU, AGGREGATE, CONSUMER, OTHER = (
    f"{letter * 8}-0000-4000-8000-000000000001" for letter in "abcde"
)
HEADERS = {
    "HTTP_X_AUTH_TOKEN": "nova:services",
    "HTTP_X_ROLES": "service",
    "HTTP_OPENSTACK_API_VERSION": "placement latest",
}
PATH = f"/resource_providers/{HOST}"


@pytest.fixture
def http(application):
    http = webtest.TestApp(application, extra_environ=HEADERS)
    http.put("/traits/CUSTOM_T")
    http.post_json("/resource_providers", {"name": "old", "uuid": HOST})
    inventories(http, VCPU={"total": 40}, DISK_GB={"total": 10})
    put(http, "traits", traits=["CUSTOM_T"])
    put(http, "aggregates", aggregates=[AGGREGATE])
    http.put_json(PATH, {"name": "cn1"})
    return http


def put(http, what, **body):
    generation = http.get(PATH).json["generation"]
    http.put_json(f"{PATH}/{what}", {"resource_provider_generation": generation, **body})


def inventories(http, **values):
    put(http, "inventories", inventories=values)


def claim(http, amount, consumer=CONSUMER, *, status=204, generation=None, name="VCPU", on=HOST):
    body = {
        "allocations": {on: {"resources": {name: amount}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": generation,
        "consumer_type": "INSTANCE",
    }
    http.put_json(f"/allocations/{consumer}", body, status=status)


def explained(http, query):
    """Return the changes of the unmet requirements of the host, without their origin."""
    document = http.get(f"/insight/explanation?{query}").json
    (miss,) = document["near_misses"]
    return [_without_origin(unmet.get("change")) for unmet in miss["unmet"]]


def _without_origin(text):
    if text is None:
        return None
    sentence, at, origin = text.rpartition(" at ")
    assert at, text
    assert ", request req-" in origin
    assert origin.endswith(", user nova")
    return sentence


def test_the_change_that_crossed_the_limit(http):
    claim(http, 36)
    inventories(http, VCPU={"total": 32}, DISK_GB={"total": 10})
    inventories(http, VCPU={"total": 31}, DISK_GB={"total": 9})
    assert explained(http, "resources=VCPU:4") == ["cn1: VCPU total 40 -> 32"]
    inventories(http, VCPU={"total": 31, "reserved": 1}, DISK_GB={"total": 9})
    assert explained(http, "resources=VCPU:4") == ["cn1: VCPU total 40 -> 32"]


@pytest.mark.parametrize(
    ("limits", "amount", "change"),
    [
        ({"total": 40, "reserved": 30}, 16, "reserved 0 -> 30"),
        ({"total": 40, "allocation_ratio": 0.25}, 16, "allocation_ratio 1.0 -> 0.25"),
        ({"total": 40, "max_unit": 8}, 16, "max_unit 2147483647 -> 8"),
        ({"total": 40, "min_unit": 20}, 16, "min_unit 1 -> 20"),
        ({"total": 40, "step_size": 5}, 16, "step_size 1 -> 5"),
    ],
)
def test_each_limit_of_an_inventory(http, limits, amount, change):
    inventories(http, VCPU=limits, DISK_GB={"total": 10})
    assert explained(http, f"resources=VCPU:{amount}") == [f"cn1: VCPU {change}"]
    claim(http, amount, status=409)
    assert refused(http) == f"cn1: VCPU {change}"


def refused(http):
    """Return the change that explains the last recorded refusal."""
    request = http.get("/insight/requests?limit=1").json["requests"][0]
    return _without_origin(request["explanation"].get("change"))


def test_a_change_that_was_undone_is_no_cause(http):
    inventories(http, VCPU={"total": 32}, DISK_GB={"total": 10})
    inventories(http, VCPU={"total": 40}, DISK_GB={"total": 10})
    assert explained(http, "resources=VCPU:41") == [None]
    put(http, "traits", traits=[])
    put(http, "traits", traits=["CUSTOM_T"])
    put(http, "traits", traits=["CUSTOM_T", "COMPUTE_STATUS_DISABLED"])
    query = "resources=VCPU:1&required=!CUSTOM_T,!COMPUTE_STATUS_DISABLED"
    assert set(explained(http, query)) == {
        "cn1: trait CUSTOM_T added",
        "cn1: trait COMPUTE_STATUS_DISABLED added",
    }


def test_inventories_traits_and_aggregates_that_were_removed(http):
    inventories(http, VCPU={"total": 40})
    put(http, "traits", traits=["COMPUTE_STATUS_DISABLED"])
    put(http, "aggregates", aggregates=[])
    query = f"resources=VCPU:1,DISK_GB:1&required=CUSTOM_T&member_of={AGGREGATE}"
    assert set(explained(http, query)) == {
        f"cn1: aggregate {AGGREGATE} removed",
        "cn1: DISK_GB removed",
        "cn1: trait CUSTOM_T removed",
    }
    assert explained(http, "resources=VCPU:1&root_required=CUSTOM_T") == [
        "cn1: trait CUSTOM_T removed"
    ]
    put(http, "aggregates", aggregates=[AGGREGATE])
    assert explained(http, f"resources=VCPU:1&member_of=!{AGGREGATE}") == [
        f"cn1: aggregate {AGGREGATE} added"
    ]
    claim(http, 1, name="DISK_GB", status=409)
    assert refused(http) == "cn1: DISK_GB removed"


def test_the_consumer_that_took_what_was_free(http):
    inventories(http, VCPU={"total": 38}, DISK_GB={"total": 10})
    claim(http, 30)
    claim(http, 6, OTHER)
    placed = f"server {OTHER}: placed on cn1 (VCPU 6)"
    assert explained(http, "resources=VCPU:4") == [placed]
    assert explained(http, "resources=VCPU:39") == ["cn1: VCPU total 40 -> 38"]
    claim(http, 33, status=409, generation=1)
    assert refused(http) == placed


def test_a_migration_that_takes_over_is_no_cause(http):
    claim(http, 38)
    server = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
    on_host = {HOST: {"resources": {"VCPU": 38}}}
    migration = {**server, "consumer_type": "MIGRATION", "consumer_generation": None}
    body = {
        OTHER: {**migration, "allocations": on_host},
        CONSUMER: {**server, "allocations": {}, "consumer_generation": 1},
    }
    http.post_json("/allocations", body)
    placed = f"server {CONSUMER}: placed on cn1 (VCPU 38)"
    assert explained(http, "resources=VCPU:4") == [placed]


def test_providers_that_moved_or_were_deleted(http):
    body = {"name": "gpu", "uuid": GPU, "parent_provider_uuid": HOST}
    http.post_json("/resource_providers", body)
    body = {"resource_provider_generation": 0, "inventories": {"VGPU": {"total": 1}}}
    http.put_json(f"/resource_providers/{GPU}/inventories", body)
    http.post_json("/resource_providers", {"name": "cn2", "uuid": OTHER})
    http.put_json(f"/resource_providers/{GPU}", {"name": "g", "parent_provider_uuid": OTHER})
    query = f"resources1=VGPU:1&in_tree1={HOST}&root={OTHER}"
    assert explained(http, query) == ["g: renamed from gpu; moved from cn1 to cn2"]
    http.delete(f"/resource_providers/{GPU}")
    (row,) = http.get(f"/insight/explanation?resources=VCPU:1&in_tree={GPU}").json["funnel"]
    assert _without_origin(row["change"]) == "g: deleted"
    claim(http, 1, on=GPU, status=400)
    assert refused(http) == "g: deleted"


def test_a_recorded_empty_response_has_the_change(http):
    put(http, "traits", traits=["CUSTOM_T", "COMPUTE_STATUS_DISABLED"])
    query = "resources=VCPU:1&required=!COMPUTE_STATUS_DISABLED"
    http.get(f"/allocation_candidates?{query}")
    (request,) = http.get("/insight/requests").json["requests"]
    (unmet,) = request["explanation"]["near_misses"][0]["unmet"]
    assert _without_origin(unmet["change"]) == "cn1: trait COMPUTE_STATUS_DISABLED added"


def test_what_older_records_than_those_of_allocations_say_of_usage_is_not_known(http, store):
    inventories(http, VCPU={"total": 38}, DISK_GB={"total": 10})
    put(http, "traits", traits=[])
    for generation in (None, *range(1, 9)):
        claim(http, 1 + (generation or 0) % 2, generation=generation)
    sql.prune(store, 4, 1000)  # removes the oldest of allocations
    assert explained(http, "resources=VCPU:38") == [None]
    assert explained(http, "resources=VCPU:1&required=CUSTOM_T") == ["cn1: trait CUSTOM_T removed"]


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_without_history_nothing_is_said(http, store):
    put(http, "traits", traits=[])
    sql.prune(store, 0, 1000)
    assert explained(http, "resources=VCPU:1&required=CUSTOM_T") == [None]


@pytest.fixture
def closed(conf, tmp_path):
    """A policy under which nobody may read changes."""
    conf.set_override("policy_file", str(tmp_path / "policy.yaml"), "oslo_policy")
    (tmp_path / "policy.yaml").write_text('"placement:insight:changes": "!"\n')


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.usefixtures("closed")
def test_a_reader_who_may_not_read_changes(http):
    put(http, "traits", traits=[])
    query = "resources=VCPU:1&required=CUSTOM_T"
    http.get(f"/allocation_candidates?{query}")
    claim(http, 41, status=409)
    assert explained(http, query) == [None]
    inventories(http, DISK_GB={"total": 10})
    claim(http, 1, status=409)
    assert "change" not in http.get("/insight/requests").text.replace("changes", "")
    http.get("/insight/changes", status=403)
