import pytest

from placement import conf
from placement.tests.support.stub_service import ADMIN, service

PREFLIGHT = {
    "Origin": "http://dashboard.example",
    "Access-Control-Request-Method": "PUT",
    "Access-Control-Request-Headers": "OpenStack-API-Version,X-Auth-Token",
}


@pytest.fixture(scope="module")
def http():
    conf.set_middleware_defaults()
    return service(cors__allowed_origin=["http://dashboard.example"])


def test_a_preflight_needs_no_authentication(http):
    response = http.options("/things/1", headers=PREFLIGHT, status=200)
    assert response.headers["Access-Control-Allow-Origin"] == "http://dashboard.example"
    assert response.headers["Access-Control-Allow-Methods"] == "PUT"
    assert response.body == b""
    assert "x-openstack-request-id" in response.headers
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_every_options_request_is_answered(http):
    response = http.options("/nowhere", status=200)
    assert "Access-Control-Allow-Origin" not in response.headers


def test_an_allowed_origin_may_read_the_answer(http):
    origin = {"Origin": "http://dashboard.example"}
    response = http.get("/things/1", headers=ADMIN | origin, status=200)
    assert response.headers["Access-Control-Allow-Origin"] == "http://dashboard.example"
    assert "OpenStack-API-Version" in response.headers["Access-Control-Expose-Headers"]
    assert "Origin" in response.headers["Vary"]
    assert "openstack-api-version" in response.headers["Vary"]


def test_another_origin_is_answered_without(http):
    response = http.get("/things/1", headers=ADMIN | {"Origin": "http://evil.example"}, status=200)
    assert "Access-Control-Allow-Origin" not in response.headers


def test_without_configuration_there_is_none():
    http = service()
    response = http.options("/things/1", headers=PREFLIGHT | ADMIN, status=405)
    assert not [name for name in response.headers if name.lower().startswith("access-control")]


def test_proxy_headers_are_used_only_if_configured():
    headers = ADMIN | {"X-Forwarded-Proto": "https", "OpenStack-API-Version": "placement 1.2"}

    def location(**options):
        return service(**options).post("/things", headers=headers, status=201).headers["location"]

    assert location().startswith("http://")
    assert location(oslo_middleware__enable_proxy_headers_parsing=True).startswith("https://")
