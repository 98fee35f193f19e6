"""``GET /insight/changes``: a story over HTTP, its sentences and filters, on each database."""

import pytest
import webtest

from placement.db.clocks import utcnow
from placement.db.tables import insight_changes
from placement_insight.history.model import KINDS

HOST, OTHER, GPU = (f"aaaaaaaa-0000-4000-8000-00000000000{number}" for number in range(1, 4))
AGGREGATE = "dddddddd-0000-4000-8000-000000000001"
CONSUMER = "cccccccc-0000-4000-8000-000000000001"
OF_CLAIMS = "req-8c1f0a2b-1b3d-4e5f-9a7b-0c1d2e3f4a5b"
HEADERS = {
    "X-Auth-Token": "nova:services",
    "X-Roles": "service",
    "OpenStack-API-Version": "placement latest",
}
STORY = [
    "resource class: CUSTOM_A deleted",
    "consumer cccccccc-0000-4000-8000-000000000001: released from cn2 (VCPU 4)",
    "cn2: renamed from other",
    "server cccccccc-0000-4000-8000-000000000001: moved from cn1 (VCPU 4) to other (VCPU 4)",
    "server cccccccc-0000-4000-8000-000000000001: resized on cn1 (VCPU 2 -> 4)",
    "server cccccccc-0000-4000-8000-000000000001: placed on cn1 (VCPU 2)",
    "cn1: aggregate dddddddd-0000-4000-8000-000000000001 added",
    "cn1: trait CUSTOM_T removed",
    "cn1: trait COMPUTE_STATUS_DISABLED, CUSTOM_T added",
    "trait: CUSTOM_T created",
    "cn1: VCPU total 40 -> 32; MEMORY_MB added (total 64, reserved 8)",
    "other: VCPU added (total 8)",
    "cn1: VCPU added (total 40, allocation_ratio 16)",
    "resource class: CUSTOM_A created",
    "gpu: moved from cn1 to cn2",
    "gpu: created below cn1",
    "other: created",
    "cn1: created",
]


@pytest.fixture
def http(application):
    return webtest.TestApp(application, extra_environ=_environ(HEADERS))


def _environ(headers):
    return {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}


def put(http, path, body, **headers):
    return http.put_json(path, body, headers=headers)


def inventories(http, host, generation, **values):
    body = {"resource_provider_generation": generation, "inventories": values}
    put(http, f"/resource_providers/{host}/inventories", body)


def claim(http, host, amount, generation):
    body = {
        "allocations": {host: {"resources": {"VCPU": amount}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": generation,
        "consumer_type": "INSTANCE",
    }
    put(http, f"/allocations/{CONSUMER}", body, **{"X-Openstack-Request-Id": OF_CLAIMS})


@pytest.fixture
def story(http):
    """The service after the requests of the story."""
    for name, uuid, parent in (("cn1", HOST, None), ("other", OTHER, None), ("gpu", GPU, HOST)):
        body = {"name": name, "uuid": uuid, "parent_provider_uuid": parent}
        http.post_json("/resource_providers", body)
    body = {"name": "gpu", "parent_provider_uuid": OTHER}
    put(http, f"/resource_providers/{GPU}", body)
    http.put("/resource_classes/CUSTOM_A")
    inventories(http, HOST, 0, VCPU={"total": 40, "allocation_ratio": 16.0})
    inventories(http, OTHER, 0, VCPU={"total": 8})
    vcpu = {"total": 32, "allocation_ratio": 16.0}
    inventories(http, HOST, 1, VCPU=vcpu, MEMORY_MB={"total": 64, "reserved": 8})
    inventories(http, HOST, 2, VCPU=vcpu, MEMORY_MB={"total": 64, "reserved": 8})
    http.put("/traits/CUSTOM_T")
    path = f"/resource_providers/{HOST}"
    names = ["CUSTOM_T", "COMPUTE_STATUS_DISABLED"]
    put(http, f"{path}/traits", {"resource_provider_generation": 3, "traits": names})
    put(http, f"{path}/traits", {"resource_provider_generation": 4, "traits": names[1:]})
    body = {"resource_provider_generation": 5, "aggregates": [AGGREGATE]}
    put(http, f"{path}/aggregates", body)
    claim(http, HOST, 2, None)
    claim(http, HOST, 4, 1)
    claim(http, OTHER, 4, 2)
    put(http, f"/resource_providers/{OTHER}", {"name": "cn2"})
    http.delete(f"/allocations/{CONSUMER}")
    http.delete("/resource_classes/CUSTOM_A")
    return http


def changes(http, query=""):
    return http.get(f"/insight/changes?{query}").json["changes"]


def texts(http, query=""):
    return [change["text"] for change in changes(http, query)]


def test_the_changes_are_a_story(story):
    expected = [text.replace(" to other", " to cn2") for text in STORY]
    document = story.get("/insight/changes").json
    assert [change["text"] for change in document["changes"]] == expected
    assert document["next"] is None
    assert document["complete_since"] <= document["changes"][-1]["at"]
    assert {change["kind"] for change in document["changes"]} < set(KINDS)
    assert {change["user_id"] for change in document["changes"]} == {"nova"}
    assert {change["project_id"] for change in document["changes"]} == {"services"}


def test_values_before_and_after(story):
    (change,) = changes(story, f"provider={HOST}&kind=inventory&limit=1")
    request_id = change.pop("request_id")
    assert request_id.startswith("req-")
    del change["at"]
    assert change == {
        "global_request_id": None,
        "user_id": "nova",
        "project_id": "services",
        "kind": "inventory",
        "provider": {"uuid": HOST, "name": "cn1"},
        "consumer": None,
        "before": {"VCPU": {"total": 40}, "MEMORY_MB": None},
        "after": {
            "VCPU": {"total": 32},
            "MEMORY_MB": {
                "total": 64,
                "reserved": 8,
                "min_unit": 1,
                "max_unit": 2147483647,
                "step_size": 1,
                "allocation_ratio": 1.0,
            },
        },
        "text": "cn1: VCPU total 40 -> 32; MEMORY_MB added (total 64, reserved 8)",
    }
    assert [each["text"] for each in changes(story, f"request_id={request_id}")] == [
        change["text"]
    ]


def test_filters(story):
    placed = changes(story, f"consumer={CONSUMER.upper()}")[-1]
    assert placed["consumer"] == {"uuid": CONSUMER, "type": "INSTANCE"}
    assert placed["provider"] is None
    of_consumer = texts(story, f"consumer={CONSUMER.upper()}")
    assert len(of_consumer) == 4
    assert texts(story, f"request_id={OF_CLAIMS}") == of_consumer[1:]
    on_other = texts(story, f"provider={OTHER}")
    assert {"other: created", *of_consumer[:2]} < {*on_other}
    assert "gpu: created below cn1" not in on_other
    assert {*on_other, "gpu: created below cn1"} < {*texts(story, f"in_tree={GPU}")}
    assert texts(story, f"in_tree={HOST}&provider={GPU}") == []
    assert texts(story, "project_id=services&kind=trait") == ["trait: CUSTOM_T created"]
    assert texts(story, "project_id=other") == []
    assert texts(story, "since=1h") == texts(story)
    assert texts(story, "until=1h") == []
    assert texts(story, "since=0001-01-01") == texts(story)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_kind_of_a_later_release_is_listed(http, store):
    row = {"created_at": utcnow(), "kind": "quota", "change": '["p",{"VCPU":1},null]'}
    store.write(lambda tx: tx.connection.execute(insight_changes.insert(), row))
    (change,) = changes(http)
    assert (change["kind"], change["before"], change["after"]) == ("quota", {"VCPU": 1}, None)
    assert change["text"] == "quota: recorded by a later release"


def test_a_migration_takes_over_the_allocations_of_its_server(story):
    claim(story, HOST, 2, None)
    migration = CONSUMER.replace("c", "e")
    common = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
    on_host = {HOST: {"resources": {"VCPU": 2}}}
    body = {
        migration: {
            **common,
            "allocations": on_host,
            "consumer_generation": None,
            "consumer_type": "MIGRATION",
        },
        CONSUMER: {**common, "allocations": {}, "consumer_generation": 1},
    }
    story.post_json("/allocations", body)
    assert set(texts(story, f"in_tree={HOST}&limit=2")) == {
        f"migration {migration}: taken over from server {CONSUMER}; placed on cn1 (VCPU 2)",
        f"server {CONSUMER}: handed over to migration {migration}; released from cn1 (VCPU 2)",
    }


def test_pages(story):
    listed, query = [], "limit=7"
    while True:
        document = story.get(f"/insight/changes?{query}").json
        listed += [change["text"] for change in document["changes"]]
        if document["next"] is None:
            break
        query = f"limit=7&marker={document['next']}"
    assert listed == texts(story)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("host=cn1", "there is no parameter 'host'"),
        ("since=then", "since: 'then' is not a time"),
        ("kind=move", "kind: 'move' is not one of ['provider', 'inventory', "),
        ("provider=cn1", "provider is 'cn1', which is not a UUID."),
        ("since=1h&until=2h", "is not before until"),
        ("since=2999-01-01", "since: 2999-01-01T00:00:00Z is in the future"),
    ],
)
def test_other_queries_are_refused(http, query, message):
    response = http.get(f"/insight/changes?{query}", status=400)
    assert message in response.json["errors"][0]["detail"]


def test_a_disabled_host_has_the_change_that_disabled_it(story):
    claim(story, HOST, 1, None)
    (host,) = story.get("/insight/top?disabled=true", headers=HEADERS).json["hosts"]
    assert (host["uuid"], host["states"]) == (HOST, ["disabled"])
    (change,) = [
        each
        for each in changes(story, f"provider={HOST}&kind=traits")
        if "COMPUTE_STATUS_DISABLED" in each["after"]
    ]
    request = f"request {change['request_id']}, user nova"
    assert host["note"] == f"disabled at {change['at']}, {request}"
    for parameter in ("required", "root_required"):
        query = f"resources=VCPU:1&{parameter}=!COMPUTE_STATUS_DISABLED&in_tree={HOST}"
        (miss,) = story.get(f"/insight/explanation?{query}").json["near_misses"]
        assert [each.get("change") for each in miss["unmet"]] == [
            f"cn1: trait COMPUTE_STATUS_DISABLED added at {change['at']}, {request}"
        ]
