"""What the stories in ``gabbits`` tell of: everything there is to tell."""

import functools
import re

import pytest
import yaml

from placement import errors, microversion, policies
from placement.handler import ROUTE_DECLARATIONS
from placement.tests.functional.test_api import stories

METHODS = {"GET", "POST", "PUT", "DELETE"}
ROUTES = [
    (method, path) for path, methods in ROUTE_DECLARATIONS.items() for method in methods if path
]


@functools.cache
def requests():
    """Return method, path, version and status of every request told of."""
    return {request for path in stories() for request in told_in(yaml.safe_load(path.read_text()))}


def told_in(story):
    usual = story["defaults"]["request_headers"].get("openstack-api-version", "")
    for test in story["tests"]:
        method = next(iter(METHODS & test.keys()))
        version = test.get("request_headers", {}).get("openstack-api-version", usual)
        path = test[method].partition("?")[0]
        yield method, path, version.removeprefix("placement "), str(test.get("status", 200))


def text():
    return "".join(path.read_text() for path in stories())


def pattern(path):
    return re.sub(r"\{.*?\}", "[^/]+", path)


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
def test_every_route_succeeds_and_is_refused(route):
    method, path = route
    told = [
        status
        for asked, where, _, status in requests()
        if asked == method and re.fullmatch(pattern(path), where)
    ]
    assert [status for status in told if status < "300"]
    assert path == "/" or [status for status in told if status >= "400"]


def test_every_version_is_spoken():
    assert {str(version) for version in microversion.VERSIONS} <= {told[2] for told in requests()}


def test_every_window_of_a_route_is_told_at_its_edges():
    missing = [
        (method, path, edge)
        for method, path in ROUTES
        for edge in edges(ROUTE_DECLARATIONS[path][method])
        if not any(
            asked == method and re.fullmatch(pattern(path), where) and version == edge
            for asked, where, version, _ in requests()
        )
    ]
    assert missing == []


def edges(handler):
    """Yield the versions from which on a handler serves, and those just before."""
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


def test_every_error_code_is_told():
    codes = {wire.code for wire in errors.TABLE.values()}
    assert {code for code in codes if f"code: {code}\n" not in text()} == set()


def test_every_policy_rule_is_told():
    rules = {rule.name for rule in policies.list_rules() if rule.name.startswith("placement:")}
    assert {rule for rule in rules if f"does not allow {rule} to be" not in text()} == set()
