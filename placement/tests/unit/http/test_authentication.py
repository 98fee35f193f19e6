import pytest

from placement.tests.support.stub_service import ADMIN, service


@pytest.fixture(scope="module")
def http():
    return service()


def test_without_a_token_the_answer_is_401(http):
    response = http.get("/things/1", status=401)
    assert response.json.keys() == {"message", "code", "title"}
    assert response.json["code"] == "401 Unauthorized"
    assert set(response.headers) == {"Content-Type", "Content-Length", "x-openstack-request-id"}


def test_unauthorized_is_html_if_accepted(http):
    assert http.get("/x", headers={"Accept": "text/html"}, status=401).content_type == "text/html"


def test_the_root_is_open(http):
    http.get("/", status=200)


def test_the_empty_path_is_not(http):
    http.get("", status=401)
    http.get("", headers=ADMIN, status=200)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X-Auth-Token": "admin"}, 200),
        ({"X-Auth-Token": "admin:project"}, 200),
        ({"X-Auth-Token": "admin", "X-Roles": ""}, 403),
        ({"X-Auth-Token": "admin", "X-Roles": "reader"}, 403),
        ({"X-Auth-Token": "anybody"}, 403),
        ({"X-Auth-Token": "anybody", "X-Roles": "reader, ADMIN"}, 200),
        ({"X-Auth-Token": "anybody", "X-Roles": "service"}, 200),
        ({"X-Auth-Token": ""}, 403),
        ({"X-Auth-Token": ":x"}, 403),
        ({"X-Auth-Token": "admin", "OpenStack-System-Scope": "all"}, 403),
        ({"X-Auth-Token": "admin", "X-Domain-Id": "d"}, 403),
    ],
)
def test_noauth2_roles_decide(http, headers, status):
    http.get("/things/1", headers=headers, status=status)


@pytest.mark.parametrize(
    ("headers", "query", "status"),
    [
        ({"X-Auth-Token": "user:p1"}, "?project_id=p1", 200),
        ({"X-Auth-Token": "user:p1"}, "?project_id=p2", 403),
        ({"X-Auth-Token": "user:p1"}, "", 403),
        ({"X-Auth-Token": "p1"}, "?project_id=p1", 200),
        ({"X-Auth-Token": "user:p1", "X-Project-Id": "p2"}, "?project_id=p2", 200),
    ],
)
def test_a_reader_reads_in_its_own_project(http, headers, query, status):
    http.get(f"/things{query}", headers=headers | {"X-Roles": "reader"}, status=status)


KEYSTONE = {
    "api__auth_strategy": "keystone",
    "keystone_authtoken__www_authenticate_uri": "http://keystone.example",
}


def test_with_keystone_the_root_is_open_and_the_rest_is_not():
    http = service(**KEYSTONE)
    http.get("/", status=200)
    http.get("", status=200)
    response = http.get("/things/1", status=401)
    assert response.headers["WWW-Authenticate"] == 'Keystone uri="http://keystone.example"'
    assert response.json["error"]["code"] == 401
    assert response.headers["x-openstack-request-id"].startswith("req-")


def test_delayed_decision_refuses_requests_without_user():
    http = service(**KEYSTONE, keystone_authtoken__delay_auth_decision=True)
    response = http.get(
        "/things/1", headers={"X-User-Id": "admin", "X-Roles": "admin"}, status=401
    )
    assert response.json["code"] == "401 Unauthorized"


def test_authentication_error_has_the_usual_form():
    response = service(api__auth_strategy="keystone").get("/things/1", status=500)
    assert response.json["errors"][0]["title"] == "Internal Server Error"
    assert "openstack-api-version" not in response.headers
