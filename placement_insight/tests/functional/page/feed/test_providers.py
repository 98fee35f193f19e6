"""The bulk read of providers, and the feed of changes: over HTTP, on each database."""

import gzip
import json
import random
import uuid
from itertools import product

import pytest
import requests
import webob
import webtest

from placement import db_api, deploy
from placement.db.store import Store
from placement.microversion import VERSIONS
from placement.tests.plugin import BACKENDS
from placement.tests.support.processes import UwsgiProcesses
from placement.tests.support.sql import execute
from placement.tests.support.stores import replaced_store
from placement_insight.page.feed import change_token

ADMIN = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest"}
OLD = {**ADMIN, "OpenStack-API-Version": "placement 1.6"}
PATH = "/insight/providers"
CLASSES = ("VCPU", "MEMORY_MB", "CUSTOM_DEVICE")
TRAITS = ("HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "COMPUTE_STATUS_DISABLED")
AGGREGATES = tuple(str(uuid.UUID(int=number)) for number in range(1, 4))


@pytest.fixture
def http(application):
    return webtest.TestApp(application)


@pytest.fixture
def other(application, conf):
    """A second service on the same database, which learns of writes as another process does."""
    store = Store(db_api.settings(conf))
    with replaced_store(store):
        yield webtest.TestApp(deploy.loadapp(conf))
    store.dispose()


class RandomHistory:
    """A random history of writes, each through one of several services."""

    def __init__(self, seed, *services):
        self.random = random.Random(seed)
        self.services = services
        self.providers: list[str] = []
        self.consumers: list[str] = []
        self.renamed = 0
        self.put("/resource_classes/CUSTOM_DEVICE", None)
        self.device = "CUSTOM_DEVICE"

    def service(self):
        return self.random.choice(self.services)

    def put(self, path, body, headers=ADMIN):
        if body is None:
            return self.service().put(path, headers=headers, expect_errors=True)
        return self.service().put_json(path, body, headers=headers, expect_errors=True)

    def step(self):
        names = ("create",) if len(self.providers) < 3 else self.NAMES
        getattr(self, self.random.choice(names))()

    NAMES = (
        *("create", "create_child", "rename", "move", "remove", "remove", "inventories"),
        *("inventories", "traits", "aggregates", "claim", "claim", "claim", "release"),
        *("rename_class", "add_trait"),
    )

    def some(self):
        return self.random.choice(self.providers)

    def create(self, parent=None):
        new = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        body = {"name": f"p-{new}", "uuid": new, "parent_provider_uuid": parent}
        self.service().post_json("/resource_providers", body, headers=ADMIN)
        self.providers.append(new)
        self.inventories(new)

    def create_child(self):
        self.create(self.some())

    def rename(self):
        of = self.some()
        shown = self.service().get(f"/resource_providers/{of}", headers=ADMIN).json
        body = {
            "name": f"{self.random.getrandbits(40)}",
            "parent_provider_uuid": shown["parent_provider_uuid"],
        }
        self.put(f"/resource_providers/{of}", body)

    def move(self):
        of, parent = self.some(), self.random.choice([None, self.some()])
        body = {"name": f"{self.random.getrandbits(40)}", "parent_provider_uuid": parent}
        self.put(f"/resource_providers/{of}", body)

    def remove(self):
        removed = self.some()
        path = f"/resource_providers/{removed}"
        if self.service().delete(path, headers=ADMIN, expect_errors=True).status_int == 204:
            self.providers.remove(removed)

    def generation(self, of):
        return self.service().get(f"/resource_providers/{of}", headers=ADMIN).json["generation"]

    def inventories(self, of=None):
        of = of or self.some()
        stock = {
            self.device if name == "CUSTOM_DEVICE" else name: {"total": self.random.randint(4, 20)}
            for name in CLASSES
            if self.random.random() < 0.7
        }
        body = {"resource_provider_generation": self.generation(of), "inventories": stock}
        self.put(f"/resource_providers/{of}/inventories", body)

    def traits(self):
        of = self.some()
        some = [name for name in TRAITS if self.random.random() < 0.5]
        body = {"resource_provider_generation": self.generation(of), "traits": some}
        self.put(f"/resource_providers/{of}/traits", body)

    def aggregates(self):
        of = self.some()
        some = [name for name in AGGREGATES if self.random.random() < 0.5]
        body = {"resource_provider_generation": self.generation(of), "aggregates": some}
        self.put(f"/resource_providers/{of}/aggregates", body)

    def claim(self):
        consumer = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        body = {
            "allocations": {
                of: {"resources": {"VCPU": self.random.randint(1, 3)}}
                for of in {self.some(), self.some()}
            },
            "project_id": "p",
            "user_id": "u",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        if self.put(f"/allocations/{consumer}", body).status_int == 204:
            self.consumers.append(consumer)

    def release(self):
        if self.consumers:
            removed = self.consumers.pop()
            self.service().delete(f"/allocations/{removed}", headers=ADMIN)

    def rename_class(self):
        self.renamed += 1
        new = f"CUSTOM_DEVICE_{self.renamed}"
        response = self.put(f"/resource_classes/{self.device}", {"name": new}, headers=OLD)
        assert response.status_int == 200
        self.device = new

    def add_trait(self):
        self.put(f"/traits/CUSTOM_T{self.random.getrandbits(30)}", None)


class Client:
    """Applies the feed, from whichever service answers."""

    def __init__(self, query=""):
        self.query = query
        self.token = None
        self.known = {}
        self.sent = 0

    def read(self, service):
        since = f"changed_since={self.token}" if self.token else ""
        url = f"{PATH}?{'&'.join(filter(None, (self.query, since)))}"
        feed = service.get(url, headers=ADMIN).json
        if feed["complete"]:
            self.known.clear()
        for removed in feed["removed"]:
            self.known.pop(removed, None)
        self.known |= {each["uuid"]: each for each in feed["providers"]}
        self.token = feed["token"]
        self.sent += len(feed["providers"])
        return feed


def everything(service, query=""):
    body = service.get(f"{PATH}?{query}", headers=ADMIN).json
    assert body["complete"]
    return {each["uuid"]: each for each in body["providers"]}


QUERIES = ("", f"member_of={AGGREGATES[0]}", "required=HW_CPU_X86_AVX", "resources=VCPU:5")


@pytest.mark.long
def test_who_applies_the_feed_has_what_a_full_read_returns(http, other, backend):
    """After every step of a random history, whichever service wrote and whichever answers."""
    cloud = RandomHistory(BACKENDS.index(backend), http, other)  # another one on each database
    clients = [Client(query) for query in QUERIES]
    late = Client()
    for number in range(60):
        cloud.step()
        for client in clients:
            client.read(cloud.service())
            assert client.known == everything(cloud.service(), client.query)
        if number % 7 == 0:
            late.read(cloud.service())
            assert late.known == everything(cloud.service())
    top = cloud.some()
    in_tree = Client(f"in_tree={top}")
    for _ in range(15):
        cloud.step()
        in_tree.read(cloud.service())
        assert in_tree.known == everything(cloud.service(), in_tree.query)


def test_removals_without_a_uuid_make_the_feed_complete(http, conf):
    """Development versions stored one row for several removals."""
    kept, removed = (
        http.post_json("/resource_providers", {"name": name}, headers=ADMIN).json["uuid"]
        for name in ("kept", "removed")
    )
    clients = [Client(), Client(f"in_tree={kept}")]
    for client in clients:
        client.read(http)
    http.delete(f"/resource_providers/{removed}", headers=ADMIN)
    store = Store(db_api.settings(conf))
    execute(store, "UPDATE removed_providers SET uuid = NULL")
    store.dispose()
    for client in clients:
        assert client.read(http)["complete"]
        assert client.known.keys() == everything(http, client.query).keys()


class Workers:
    """The workers of uWSGI, by the calls of WebTest: each takes any request."""

    class Response:
        def __init__(self, response):
            self.status_int = response.status_code
            self.json = response.json() if response.content else None

    def __init__(self, url):
        self.url = url

    def send(self, method, path, headers, **body):
        response = requests.request(
            method, f"{self.url}{path}", headers=headers | {"Connection": "close"}, **body
        )
        return self.Response(response)

    def get(self, path, headers, **_):
        return self.send("GET", path, headers)

    def put(self, path, headers, **_):
        return self.send("PUT", path, headers)

    def delete(self, path, headers, **_):
        return self.send("DELETE", path, headers)

    def put_json(self, path, body, headers, **_):
        return self.send("PUT", path, headers, json=body)

    def post_json(self, path, body, headers, **_):
        return self.send("POST", path, headers, json=body)


@pytest.mark.long
def test_the_feed_holds_among_real_processes(tmp_path):
    """Three workers share a socket: writes, tokens and reads may reach different ones."""
    with UwsgiProcesses(tmp_path, workers=3) as service:
        assert service.get()[0] == 200
        workers = Workers(service.url)
        cloud = RandomHistory(7, workers)
        clients = [Client(), Client(QUERIES[1])]
        for _ in range(60):
            cloud.step()
            for client in clients:
                client.read(workers)
                assert client.known == everything(workers, client.query)
        assert clients[0].sent < 60 * len(cloud.providers)


def test_only_what_changed_is_sent(http, other):
    cloud = RandomHistory(0, http, other)
    for _ in range(6):
        cloud.create()
    client = Client()
    assert len(client.read(http)["providers"]) == 6
    changed, removed = cloud.providers[2], cloud.providers[4]
    cloud.put(f"/resource_providers/{changed}", {"name": "other", "parent_provider_uuid": None})
    other.delete(f"/resource_providers/{removed}", headers=ADMIN)
    feed = client.read(http)
    assert [each["name"] for each in feed["providers"]] == ["other"]
    assert (feed["removed"], feed["complete"]) == ([removed], False)
    again = client.read(other)
    assert (again["providers"], again["removed"], again["complete"]) == ([], [], False)


FILTERS = (
    "required=HW_CPU_X86_AVX&required=!HW_CPU_X86_AVX2",
    "required=in:HW_CPU_X86_AVX,HW_CPU_X86_AVX2&required=COMPUTE_STATUS_DISABLED",
    f"member_of={AGGREGATES[0]}&member_of=in:{AGGREGATES[1]},{AGGREGATES[2]}",
    f"member_of={AGGREGATES[0]}&member_of=!{AGGREGATES[1]}",
    *("name=cn1&name=cn2", "name=CN2", "resources=VCPU:9&resources=VCPU:1", "nosuch=1"),
)


def test_filters_are_those_of_the_api_at_each_microversion(http):
    for number, name in enumerate(("cn1", "cn2")):
        path = f"/resource_providers/{AGGREGATES[number]}"
        http.post_json("/resource_providers", {"name": name, "uuid": path[-36:]}, headers=ADMIN)
        for attribute, value in (
            ("inventories", {"VCPU": {"total": 4}}),
            ("traits", TRAITS[number : number + 2]),
            ("aggregates", AGGREGATES[number : number + 2]),
        ):
            generation = http.get(path, headers=ADMIN).json["generation"]
            body = {"resource_provider_generation": generation, attribute: value}
            http.put_json(f"{path}/{attribute}", body, headers=ADMIN)
    found = set()
    for version, query in product(VERSIONS, FILTERS):
        headers = ADMIN | {"OpenStack-API-Version": f"placement {version}"}
        of_api, of_feed = (
            http.get(f"{path}?{query}", headers=headers, expect_errors=True)
            for path in ("/resource_providers", PATH)
        )
        assert of_feed.status_int == of_api.status_int, (version, query)
        listed = of_api.json.get("resource_providers", ()), of_feed.json.get("providers", ())
        names, of_feed_names = ([each["name"] for each in providers] for providers in listed)
        assert sorted(names) == sorted(of_feed_names), (version, query)
        found |= {(query, len(names))}
    assert len(found) > len(FILTERS)


def test_a_name_that_many_have_changes_them_all(http):
    cloud = RandomHistory(0, http)
    cloud.create()
    client = Client()
    client.read(http)
    cloud.rename_class()
    assert client.read(http)["complete"]


@pytest.mark.parametrize(
    "token",
    ["", "yesterday", "c1", "c1!!!!", "c1AAAA", "x" * 9000, change_token.encode({0: 1, 1: 2})],
)
def test_a_token_that_is_not_ours_gives_everything(http, token):
    cloud = RandomHistory(0, http)
    cloud.create()
    body = http.get(f"{PATH}?changed_since={token}", headers=ADMIN).json
    assert (body["complete"], len(body["providers"])) == (True, 1)


@pytest.mark.parametrize("end", ["A", "AAAA", "=", "AA==", "%0A", "!"])
def test_a_token_with_characters_after_its_end_gives_everything(http, end):
    token = http.get(PATH, headers=ADMIN).json["token"]
    assert not http.get(f"{PATH}?changed_since={token}", headers=ADMIN).json["complete"]
    assert http.get(f"{PATH}?changed_since={token}{end}", headers=ADMIN).json["complete"]


def test_a_token_of_the_future_or_of_another_epoch_gives_everything(http):
    RandomHistory(0, http).create()
    token = http.get(PATH, headers=ADMIN).json["token"]
    clocks = change_token.decode(token)
    for clock in (0, max(clocks)):
        moved = change_token.encode({**clocks, clock: clocks[clock] + 1})
        assert http.get(f"{PATH}?changed_since={moved}", headers=ADMIN).json["complete"]
    assert not http.get(f"{PATH}?changed_since={token}", headers=ADMIN).json["complete"]


def test_lines_say_the_same_as_the_document(http):
    cloud = RandomHistory(4, http)
    for _ in range(30):
        cloud.step()
    document = http.get(PATH, headers=ADMIN).json
    response = http.get(PATH, headers={**ADMIN, "Accept": "application/x-ndjson"})
    assert response.content_type == "application/x-ndjson"
    head, *providers, end = map(json.loads, response.text.splitlines())
    assert {**head, "providers": providers, **end} == document
    assert head.keys() == {"version", "token", "complete"}


def test_a_response_is_compressed_for_who_accepts_it(http, application):
    RandomHistory(0, http).create()

    def read(encoding):
        headers = {**ADMIN, **({"Accept-Encoding": encoding} if encoding else {})}
        return webob.Request.blank(PATH, headers=headers).get_response(application)

    plain, squeezed, refused = read(None), read("gzip, deflate"), read("gzip;q=0")
    assert squeezed.headers["content-encoding"] == "gzip"
    assert "accept-encoding" in squeezed.headers["vary"]
    assert gzip.decompress(squeezed.body) == plain.body == refused.body
    assert "content-encoding" not in {**plain.headers, **refused.headers}
    for response in (plain, squeezed, refused):  # servers need it to keep the connection
        assert int(response.headers["content-length"]) == len(response.body)


def test_tags_are_the_same_in_every_process(http, other):
    RandomHistory(0, http).create()
    tags = {service.get(PATH, headers=ADMIN).headers["etag"] for service in (http, other)}
    assert len(tags) == 1
    again = other.get(PATH, headers={**ADMIN, "If-None-Match": tags.pop()})
    assert (again.status_int, again.body) == (304, b"")


def test_provider_has_the_form_of_the_api(http):
    cloud = RandomHistory(5, http)
    for _ in range(40):
        cloud.step()
    listed = everything(http)
    shown = http.get("/resource_providers", headers=ADMIN).json["resource_providers"]
    assert listed.keys() == {each["uuid"] for each in shown}
    for each in shown:
        provider = listed[each["uuid"]]
        path = f"/resource_providers/{each['uuid']}"
        stock = http.get(f"{path}/inventories", headers=ADMIN).json["inventories"]
        used = http.get(f"{path}/usages", headers=ADMIN).json["usages"]
        for name in ("name", "generation", "parent_provider_uuid", "root_provider_uuid"):
            assert provider[name] == each[name]
        assert {
            name: {key: inventory[key] for key in stock[name]}
            for name, inventory in provider["inventories"].items()
        } == stock
        assert {name: its["used"] for name, its in provider["inventories"].items()} == used
        for noun in ("traits", "aggregates"):
            assert provider[noun] == sorted(http.get(f"{path}/{noun}", headers=ADMIN).json[noun])
