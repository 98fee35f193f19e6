"""A dump is restored in place, slowly, while processes read."""

import json

import pytest
import webtest

from placement import deploy
from placement.db.connections import server_checks
from placement.db.schema import migration, seed
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.db.tables import metadata
from placement.tests.functional.db.connections import dumps
from placement.tests.plugin import service_options
from placement.tests.support.factories import new_provider, uuid
from placement.tests.support.stores import replaced_store

pytestmark = pytest.mark.long

PROCESSES = 2
INTERVAL_SECONDS = 0.03
PAUSE_SECONDS = 0.1


@pytest.fixture(params=dumps.KINDS, ids=lambda kind: kind.__doc__)
def kind(request):
    return request.param


@pytest.fixture
def store(kind, server, worker):
    """A store on a database of this test."""
    database_server, name = server(kind.server), f"dumped_{worker}"
    database_server.create(name)
    store = Store(DatabaseSettings(connection=database_server.url(name), max_retries=0))
    migration.sync(store)
    seed.sync(store)
    yield store
    store.dispose()
    database_server.drop(name)


@pytest.fixture
def dump(kind, server, store):
    return kind(server(kind.server), store.settings.url.database)


def test_processes_that_read_during_a_restore_equal_new_ones(store, dump, monkeypatch):
    monkeypatch.setattr(server_checks, "INTERVAL_SECONDS", INTERVAL_SECONDS)
    dumps.prepare(dump, store)
    others = [Store(store.settings) for _ in range(PROCESSES)]
    dumps.check_restore(dump, [store, *others], PAUSE_SECONDS)
    for other in others:
        other.dispose()


ADMIN = {"HTTP_X_AUTH_TOKEN": "admin", "HTTP_OPENSTACK_API_VERSION": "placement latest"}

JSON = {"Content-Type": "application/json"}


def requests(host):
    """Yield method, path and body of reads and writes that use all tables."""
    consumer, provider_path = uuid(), f"/resource_providers/{host}"
    yield from (
        ("GET", path, None)
        for path in (
            *("/allocation_candidates?resources=VCPU:1", "/resource_providers", "/traits"),
            *("/resource_classes", "/usages?project_id=one", f"/allocations/{consumer}"),
            provider_path,
            *(f"{provider_path}/{part}" for part in ("inventories", "usages", "allocations")),
            *(f"{provider_path}/{part}" for part in ("traits", "aggregates")),
        )
    )
    for generation, noun, value in ((1, "traits", "HW_CPU_X86_AVX2"), (2, "aggregates", uuid())):
        body = {"resource_provider_generation": generation, noun: [value]}
        yield "PUT", f"{provider_path}/{noun}", body
    claim_body = {
        "allocations": {host: {"resources": {"VCPU": 1}}},
        "project_id": uuid(),
        "user_id": uuid(),
        "consumer_generation": None,
        "consumer_type": f"TYPE_{consumer[:8].upper()}",
    }
    yield "PUT", f"/allocations/{consumer}", claim_body
    yield "DELETE", f"/allocations/{consumer}", None
    yield "POST", "/resource_providers", {"name": uuid()}
    yield "PUT", f"/traits/CUSTOM_{consumer[:8].upper()}", None
    yield "DELETE", f"{provider_path}/inventories", None
    yield "DELETE", provider_path, None


@pytest.mark.parametrize("kind", [dumps.OfMariaDb, dumps.Plain], ids=lambda kind: kind.server)
def test_requests_for_what_is_not_restored_yet_are_unavailable(store):
    """Without a table, a column that a dump of an older release lacks, or rows of the clocks."""
    with replaced_store(store):
        application = deploy.loadapp(service_options(store.settings.connection))
    http = webtest.TestApp(application, extra_environ=ADMIN)
    for table in metadata.sorted_tables:
        if table.name.startswith("insight_"):  # of the operator surface
            continue
        host = new_provider(store, VCPU=8)
        store.write(execute, f"ALTER TABLE {table} RENAME TO hidden")
        assert 503 in statuses(http, host), table
        store.write(execute, f"ALTER TABLE hidden RENAME TO {table}")
        for column in (each for each in table.columns if "revision" in each.info):
            host = new_provider(store, VCPU=8)
            rename = f"ALTER TABLE {table} RENAME COLUMN"
            store.write(execute, f"{rename} {column.name} TO hidden")
            assert 503 in statuses(http, host), column
            store.write(execute, f"{rename} hidden TO {column.name}")
    host = new_provider(store, VCPU=8)
    store.write(execute, "DELETE FROM clocks")
    assert 503 in statuses(http, host)
    migration.sync(store)
    assert 503 not in statuses(http, new_provider(store, VCPU=8))


def execute(tx, statement):
    tx.connection.exec_driver_sql(statement)


def statuses(http, host):
    """Return the statuses of all requests: none is an unexpected error."""
    all_statuses = []
    for method, path, body in requests(host):
        text = b"" if body is None else json.dumps(body).encode()
        response = http.request(path, method=method, body=text, headers=JSON, expect_errors=True)
        assert response.status_int != 500, (method, path)
        assert response.headers.get("Retry-After") == {503: "1"}.get(response.status_int)
        all_statuses.append(response.status_int)
    return all_statuses
