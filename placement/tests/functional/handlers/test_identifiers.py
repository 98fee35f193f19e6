"""UUIDs and names identify one thing, however they are written: on each database."""

import socket
import threading
import uuid

import pytest
import webtest

from placement import exception
from placement.db.maintenance import reconcile
from placement.db.schema import migration
from placement.engine.engine import Engine
from placement.objects import allocation, provider
from placement.tests.support.factories import claim, new_provider
from placement.tests.support.processes import LATEST, WSGI_FILE, start_uwsgi
from placement.tests.support.sql import execute, scalar

CONSUMER = "cccccccc-0000-4000-8000-00000000000a"
AGGREGATE = "dddddddd-0000-4000-8000-00000000000a"
SPELLINGS = [CONSUMER, CONSUMER.upper(), CONSUMER.replace("-", ""), f"{{{CONSUMER}}}"]


@pytest.fixture
def http(application):
    return webtest.TestApp(application)


# --- stored in another spelling ------------------------------------------------------------


def spelled_database(store):
    """Write rows as another implementation does; return the UUID of the provider."""
    host = new_provider(store, VCPU=8)
    claim(store, CONSUMER, {host: {"VCPU": 1}})
    execute(store, "UPDATE consumers SET uuid = :uuid", {"uuid": CONSUMER.upper()})
    execute(store, "UPDATE allocations SET consumer_id = :uuid", {"uuid": CONSUMER.upper()})
    execute(store, "UPDATE resource_providers SET uuid = :uuid", {"uuid": host.replace("-", "")})
    execute(
        store,
        "INSERT INTO placement_aggregates (uuid) VALUES (:uuid)",
        {"uuid": AGGREGATE.upper()},
    )
    return host


def test_sync_makes_stored_uuids_canonical(store):
    host = spelled_database(store)
    migration.sync(store)
    assert scalar(store, "SELECT uuid FROM consumers") == CONSUMER
    assert scalar(store, "SELECT consumer_id FROM allocations") == CONSUMER
    assert scalar(store, "SELECT uuid FROM placement_aggregates") == AGGREGATE
    assert provider.show(store, host).uuid == host
    assert claimed(store) == {host: {"VCPU": 1}}


def test_running_processes_see_the_converted_uuids(store):
    host = spelled_database(store)
    engine = Engine(store)
    engine.current()
    reconcile.convert_uuids(store)
    assert [state.provider.uuid for state in engine.current().states()] == [host]
    epoch = store.epoch()
    reconcile.convert_uuids(store)
    assert store.epoch() == epoch


def test_second_spelling_is_reported_and_kept(store, backend, caplog):
    if backend == "mariadb":
        pytest.skip("MariaDB's unique constraints ignore letter case")
    host = spelled_database(store)
    claim(store, CONSUMER, {host.replace("-", ""): {"VCPU": 2}})
    reconcile.convert_uuids(store)
    assert scalar(store, "SELECT count(*) FROM consumers") == 2
    assert f"consumers has the UUID {CONSUMER} in two spellings" in caplog.text


def claimed(store):
    allocations = allocation.of_consumer(store, CONSUMER).allocations
    return {uuid: dict(entry.resources) for uuid, entry in allocations.items()}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_consumer_of_any_spelling_is_one_consumer(http, spelling):
    host = http.post_json("/resource_providers", {"name": "cn"}, headers=LATEST).json["uuid"]
    inventories = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}
    path = f"/resource_providers/{host.upper()}/inventories"
    http.put_json(path, inventories, headers=LATEST)
    body = {
        "allocations": {host.upper(): {"resources": {"VCPU": 1}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_type": "INSTANCE",
        "consumer_generation": None,
    }
    http.put_json(f"/allocations/{spelling}", body, headers=LATEST, status=204)
    again = {CONSUMER.upper(): body | {"consumer_generation": 1}}
    http.post_json("/allocations", again, headers=LATEST, status=204)
    for read in SPELLINGS:
        stored = http.get(f"/allocations/{read}", headers=LATEST).json
        assert (stored["consumer_generation"], list(stored["allocations"])) == (2, [host])
    http.delete(f"/allocations/{spelling}", headers=LATEST, status=204)
    http.delete(f"/allocations/{CONSUMER}", headers=LATEST, status=404)


# --- names -----------------------------------------------------------------------------------


def test_name_filter_finds_what_post_reports_as_conflict(http, backend):
    http.post_json("/resource_providers", {"name": "rp0"}, headers=LATEST)
    conflicts = http.post_json(
        "/resource_providers", {"name": "RP0"}, headers=LATEST, expect_errors=True
    )
    providers = http.get("/resource_providers?name=RP0", headers=LATEST).json["resource_providers"]
    if backend == "mariadb":
        assert conflicts.status_int == 409
        assert [each["name"] for each in providers] == ["rp0"]
    else:
        assert conflicts.status_int == 200
        assert [each["name"] for each in providers] == ["RP0"]
    missing = http.get("/resource_providers?name=RP1", headers=LATEST).json["resource_providers"]
    assert missing == []


def test_conflict_reports_the_uuid_if_both_are_taken(store):
    host = new_provider(store)
    name = provider.show(store, host).name
    with pytest.raises(exception.DuplicateProvider, match="uuid: "):
        provider.create(store, host, name, None)
    with pytest.raises(exception.DuplicateProvider, match="uuid: "):
        provider.create(store, host, "another", None)
    with pytest.raises(exception.DuplicateProvider, match="name: "):
        provider.create(store, str(uuid.uuid4()), name, None)


def test_concurrent_creation_of_one_provider_reports_the_uuid(store):
    """Two agents of one host create its provider: the second must learn that it exists."""
    host, errors = str(uuid.uuid4()), []

    def create():
        try:
            provider.create(store, host, "host", None)
        except exception.PlacementException as error:
            errors.append(str(error))

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    conflict = f"Conflicting resource provider uuid: {host} already exists."
    assert [error[: len(conflict)] for error in errors] == [conflict] * 3


# --- request lines -----------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("backend", ["sqlite"])
@pytest.mark.parametrize("line", [b"GET /\r\n\r\n", b"GET /traits\r\n\r\n", b"GET\r\n\r\n"])
def test_request_line_without_protocol_is_400_through_uwsgi(deployment, line):
    with (deployment.folder / "placement.conf").open("a") as file:
        file.write("[healthcheck]\nenabled = true\n")
        file.write(f"[metrics]\nenabled = true\nfolder = {deployment.folder}/metrics\n")
    start_uwsgi(deployment, "--wsgi-file", WSGI_FILE)
    deployment.wait()
    address = ("127.0.0.1", deployment.port)
    with socket.create_connection(address, timeout=60) as connection:
        connection.sendall(line)
        response = b"".join(iter(lambda: connection.recv(2**16), b""))
    assert b" 400 " in response.partition(b"\r\n")[0], response
    assert b"Malformed request line" in response
