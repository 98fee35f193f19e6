"""The API scenarios cover every route, microversion, error code and policy rule."""

import functools
import re
from pathlib import Path

import pytest
import yaml

from placement import errors, microversion, policies
from placement.handler import ROUTE_DECLARATIONS
from placement.tests.support.scenarios import GABBITS, scenarios

pytestmark = pytest.mark.xdist_group("coverage")  # each process would load all scenarios

METHODS = {"GET", "POST", "PUT", "DELETE"}
ROUTES = [
    (method, path) for path, methods in ROUTE_DECLARATIONS.items() for method in methods if path
]


@functools.cache
def requests(folder=GABBITS):
    """Return method, path, version and status of every request in the scenarios."""
    texts = map(Path.read_text, scenarios(folder))
    return {request for text in texts for request in requests_in(yaml.safe_load(text))}


def requests_in(scenario):
    default_version = scenario["defaults"]["request_headers"].get("openstack-api-version", "")
    for test in scenario["tests"]:
        method = next(iter(METHODS & test.keys()))
        version = test.get("request_headers", {}).get("openstack-api-version", default_version)
        path = test[method].partition("?")[0]
        yield method, path, version.removeprefix("placement "), str(test.get("status", 200))


def text():
    return "".join(path.read_text() for path in scenarios())


def pattern(path):
    return re.sub(r"\{.*?\}", "[^/]+", path)


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
def test_every_route_has_successes_and_errors(route):
    _, path = route
    statuses = statuses_of(*route)
    assert [status for status in statuses if status < "300"]
    assert path == "/" or [status for status in statuses if status >= "400"]


def statuses_of(method, path, folder=GABBITS):
    return [
        status
        for request_method, request_path, _, status in requests(folder)
        if request_method == method and re.fullmatch(pattern(path), request_path)
    ]


def test_every_version_is_used():
    assert {str(version) for version in microversion.VERSIONS} <= {
        version for _, _, version, _ in requests()
    }


def test_every_version_window_is_tested_at_its_edges():
    missing = [
        (method, path, edge)
        for method, path in ROUTES
        for edge in edges(ROUTE_DECLARATIONS[path][method])
        if not any(
            request_method == method
            and re.fullmatch(pattern(path), request_path)
            and version == edge
            for request_method, request_path, version, _ in requests()
        )
    ]
    assert missing == []


def edges(handler):
    """Yield the first version of each window of a handler, and the version before it."""
    for window in windows(handler):
        yield str(window.first)
        if window.first.minor:
            yield str(microversion.VERSIONS[window.first.minor - 1])


def windows(handler):
    while not isinstance(handler, microversion.Versioned):
        handler = getattr(handler, "__wrapped__", None)
        if handler is None:
            return ()
    return handler.windows


def test_every_error_code_is_tested():
    codes = {error.code for error in errors.TABLE.values()}
    assert {code for code in codes if f"code: {code}\n" not in text()} == set()


def test_every_policy_rule_is_tested():
    rules = {rule.name for rule in policies.OPERATIONS}
    assert {rule for rule in rules if f"does not allow {rule} to be" not in text()} == set()
