import logging

import pytest

from placement import errors, exception, handler
from placement.http import request_log
from placement.microversion import MAX_VERSION
from placement.tests.support.loggers import messages
from placement.tests.support.stub_service import ADMIN, LATEST, service


@pytest.fixture(scope="module")
def http():
    return service()


def test_unexpected_exception_is_500_and_logged(http, caplog):
    response = http.delete("/things/1", headers=LATEST, status=500)
    (error,) = response.json["errors"]
    assert error["title"] == "Internal Server Error"
    assert error["code"] == "placement.undefined_code"
    assert "openstack-api-version" not in response.headers
    assert "vary" not in response.headers
    assert "Placement API unexpected error" in caplog.text
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("accept", ["application/json", "text/html", "text/plain"])
def test_an_unexpected_error_names_only_the_id_of_the_request(http, accept):
    """The text of the exception may be SQL with rows of other projects."""
    response = http.delete("/things/1", headers=LATEST | {"Accept": accept}, status=500)
    request_id = response.headers["x-openstack-request-id"]
    assert f"The log of the service has the reason: {request_id}." in response.text
    assert "divided" not in response.text


def test_error_codes_since_1_23(http):
    def keys(minor):
        version = {"OpenStack-API-Version": f"placement 1.{minor}"}
        return http.get("/nowhere", headers=ADMIN | version).json["errors"][0].keys()

    assert keys(23) - keys(22) == {"code"}


def test_a_refusal_names_the_rule(http):
    response = http.get("/things/1", headers={"X-Auth-Token": "user"}, status=403)
    assert last_line(response) == (
        "Policy does not allow placement:resource_providers:show to be performed. "
        "It needs role admin or role service; this token has no roles."
    )


def last_line(response):
    """Return what osc-placement shows of an error."""
    return response.json["errors"][0]["detail"].split("\n")[-1].strip()


def test_a_refusal_names_the_roles_of_the_token(http):
    headers = {"X-Auth-Token": "user", "X-Roles": "reader,member"}
    response = http.get("/things/1", headers=headers, status=403)
    assert last_line(response).endswith("; this token has the roles member, reader.")


def test_a_refusal_for_scope_begins_with_the_rule(http):
    headers = ADMIN | {"OpenStack-System-Scope": "all"}
    response = http.get("/things/1", headers=headers, status=403)
    assert last_line(response) == (
        "placement:resource_providers:show needs a token with project scope, which this token "
        "does not have. It also needs role admin or role service."
    )


def test_a_client_may_send_again_what_may_have_been_committed():
    assert errors.http_error(exception.CommitLost("gone")).headers == errors.RETRY_SOON


def test_without_a_database_the_client_may_come_back(http, caplog):
    response = http.get("/unavailable", headers=LATEST, status=503)
    assert response.headers["Retry-After"] == "1"
    detail = response.json["errors"][0]["detail"]
    assert "please try again" in detail
    assert "gone fishing" not in detail
    (line,) = messages(caplog, handler.LOG, level=logging.WARNING)
    assert line.endswith("Reason: gone fishing")


def test_unprintable_text_is_escaped(http):
    environ = {"HTTP_OPENSTACK_API_VERSION": "placement \udcff"}
    response = http.get("/", headers={"Accept": "text/html"}, extra_environ=environ, status=400)
    assert r"invalid version string: \udcff" in response.text


def test_each_request_has_an_id_of_its_own(http):
    ids = {http.get("/", status=200).headers["x-openstack-request-id"] for _ in range(3)}
    assert len(ids) == 3


def test_the_id_that_a_caller_sends_is_not_the_one_that_it_gets(http):
    sent = "req-5b1c4a86-0a4e-4e0d-8f3b-1f2f5d8e7a11"
    response = http.get("/", headers={"X-Openstack-Request-Id": sent})
    assert response.headers.getall("x-openstack-request-id") != [sent]


def test_log_has_request_and_response(http, caplog):
    caplog.set_level(logging.DEBUG, "placement.requestlog")
    response = http.get("/things?project_id=%E2%98%83", headers=LATEST)
    uri = '- "GET /things?project_id=%E2%98%83"'
    assert messages(caplog, request_log.LOG) == [
        f"Starting request: {uri}",
        f"{uri} status: 200 len: {response.content_length} microversion: {MAX_VERSION}",
    ]


def test_the_log_has_a_dash_for_what_is_not_known(http, caplog):
    caplog.set_level(logging.INFO, "placement.requestlog")
    http.get("/x%0Ay", extra_environ={"REMOTE_ADDR": "10.0.0.1", "SCRIPT_NAME": "/placement"})
    (line,) = messages(caplog, request_log.LOG)
    assert line.startswith('10.0.0.1 "GET /placement/x%0Ay" status: 401 len: ')
    assert line.endswith("microversion: -")
