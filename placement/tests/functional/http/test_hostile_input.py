"""Whatever stands in a body, a path or a query, the service is not at fault: on no database."""

import copy
import json
import os
import random
import re
from urllib.parse import quote

import pytest
import sqlalchemy as sa
import webtest

from placement import db_api, deploy
from placement.db.schema import migration
from placement.db.store import Store
from placement.handler import ROUTE_DECLARATIONS
from placement.tests.plugin import BACKENDS, service_options
from placement.tests.support.stores import replaced_store

HEADERS = {
    "X-Auth-Token": "nova",
    "X-Roles": "admin,service",
    "Content-Type": "application/json",
}
HOST = "aaaaaaaa-0000-4000-8000-000000000001"
CONSUMER = "cccccccc-0000-4000-8000-000000000001"
AGGREGATE = "bbbbbbbb-0000-4000-8000-000000000001"

CLAIM = {
    "allocations": {HOST: {"resources": {"VCPU": 1}, "generation": 1}},
    "mappings": {"1": [HOST]},
    "project_id": "p",
    "user_id": "u",
    "consumer_generation": None,
    "consumer_type": "INSTANCE",
}
INVENTORY = {
    "total": 4,
    "reserved": 1,
    "min_unit": 1,
    "max_unit": 4,
    "step_size": 1,
    "allocation_ratio": 1.5,
}
ALL = {"resource_provider_generation": 1, "inventories": {"VCPU": INVENTORY}}
PROVIDER = {"name": "n", "uuid": AGGREGATE, "parent_provider_uuid": HOST}
LISTED = [{"resource_provider": {"uuid": HOST}, "resources": {"VCPU": 1}}]
OF_HOST = f"/resource_providers/{HOST}"
WRITES = [
    ("latest", "POST", "/resource_providers", PROVIDER),
    ("latest", "PUT", OF_HOST, {"name": "n", "parent_provider_uuid": AGGREGATE}),
    ("latest", "POST", f"{OF_HOST}/inventories", {"resource_class": "DISK_GB", **INVENTORY}),
    ("latest", "PUT", f"{OF_HOST}/inventories", ALL),
    (
        "latest",
        "PUT",
        f"{OF_HOST}/inventories/VCPU",
        {"resource_provider_generation": 1, **INVENTORY},
    ),
    (
        "latest",
        "PUT",
        f"{OF_HOST}/traits",
        {"resource_provider_generation": 1, "traits": ["HW_CPU_X86_VMX"]},
    ),
    (
        "latest",
        "PUT",
        f"{OF_HOST}/aggregates",
        {"resource_provider_generation": 1, "aggregates": [AGGREGATE]},
    ),
    ("1.1", "PUT", f"{OF_HOST}/aggregates", [AGGREGATE]),
    ("latest", "POST", "/resource_classes", {"name": "CUSTOM_A"}),
    ("1.6", "PUT", "/resource_classes/CUSTOM_A", {"name": "CUSTOM_B"}),
    ("latest", "PUT", f"/allocations/{CONSUMER}", CLAIM),
    ("1.0", "PUT", f"/allocations/{CONSUMER}", {"allocations": LISTED}),
    ("latest", "POST", "/allocations", {CONSUMER: CLAIM}),
    (
        "latest",
        "POST",
        "/reshaper",
        {"inventories": {HOST: ALL}, "allocations": {CONSUMER: CLAIM}},
    ),
]
TEXTS = ["", " ", "\n", "\0", "\ud800", "\U0001f600", "A" * 5000, "%", "'\"\\", AGGREGATE, HOST]
VALUES = [
    *TEXTS,
    *(None, True, 0, -1, 1.5, 10.0, 2**31, -(2**63), 2**64, 10**400, 1e308, -1e308, 1e-320),
    *([], {}, [[]], [1, "a"], {"": 1}),
]
# A run sends half of the bodies, others to each database; `make stress` sends all to each.
EVERY = int(os.environ.get("HOSTILE_EVERY", 2 * len(BACKENDS)))
# JSON allows what Python's own encoder does not say.
NUMBERS_OF_NO_VALUE = ["1e999", "-1e999", "NaN", "-Infinity", "1e-999"]


@pytest.fixture
def http(application):
    client = webtest.TestApp(application, lint=False)
    start(client)
    return client


def start(http):
    """Make the world that the bodies speak of: a host at generation 1."""
    http.post_json(
        "/resource_providers", {"name": "host", "uuid": HOST}, headers=HEADERS, status=201
    )
    http.post_json(
        f"{OF_HOST}/inventories",
        {"resource_class": "VCPU", **INVENTORY},
        headers=HEADERS,
        status=201,
    )


def start_again(http):
    for consumer in (CONSUMER, HOST, AGGREGATE):
        http.delete(f"/allocations/{consumer}", headers=HEADERS, status="*")
    http.delete(OF_HOST, headers=HEADERS, status=204)
    start(http)


def places(document, path=()):
    """Yield the way to everything in a document."""
    yield path
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))
        else:
            yield (*path, key)


def replaced(document, path, value):
    if not path:
        return value
    document = copy.deepcopy(document)
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return document


def renamed(document, path, name):
    """Return the document with another key at the end of a path, where it is one of an object."""
    outer = document
    for key in path[:-1]:
        outer = outer[key]
    if not path or not isinstance(outer, dict):
        return document
    other = {name if key == path[-1] else key: value for key, value in outer.items()}
    return replaced(document, path[:-1], other)


def bodies(document):
    for path in places(document):
        yield from (json.dumps(replaced(document, path, value)) for value in VALUES)
        yield from (json.dumps(renamed(document, path, name)) for name in TEXTS)
        yield from (
            json.dumps(replaced(document, path, "?")).replace('"?"', number)
            for number in NUMBERS_OF_NO_VALUE
        )


def status(http, version, method, path, body=""):
    headers = HEADERS | {"OpenStack-API-Version": f"placement {version}"}
    response = http.request(path, method=method, headers=headers, body=body.encode(), status="*")
    return response.status_int


@pytest.mark.parametrize("write", WRITES, ids=lambda write: " ".join(write[:3]))
def test_hostile_bodies(http, write, backend):
    version, method, path, document = write
    faults = []
    first = (random.randrange(EVERY) + BACKENDS.index(backend)) % EVERY
    for body in list(dict.fromkeys(bodies(document)))[first::EVERY]:
        response_status = status(http, version, method, path, body)
        if response_status >= 500:
            faults.append(body[:300])
        elif response_status < 300 and path.startswith((OF_HOST, "/allocations", "/reshaper")):
            start_again(http)
    assert faults == []


QUERIES = [
    "/resource_providers?name=",
    "/resource_providers?in_tree=",
    "/resource_providers?required=",
    "/allocation_candidates?resources=VCPU:1&required=",
    "/traits?name=in:",
    "/traits?name=startswith:",
    "/usages?project_id=",
    "/usages?project_id=p&user_id=",
    "/usages?project_id=p&consumer_type=",
    "/resource_providers?",
]


def test_hostile_queries(http):
    assert faults_of(http, QUERIES) == []


def faults_of(http, queries):
    return [
        query + text
        for query in queries
        for text in ("%FF", *(quote(text, errors="surrogatepass") for text in TEXTS))
        if status(http, "latest", "GET", query + text) >= 500
    ]


def test_hostile_paths(http):
    assert faults_in_paths(http, ROUTE_DECLARATIONS) == []


def faults_in_paths(http, declarations):
    return [
        (method, path)
        for route, methods in declarations.items()
        for method in methods
        for path in paths(route)
        if status(http, "latest", method, path, "{}") >= 500
    ]


def paths(route):
    """Yield paths of a route with any text in the place of each of its parameters."""
    for name in ("{uuid}", "{resource_class}", "{consumer_uuid}", "{name}"):
        if name in route:
            for text in ("%FF", *(quote(text, errors="surrogatepass") for text in TEXTS)):
                yield (
                    route.replace(name, text)
                    .replace("{uuid}", HOST)
                    .replace("{resource_class}", "X")
                )


# --- texts that a column has characters for, and the connection has not ------------------


@pytest.fixture
def utf8mb4(empty_database_url, server, backend):
    """The service on a database as documented, with connections in MySQL's utf8."""
    name = sa.make_url(empty_database_url).database
    server(backend).execute(f"ALTER DATABASE {name} CHARACTER SET utf8mb4")
    conf = service_options(empty_database_url)
    store = Store(db_api.settings(conf))
    migration.sync(store)
    with replaced_store(store):
        client = webtest.TestApp(deploy.loadapp(conf), lint=False)
        start(client)
        yield client
    store.dispose()


def owned_by(project, user):
    return CLAIM | {"project_id": project, "user_id": user, "mappings": {"": [HOST]}}


@pytest.mark.parametrize("backend", ["mariadb"])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/usages?project_id=%F0%9F%98%80", {}),
        ("GET", "/usages?project_id=p&user_id=%F0%9F%98%80", {}),
        ("GET", "/resource_providers?name=%F0%9F%98%80", {}),
        ("POST", "/resource_providers", {"name": "\U0001f600"}),
        ("PUT", f"/allocations/{CONSUMER}", owned_by("\U0001f600", "u")),
        ("PUT", f"/allocations/{CONSUMER}", owned_by("p", "\U0001f600")),
        (
            "POST",
            "/allocations",
            {
                CONSUMER: owned_by("\U0001f600", "u"),
                HOST: owned_by("p", "\U0001f600"),
                AGGREGATE: owned_by("q", "v"),
            },
        ),
    ],
)
def test_characters_that_the_connection_cannot_send(utf8mb4, method, path, body):
    assert status(utf8mb4, "latest", method, path, json.dumps(body)) == 400


@pytest.mark.parametrize("backend", ["mariadb"])
@pytest.mark.parametrize("path", ["/usages?project_id=%F0%9F%98%80", "/usages?project_id=p"])
def test_errors_of_the_database_are_not_returned(utf8mb4, monkeypatch, path):
    """Neither a column and its collation, nor a statement."""

    def fail(*_):
        raise sa.exc.ProgrammingError("SELECT secret", {"p": "secret"}, Exception("secret"))

    if path.endswith("=p"):
        monkeypatch.setattr("placement.handlers.allocation.usage.of_project_by_type", fail)
    headers = HEADERS | {"OpenStack-API-Version": "placement latest"}
    response = utf8mb4.get(path, headers=headers, status=[400, 500])
    assert not re.search("collation|utf8|column|SELECT|secret", response.text)


MANY = range(20_000)
LARGE = [
    (
        "PUT",
        f"{OF_HOST}/traits",
        {"resource_provider_generation": 1, "traits": [f"T{i}" for i in MANY]},
    ),
    (
        "PUT",
        f"{OF_HOST}/inventories",
        {"resource_provider_generation": 1, "inventories": {f"C{i}": {"total": 1} for i in MANY}},
    ),
    (
        "PUT",
        f"/allocations/{CONSUMER}",
        CLAIM | {"allocations": {HOST: {"resources": {f"C{i}": 1 for i in MANY}}}},
    ),
    (
        "PUT",
        f"/allocations/{CONSUMER}",
        CLAIM | {"allocations": {f"{i:036}": {"resources": {"VCPU": 1}} for i in MANY}},
    ),
    (
        "POST",
        "/reshaper",
        {"inventories": {f"{i:036}": ALL for i in MANY}, "allocations": {}},
    ),
]
# the schema refuses them, before a database is asked
LARGE_AND_INVALID = [
    ("PUT", OF_HOST, {"name": "<" * 1_000_000}),
    (
        "PUT",
        f"{OF_HOST}/inventories",
        {"resource_provider_generation": 1, "inventories": {"<" * 1_000_000: {"total": 1}}},
    ),
    (
        "PUT",
        f"{OF_HOST}/aggregates",
        {"resource_provider_generation": 1, "aggregates": ["x", 1] * 100_000},
    ),
]


@pytest.mark.parametrize("write", LARGE, ids=lambda write: " ".join(write[:2]))
def test_large_bodies(http, write):
    refuses(http, *write)


def refuses(http, method, path, document):
    # some take a second; what is not linear would take hours, and fail by the timeout of tests
    assert 400 <= status(http, "latest", method, path, json.dumps(document)) < 500


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("write", LARGE_AND_INVALID, ids=lambda write: " ".join(write[:2]))
def test_large_invalid_bodies(http, write):
    refuses(http, *write)
