"""The samples of the API reference equal the requests and responses of the service."""

import json
import os

import pytest
import webtest

from placement.handler import Routes, all_routes
from placement.tests.support import docs

HEADERS = {
    "X-Auth-Token": "admin",
    "X-Roles": "admin,service",
    "OpenStack-API-Version": "placement latest",
    "X-Openstack-Request-Id": "req-7a9b0c1d-2e3f-4a5b-8c2e-6f0a1b3d4e5f",
}
REQUEST_ID = "req-8c2e6f0a-1b3d-4e5f-9a7b-0c1d2e3f4a5b"
TIME = "2026-11-21T02:14:07Z"
TOKEN = "c1eNpjYACB____"
MASKS = {
    "request_id": REQUEST_ID,
    "at": TIME,
    "first_at": TIME,
    "last_at": TIME,
    "last_write_seen": TIME,
    "complete_since": TIME,
    "since": "2026-11-21T00:00:00Z",
    "release": "1.0.0",
    "created_at": TIME,
    "updated_at": TIME,
    "token": TOKEN,
    "database": "1099511627783",
}
WRITE = os.environ.get("DOCS_SAMPLES") == "write"


def documents_of(application):
    """Run the scenario; return the documents by the names of their files."""
    client = webtest.TestApp(application)
    documents = {}
    for step in docs.scenario():
        response = client.request(
            step.path, method=step.method, headers=HEADERS, status=step.status, **sent(step.body)
        )
        if step.request:
            documents[f"{step.request}-request"] = step.body
        if step.response:
            document = masked(response.json)
            assert documents.setdefault(step.response, document) == document
    return documents


def sent(body):
    """Return the request body as arguments of WebTest."""
    if body is None:
        return {}
    return {"body": docs.text(body).encode(), "content_type": "application/json"}


def in_any_order(document):
    """Return the document with lists of strings sorted: their order is not specified."""
    if isinstance(document, dict):
        return {name: in_any_order(value) for name, value in document.items()}
    if isinstance(document, list):
        ordered = [in_any_order(value) for value in document]
        return sorted(ordered) if all(isinstance(value, str) for value in ordered) else ordered
    return document


def masked(document):
    """Return the document with what differs from run to run replaced."""
    if isinstance(document, dict):
        return {name: MASKS.get(name) or masked(value) for name, value in document.items()} | {
            name: [0, 0, sum(document[name])] for name in document.keys() & {"per_hour"}
        }
    return [masked(value) for value in document] if isinstance(document, list) else document


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_samples_equal_requests_and_responses(application):
    documents = documents_of(application)
    if WRITE:
        for name, document in documents.items():
            (docs.SAMPLES / f"{name}.json").write_text(docs.text(document))
    files = {path.stem: json.loads(path.read_text()) for path in docs.SAMPLES.glob("*.json")}
    assert in_any_order(files) == in_any_order(documents)


def test_the_scenario_calls_each_route():
    routes = Routes(all_routes())
    called = {
        routes.find(step.path.partition("?")[0]).methods[step.method] for step in docs.scenario()
    }
    declared = {handler for methods in all_routes().values() for handler in methods.values()}
    assert {handler.__name__ for handler in declared - called} == set()
