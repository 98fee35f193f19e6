"""What every route does before its handler is at work."""

import json
import re

import pytest
import webtest
from oslo_policy import opts

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
    path = re.sub(r"\{.*?\}", "X", path)
    response = http.request(path, method=method, headers=headers, body=body, status=status)
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    return response


def last_line(answer):
    return answer.json["errors"][0]["detail"].split("\n")[-1].strip()


def test_requests_without_token_are_refused(http):
    for route in ROUTES:
        request(http, route, {}, 401)


def test_nobody_does_anything_without_a_rule_that_says_so(http):
    rules = {
        (operation["method"], operation["path"]): rule.name
        for rule in policies.OPERATIONS
        for operation in rule.operations
    }
    for route in ROUTES:
        response = request(http, route, NOBODY | JSON, 403, b"no JSON")
        expected = f"Policy does not allow {rules[route]} to be performed. It needs role "
        assert last_line(response).startswith(expected)


def test_policy_precedes_the_query_and_the_body(http):
    for method, path in ROUTES:
        request(http, (method, f"{path}?unknown=1"), NOBODY | JSON, 403, b"no JSON")


def test_a_version_that_is_not_served_wins_over_everything(http):
    for route in ROUTES:
        request(http, route, NOBODY | {"OpenStack-API-Version": "placement 1.40"}, 406)


def test_every_answer_with_a_body_is_json_only(http):
    for route in ANSWERING:
        response = request(http, route, NOBODY | {"Accept": "text/plain"}, 406)
        assert "Only application/json is provided" in response.text


def test_every_body_must_have_media_type_json(http):
    for route in WITH_BODY:
        response = request(http, route, NOBODY | {"Content-Type": "text/plain"}, 415, b"{}")
        message = "The media type text/plain is not supported, use application/json"
        assert last_line(response) == message


def test_every_body_must_be_json(http):
    service = LATEST | JSON | {"X-Roles": "admin,service"}
    refused = [request(http, route, service, (400, 404), b"no JSON") for route in WITH_BODY]
    assert {response.status_int for response in refused} <= {400, 404}


# They read no query.
OTHERS = {
    *("/resource_classes", "/resource_classes/{name}", "/traits/{name}"),
    *("/resource_providers/{uuid}", "/allocations/{consumer_uuid}"),
    *(
        f"/resource_providers/{{uuid}}/{name}"
        for name in ("inventories", "usages", "aggregates", "allocations", "traits")
    ),
    "/resource_providers/{uuid}/inventories/{resource_class}",
}


def test_routes_that_read_a_query_or_a_body_refuse_what_they_do_not_know(http):
    service = LATEST | JSON | {"X-Roles": "admin,service"}
    host = http.post_json("/resource_providers", {"name": "host"}, headers=service).json["uuid"]
    for method, path in ROUTES:
        if method == "GET":
            route = ("GET", f"{path}?unknown=1")
            response = request(http, route, service, (200, 204, 400, 404))
            assert (response.status_int == 400) is (path not in OTHERS), path
    for method, path in WITH_BODY:
        route = (method, path.replace("{uuid}", host))
        request(http, route, service, 400, b'{"unknown": 1}')


def test_missing_provider_is_reported_before_a_malformed_body(http):
    headers = LATEST | JSON | {"X-Roles": "admin,service"}
    unknown = "/resource_providers/aaaaaaaa-0000-4000-8000-00000000dead"
    for method, path in (
        ("PUT", unknown),
        ("PUT", f"{unknown}/aggregates"),
        ("PUT", f"{unknown}/inventories"),
        ("POST", f"{unknown}/inventories"),
        ("PUT", f"{unknown}/inventories/VCPU"),
    ):
        response = request(http, (method, path), headers, 404, b"no JSON")
        assert "No resource provider with uuid" in response.text


def test_below_its_window_a_route_is_not_there(http):
    for route in ROUTES:
        method, path = route
        windows = getattr(ROUTE_DECLARATIONS[path][method], "windows", None)
        if windows and (first := windows[0].first) > (1, 0):
            below = {"OpenStack-API-Version": f"placement 1.{first.minor - 1}"}
            status = 405 if route == ("DELETE", "/resource_providers/{uuid}/inventories") else 404
            request(http, route, LATEST | JSON | below, status)


UUID = "aaaaaaaa-0000-4000-8000-000000000001"
MEMBER = f"member_of={UUID}"
LISTED = {"allocations": [{"resource_provider": {"uuid": UUID}, "resources": {"VCPU": 1}}]}
BY_PROVIDER = {"allocations": {UUID: {"resources": {"VCPU": 1}}}}
OWNER = {"project_id": "p", "user_id": "u"}


@pytest.mark.parametrize(
    ("header", "route", "body", "sentence"),
    [
        (None, "GET /allocation_candidates?resources=VCPU:1", None, "exists from 1.10;"),
        ("compute 2.1", "GET /traits", None, "exists from 1.6;"),
        ("1.39", "GET /resource_classes", None, "exists from 1.2;"),
        ("placement 1.8", "GET /usages?project_id=x", None, "exists from 1.9;"),
        ("placement 1.29", "POST /reshaper", {}, "exists from 1.30;"),
        ("placement 1.4", f"DELETE /resource_providers/{UUID}/inventories", None, "from 1.5;"),
        ("placement 1.14", "GET /resource_providers?required=HW_CPU_X86_VMX", None, "1.18;"),
        ("placement 1.17", "GET /resource_providers?in_tree=X&required=A", None, ""),
        ("placement 1.13", f"GET /resource_providers?in_tree={UUID}", None, "from 1.14;"),
        ("placement 1.18", "GET /resource_providers?required=!A", None, "from 1.22;"),
        ("placement 1.3", "GET /resource_providers?resources=VCPU:1", None, "from 1.4;"),
        ("placement 1.16", "GET /allocation_candidates?resources=A:1&required=B", None, "1.17;"),
        ("placement 1.24", "GET /allocation_candidates?resources1=A:1", None, "from 1.25;"),
        ("placement 1.32", "GET /allocation_candidates?resources_X=A:1", None, "from 1.33;"),
        ("placement 1.23", f"GET /resource_providers?{MEMBER}&{MEMBER}", None, "from 1.24;"),
        ("placement 1.31", f"GET /resource_providers?{MEMBER[:10]}!{UUID}", None, "1.32;"),
        ("placement 1.38", "GET /resource_providers?required=in:A,B", None, "since microver"),
        ("placement 1.37", "GET /usages?project_id=x&consumer_type=all", None, "from 1.38;"),
        ("placement 1.38", f"PUT /allocations/{UUID}", BY_PROVIDER, ""),
        ("placement 1.11", f"PUT /allocations/{UUID}", BY_PROVIDER | OWNER, "from 1.12;"),
        ("placement 1.39", f"PUT /allocations/{UUID}", LISTED | OWNER, "exists up to 1.11;"),
        ("placement 1.7", f"PUT /allocations/{UUID}", LISTED | OWNER, "exists from 1.8;"),
        ("placement 1.39", "POST /resource_classes", {"name": "x"}, ""),
        (
            "placement 1.6",
            "PUT /resource_classes/CUSTOM_A",
            None,
            "without a body exists from 1.7;",
        ),
        ("placement 1.6", "PUT /resource_classes/CUSTOM_A", {}, "without a body exists from 1.7;"),
        ("placement 1.7", "PUT /resource_classes/A", None, ""),
    ],
)
def test_an_error_of_the_microversion_alone_says_which_one(http, header, route, body, sentence):
    headers = {"X-Auth-Token": "admin"} | ({"OpenStack-API-Version": header} if header else {})
    method, path = route.split()
    content = (
        {} if body is None else {"body": json.dumps(body).encode(), "headers": headers | JSON}
    )
    arguments = {"headers": headers, "method": method, "status": "4*", **content}
    detail = http.request(path, **arguments).json["errors"][0]["detail"]
    assert sentence in detail
    assert ("handled at" in detail) is bool(sentence and "microver" not in sentence), detail
    assert ("without the header" in detail) is (header is None or "placement" not in header)


def test_an_error_that_the_data_shows_says_its_microversion(http):
    """Reserved amounts equal to the total exist from 1.26, other parents from 1.37."""
    parent, child = f"{UUID[:-1]}2", f"{UUID[:-1]}3"
    for created in ({"name": "a", "uuid": parent}, {"name": "b", "parent_provider_uuid": parent}):
        body = {"uuid": child} | created
        http.post_json("/resource_providers", body, headers=LATEST)
    path = f"/resource_providers/{child}"
    reserved = {"resource_class": "VCPU", "total": 4, "reserved": 4}
    without_parent = {"name": "b", "parent_provider_uuid": None}

    def sentence(method, path, body, version):
        headers = LATEST | JSON | {"OpenStack-API-Version": version}
        content = json.dumps(body).encode()
        return last_line(
            http.request(path, method=method, headers=headers, body=content, status=400)
        )

    handled = "this request was handled at 1"
    for version in ("placement 1.25", "compute 2.1"):
        refused = sentence("POST", f"{path}/inventories", reserved, version)
        assert f". A reserved value equal to total exists from 1.26; {handled}" in refused
        assert ("without the header" in refused) is (version == "compute 2.1")
    refused = sentence("PUT", path, without_parent, "placement 1.36")
    assert f" a provider is not currently allowed. It exists from 1.37; {handled}.36." in refused
    refused = sentence("PUT", path, {"name": "b", "parent_provider_uuid": child}, "placement 1.39")
    assert refused.endswith("creating loop in the provider tree is not allowed.")


@pytest.mark.parametrize("version", ["1.0", "latest"])
def test_methods_that_a_path_has_not_are_refused_with_those_it_has(http, version):
    headers = NOBODY | {"OpenStack-API-Version": f"placement {version}"}
    for path, methods in ROUTE_DECLARATIONS.items():
        for method in {"HEAD", "OPTIONS", "PATCH", "DELETE", "PUT", "POST"} - methods.keys():
            response = request(http, (method, path), headers, 405)
            assert response.headers["allow"] == ", ".join(methods)
            assert method != "HEAD" or response.body == b""


@pytest.mark.parametrize(
    "path", ["/traits/", "//traits", "/Traits", "/traits.json", "/traits/a/b"]
)
def test_a_path_is_what_it_is_exactly(http, path):
    http.get(path, headers=LATEST, status=404)


def test_a_path_is_decoded_once(http):
    http.get("/%74raits", headers=LATEST, status=200)
    http.get("/resource%5Fproviders", headers=LATEST, status=200)
    http.get("/%2574raits", headers=LATEST, status=404)
    http.get("/traits/HW_CPU_X86_VMX%2Fx", headers=LATEST, status=404)
    assert last_line(http.get("/resource_providers/%E2%98%83", headers=LATEST, status=404)) == (
        "No resource provider with uuid \N{SNOWMAN} found"
    )


@pytest.mark.parametrize("prefix", ["/placement", "/placement-api", "/a/b"])
def test_links_and_locations_begin_with_the_mount_point(http, prefix):
    mounted = {"SCRIPT_NAME": prefix}
    body = {"name": "snow \N{SNOWMAN}"}
    response = http.post_json("/resource_providers", body, headers=LATEST, extra_environ=mounted)
    links = {link["rel"]: link["href"] for link in response.json["links"]}
    assert links["self"] == f"{prefix}/resource_providers/{response.json['uuid']}"
    assert links["traits"] == f"{links['self']}/traits"
    assert response.headers["location"] == f"http://localhost{links['self']}"
    ensured = http.put("/traits/CUSTOM_A", headers=LATEST, extra_environ=mounted)
    assert ensured.headers["location"] == f"http://localhost{prefix}/traits/CUSTOM_A"
    shown = http.get("/resource_classes/VCPU", headers=LATEST, extra_environ=mounted)
    assert shown.json["links"][0]["href"] == f"{prefix}/resource_classes/VCPU"


@pytest.fixture
def policy_file(conf, tmp_path):
    """A policy file, which counts from the next request on."""
    opts.set_defaults(conf)
    conf.set_override("policy_file", str(tmp_path / "policy.yaml"), "oslo_policy")
    (tmp_path / "policy.yaml").touch()
    return tmp_path / "policy.yaml"


OPERATIONS = {
    rule.name: {(each["method"], each["path"]) for each in rule.operations}
    for rule in policies.OPERATIONS
}


def test_each_rule_opens_its_operations_and_no_others(policy_file, http):
    for rule, opened in OPERATIONS.items():
        policy_file.write_text(f'"{rule}": "@"\n')
        assert refused(http, NOBODY | JSON) == set(ROUTES) - opened, rule


def test_each_rule_closes_its_operations_and_no_others(policy_file, http):
    for rule, closed in OPERATIONS.items():
        policy_file.write_text(f'"{rule}": "!"\n')
        assert refused(http, LATEST | JSON | {"X-Roles": "admin,service"}) == closed, rule


NULL_OR_INVERTED = ["", "!", "[]", '"not rule:gone"']


@pytest.mark.parametrize("entry", NULL_OR_INVERTED)
def test_an_entry_that_reads_as_null_opens_no_route(policy_file, http, entry):
    for rule in OPERATIONS:
        policy_file.write_text(f'"{rule}": {entry}\n')
        assert refused(http, NOBODY | JSON) == set(ROUTES), rule


OF_PROJECTS = [
    "rule:admin_or_project_reader_or_service_api",
    "project_id:%(project_id)s or user_id:%(user_id)s",
]
OWN, OTHER = "project_id=own", "project_id=other"
QUERIES = ["", OWN, OTHER, f"{OTHER}&{OWN}", f"{OWN}&{OTHER}", "project_id=", "project_id=None"]


@pytest.mark.parametrize("check", OF_PROJECTS)
def test_a_rule_with_a_project_means_the_project_of_the_query(policy_file, http, check):
    for rule, routes in OPERATIONS.items():
        policy_file.write_text(f'"{rule}": "{check}"\n')
        expected = {OWN, f"{OTHER}&{OWN}"} if rule == "placement:usages" else set()
        for route in routes:
            assert queries_of_a_reader(http, route) == expected, rule


def queries_of_a_reader(http, route):
    """Return the queries that the policy allows a reader of the project ``own``."""
    method, path = route
    reader = LATEST | JSON | {"X-Auth-Token": "somebody:own", "X-Roles": "reader"}
    return {
        query for query in QUERIES if refused(http, reader, [(method, f"{path}?{query}")]) == set()
    }


def refused(http, headers, routes=ROUTES):
    """Return the routes that the policy keeps from the caller."""
    return {
        route
        for route in routes
        if request(http, route, headers, "*", b"no JSON").status_int == 403
    }
