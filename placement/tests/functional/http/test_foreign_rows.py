"""Rows as other programs and people leave them: no request on them is the fault of the service."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
import webtest

from placement.db.tables import (
    allocations,
    consumers,
    inventories,
    projects,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    users,
)
from placement.tests.support.defects import DEFECTS, Host
from placement.tests.support.factories import new_provider, uuid

HEADERS = {"X-Auth-Token": "nova", "X-Roles": "admin,service"}
MISSING = 999_999
CANDIDATES = "/allocation_candidates?resources=VCPU:1"


def without_times(host: Host) -> None:
    for table in (resource_providers, inventories, allocations, consumers):
        host.run(table.update().values(created_at=None, updated_at=None))


def consumer_with(host: Host, **values: int) -> None:
    host.run(consumers.update().where(consumers.c.uuid == host.consumer).values(values))


def allocation_of(host: Host, **values: object) -> None:
    host.run(host.allocation(consumer_id=uuid(), **values))


def allocations_with(host: Host, **values: int) -> None:
    host.run(allocations.update().values(values))


def inventory_of_missing_class(host: Host) -> None:
    own = inventories.c.resource_provider_id == host.id
    host.run(inventories.update().where(own).values(resource_class_id=MISSING))


def linked(host: Host, table: sa.Table, **values: int) -> None:
    host.run(table.insert().values(resource_provider_id=host.id, **values))


ROWS: Mapping[str, Callable[[Host], None]] = {
    "no times": without_times,
    "missing project": partial(consumer_with, project_id=MISSING),
    "missing user": partial(consumer_with, user_id=MISSING),
    "missing type": partial(consumer_with, consumer_type_id=MISSING),
    "missing class of an allocation": partial(allocation_of, resource_class_id=MISSING),
    "missing class of its own allocation": lambda host: host.run(
        host.allocation(resource_class_id=MISSING)
    ),
    "missing class of all allocations": partial(allocations_with, resource_class_id=MISSING),
    "missing provider of all allocations": partial(allocations_with, resource_provider_id=MISSING),
    "missing class of an inventory": inventory_of_missing_class,
    "missing trait": partial(linked, table=resource_provider_traits, trait_id=MISSING),
    "missing aggregate": partial(linked, table=resource_provider_aggregates, aggregate_id=MISSING),
    "missing parent": lambda host: host.provider(parent_provider_id=MISSING),
    "missing root row": lambda host: host.provider(root_provider_id=MISSING),
    "no name": lambda host: host.provider(name=None),
    "no projects and users": lambda host: host.run(projects.delete(), users.delete()),
    **{name: defect for name, (_, defect) in DEFECTS.items()},
}


@pytest.fixture
def http(application):
    return webtest.TestApp(application, lint=False)


@pytest.fixture
def host(store):
    return Host(store)


@pytest.fixture
def send(http):
    """Return a function that sends a request: the status and the document, without null keys."""

    def sent(version: str, method: str, path: str, body: object = None) -> tuple[int, Any]:
        headers = {**HEADERS, "OpenStack-API-Version": f"placement {version}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        response = http.request(
            path, method=method, headers=headers, expect_errors=True,
            body=json.dumps(body).encode() if body is not None else b"",
        )  # fmt: skip
        asked = f"{version} {method} {path}: {response.status} {response.text}"
        assert response.status_int < 500, asked
        assert '"null":' not in response.text, asked
        assert '"None":' not in response.text, asked
        is_json = response.text and response.content_type == "application/json"
        return response.status_int, response.json if is_json else None

    return sent


def reads(host: Host, other: str) -> list[str]:
    parts = ("", "/inventories", "/inventories/VCPU", "/usages", "/traits", "/aggregates")
    return [
        *("/resource_providers", "/resource_classes", "/traits", "/usages?project_id=project"),
        *(f"/resource_providers?{part}" for part in ("resources=VCPU:1", f"in_tree={host.uuid}")),
        *(f"/resource_providers/{host.uuid}{part}" for part in (*parts, "/allocations")),
        *(f"/resource_providers/{other}{part}" for part in parts),
        f"/allocations/{host.consumer}",
        CANDIDATES,
        f"/allocation_candidates?resources=VCPU:1&in_tree={host.uuid}",
    ]


def writes(host: Host, other: str) -> list[tuple[str, str, object]]:
    claim = {
        "project_id": "project", "user_id": "user", "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }  # fmt: skip
    on_host = {"allocations": {host.uuid: {"resources": {"VCPU": 1}}}, **claim}
    again = {**on_host, "consumer_generation": 1}
    return [
        ("PUT", f"/allocations/{uuid()}", on_host),
        ("PUT", f"/allocations/{host.consumer}", again),
        ("POST", "/allocations", {uuid(): on_host, host.consumer: again}),
        ("PUT", f"/resource_providers/{host.uuid}", {"name": "renamed"}),
        (
            "PUT",
            f"/resource_providers/{host.uuid}",
            {"name": "moved", "parent_provider_uuid": other},
        ),
        (
            "PUT",
            f"/resource_providers/{host.uuid}/traits",
            {"resource_provider_generation": 3, "traits": ["COMPUTE_NODE"]},
        ),
        ("DELETE", f"/resource_providers/{host.uuid}/traits", None),
        (
            "PUT",
            f"/resource_providers/{host.uuid}/inventories/VCPU",
            {"resource_provider_generation": 3, "total": 16},
        ),
        ("DELETE", f"/resource_providers/{host.uuid}/inventories", None),
        ("DELETE", f"/allocations/{host.consumer}", None),
        ("DELETE", f"/resource_providers/{host.uuid}", None),
    ]


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("kind", ROWS)
def test_requests_on_foreign_rows(store, host, send, kind):
    """The rows of another host are as if the foreign ones were not there."""
    other = new_provider(store, "sound", VCPU=8)
    send("1.39", "GET", CANDIDATES)
    ROWS[kind](host)
    for version in ("1.0", "1.12", "1.30", "1.39"):
        for path in reads(host, other):
            send(version, "GET", path)
    status, found = send("1.39", "GET", f"/resource_providers/{other}/inventories")
    assert (status, found["inventories"]["VCPU"]["total"]) == (200, 8)
    assert send("1.39", "GET", "/resource_providers?name=sound")[1]["resource_providers"]
    _, found = send("1.39", "GET", CANDIDATES)
    assert other in found["provider_summaries"]
    for method, path, body in writes(host, other):
        send("1.39", method, path, body)
        send("1.39", "GET", f"/resource_providers/{host.uuid}/allocations")
        send("1.39", "GET", CANDIDATES)  # reads what the write changed


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "kind",
    [
        *("missing project", "missing user", "no projects and users", "missing type"),
        *("missing class of all allocations", "missing provider of all allocations"),
    ],
)
def test_a_consumer_of_foreign_rows_can_be_written(host, send, kind):
    ROWS[kind](host)
    body = {
        "allocations": {host.uuid: {"resources": {"VCPU": 2}}},
        "project_id": "new", "user_id": "new", "consumer_generation": 1, "consumer_type": "POD",
    }  # fmt: skip
    assert send("1.39", "PUT", f"/allocations/{host.consumer}", body)[0] == 204
    _, found = send("1.39", "GET", f"/allocations/{host.consumer}")
    assert (found["project_id"], found["user_id"]) == ("new", "new")
