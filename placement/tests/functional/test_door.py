"""What every route does before its handler is at work."""

import re

import pytest
import webtest

from placement import policies
from placement.handler import ROUTE_DECLARATIONS

JSON = {"Content-Type": "application/json"}
LATEST = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest"}
NOBODY = LATEST | {"X-Auth-Token": "nobody"}
ROUTES = [
    (method, path)
    for path, methods in ROUTE_DECLARATIONS.items()
    for method in methods
    if path not in {"", "/"}
]
# The handler of the newest version: a class is renamed by a body, and ensured without.
BODILESS = {("PUT", "/traits/{name}"), ("PUT", "/resource_classes/{name}")}
WITH_BODY = [
    (method, path)
    for method, path in ROUTES
    if method in {"PUT", "POST"} and (method, path) not in BODILESS
]
# The trait that is shown is so by its status alone.
ANSWERING = [
    (method, path) for method, path in ROUTES if method == "GET" and path != "/traits/{name}"
]


@pytest.fixture(scope="module")
def backend():
    """One database is enough: none of these requests gets as far."""
    return "sqlite"


@pytest.fixture
def http(application):
    return webtest.TestApp(application)


def request(http, route, headers, status, body=b""):
    method, path = route
    return http.request(
        re.sub(r"\{.*?\}", "X", path), method=method, headers=headers, body=body, status=status
    )


def last_line(answer):
    return answer.json["errors"][0]["detail"].split("\n")[-1].strip()


def test_nobody_comes_in_without_a_token(http):
    for route in ROUTES:
        request(http, route, {}, 401)


def test_nobody_does_anything_without_a_rule_that_says_so(http):
    rules = {
        (operation["method"], operation["path"]): rule.name
        for rule in policies.list_rules()
        for operation in getattr(rule, "operations", ())
    }
    for route in ROUTES:
        answer = request(http, route, NOBODY | JSON, 403, b"no JSON")
        expected = f"Policy does not allow {rules[route]} to be performed."
        assert last_line(answer) == expected


def test_a_version_that_is_not_served_wins_over_everything(http):
    for route in ROUTES:
        request(http, route, NOBODY | {"OpenStack-API-Version": "placement 1.40"}, 406)


def test_every_answer_with_a_body_is_json_only(http):
    for route in ANSWERING:
        answer = request(http, route, NOBODY | {"Accept": "text/plain"}, 406)
        assert "Only application/json is provided" in answer.text


def test_every_body_must_be_said_to_be_json(http):
    for route in WITH_BODY:
        answer = request(http, route, NOBODY | {"Content-Type": "text/plain"}, 415, b"{}")
        told = "The media type text/plain is not supported, use application/json"
        assert last_line(answer) == told


def test_every_body_must_be_json(http):
    service = LATEST | JSON | {"X-Roles": "admin,service"}
    refused = [request(http, route, service, (400, 404), b"no JSON") for route in WITH_BODY]
    assert {answer.status_int for answer in refused} <= {400, 404}


def test_below_its_window_a_route_is_not_there(http):
    for route in ROUTES:
        method, path = route
        windows = getattr(ROUTE_DECLARATIONS[path][method], "windows", None)
        if windows and (first := windows[0].first) > (1, 0):
            below = {"OpenStack-API-Version": f"placement 1.{first.minor - 1}"}
            status = 405 if route == ("DELETE", "/resource_providers/{uuid}/inventories") else 404
            request(http, route, LATEST | JSON | below, status)
