"""What every route of the operator surface does before its handler is at work."""

import pytest
import webtest
from oslo_policy import opts

from placement.tests.functional.http.test_hostile_input import faults_in_paths, faults_of
from placement.tests.functional.http.test_http_errors import (
    JSON,
    LATEST,
    NOBODY,
    NULL_OR_INVERTED,
    OF_PROJECTS,
    OTHER,
    OWN,
    last_line,
    queries_of_a_reader,
    refused,
    request,
)
from placement_insight.policies import list_rules
from placement_insight.routes import DECLARATIONS

ROUTES = [(method, path) for path, methods in DECLARATIONS.items() for method in methods]
OPERATIONS = {
    rule.name: {(each["method"], each["path"]) for each in rule.operations}
    for rule in list_rules()
}
QUERIES = [
    "/insight/consumers?project_id=",
    "/insight/consumers?marker=",
    "/insight/identity?name=",
    "/insight/requests?project_id=",
    "/insight/survival?by=",
]


@pytest.fixture(scope="module")
def backend():
    return "sqlite"


@pytest.fixture
def http(application):
    return webtest.TestApp(application, lint=False)


@pytest.fixture
def policy_file(conf, tmp_path):
    """A policy file, which counts from the next request on."""
    opts.set_defaults(conf)
    conf.set_override("policy_file", str(tmp_path / "policy.yaml"), "oslo_policy")
    (tmp_path / "policy.yaml").touch()
    return tmp_path / "policy.yaml"


def test_requests_without_token_are_refused(http):
    for route in ROUTES:
        request(http, route, {}, 401)


def test_nobody_does_anything_without_a_rule_that_says_so(http):
    for rule, routes in OPERATIONS.items():
        for route in routes:
            response = request(http, route, NOBODY | JSON, 403, b"no JSON")
            expected = f"Policy does not allow {rule} to be performed. It needs role "
            assert last_line(response).startswith(expected)


def test_each_rule_opens_its_operations_and_no_others(policy_file, http):
    for rule, opened in OPERATIONS.items():
        policy_file.write_text(f'"{rule}": "@"\n')
        assert refused(http, NOBODY | JSON, ROUTES) == set(ROUTES) - opened, rule


def test_each_rule_closes_its_operations_and_no_others(policy_file, http):
    for rule, closed in OPERATIONS.items():
        policy_file.write_text(f'"{rule}": "!"\n')
        assert refused(http, LATEST | JSON | {"X-Roles": "admin,service"}, ROUTES) == closed, rule


@pytest.mark.parametrize("entry", NULL_OR_INVERTED)
def test_an_entry_that_reads_as_null_opens_no_route(policy_file, http, entry):
    for rule in OPERATIONS:
        policy_file.write_text(f'"{rule}": {entry}\n')
        assert refused(http, NOBODY | JSON, ROUTES) == set(ROUTES), rule


@pytest.mark.parametrize("check", OF_PROJECTS)
def test_a_rule_with_a_project_means_the_project_of_the_query(policy_file, http, check):
    of_project = {"placement:insight:consumers", "placement:insight:requests:list"}
    for rule, routes in OPERATIONS.items():
        policy_file.write_text(f'"{rule}": "{check}"\n')
        expected = {OWN, f"{OTHER}&{OWN}"} if rule in of_project else set()
        for route in routes:
            assert queries_of_a_reader(http, route) == expected, rule


def test_methods_that_a_path_has_not_are_refused_with_those_it_has(http):
    for path, methods in DECLARATIONS.items():
        for method in {"HEAD", "OPTIONS", "PATCH", "DELETE", "PUT", "POST"} - methods.keys():
            response = request(http, (method, path), NOBODY, 405)
            assert response.headers["allow"] == ", ".join(methods)


@pytest.mark.parametrize("backend", ["sqlite", "mariadb", "postgresql"], indirect=True)
def test_hostile_queries_and_paths(http):
    assert faults_of(http, QUERIES) == []
    assert faults_in_paths(http, DECLARATIONS) == []
